"""The judge can fail: protocols other than ExpressPass that are broken on purpose turn claims red.

Each claim depends on what was broken; see `test_judge_can_fail.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from breaking import Breaking, having, only, switch, transport

from clearway.reproduce import Finding, Job, claim, judge
from clearway.reproduce.ec4 import fig06 as ec4_fig06
from clearway.reproduce.figure import Tables
from clearway.reproduce.pac import common, fig02, fig03, fig07, fig11, fig13
from clearway.reproduce.rdma import incast
from clearway.reproduce.stats import Estimate

FEW = (1, 2, 3)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One folder of results for all tests, so that no simulation runs twice."""
    return tmp_path_factory.mktemp("store")


def in_place_of(name: str, other: Mapping[str, Any], job: Job) -> dict[str, Any]:
    """The scenario's traffic with another transport where it had the named one."""
    parts = job.scenario["traffic"]
    return {
        "traffic": [
            {**one, "transport": dict(other)} if one.get("transport", {}).get("name") == name else one for one in parts
        ]
    }


@pytest.mark.slow
def test_with_pacs_threshold_doubled_rounds_time_out(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fig07, "SENDERS", (3, 10, 60, 100))
    monkeypatch.setattr(fig07, "AROUND", range(30, 37))
    figure = Breaking(store, "pac/fig07", lambda job: not job.params["transport"].startswith("pac,"), seen_at_the_edge)
    figure.turns_red(only("pac", lambda job: transport(job, buffer="160 KB")), "fig08-timeout-ratio-edge")


def seen_at_the_edge(tables: Tables) -> list[Finding]:
    """The part of PAC's Fig. 8 that is about timeouts."""
    rows = tables["rows"].filter(tables["rows"]["workload"] == fig07.MAIN)
    measured: dict[str, float | int | Estimate] = {
        "PAC_ratio": common.timeout_ratio(tables["rows"], "pac"),
        "DCTCP_starts_at": common.first_timeout(rows, "dctcp"),
    }
    return [judge.judge(claim("pac", "fig08-timeout-ratio-edge"), measured)]


@pytest.mark.slow
def test_with_marks_ignored_round_trips_under_pac_are_far_longer(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fig11, "SENDERS", (100,))
    figure = Breaking(store, "pac/fig11", lambda _: True)
    figure.turns_red(lambda job: transport(job, ecn=False), "fig11-rtt-100-connections")


@pytest.mark.slow
def test_with_windows_of_two_segments_half_as_many_senders_are_supported(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fig02, "SENDERS", (4, 32, *range(48, 85, 4)))
    figure = Breaking(store, "pac/fig02", lambda _: True)
    figure.turns_red(
        lambda job: transport(job, window=2), "fig02-one-mss-sender-limit", "eq1-window-based-sender-limit"
    )


def shaped(store: Path) -> Breaking:
    """PAC's Fig. 1, over new connections."""
    return Breaking(
        store,
        "pac/fig03",
        having(buffer="100 KB", kind="new"),
        lambda tables: [fig03.general(fig03.part(tables, kind="new"))],
    )


@pytest.mark.slow
def test_acks_that_are_let_out_too_soon_overflow_the_buffer(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fig03, "SENDERS", (8, 20, 36))
    shaped(store).turns_red(only("40K/s", lambda job: transport(job, acks_per_second=80_000)), "fig01-general-idea")


@pytest.mark.slow
def test_pac_at_a_buffer_below_its_threshold_loses_frames(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fig03, "SENDERS", (8, 20, 36))
    shaped(store).turns_red(only("pac", lambda job: switch(job, buffer="30 KB")), "fig01-general-idea")


@pytest.mark.slow
def test_pac_with_a_threshold_of_four_buffers_collapses_as_the_others_do(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fig13, "SENDERS", (4, 16, 32, 60, 100))
    monkeypatch.setattr(fig13, "AROUND", {"96 KB": range(31, 36), "150 KB": range(0)})

    def check(tables: Tables) -> list[Finding]:
        far = {
            f"PAC over {name.upper()}": common.ahead(tables["rows"], "pac", name, fig13.BEYOND)
            for name in fig13.WINDOWS
        }
        return [judge.judge(claim("pac", "fig13-pac-ordering"), far)]

    kept = having(transport=("pac", *fig13.WINDOWS), buffer="96 KB")
    figure = Breaking(store, "pac/fig13", kept, check)
    figure.turns_red(only("pac", lambda job: transport(job, buffer="400 KB")), "fig13-pac-ordering")


@pytest.mark.slow
def test_with_one_level_of_priority_short_flows_gain_nothing_under_pac(store: Path) -> None:
    figure = Breaking(store, "pac/sec3d", lambda _: True)
    figure.turns_red(lambda job: transport(job, levels=1), "sec3d-mlfq-prefers-short-flows")


@pytest.mark.slow
def test_without_marks_ec4_queues_far_beyond_expresspass_beside_dctcp(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ec4_fig06, "FLOWS", (8, 256))
    figure = Breaking(store, "ec4/fig06", having(transport=("ec4", "expresspass"), seed=FEW))
    unmarked = only("ec4", lambda job: switch(job, marking="off"))
    figure.turns_red(unmarked, "fig06-max-queue-256-flows", "fig06-queue-ordering")


@pytest.mark.slow
def test_credits_that_react_to_marks_leave_dctcp_its_share(store: Path) -> None:
    figure = Breaking(store, "ec4/fig03", having(transport="expresspass", seed=FEW))
    figure.turns_red(
        lambda job: in_place_of("expresspass", {"name": "ec4"}, job),
        "fig03-expresspass-starves-dctcp",
        "sec1-expresspass-unfriendly-to-others",
    )


@pytest.mark.slow
def test_credits_for_half_the_link_leave_dctcp_the_other_half(store: Path) -> None:
    figure = Breaking(store, "ec4/fig03", having(transport="expresspass", seed=FEW))
    figure.turns_red(
        lambda job: switch(job, credit_share=0.5),
        "fig03-expresspass-starves-dctcp",
        "sec1-expresspass-unfriendly-to-others",
    )


def test_loss_on_the_wire_beside_dctcp_changes_the_loss_of_credits(store: Path) -> None:
    figure = Breaking(store, "ec4/fig01", having(case="fig01"))
    figure.turns_red(
        lambda job: {"loss": [{"probability": 0.05}]} if job.params["dctcp"] else {},
        "fig01-congestion-information-isolation",
    )


@pytest.mark.slow
def test_without_flow_control_an_incast_of_rdma_loses_packets(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(incast, "SENDERS", 63)
    figure = Breaking(store, "rdma/incast", having(seed=1))
    figure.turns_red(lambda _: {"switch": {"pfc": False, "buffer": "400 KB"}}, "incast-zero-loss")


def test_without_timeouts_an_incast_of_rdma_never_ends(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(incast, "SENDERS", 63)
    figure = Breaking(store, "rdma/incast", having(seed=1))
    figure.turns_red(
        lambda job: transport(job, rto="10 s", nack_interval="1 s") | {"stop": "500 ms"}, "incast-recovery"
    )
