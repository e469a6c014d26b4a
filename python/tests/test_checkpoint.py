"""Checkpoints: a run that is killed again and again ends with the files of a run that never was."""

from __future__ import annotations

import json
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import SMALL

import clearway
from clearway import checkpoint, scratch
from clearway.checkpoint import Checkpoints

Cli = Callable[..., "subprocess.CompletedProcess[str]"]

#: A run of a few seconds with more samples than stay in memory, losses, a link that fails, and rounds.
EVENTFUL = """\
name = "eventful"
seed = 3

[topology]
kind = "leaf-spine"
leaves = 2
hosts_per_leaf = 8
rate = "10 Gbps"

[[traffic]]
name = "web"
kind = "poisson"
transport = "expresspass"
workload = "web-search"
load = 0.4
flows = 300

[[traffic]]
name = "burst"
kind = "incast"
transport = "dctcp"
senders = 5
size = "30 KB"
rounds = 20

[[loss]]
probability = 0.0005

[[fault]]
link = ["leaf0", "spine0"]
down = "2 ms"
up = "9 ms"

[[sample]]
name = "queues"
what = "queue"
every = "1 us"
ports = ["leaf0->spine0", "leaf1->spine0", "leaf0->h0", "leaf1->h8"]
"""


def files(place: Path) -> dict[str, bytes | str]:
    """The content of all files of a run, without what it cost."""
    found: dict[str, bytes | str] = {file.name: file.read_bytes() for file in place.iterdir()}
    summary = json.loads((place / "summary.json").read_text())
    del summary["measured"], summary["checksum"]
    found["summary.json"] = json.dumps(summary)
    return found


class Killed:
    """A command that is killed at random moments."""

    def __init__(self, folder: Path, draw: random.Random) -> None:
        self.folder, self.draw = folder, draw

    def start(self, *arguments: object) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "clearway", "run", *map(str, arguments)]
        return subprocess.Popen(command, cwd=self.folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)

    def kill(self, number: signal.Signals, after: Callable[[], bool], wait_s: float, *arguments: object) -> str | None:
        """Ends the command once `after` answers true and a random time has passed; what it said, if it was not done."""
        process = self.start(*arguments)
        while process.poll() is None and not after():
            time.sleep(0.002)
        time.sleep(self.draw.uniform(0, wait_s))
        process.send_signal(number)
        _, said = process.communicate(timeout=120)
        assert process.returncode in {0, -signal.SIGKILL, 130}, said
        return said if process.returncode else None


@pytest.mark.slow
@pytest.mark.parametrize("kills", [6, pytest.param(100, marks=pytest.mark.full)])
def test_a_run_that_is_killed_again_and_again_ends_with_the_files_of_one_that_never_was(
    kills: int, tmp_path: Path, process: Cli
) -> None:
    (tmp_path / "eventful.toml").write_text(EVENTFUL)
    began = time.monotonic()
    assert process("run", "eventful.toml", "--out", "whole", "--quiet").returncode == 0
    life_s = time.monotonic() - began
    whole = files(tmp_path / "whole")
    assert clearway.load(tmp_path / "whole").samples.height > 200_000
    killed, done, resumed, times = Killed(tmp_path, random.Random(12)), 0, 0, []
    place = tmp_path / "out" / "it"
    state = place.with_name("it.checkpoint") / checkpoint.STATE
    arguments = ["eventful.toml", "--out", "out/it", "--checkpoint", f"{life_s / 40:.3f} s"]
    while done < kills:
        before = state.stat().st_mtime_ns if state.exists() else 0
        changed = lambda before=before: state.exists() and state.stat().st_mtime_ns != before  # noqa: E731
        number = signal.SIGINT if done % 3 == 2 else signal.SIGKILL
        said = killed.kill(number, changed, life_s / 10, *arguments)
        if said is None:
            assert files(place) == whole
            assert not state.parent.exists()
            shutil.rmtree(place)  # Results of an interrupted run would go beside those that are finished.
        else:
            done += 1
            if "Going on from" in said:
                resumed += 1
                times.append(said.partition("Going on from ")[2].partition(" of simulated")[0])
    last = process("run", *arguments)
    assert last.returncode == 0, last.stderr
    assert files(place) == whole
    assert [entry.name for entry in place.parent.iterdir()] == ["it"]
    print(f"{done} kills, {resumed} resumed at {', '.join(times)}")
    assert resumed >= kills / 3


