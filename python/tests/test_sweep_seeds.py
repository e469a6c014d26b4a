"""Points that differ in their seeds alone: they share what is read and built, and give what each gives by itself."""

from __future__ import annotations

import gc
from pathlib import Path
from typing import Any

import pytest

import clearway
from clearway import _clearway
from clearway.jobs.workers import InProcess
from clearway.scenario.named import split, with_seed
from clearway.sweeps import collector, kept, packing
from clearway.sweeps import run as running
from clearway.tables import TABLES

SCENARIO = """\
stop = "1 ms"
transport = "dctcp"

[topology]
kind = "star"
hosts = 6

[[traffic]]
name = "mix"
kind = "{kind}"
size = "8 KB"
{keys}
"""
BY_THE_RUN = SCENARIO.format(kind="poisson", keys="load = 0.5\nflows = 4")
BY_THE_READER = SCENARIO.format(kind="permutation", keys='spread = "10 us"')
HOSTS_BY_THE_READER = SCENARIO.format(kind="poisson", keys="load = 0.5\nflows = 4\nhosts = {share = 0.5}")


def resolved(text: str, seed: int, **settings: str) -> str:
    pairs = [(key.replace("_", "."), value) for key, value in settings.items()]
    return _clearway.Scenario.parse(text, "<test>", ".", seed=seed, set=pairs).to_toml()


@pytest.mark.parametrize(
    "text",
    [BY_THE_RUN, BY_THE_READER, HOSTS_BY_THE_READER],
    ids=["pairs drawn by the run", "pairs drawn by the reader", "hosts drawn by the reader"],
)
def test_points_on_equal_and_on_different_networks_give_what_each_gives_alone(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(running, "workers", lambda *_: InProcess())
    monkeypatch.setattr(packing, "POINTS", 2)
    axes = {"topology.hosts": [6, 8], "seed": [3, 2**40, 5]}
    found = clearway.sweep(text, axes, name="seeds", out=tmp_path / "out")
    assert found.frame.height == 6
    for values, run in found.each():
        kept.KEPT.clear()
        alone = clearway.run(text, seed=values["seed"], set={"topology.hosts": values["hosts"], "name": "seeds"})
        assert (run.hash, split(run.scenario)[1]) == (alone.hash, values["seed"])
        assert all(getattr(run, table).equals(getattr(alone, table)) for table in TABLES)


def test_a_process_reads_a_scenario_once_for_all_seeds_unless_the_seed_draws_something(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    read: list[str] = []

    class Counted:
        @staticmethod
        def parse(text: str, *where: str) -> _clearway.Scenario:
            read.append(text)
            return _clearway.Scenario.parse(text, *where)

    class Module:
        Scenario = Counted

    monkeypatch.setattr(kept, "_clearway", Module)
    kept.KEPT.clear()
    shared = [resolved(BY_THE_RUN, seed) for seed in (1, 2, 3)]
    other = resolved(BY_THE_RUN, 1, topology_hosts="8")
    drawn = [resolved(BY_THE_READER, seed) for seed in (1, 2)]
    every = [*shared, other, shared[1], *drawn]
    assert [kept.scenario_of(text).to_toml() for text in every] == every
    assert read == [shared[0], other, shared[1], *drawn]
    assert len(kept.KEPT) == 1


def test_the_seed_in_a_resolved_scenario_is_replaced_and_no_other_text() -> None:
    text = BY_THE_RUN.replace('"mix"', '"seed = 7"')
    assert with_seed(resolved(text, 7), 2**64 - 1) == resolved(text, 2**64 - 1)
    assert with_seed("no scenario\n", 5) == "no scenario\n"


def test_the_collector_is_paused_for_a_while_and_then_as_it_was() -> None:
    @collector.paused()
    def failing() -> None:
        states.append(gc.isenabled())
        raise ValueError("in between")

    states: list[Any] = []
    for before in (gc.enable, gc.disable):
        before()
        try:
            with pytest.raises(ValueError, match="in between"):
                failing()
            states.append(gc.isenabled())
        finally:
            gc.enable()
    assert states == [False, True, False, False]
