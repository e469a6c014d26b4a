"""Kills while results are written: the old results or the new ones are there, whole, and nothing is in the way.

Two kinds of tests: those that stop a save at every single line of the code that writes folders, and those that kill
commands at random moments. The full test (`--full`) kills a thousand; a few of each kind are in the fast suite.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from conftest import SMALL

import clearway
from clearway import folder, scratch

OTHER = SMALL.replace("senders = 3", "senders = 2")
#: The modules in which a save can be stopped.
WRITERS = {scratch.__file__, folder.__file__}
NOTES = "years of work"


class Stop:
    """A trace function that sends this process a signal at the n-th line of the modules that write folders."""

    def __init__(self, at: int, number: signal.Signals) -> None:
        self.seen, self.at, self.number = 0, at, number

    def __call__(self, frame: FrameType, event: str, _: Any) -> Callable[..., Any] | None:
        if frame.f_code.co_filename not in WRITERS:
            return None
        if event == "line":
            self.seen += 1
            if self.seen == self.at:
                signal.raise_signal(self.number)
        return self


def spawn(work: Callable[[], object]) -> int:
    """Starts some work in a process of its own, which may call nothing that has threads, and returns its number."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # Fork beside threads: the child calls none of them.
        child = os.fork()
    if child == 0:
        try:
            work()
            os._exit(0)
        except BaseException as error:
            print(repr(error), file=sys.stderr)
            os._exit(2)
    return child


def in_child(work: Callable[[], None], at: int, number: signal.Signals) -> int:
    """Does some work in a process of its own that gets a signal at the n-th line; returns 0 if it never came there."""

    def traced() -> None:
        stop = Stop(at, number)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        try:
            sys.settrace(stop)
            work()
            sys.settrace(None)
        except KeyboardInterrupt:
            os._exit(1)
        os._exit(0 if stop.seen < at else 1)

    _, status = os.waitpid(spawn(traced), 0)
    return os.waitstatus_to_exitcode(status)


class Place:
    """A folder `out/run` that is replaced over and over, with what two runs would write into it."""

    def __init__(self, path: Path) -> None:
        self.out, self.target = path / "out", path / "out" / "run"
        self.runs = {}
        self.files: dict[str, dict[str, bytes]] = {}
        for name, scenario in (("old", SMALL), ("new", OTHER)):
            self.runs[name] = clearway.run(scenario, out=path / name)
            self.files[name] = {file.name: file.read_bytes() for file in (path / name).iterdir()}

    def lay(self, *, old: bool) -> None:
        """Makes the folder as it is before: with a run and somebody's notes in it, or missing."""
        shutil.rmtree(self.out, ignore_errors=True)
        if old:
            (self.target / "mine").mkdir(parents=True)
            (self.target / "mine" / "notes.txt").write_text(NOTES)
            (self.target / "top.txt").write_text(NOTES)
            for name, content in self.files["old"].items():
                (self.target / name).write_bytes(content)

    def save(self, which: str = "new", times: int = 1) -> None:
        """Replaces the folder with a run."""
        for _ in range(times):
            with folder.draft(self.target, force=True) as new:
                for name, content in self.files[which].items():
                    (new / name).write_bytes(content)

    def check(self, *, old: bool) -> str:
        """Says which run is in the folder, and fails if anything is amiss."""
        found = folder.find_runs(self.out)
        if not found and not old:
            return "nothing"
        assert found == [self.target]
        run = clearway.load(self.target)
        (which,) = (name for name, one in self.runs.items() if one.hash == run.hash)
        assert run.summary == self.runs[which].summary
        if old:
            assert (self.target / "mine" / "notes.txt").read_text() == NOTES
            assert (self.target / "top.txt").read_text() == NOTES
        folder.check_target(self.target, {"": self.runs[which].scenario})
        return which


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Place:
    return Place(tmp_path_factory.mktemp("place"))


def lines(first: int, step: int) -> Iterator[int]:
    """The numbers of the lines at which a save is stopped."""
    return iter(range(first, 100_000, step))


