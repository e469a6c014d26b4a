"""Kills while results are written: the old results or the new ones are there, whole, and nothing is in the way.

Two kinds of tests: those that stop a save at every single line of the code that writes folders, and those that kill
commands at random moments. The full test (`--full`) kills a thousand; a few of each kind are in the fast suite.
"""

from __future__ import annotations

import os
import shutil
import signal
import sys
import warnings
from collections.abc import Callable, Iterator
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


def in_child(work: Callable[[], None], at: int, number: signal.Signals) -> int:
    """Does some work in a process of its own that gets a signal at the n-th line; returns 0 if it never came there."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # Fork beside threads: the child calls none of them.
        child = os.fork()
    if child == 0:
        stop = Stop(at, number)
        try:
            signal.signal(signal.SIGINT, signal.default_int_handler)
            sys.settrace(stop)
            work()
            sys.settrace(None)
            os._exit(0 if stop.seen < at else 1)
        except KeyboardInterrupt:
            os._exit(1)
        except BaseException as error:
            print(f"line {at}: {error!r}", file=sys.stderr)
            os._exit(2)
    _, status = os.waitpid(child, 0)
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

    def save(self) -> None:
        """Replaces the folder with the new run."""
        with folder.draft(self.target, force=True) as new:
            for name, content in self.files["new"].items():
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
    assert len(found) > 100 / step
    assert {*found} == {"old" if old else "nothing", "new"}
