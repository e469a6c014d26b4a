"""Findings: terminal, Python and live page say what is computed once from the results, and no more than they show.

The sentences themselves are tested in `crates/findings/tests/sentences.rs`, each in results in which it is true and in
results in which it is false.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import clearway
from clearway import _clearway
from clearway.command.tables import item
from clearway.findings import facts, findings
from clearway.groups import as_variation


@pytest.fixture(scope="module")
def scenario(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("findings") / "findings.toml"
    path.write_text(example())
    return path


def example() -> str:
    """The scenario `incast`."""
    return next(str(one["text"]) for one in _clearway.scenarios() if one["name"] == "incast")


@pytest.fixture(scope="module")
def pair(scenario: Path) -> clearway.Comparison:
    return clearway.compare(scenario, ["expresspass", "dctcp"])


def test_the_facts_on_a_run_are_those_of_its_tables(pair: clearway.Comparison) -> None:
    run = pair.runs["dctcp"]
    found = facts("dctcp", run)
    done = run.flows.filter(pl.col("fct_s").is_not_nan())
    assert found["flows"]["completed"] == done.height
    assert found["flows"]["mean_s"] == pytest.approx(done["fct_s"].mean())
    assert found["flows"]["p99_s"] == pytest.approx(done["fct_s"].quantile(0.99, "linear"))
    assert sum(part["flows"] for part in found["flows"]["parts"]) == done.height
    assert sum(part["sum_s"] for part in found["flows"]["parts"]) == pytest.approx(done["fct_s"].sum())
    ports = run.ports.filter(~pl.col("tier").str.starts_with("host"))
    assert found["queue"]["bytes"] == ports["queue_max_bytes"].max()
    assert found["drops"]["all"] == ports["drops_buffer"].sum()
    assert found["drops"]["all"] > 0
    assert found["timeouts"] == run.flows["timeouts"].sum()


def test_the_live_page_makes_its_facts_as_python_does(pair: clearway.Comparison, scenario: Path) -> None:
    measured = clearway.run(scenario, transport="dctcp", set={"measure.from": "20 ms", "measure.until": "60 ms"})
    endless = clearway.run("dumbbell", transport="expresspass")
    several = clearway.run("mixed")
    for name, run in {**pair.runs, "measured": measured, "endless": endless, "several": several}.items():
        stage = _clearway.Stage()
        asked = {"op": "open", "run": 1, "name": "incast", "text": run.scenario}
        assert "error" not in json.loads(stage.handle(json.dumps(asked)))
        while json.loads(stage.handle(json.dumps({"op": "advance", "run": 1})))["ended"] is None:
            pass
        result = json.loads(stage.handle(json.dumps({"op": "result", "run": 1})))
        assert result["hash"] == run.hash
        there, here = result["facts"], json.loads(json.dumps(facts(name, run)))
        assert_alike(there, here)


def assert_alike(there: Any, here: Any) -> None:
    """Equal but for the name, which the page gives, with floats up to the order of additions."""
    if isinstance(here, dict):
        assert there.keys() == here.keys()
        for key in here.keys() - {"name"}:
            assert_alike(there[key], here[key])
    elif isinstance(here, list):
        for one, other in zip(there, here, strict=True):
            assert_alike(one, other)
    elif isinstance(here, float):
        assert there == pytest.approx(here)
    else:
        assert there == here


def test_a_run_and_a_comparison_say_what_was_found(pair: clearway.Comparison) -> None:
    alone = pair.runs["expresspass"].findings
    assert alone[0].startswith("All 640 flows completed")
    both = pair.findings
    assert both[0].startswith("expresspass is ahead")
    assert "95 % interval" in both[0]
    assert {len(alone), len(both)} <= {2, 3, 4, 5}
    assert findings(list(pair.runs.values())) == both


def test_runs_of_a_name_with_several_seeds_count_as_one(scenario: Path) -> None:
    runs = {
        f"{name}, seed {seed}": clearway.run(scenario, transport=name, seed=seed)
        for name in ("expresspass", "dctcp")
        for seed in (1, 2, 3)
    }
    said = findings(runs)[0]
    assert said.startswith("expresspass is ahead"), said
    assert said.endswith("The interval is from 3 seeds."), said


def test_a_sweep_says_at_which_values_who_is_ahead(scenario: Path, tmp_path: Path) -> None:
    file = tmp_path / "some.toml"
    file.write_text(
        f'scenario = "{scenario}"\n[axes]\ntransport = ["expresspass", "dctcp"]\n'
        '"switch.buffer" = ["50 KB", "2 MB"]\nseed = [1, 2, 3]\n'
    )
    sweep = clearway.sweep(file, out=tmp_path / "out")
    first, goodput, queue, lost = sweep.findings
    assert first.startswith("By the mean completion time expresspass is ahead at all 2 points: flows take ")
    assert goodput == "By goodput it differs: dctcp is ahead at buffer 2 MB."
    assert "under expresspass" in queue
    assert "under dctcp" in queue
    assert lost.startswith("dctcp lost packets (up to "), lost
    assert lost.endswith("at buffer 50 KB; expresspass lost none."), lost


def test_named_cases_of_a_sweep_are_compared_under_their_names(scenario: Path, tmp_path: Path) -> None:
    file = tmp_path / "cases.toml"
    file.write_text(
        f'scenario = "{scenario}"\n[cases.variant]\nplain = {{"transport.tell_end" = false}}\n'
        'told = {"transport.tell_end" = true}\n[axes]\n"traffic.burst.senders" = [4, 8]\nseed = [1, 2, 3]\n'
    )
    first, *_, queue, lost = clearway.sweep(file, out=tmp_path / "out").findings
    assert first.startswith("By the mean completion time "), first
    assert "at senders 8" in first or "at all 2 points" in first, first
    assert "under plain and" in queue, queue
    assert lost == "No packet was lost in any run."


def test_runs_over_the_values_of_a_key_say_what_a_sweep_says(scenario: Path) -> None:
    from clearway.findings import variation_findings

    runs = [
        clearway.run(scenario, transport=name, set={"switch.buffer": buffer})
        for name in ("expresspass", "dctcp")
        for buffer in ("50 KB", "2 MB", "4 MB")
    ]
    part = as_variation("incast", runs)
    assert part is not None
    first, *_, lost = variation_findings(part)
    assert first.startswith("By the mean completion time expresspass is ahead at all 3 points: flows take ")
    assert lost.startswith("dctcp lost packets ("), lost
    assert lost.endswith("of those sent) at buffer 50 KB; expresspass lost none."), lost


def test_a_number_is_never_parted_from_its_unit() -> None:
    text = "The longest queue was 5.29 KB, at s0->h0, busy for 86 % of 10 µs"
    for width in range(20, 70):
        for line in item(text, width).splitlines():
            assert not line.strip().startswith(("KB", "%", "µs")), line
            assert len(line) <= width
    assert " ".join(item(text, 30).removeprefix("- ").split()) == text


def test_facts_that_are_none_are_refused_with_the_key() -> None:
    with pytest.raises(clearway.Error, match="name: must be a text"):
        _clearway.findings('[{"nmae": 1}]')
