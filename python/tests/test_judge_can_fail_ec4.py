"""The judge can fail: EC4 and its company broken on purpose, and what claims of stability rest on.

Each claim depends on what was broken; see `test_judge_can_fail.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from breaking import Breaking, having, switch

from clearway.plan import expresspass as planned
from clearway.plan.pacc import Loop
from clearway.reproduce import Job
from clearway.reproduce.ec4 import fig04, fig08, fig09, realistic
from clearway.reproduce.expresspass import text as expresspass
from clearway.reproduce.pacc import text as pacc

#: EC4 whose rate starts low and grows by a thousandth of what it lacks, without HIGH mode.
SLOW = {"initial_rate": 0.01, "omega_mid": 0.001, "omega_init": 0.001, "omega_min": 0.001, "mode_threshold": 1_000_000}


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One folder of results for all tests, so that no simulation runs twice."""
    return tmp_path_factory.mktemp("store")


def first_part(job: Job, **values: Any) -> Mapping[str, Any]:
    """The scenario's traffic with other values of the first entry's transport."""
    first, *rest = job.scenario["traffic"]
    return {"traffic": [{**first, "transport": {**first["transport"], **values}}, *rest]}


@pytest.mark.slow
def test_ec4_that_starts_slowly_and_hardly_grows_is_slower_than_dctcp_alone(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fig08, "FLOWS", {"web-search": 60, "cache-follower": 200, "data-mining": 40})
    kept = having(case=tuple(realistic.CASES), seed=1)
    figure = Breaking(store, "ec4/fig08", kept, lambda tables: [fig08.check_average(tables)])
    figure.turns_red(
        lambda job: first_part(job, **SLOW) if job.params["case"] == "ec4" else {},
        "fig08-average-fct",
    )


@pytest.mark.slow
def test_without_a_limit_of_the_buffer_what_expresspass_queues_depends_on_the_load(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(fig09.FLOWS, "quick", 60)
    figure = Breaking(store, "ec4/fig09", having(seed=2))
    figure.turns_red(
        lambda job: switch(job, buffer="unlimited") if job.params["case"] == "expresspass" else {},
        "fig09-expresspass-max-queue",
    )


@pytest.mark.slow
def test_a_mix_whose_data_may_use_the_share_of_credits_fills_the_link(store: Path) -> None:
    kept = having(flows=8, kind=("mix", "split", "alone"), seed=(1, 2))
    figure = Breaking(store, "ec4/fig04", kept, lambda tables: [fig04.check_used(tables)])
    figure.turns_red(
        lambda job: {"topology": {**job.scenario["topology"], "bottleneck_rate": "10 Gbps"}}, "sec4a-utilization"
    )


@pytest.mark.slow
def test_a_change_of_the_buffer_that_changes_nothing_is_no_cause(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fig04, "FLOWS", (2, 256))
    kept = having(kind=("mix", "unlimited buffer"), seed=1)
    figure = Breaking(store, "ec4/fig04", kept, lambda tables: [fig04.check_fairness(tables)])
    figure.loses_its_cause(
        lambda job: switch(job, buffer="384.5 KB") if job.params["kind"] != "mix" else {}, "fig04a-jain-fairness"
    )


def test_rates_whose_w_stays_large_never_come_down_to_the_last_step(monkeypatch: pytest.MonkeyPatch) -> None:
    def verdict() -> str:
        (*_, found) = expresspass.section4(expresspass.summarise({})["section4"])
        assert found.claim.id == "fig12-steady-state-oscillation"
        return found.verdict

    assert verdict() == "arithmetic"
    whole = planned.trajectory
    monkeypatch.setattr(expresspass, "trajectory", lambda one, *rest: whole(replace(one, w_min=0.2), *rest))
    assert verdict() == "not reproduced"


def test_pacc_whose_default_reacts_twenty_times_as_hard_is_unstable(monkeypatch: pytest.MonkeyPatch) -> None:
    tables = pacc.summarise({})
    assert pacc.check_margin(tables).verdict == "arithmetic"
    monkeypatch.setattr(pacc, "Loop", partial(Loop, beta1=1.0))
    assert pacc.check_margin(tables).verdict == "not reproduced"