def interrupted(out: Path) -> clearway.Run:
    """A run that ends after its first look at the progress, with a checkpoint."""
    return clearway.run(EVENTFUL, out=out, checkpoint="1 h", progress=lambda _: False)


def test_an_interrupted_run_goes_on_in_python_and_counts_what_it_took_before(tmp_path: Path) -> None:
    whole = clearway.run(EVENTFUL, out=tmp_path / "whole")
    part = interrupted(tmp_path / "it")
    assert part.interrupted
    assert part.summary["events"] < whole.summary["events"]
    assert checkpoint.is_waiting(tmp_path / "it")
    cost = tmp_path / "it.checkpoint" / checkpoint.COST
    spent = json.loads(cost.read_text())
    cost.write_text(json.dumps({**spent, "cpu_s": spent["cpu_s"] + 1000}))
    run = clearway.run(EVENTFUL, out=tmp_path / "it", checkpoint=3600)
    assert (run.hash, run.summary["events"]) == (whole.hash, whole.summary["events"])
    assert run.samples.equals(whole.samples)
    assert run.summary["measured"]["cpu_s"] > 1000
    assert files(tmp_path / "it") == files(tmp_path / "whole")
    assert not checkpoint.is_waiting(tmp_path / "it")


def test_a_checkpoint_of_another_run_is_refused_with_the_keys_that_differ(tmp_path: Path) -> None:
    interrupted(tmp_path / "it")
    with pytest.raises(clearway.Error, match=r"it\.checkpoint: holds another run \(seed = 3 there, 4 here\)"):
        clearway.run(EVENTFUL, out=tmp_path / "it", force=True, seed=4, checkpoint="1 h")
    run = clearway.run(EVENTFUL, out=tmp_path / "it", force=True, seed=4, checkpoint="1 h", fresh=True)
    assert run.summary["seed"] == 4
    assert not checkpoint.folder_of(tmp_path / "it").exists()


