"""The judge can fail: credits that are broken on purpose turn the claims red that depend on what was broken.

Each test runs the simulations of a figure once as they are and once with one thing broken, and compares the verdicts.
ExpressPass and naive credits are here; the other protocols are in `test_judge_can_fail_elsewhere.py`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest
from breaking import Breaking, having, only, switch, transport

from clearway.reproduce import Finding, Job, claim, judge, stats
from clearway.reproduce.expresspass import fig01, fig08, fig09, fig10, fig11, fig15, symmetric
from clearway.reproduce.figure import Tables
from clearway.reproduce.hotnets import fig04 as hotnets04
from clearway.reproduce.hotnets import fig09 as hotnets09

FEW = (1, 2, 3)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One folder of results for all tests, so that no simulation runs twice."""
    return tmp_path_factory.mktemp("store")


def without_feedback(job: Job) -> dict[str, Any]:
    """Credits at the full rate, which nothing lowers."""
    return transport(job, alpha=1, update_period="10 s")


def small_credits(job: Job) -> dict[str, Any]:
    """Credits of 64 to 92 B: their limit is in bytes, so that more of them pass than there is room for data."""
    return transport(job, size_min=64)


@pytest.mark.slow
def test_without_feedback_flow_0_takes_more_than_its_share_over_several_bottlenecks(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fig11, "COUNTS", {"quick": (2, 4, 8)})
    figure = Breaking(store, "expresspass/fig11", having(what="bottlenecks"), lambda tables: fig11.check(tables)[:1])
    figure.turns_red(
        lambda job: without_feedback(job) if job.params["reading"] == "default" else {},
        "fig11-multibottleneck-fairness",
    )


@pytest.mark.slow
def test_without_feedback_a_parking_lot_is_used_as_little_as_under_naive_credits(store: Path) -> None:
    def check(tables: Tables) -> list[Finding]:
        here = claim("expresspass", "fig10-parking-lot-feedback")
        return [judge.judge(here, fig10.improved(tables, "expresspass"))]

    kept = having(transport=("expresspass", "naive"), bottlenecks=fig10.ENDS, seed=FEW)
    figure = Breaking(store, "expresspass/fig10", kept, check)
    figure.turns_red(only("expresspass", without_feedback), "fig10-parking-lot-feedback")


@pytest.mark.slow
def test_credits_that_are_too_small_overflow_the_queue_and_lose_data(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fig15, "FEW", (4, 16))

    def check(tables: Tables) -> list[Finding]:
        most = fig15.ends(fig15.each(tables, "expresspass", pl.col("queue_max") / 1e3))[1]
        lost = int(tables["rows"]["drops"].sum())
        return [
            judge.judge(claim("expresspass", "fig15-max-queue-ns2"), most),
            judge.judge(claim("expresspass", "sec1-zero-data-loss"), lost),
        ]

    figure = Breaking(store, "expresspass/fig15", having(transport="expresspass", seed=FEW), check)
    figure.turns_red(small_credits, "fig15-max-queue-ns2", "sec1-zero-data-loss")


@pytest.mark.slow
def test_data_without_credits_fills_the_queue_in_front_of_the_master(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fig01, "FAN_OUTS", {"quick": (32, 2048)})
    figure = Breaking(store, "expresspass/fig01", having(transport=("expresspass", "naive"), seed=FEW))
    figure.turns_red(
        only("expresspass", lambda job: transport(job, low_priority=100, low_priority_queue=10_000)),
        "fig01c-expresspass-queue-bounded",
    )


@pytest.mark.slow
def test_a_credit_queue_of_one_leaves_the_link_unused(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fig09, "FLOWS", (2, 8))
    monkeypatch.setattr(fig09, "QUEUES", (1, 8, 16, 32))
    figure = Breaking(store, "expresspass/fig09", lambda _: True)
    figure.turns_red(
        lambda job: {"switch": {"credit_queue": 1}} if job.params["queue"] == 8 else {},
        "fig09-credit-queue-8-sufficient",
    )


