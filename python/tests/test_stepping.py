"""Runs that go on step by step: looks between steps change nothing and fit together."""

import math
from collections.abc import Callable

import polars as pl
import pytest

import clearway
from clearway.stepping import Stepped

SCENARIO = "scenarios/incast.toml"


@pytest.mark.parametrize("transport", ["dctcp", "expresspass", "dcqcn"])
def test_a_run_in_steps_has_the_hash_of_an_unbroken_one(transport: str) -> None:
    run = clearway.open(SCENARIO, transport=transport, seed=3)
    steps: list[Callable[[], bool]] = [
        lambda: run.step(by="3 us"),
        lambda: run.step(events=777),
        lambda: run.step(until=run.now_s + 5e-6, events=40),
        run.step,
    ]
    for index in range(40):
        steps[index % len(steps)]()
        look(run)
    unbroken = clearway.run(SCENARIO, transport=transport, seed=3)
    finished = run.finish()
    assert finished.hash == unbroken.hash
    assert finished.flows.equals(unbroken.flows)
    assert run.finish() is finished


def look(run: Stepped) -> None:
    """Asserts that what a look shows fits together."""
    ports, queued, frames = run.ports, run.queued(), run.in_flight
    assert queued["wire_bytes"].sum() >= ports["queue_bytes"].sum()
    data = queued.filter(pl.col("kind") == "data")
    assert data.height <= ports["queue_packets"].sum()
    assert ((frames["start_s"] <= run.now_s) & (frames["start_s"] < frames["arrive_s"])).all()
    assert (run.flows["delivered_bytes"] <= run.flows["size_bytes"]).all()


def test_the_queue_of_a_port_is_what_its_counters_say() -> None:
    run = clearway.open(SCENARIO, transport="dctcp")
    assert run.step(until="60 us")
    assert run.now_s == pytest.approx(60e-6)
    longest = run.ports.sort("queue_bytes").row(-1, named=True)
    packets = run.queued(longest["port"])
    assert longest["queue_bytes"] > 0
    assert packets["wire_bytes"].sum() == longest["queue_bytes"]
    assert packets.height == longest["queue_packets"]
    last_hops = {run.path(int(row))[-1] for row in packets["flow"].unique()}
    assert last_hops == {longest["port"]}


def test_flows_are_shown_with_window_and_progress_and_once_when_they_finish() -> None:
    run = clearway.open(SCENARIO, transport="dctcp")
    run.step(until="60 us")
    sending = run.flows.filter(pl.col("state") == "sending")
    assert sending.height > 0
    assert (sending["cwnd_bytes"] > 0).all()
    rows: list[int] = []
    while run.step(by="200 us"):
        rows += [int(row) for row in run.finished()["row"]]
    rows += [int(row) for row in run.finished()["row"]]
    done = run.finish()
    assert sorted(rows) == list(range(done.flows.height))
    assert run.ended == "complete"


def test_credits_have_no_window_and_are_seen_on_links() -> None:
    run = clearway.open(SCENARIO, transport="expresspass")
    run.step(until="15 us")
    assert "credit" in run.in_flight["kind"].to_list()
    assert all(math.isnan(window) for window in run.flows["cwnd_bytes"])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda run: run.step(until="soon"), 'until = "soon"'),
        (lambda run: run.step(until="1 us", by="1 us"), "until and by"),
        (lambda run: run.step(events=0), "events = 0"),
        (lambda run: run.queued("s0->h99"), "is no port"),
    ],
)
def test_a_mistaken_call_is_refused_and_the_run_goes_on(call: Callable[[Stepped], object], message: str) -> None:
    run = clearway.open(SCENARIO, transport="dctcp")
    with pytest.raises(clearway.Error, match=message):
        call(run)
    assert run.step(until="1 us")
    run.finish()
    assert "finished" in repr(run)
