"""Runs that are ended before their end: out of memory, or at an instant that does not pass."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from skips import needs

import clearway
from clearway import ended, folder, machine, runner
from clearway.comparison import compare
from clearway.result import Run
from clearway.texts import ended_text, warning_texts

#: One flow that takes seconds of wall time, and by its estimate some KB of memory.
LONG = """
[topology]
kind = "star"
hosts = 2
rate = "100 Gbps"
[transport]
name = "dctcp"
[[traffic]]
kind = "flows"
list = [{ src = "h0", dst = "h1", size = "1 TB" }]
"""

#: Requests that are lost and repeated, and wait in front of a slow link: no estimate counts them.
REPEATED = """
stop = "1000 s"
[topology]
kind = "star"
hosts = 40
rate = "1 Mbps"
delay = "100 ms"
[transport]
name = "expresspass"
retry = "1 us"
retry_backoff = false
[[loss]]
link = ["h0", "s0"]
probability = 1
[[traffic]]
kind = "incast"
senders = 39
"""


@pytest.fixture
def no_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "most_resident", lambda _: 1)


def cut_off(run: Run, **summary: Any) -> Run:
    run.summary.update(summary)
    return run


def clearway_in(place: Path, memory: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "clearway", *arguments],
        cwd=place,
        env={**os.environ, "CLEARWAY_MEMORY": memory, "COLUMNS": "400"},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


@needs(machine.resident(), "a system that tells the memory of a process", "run on Linux")
def test_a_run_that_takes_more_memory_than_it_may_ends_with_what_was_simulated(tmp_path: Path) -> None:
    (tmp_path / "repeated.toml").write_text(REPEATED)
    done = clearway_in(tmp_path, "200 MB", "run", "repeated.toml", "--out", "there")
    assert done.returncode == 1, done.stderr
    assert "Traceback" not in done.stdout + done.stderr
    assert "OUT OF MEMORY. The run was ended when this process had more than" in done.stdout
    assert "Allow more (CLEARWAY_MEMORY), or simulate less" in done.stdout
    assert "Out of memory: the results are of the first" in done.stderr
    summary = json.loads((tmp_path / "there" / "summary.json").read_text())
    assert summary["ended"] == "out of memory"
    assert 0 < summary["simulated_s"] < 1000
    assert summary["measured"]["peak_memory_bytes"] < summary["memory_limit_bytes"] + 400e6
    again = clearway.load(tmp_path / "there")
    assert again.cut_off
    assert not again.interrupted
    assert again.hash == summary["hash"]


@pytest.mark.usefixtures("no_memory")
def test_a_comparison_goes_on_with_the_next_transport_where_one_runs_out_of_memory(tmp_path: Path) -> None:
    found = compare(LONG, ["dctcp", "expresspass"], out=tmp_path / "both")
    assert [run.summary["ended"] for run in found.runs.values()] == ["out of memory"] * 2
    assert found.cut_off
    assert not found.interrupted
    assert [text.partition(".")[0] for text in warning_texts(found.runs)] == [
        "dctcp: OUT OF MEMORY",
        "expresspass: OUT OF MEMORY",
    ]


@pytest.mark.usefixtures("no_memory")
def test_a_run_that_ran_out_of_memory_takes_the_place_of_no_finished_one(tmp_path: Path) -> None:
    run = runner.run(LONG)
    assert run.cut_off
    there = run.save(tmp_path / "run")
    assert not folder.is_finished(there)
    with pytest.raises(clearway.Error, match=r"OUT OF MEMORY.*the results are of the first"):
        run.check_whole()
    assert run.recorded().expected is None, "it has no hash of a whole run"


def test_a_run_that_may_have_more_than_it_takes_goes_on_to_its_end(small: Path) -> None:
    run = clearway.run(small, memory="8 GB")
    assert run.summary["ended"] == "complete"
    assert not run.cut_off
    assert "memory_limit_bytes" not in run.summary
    run.check_whole()


def test_a_livelock_is_told_with_its_instant_and_what_goes_on_there(small: Path) -> None:
    what = "the timer of the sender of flow 3 (h1 to h0) of traffic web under expresspass"
    run = cut_off(clearway.run(small), ended="livelocked", livelock={"at_s": 0.001, "what": what})
    (text,) = warning_texts({"expresspass": run})
    assert text.startswith(
        "expresspass: LIVELOCK. Simulated time stood still at 1.00 ms, where events followed each other"
    )
    assert what in text
    assert run.cut_off
    with pytest.raises(clearway.Error, match="LIVELOCK"):
        run.check_whole()


def test_every_way_of_being_cut_off_is_told_beside_the_simulated_time() -> None:
    assert {ended_text(name) for name in ended.CUT_OFF} == {" (interrupted)", " (out of memory)", " (livelocked)"}
    assert [ended_text(name) for name in ("complete", "stopped", "stalled")] == ["", "", " (stalled)"]


def test_a_run_may_take_what_was_allowed_beside_what_the_process_has_and_else_not_fill_the_machine(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(machine, "resident", lambda: 10**8)
    assert machine.most_resident("1 GB") == 1_100_000_000
    monkeypatch.setenv(machine.VARIABLE, "2 GB")
    assert machine.most_resident() == 2_100_000_000
    monkeypatch.delenv(machine.VARIABLE)
    monkeypatch.setattr(machine, "shared_now", lambda _: (10**9,))
    monkeypatch.setattr(machine, "own_limits", lambda: iter([]))
    assert machine.most_resident() == 900_000_000
    monkeypatch.setattr(machine, "own_limits", lambda: iter([10**9]))
    assert machine.most_resident() == 550_000_000


@pytest.mark.parametrize("retry", ["0 ps", "1 ps", "999 ns"])
def test_a_time_that_would_keep_a_run_from_getting_on_is_refused_in_one_line(retry: str) -> None:
    for transport in ("expresspass", "expresspass-hotnets16", "naive-credit", "ec4"):
        text = LONG.replace('name = "dctcp"', f'name = "{transport}"\nretry = "{retry}"')
        with pytest.raises(clearway.ScenarioError) as caught:
            clearway.run(text)
        assert str(caught.value) == f'<text>:8: transport.retry = "{retry}": must be from 1 us to 60 s'