@pytest.mark.parametrize("step", [pytest.param(1, marks=pytest.mark.full, id="all"), pytest.param(37, id="some")])
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT], ids=["kill", "interrupt"])
@pytest.mark.parametrize("old", [True, False], ids=["replaced", "first"])
@pytest.mark.parametrize("system", ["exchange", "two renames"])
def test_a_save_that_is_stopped_at_any_line_leaves_the_old_or_the_new_run(
    place: Place, system: str, old: bool, number: signal.Signals, step: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    if system == "two renames":
        monkeypatch.setattr(scratch, "exchange", lambda *_: False)
    found = []
    for at in lines(1 + step // 2, step):
        place.lay(old=old)
        code = in_child(place.save, at, number)
        if code == 0:
            break
        assert code == (-signal.SIGKILL if number == signal.SIGKILL else 1)
        found.append(place.check(old=old))
        place.save()
        assert place.check(old=old) == "new"
        assert [entry.name for entry in place.out.iterdir()] == ["run"]
    print(f"stopped at {len(found)} lines: {dict(Counter(found))}")
    assert len(found) > 100 / step
    assert {*found} <= {"old" if old else "nothing", "new"}
    assert step > 1 or len({*found}) == 2


@pytest.mark.parametrize("saves", [15, pytest.param(300, marks=pytest.mark.full)])
@pytest.mark.parametrize("system", ["exchange", "two renames"])
def test_a_reader_beside_several_writers_always_finds_a_whole_run(
    place: Place, system: str, saves: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    if system == "two renames":
        monkeypatch.setattr(scratch, "exchange", lambda *_: False)
    place.lay(old=True)
    writers = [spawn(partial(place.save, which, times=saves)) for which in ("old", "new", "old")]
    reads = 0
    while writers:
        assert clearway.load(place.target).hash in {run.hash for run in place.runs.values()}
        if system == "exchange":  # Otherwise the folder is missing for a moment, and a list may lack it.
            assert folder.find_runs(place.out) == [place.target]
            assert (place.target / "mine" / "notes.txt").read_text() == NOTES
        reads += 1
        for writer in list(writers):
            ended, status = os.waitpid(writer, os.WNOHANG)
            if ended:
                assert status == 0
                writers.remove(writer)
    assert reads > saves / 5
    place.save("new")
    assert [entry.name for entry in place.out.iterdir()] == ["run"]


class Victim:
    """A command that is killed at random moments: evenly over its life, or around the writing of its results."""

    def __init__(self, folder: Path, place: Path, draw: random.Random) -> None:
        self.folder, self.place, self.draw = folder, place, draw
        #: The longest time until a kill, from the start and from the first sign of writing. They follow the machine's
        #: load: a command that ends before its kill shortens them, one that is killed makes them longer.
        self.life_s, self.saving_s = 0.5, 0.02

    def start(self, *arguments: object) -> subprocess.Popen[bytes]:
        """Starts a command, with its workers in a group of processes of its own."""
        command = [sys.executable, "-m", "clearway", *map(str, arguments)]
        process = subprocess.Popen(
            command, cwd=self.folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, start_new_session=True
        )
        self.group = process.pid
        return process

    def run(self, *arguments: object) -> None:
        """Lets a command end by itself, and notes how long it lived and how long it wrote."""
        began = time.monotonic()
        process = self.start(*arguments)
        wrote = [time.monotonic() for _ in self.until_written(process)]
        _, errors = process.communicate(timeout=120)
        assert process.returncode == 0, errors.decode()
        self.life_s = time.monotonic() - began
        self.saving_s = wrote[-1] - wrote[0] if wrote else 0.0

    def until_written(self, process: subprocess.Popen[bytes]) -> Iterator[None]:
        """Looks again and again while results are being written, from the first moment to the last."""
        seen = False
        while process.poll() is None:
            if scratch.leftovers(self.place.parent):
                seen = True
                yield
            elif seen:
                return
            time.sleep(0.0003)

    def has_no_workers(self) -> bool:
        """True if no process is left, soon, of the group of the last one that was started."""
        until = time.monotonic() + 20
        while time.monotonic() < until:
            try:
                os.killpg(self.group, 0)
            except ProcessLookupError:
                return True
            time.sleep(0.01)
        return False

    def kill(self, number: signal.Signals, *arguments: object, saving: bool) -> int:
        """Starts a command and ends it at a random moment; returns its exit code."""
        process = self.start(*arguments)
        if saving:
            next(self.until_written(process), None)
            time.sleep(self.draw.uniform(0, self.saving_s))
        else:
            time.sleep(self.draw.uniform(0, self.life_s))
        process.send_signal(number)
        _, errors = process.communicate(timeout=120)
        if saving:
            self.saving_s *= 1.03 if process.returncode else 0.9
        else:
            self.life_s *= 1.03 if process.returncode else 0.9
        if process.returncode > 0:
            assert process.returncode == 130 or b"KeyboardInterrupt" in errors, errors.decode()
        return process.returncode


def write_scenarios(path: Path) -> dict[str, Path]:
    """Two scenarios of one name, which therefore differ in the results that they write into one folder."""
    found = {}
    for name, text in (("one", SMALL), ("two", OTHER)):
        found[name] = path / f"{name}.toml"
        found[name].write_text(text)
    return found


#: Command -> kills of it, in the fast suite and in the full one.
KILLS = {"run": (8, 500), "compare": (6, 300)}
#: The states of a process that was stopped: its exit codes.
ENDS = {
    0: "ended before",
    -signal.SIGKILL: "killed",
    130: "interrupted",
    1: "interrupted while Python started",
    -signal.SIGINT: "interrupted while Python started",
}


@pytest.mark.parametrize("size", [0, pytest.param(1, marks=pytest.mark.full)], ids=["few", "many"])
@pytest.mark.parametrize("command", ["run", pytest.param("compare", marks=pytest.mark.slow)])
def test_a_command_that_is_killed_leaves_the_old_or_the_new_results(command: str, size: int, tmp_path: Path) -> None:
    transports = ["cubic", "dctcp"] if command == "compare" else [""]
    options = ["--transports", ",".join(transports)] if command == "compare" else []
    place = tmp_path / "out" / "it"
    victim = Victim(tmp_path, place, random.Random(10))
    whole = {}
    for name, scenario in write_scenarios(tmp_path).items():
        for _ in range(2):
            victim.run(command, scenario, "--out", place, "--quiet", "--force", *options)
        whole[name] = [clearway.load(place / transport) for transport in transports]
    found, ends = Counter[str](), Counter[str]()
    there = "two"
    while ends.total() - ends[ENDS[0]] < KILLS[command][size]:
        wanted = "two" if there == "one" else "one"
        arguments = [command, f"{wanted}.toml", "--out", place, "--quiet", "--force", *options]
        way = signal.SIGINT if ends.total() % 3 == 0 else signal.SIGKILL
        code = victim.kill(way, *arguments, saving=ends.total() % 2 == 0)
        ends[ENDS[code]] += 1
        assert folder.find_runs(tmp_path) == [place / transport if transport else place for transport in transports]
        runs = [clearway.load(place / transport) for transport in transports]
        (there,) = (
            name for name, of in whole.items() if [one.scenario for one in of] == [one.scenario for one in runs]
        )
        assert all(
            run.interrupted or (run.hash == one.hash and run.flows.equals(one.flows) and run.ports.equals(one.ports))
            for run, one in zip(runs, whole[there], strict=True)
        )
        folder.check_target(place, {name: run.scenario for name, run in zip(transports, runs, strict=True)})
        found["new" if there == wanted else "old"] += 1
    print(f"{command}: {dict(ends)}, then {dict(found)}; life {victim.life_s:.2f} s, saving {victim.saving_s:.2f} s")
    assert {*found} == {"old", "new"}
    victim.run(command, f"{there}.toml", "--out", place, "--quiet", *options)
    assert [entry.name for entry in place.parent.iterdir()] == ["it"]


SWEEP = """
scenario = "one.toml"

[axes]
transport = ["dctcp", "cubic"]
seed = { from = 1, to = 4 }
"""
#: Commands that keep results and go on from there.
KEEPING = {
    "reproduce": ["reproduce", "pac/sec3d", "--out", "out/it", "--jobs", "2"],
    "sweep": ["sweep", "sweep.toml", "--out", "out/it", "--processes", "2"],
}


@pytest.mark.parametrize(
    ("command", "kills"),
    [
        pytest.param("sweep", 2, marks=pytest.mark.slow),
        *(pytest.param(command, 100, marks=pytest.mark.full) for command in KEEPING),
    ],
)
def test_a_command_that_keeps_results_goes_on_after_every_kill(command: str, kills: int, tmp_path: Path) -> None:
    arguments = KEEPING[command]
    out = tmp_path / "out"
    write_scenarios(tmp_path)
    (tmp_path / "sweep.toml").write_text(SWEEP)
    victim = Victim(tmp_path, out / "it", random.Random(10))
    wanted, ends = set[str](), Counter[str]()
    while ends.total() - ends[ENDS[0]] < kills:
        if not wanted:
            victim.run(*arguments)
            wanted.add(answer(tmp_path, arguments))
            shutil.rmtree(out)
        way = signal.SIGINT if ends.total() % 3 == 0 else signal.SIGKILL
        code = victim.kill(way, *arguments, saving=False)
        ends[ENDS[code]] += 1
        assert victim.has_no_workers()
        for run in folder.find_runs(out) if out.exists() else []:
            clearway.load(run)
        if code == 0:
            wanted.add(answer(tmp_path, arguments))
            shutil.rmtree(out)
    print(f"{command}: {dict(ends)}; life {victim.life_s:.2f} s")
    victim.run(*arguments)
    wanted.add(answer(tmp_path, arguments))
    assert len(wanted) == 1


def answer(folder: Path, arguments: list[str]) -> str:
    """All that a command found, without what it cost."""
    command = [sys.executable, "-m", "clearway", *arguments, "--json"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120, check=True)
    found = json.loads(done.stdout)
    (found[0] if isinstance(found, list) else found).pop("cpu_s", None)
    return json.dumps(found)


@pytest.mark.parametrize("times", [3, pytest.param(75, marks=pytest.mark.full)])
def test_processes_that_save_into_one_folder_leave_one_whole_run(times: int, tmp_path: Path) -> None:
    place = tmp_path / "out" / "it"
    victim = Victim(tmp_path, place, random.Random(0))
    hashes = [clearway.run(scenario).hash for scenario in write_scenarios(tmp_path).values()]
    for _ in range(times):
        both = [victim.start("run", f"{name}.toml", "--out", place, "--quiet", "--force") for name in ("one", "two")]
        for process in both:
            _, errors = process.communicate(timeout=120)
            assert process.returncode == 0, errors.decode()
        assert clearway.load(place).hash in hashes
        assert [entry.name for entry in place.parent.iterdir()] == ["it"]
