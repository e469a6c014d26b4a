"""Progress of runs: simulated time, speed and time left, on the terminal, in a notebook or as lines of a log."""

from __future__ import annotations

import importlib
import sys
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from html import escape
from typing import TYPE_CHECKING, Any, Protocol

from clearway import _clearway, units

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

#: Called at most ten times a second; what returns `False` ends the run there, with usable results.
ProgressCallback = Callable[[_clearway.Progress], object]
#: Seconds between two changes of a notebook's bar, which travel to the browser.
REDRAW_S = 0.25
#: Seconds between two lines of a log, so that a run of less than a minute writes none.
LOG_S = 60.0


class Bar(Protocol):
    """A place that shows the progress of one run after the other."""

    def start(self, label: str) -> ProgressCallback | None:
        """Shows a run that starts now; returns the callback that moves it, or None if nothing is shown."""

    def beside(self, labels: Collection[str], count: int) -> Callable[[str], ProgressCallback | None]:
        """Returns what `start` is for runs with these labels of which `count` go on at a time."""


class NoBar:
    """Shows nothing."""

    def start(self, label: str) -> ProgressCallback | None:  # noqa: ARG002 - as in `Bar`
        """Shows nothing."""
        return None

    def beside(self, labels: Collection[str], count: int) -> Callable[[str], ProgressCallback | None]:  # noqa: ARG002
        """Shows nothing."""
        return self.start


class TerminalBar:
    """A line of the terminal for the run that is under way, or one for each where several are."""

    def __init__(self, shown: Progress) -> None:
        self._shown = shown

    def start(self, label: str) -> ProgressCallback | None:
        """A line for a run that starts now in the place of the one before, and the callback that moves it."""
        for old in list(self._shown.task_ids):
            self._shown.remove_task(old)
        return self._line(label)

    def beside(self, labels: Collection[str], count: int) -> Callable[[str], ProgressCallback | None]:
        """A line for each run; they stay until all are done."""
        return self.start if count == 1 or len(labels) == 1 else self._line

    def _line(self, label: str) -> ProgressCallback:
        shown = self._shown
        task = shown.add_task(label, total=None, detail="")
        began = time.perf_counter()

        def update(progress: _clearway.Progress) -> None:
            move(shown, task, progress, time.perf_counter() - began)

        return update


class LogBar:
    """A line every minute where the output is kept, as by a cluster."""

    def start(self, label: str) -> ProgressCallback | None:
        """Begins to tell of a run that starts now."""
        began = last = time.perf_counter()

        def update(progress: _clearway.Progress) -> None:
            nonlocal last
            now = time.perf_counter()
            if now - last >= LOG_S:
                last = now
                print(f"{label}: {', '.join(details(progress, now - began))}", file=sys.stderr, flush=True)

        return update

    def beside(self, labels: Collection[str], count: int) -> Callable[[str], ProgressCallback | None]:  # noqa: ARG002
        """Lines of several runs mix, each with its label."""
        return self.start


class NotebookBar:
    """An HTML element below the cell for the run that is under way."""

    def __init__(self) -> None:
        shown: Any = importlib.import_module("IPython.display")
        self._html: Callable[[str], Any] = shown.HTML
        self._handle: Any = shown.display(shown.HTML(""), display_id=True)
        self._last = 0.0

    def start(self, label: str) -> ProgressCallback | None:
        """Shows a run that starts now, and returns the callback that moves its bar."""
        began = time.perf_counter()

        def update(progress: _clearway.Progress) -> None:
            now = time.perf_counter()
            if now - self._last < REDRAW_S:
                return
            self._last = now
            self.show(label, fraction(progress), ", ".join(details(progress, now - began)))

        return update

    def beside(self, labels: Collection[str], count: int) -> Callable[[str], ProgressCallback | None]:
        """A bar for the first run alone where several go on: the others take about as long."""
        first = next(iter(labels), None)
        return self.start if count == 1 else lambda label: self.start(label) if label == first else None

    def show(self, label: str, done: float, detail: str) -> None:
        """Shows a bar of which a share is done (none if that is 0), between a label and a text."""
        value = f' value="{done:.4f}"' if done else ""
        text = f"<div>{escape(label)} <progress max=1{value}></progress> {escape(detail)}</div>"
        self._handle.update(self._html(text))

    def clear(self) -> None:
        """Removes the bar."""
        self._handle.update(self._html(""))


def move(shown: Progress, task: TaskID, progress: _clearway.Progress, elapsed_s: float) -> None:
    """Moves a line to where its run is."""
    done = fraction(progress)
    detail = ", ".join(details(progress, elapsed_s))
    shown.update(task, total=1.0 if done else None, completed=done, detail=detail)


def details(progress: _clearway.Progress, elapsed_s: float) -> list[str]:
    """The progress of a run in words: simulated time, speed, flows, time left.

    Speeds are means since the start of the run, and the time left is what the rest takes at this speed. It is unknown
    where the scenario has no `stop` and none of its flows is complete, or nobody knows how many there will be.
    """
    done, elapsed_s = fraction(progress), max(elapsed_s, 1e-3)
    flows = f"{progress.flows_completed:,}"
    if progress.flows_expected:
        flows += f"/{progress.flows_expected:,}"
    return [
        f"simulated {units.seconds(progress.now_s)}",
        f"{units.seconds(progress.now_s / elapsed_s)} a second",
        f"{units.digits(progress.link_transmissions / 1e6 / elapsed_s)} M link tx/s",
        f"{flows} flows",
        f"{clock(elapsed_s * (1 - done) / done)} left" if done else "time left unknown",
    ]


def fraction(progress: _clearway.Progress) -> float:
    """The share of the run that is done, by time or by flows, whichever ends it first. Zero if nobody knows."""
    of_time = progress.now_s / progress.stop_s if progress.stop_s else 0.0
    of_flows = progress.flows_completed / progress.flows_expected if progress.flows_expected else 0.0
    return min(max(of_time, of_flows), 1.0)


def clock(left_s: float) -> str:
    """Seconds as minutes and seconds, such as `2:05`, or as hours, such as `3:02:05`."""
    minutes, seconds = divmod(round(left_s), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes}:{seconds:02}"


def in_notebook() -> bool:
    """True in a process that runs the cells of a notebook."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return shell is not None and hasattr(shell, "kernel")


@contextmanager
def progress_bar(*, quiet: bool) -> Iterator[Bar]:
    """A progress bar in a notebook or on the terminal; a line a minute where there is neither."""
    if quiet:
        yield NoBar()
    elif in_notebook():
        shown_below = NotebookBar()
        try:
            yield shown_below
        finally:
            shown_below.clear()
    elif sys.stderr.isatty():
        from rich.console import Console
        from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn

        console = Console(stderr=True, highlight=False)
        columns = (
            SpinnerColumn(),
            TextColumn("{task.description}"),
            BarColumn(bar_width=24),
            TextColumn("{task.fields[detail]}"),
        )
        with Progress(*columns, console=console, transient=True, refresh_per_second=8) as shown:
            yield TerminalBar(shown)
    else:
        yield LogBar()