@pytest.mark.parametrize("damage", ["cut", "changed", "rows", "foreign"])
def test_a_checkpoint_that_is_damaged_is_refused(damage: str, tmp_path: Path) -> None:
    def late(progress: object) -> bool:
        return bool(getattr(progress, "events") < 2_000_000)  # noqa: B009

    clearway.run(EVENTFUL, out=tmp_path / "it", checkpoint="1 h", progress=late)
    place = tmp_path / "it.checkpoint"
    state, rows = place / checkpoint.STATE, place / "samples.rows"
    content = bytearray(state.read_bytes())
    assert rows.stat().st_size > 1_000_000
    if damage == "cut":
        state.write_bytes(content[: len(content) // 2])
    elif damage == "changed":
        content[len(content) // 2] ^= 1
        state.write_bytes(content)
    elif damage == "foreign":
        state.write_text("notes")
    else:
        rows.write_bytes(rows.read_bytes()[:1000])
    why = {
        "cut": "the checkpoint is damaged",
        "changed": "the checkpoint is damaged",
        "foreign": "this is no checkpoint of Clearway",
        "rows": "samples.rows: it has 1000 bytes",
    }
    with pytest.raises(clearway.Error, match=f"it.checkpoint: .*{why[damage]}"):
        clearway.run(EVENTFUL, out=tmp_path / "it", checkpoint="1 h")


def test_two_processes_do_not_use_one_checkpoint(tmp_path: Path) -> None:
    with (
        Checkpoints(tmp_path / "it", "a = 1\n", "1 s"),
        pytest.raises(clearway.Error, match=r"it\.checkpoint: another process uses these checkpoints"),
        Checkpoints(tmp_path / "it", "a = 1\n", "1 s"),
    ):
        pass
    with Checkpoints(tmp_path / "it", "a = 1\n", "1 s") as again:
        again.close()
    assert not checkpoint.folder_of(tmp_path / "it").exists()


def test_a_file_of_somebody_else_in_the_folder_stays(tmp_path: Path) -> None:
    place = checkpoint.folder_of(tmp_path / "it")
    place.mkdir()
    (place / "notes.txt").write_text("mine")
    clearway.run(SMALL, out=tmp_path / "it", checkpoint="1 s")
    assert [entry.name for entry in scratch.entries(place)] == ["notes.txt"]


@pytest.mark.parametrize("every", ["10", "10 days", "0 s", "-1 s", "soon", 0, float("nan")])
def test_a_time_between_checkpoints_that_is_none_is_refused(every: str | float, tmp_path: Path) -> None:
    with pytest.raises(clearway.Error, match=r'write a wall time above 0 such as "30 s", "10 min" or "2 h"'):
        clearway.run(SMALL, out=tmp_path / "it", checkpoint=every)
    assert scratch.entries(tmp_path) == []


def test_the_time_between_checkpoints_is_read_with_its_unit() -> None:
    assert [checkpoint.seconds(every) for every in ("30 s", "10min", "1.5 h", 7)] == [30, 600, 5400, 7]


def test_checkpoints_need_a_folder_of_results() -> None:
    with pytest.raises(clearway.Error, match="checkpoint: needs out"):
        clearway.run(SMALL, checkpoint="1 s")


def test_a_command_that_is_killed_goes_on_with_any_number_of_threads(tmp_path: Path, process: Cli) -> None:
    (tmp_path / "eventful.toml").write_text(EVENTFUL)
    began = time.monotonic()
    assert process("run", "eventful.toml", "--out", "whole", "--quiet").returncode == 0
    life_s = time.monotonic() - began
    killed, state = Killed(tmp_path, random.Random(26)), tmp_path / "it.checkpoint" / checkpoint.STATE
    arguments = ["eventful.toml", "--out", "it", "--checkpoint", f"{life_s / 40:.3f} s"]
    # Every change among one, two and four threads, as often as the run lasts.
    for threads in [1, 2, 4, 2, 1, 4, 1]:
        before = state.stat().st_mtime_ns if state.exists() else 0
        changed = lambda before=before: state.exists() and state.stat().st_mtime_ns != before  # noqa: E731
        said = killed.kill(signal.SIGKILL, changed, life_s / 40, *arguments, "--threads", threads)
        assert said is not None, "the run is over before it was killed often enough"
        assert ("Going on from" in said) == (before > 0)
    last = process("run", *arguments, "--threads", "3")
    assert last.returncode == 0, last.stderr
    assert "Going on from" in last.stderr
    assert "begun" not in last.stderr
    assert files(tmp_path / "it") == files(tmp_path / "whole")


@pytest.mark.parametrize("threads", [2, 3])
def test_a_run_of_several_threads_that_is_interrupted_goes_on_with_one(threads: int, tmp_path: Path) -> None:
    whole = clearway.run(EVENTFUL, out=tmp_path / "whole")
    clearway.run(EVENTFUL, out=tmp_path / "it", checkpoint="1 h", threads=threads, progress=lambda _: False)
    assert checkpoint.is_waiting(tmp_path / "it")
    run = clearway.run(EVENTFUL, out=tmp_path / "it", checkpoint="1 h")
    assert (run.hash, run.summary["events"]) == (whole.hash, whole.summary["events"])
    assert run.samples.equals(whole.samples)


def test_the_command_says_that_there_is_a_checkpoint_and_what_fresh_is_for(tmp_path: Path, cli: Cli) -> None:
    (tmp_path / "eventful.toml").write_text(EVENTFUL)
    assert "--fresh: starts a run with --checkpoint over" in cli("run", "eventful.toml", "--fresh").stderr
    interrupted(tmp_path / "it")
    told = cli("run", "eventful.toml", "--out", "it")
    assert "it.checkpoint holds a part of such a run" in told.stderr
    told = cli("run", "eventful.toml", "--out", "it", "--checkpoint", "1 h")
    assert told.returncode == 0
    assert "Going on from" in told.stderr
    assert [entry.name for entry in scratch.entries(tmp_path)] == ["eventful.toml", "it"]
