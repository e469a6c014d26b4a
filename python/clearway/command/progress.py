"""The progress bar: simulated time, speed and time left."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from rich.progress import BarColumn, Progress, SpinnerColumn, TaskID, TextColumn

from clearway import _clearway, units
from clearway.command.printer import Printer
from clearway.runner import ProgressCallback


class Bar:
    """A line for each run."""

    def __init__(self, shown: Progress | None) -> None:
        self._shown = shown

    def start(self, label: str) -> ProgressCallback | None:
        """A line for a run that starts now, and the callback that moves it."""
        if self._shown is None:
            return None
        shown = self._shown
        for old in list(shown.task_ids):
            shown.remove_task(old)
        task = shown.add_task(label, total=None, detail="")
        began = time.perf_counter()

        def update(progress: _clearway.Progress) -> None:
            move(shown, task, progress, time.perf_counter() - began)

        return update


def move(shown: Progress, task: TaskID, progress: _clearway.Progress, elapsed_s: float) -> None:
    """Moves a line to where its run is."""
    done = fraction(progress)
    parts = [
        f"simulated {units.seconds(progress.now_s)}",
        f"{units.digits(progress.link_transmissions / 1e6 / max(elapsed_s, 1e-3))} M link tx/s",
    ]
    if progress.flows_expected:
        parts.append(f"{progress.flows_completed:,}/{progress.flows_expected:,} flows")
    if done:
        parts.append(f"{clock(elapsed_s * (1 - done) / done)} left")
    shown.update(task, total=1.0 if done else None, completed=done, detail=", ".join(parts))


def fraction(progress: _clearway.Progress) -> float:
    """The share of the run that is done, by time or by flows, whichever ends it first. Zero if nobody knows."""
    of_time = progress.now_s / progress.stop_s if progress.stop_s else 0.0
    of_flows = progress.flows_completed / progress.flows_expected if progress.flows_expected else 0.0
    return min(max(of_time, of_flows), 1.0)


def clock(left_s: float) -> str:
    """Seconds as minutes and seconds, such as `2:05`."""
    minutes, left = divmod(round(left_s), 60)
    return f"{minutes}:{left:02}"


@contextmanager
def progress_bar(*, quiet: bool) -> Iterator[Bar]:
    """A progress bar on the terminal; nothing where there is none."""
    if quiet or not sys.stderr.isatty():
        yield Bar(None)
        return
    console = Printer(stderr=True, quiet=False)
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=24),
        TextColumn("{task.fields[detail]}", markup=False),
    )
    with Progress(*columns, console=console, transient=True, refresh_per_second=8) as shown:
        yield Bar(shown)