@pytest.mark.slow
def test_a_credit_queue_that_never_grows_gains_nothing_by_its_size(store: Path) -> None:
    def check(tables: Tables) -> list[Finding]:
        sixteen = hotnets04.worst(tables, 16)
        measured = {
            "maxes_out": stats.estimate(hotnets04.maxes_out(tables)),
            "worst_under_utilization": sixteen,
            "one credit less 16": hotnets04.worst(tables, 1).minus(sixteen.mean),
        }
        return [judge.judge(claim("hotnets", "fig04-credit-queue-size"), measured)]

    figure = Breaking(store, "hotnets/fig04", lambda job: job.params["figure"] == "queue", check)
    figure.turns_red(lambda _: {"switch": {"credit_queue": 1}}, "fig04-credit-queue-size")


@pytest.mark.slow
def test_a_longer_credit_queue_holds_more_credits_than_the_paper_measured(store: Path) -> None:
    def check(tables: Tables) -> list[Finding]:
        waiting = stats.over_seeds(tables["rows"], pl.col("credits") * 84)
        return [judge.judge(claim("expresspass", "fig13-max-credit-queue"), waiting)]

    figure = Breaking(
        store, "expresspass/fig13", having(what="come and go", transport="expresspass", seed=FEW[:2]), check
    )
    figure.turns_red(lambda _: {"switch": {"credit_queue": 32}}, "fig13-max-credit-queue")


def test_credits_of_one_class_have_no_priority(store: Path) -> None:
    figure = Breaking(
        store, "expresspass/symmetric", having(what="credits"), lambda tables: symmetric.check(tables)[-1:]
    )
    classes = [{"name": "a"}, {"name": "b"}]
    figure.turns_red(lambda _: {"switch": {"credit_class": classes}}, "sec7-credit-prioritisation")


@pytest.mark.slow
def test_a_ceiling_by_the_path_makes_hosts_of_different_speed_fair(store: Path) -> None:
    kept = having(case=("4 x 10 and 2 x 40 to 100", "10 and 10 over 10", "10 and 40 over 10"), ceiling="own-link")
    figure = Breaking(store, "expresspass/sec7speeds", kept)
    figure.turns_red(lambda job: transport(job, ceiling="path"), "sec7-unequal-host-links-unfair")


@pytest.mark.slow
def test_with_feedback_naive_credits_lose_what_the_paper_shows_of_them(store: Path) -> None:
    figure = Breaking(store, "expresspass/fig04", lambda _: True)
    figure.turns_red(
        only("naive-credit", lambda _: {"transport": {"name": "expresspass"}}),
        "fig03-two-flow-credit-schedule",
        "fig04a-naive-multibottleneck-unfairness",
        "fig04b-naive-parking-lot-utilization",
    )


def test_credits_that_know_a_flows_end_waste_nothing_by_their_first_rate(store: Path) -> None:
    figure = Breaking(store, "expresspass/fig08", having(what="one packet"), lambda tables: [fig08.waste(tables)])
    figure.turns_red(lambda job: transport(job, tell_end=True), "fig08b-credit-waste-vs-initial-rate")


def test_a_flow_that_needs_no_credits_starts_a_round_trip_sooner(store: Path) -> None:
    def windows(job: Job) -> dict[str, Any]:
        return {"transport": {"name": "dctcp", "handshake": job.params["alpha"] == "syn"}}

    figure = Breaking(store, "expresspass/fig08", having(what="start"), lambda tables: [fig08.beginning(tables)])
    figure.turns_red(windows, "fig07-credit-flow-state-machine")


def test_flows_that_never_send_again_stand_still_after_a_loss(store: Path) -> None:
    figure = Breaking(
        store, "expresspass/fig11", having(what="small buffers", seed=FEW), lambda tables: [fig11.loss(tables)]
    )
    figure.turns_red(lambda job: transport(job, reorder_window="10 s", retry="10 s"), "sec31-loss-not-fatal")


@pytest.mark.slow
def test_a_share_of_half_the_link_leaves_the_other_half_unused(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hotnets09, "FLOWS", (64,))
    figure = Breaking(
        store,
        "hotnets/fig09",
        lambda job: job.params["what"] == "many" and job.params["seed"] in FEW,
        lambda tables: hotnets09.many_flows(tables)[1:2],
    )
    figure.turns_red(
        only("expresspass", lambda job: switch(job, credit_share=0.5)),
        "fig09-utilization-and-queue",
    )
