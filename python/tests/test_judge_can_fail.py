"""The judge can fail: protocols that are broken on purpose turn the claims red that depend on what was broken.

Each test runs the simulations of a figure once as they are and once with one thing broken, and compares the verdicts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from clearway import reproduce
from clearway.reproduce import Figure, Job
from clearway.reproduce.claims import Verdict
from clearway.reproduce.expresspass import fig09
from clearway.reproduce.pac import fig07

Change = Callable[[Job], Mapping[str, Any]]
GOOD = ("reproduced", "trend reproduced")


def verdicts(figure: Figure, out: Path, keep: Callable[[Job], bool], change: Change | None) -> dict[str, Verdict]:
    """The verdicts of a figure by claim, with its scenarios changed."""
    jobs = [job for job in figure.jobs("quick") if keep(job)]
    if change:
        jobs = [replace(job, scenario={**job.scenario, **change(job)}) for job in jobs]
    quiet = replace(figure, draw=lambda *_: {}, captions={})
    return {one.claim.id: one.verdict for one in reproduce.reproduce(quiet, out=out, jobs=jobs).findings}


def red(name: str, claim: str, out: Path, change: Change, keep: Callable[[Job], bool] = lambda _: True) -> None:
    """Breaking a figure's runs turns a claim that held into one that does not."""
    (figure,) = reproduce.find(name)
    assert verdicts(figure, out / "whole", keep, None)[claim] in GOOD
    assert verdicts(figure, out / "broken", keep, change)[claim] == "not reproduced"


@pytest.mark.full
def test_without_feedback_flow_0_takes_more_than_its_share_over_several_bottlenecks(tmp_path: Path) -> None:
    def off(job: Job) -> dict[str, Any]:
        if job.params["reading"] != "default":
            return {}
        return {"transport": {"name": "expresspass", "alpha": 1, "update_period": "10 s"}}

    red("expresspass/fig11", "fig11-multibottleneck-fairness", tmp_path, off)


def test_a_credit_queue_of_one_leaves_the_link_unused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fig09, "FLOWS", (2, 8))
    monkeypatch.setattr(fig09, "QUEUES", (1, 8, 16, 32))

    def one(job: Job) -> dict[str, Any]:
        return {"switch": {"credit_queue": 1}} if job.params["queue"] == 8 else {}

    red("expresspass/fig09", "fig09-credit-queue-8-sufficient", tmp_path, one)


def test_with_pacs_threshold_doubled_rounds_time_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fig07, "SENDERS", (3, 10, 60, 100))
    monkeypatch.setattr(fig07, "AROUND", range(30, 37))

    def doubled(job: Job) -> dict[str, Any]:
        transport = job.scenario["transport"]
        return {"transport": {**transport, "buffer": "160 KB"}} if transport["name"] == "pac" else {}

    red("pac/fig07", "fig08-timeout-ratio-edge", tmp_path, doubled)


def test_with_marks_ignored_round_trips_under_pac_are_far_longer(tmp_path: Path) -> None:
    def ignored(job: Job) -> dict[str, Any]:
        return {"transport": {**job.scenario["transport"], "ecn": False}}

    red("pac/fig11", "fig11-rtt-100-connections", tmp_path, ignored)


@pytest.mark.full
def test_without_marks_ec4_queues_as_much_as_expresspass_beside_dctcp(tmp_path: Path) -> None:
    def unmarked(job: Job) -> dict[str, Any]:
        return {"switch": {**job.scenario.get("switch", {}), "marking": "off"}}

    red("ec4/fig06", "fig06-queue-ordering", tmp_path, unmarked)
