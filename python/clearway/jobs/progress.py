"""The progress of many tasks: done, failed, and time left; on the terminal and in notebooks."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from clearway.bars import NotebookBar, in_notebook
from clearway.jobs.workers import Done, Task


@dataclass
class Tally:
    """Counts of tasks, and the time that those to come will take."""

    #: Tasks in all, those with a result from before among them.
    total: int
    #: Tasks that had a result before.
    kept: int = 0
    done: int = 0
    failed: int = 0
    #: Weights of the tasks that were done now, and of those to come.
    weight_done: float = 0.0
    weight_left: float = 0.0
    began: float = field(default_factory=time.perf_counter)
    #: Name of the last task that was done.
    last: str = ""

    def start(self, tasks: list[Task]) -> None:
        """Counts the tasks that are to be done now, from now on."""
        self.kept = self.total - len(tasks)
        self.weight_left = sum(task.weight for task in tasks)
        self.began = time.perf_counter()

    def count(self, done: Done) -> None:
        """Counts a task that was done."""
        self.done += 1
        self.failed += done.failure is not None
        self.weight_done += done.task.weight
        self.weight_left -= done.task.weight
        self.last = done.task.name

    @property
    def left_s(self) -> float | None:
        """Seconds until all is done, by the rate so far; None before the first task was done."""
        if not self.weight_done:
            return None
        return (time.perf_counter() - self.began) * max(self.weight_left, 0.0) / self.weight_done

    def __str__(self) -> str:
        parts = [f"{self.kept + self.done:,}/{self.total:,}"]
        if self.kept:
            parts.append(f"{self.kept:,} kept from before")
        if self.failed:
            parts.append(f"{self.failed:,} failed")
        if self.done and (left := self.left_s) is not None:
            parts.append(f"{clock(left)} left")
        return ", ".join(parts)


#: Hears of the counts whenever they change.
Progress = Callable[[Tally], object]


def clock(seconds: float) -> str:
    """Seconds as `2:05`, or as `1:02:05` from an hour on."""
    minutes, left = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{left:02}" if hours else f"{minutes}:{left:02}"


@contextmanager
def bar(label: str, *, quiet: bool = False) -> Iterator[Progress]:
    """A bar on the terminal or in a notebook; nothing where there is neither."""
    if not quiet and in_notebook():
        below = NotebookBar()
        try:
            yield lambda tally: below.show(label, (tally.kept + tally.done) / max(1, tally.total), str(tally))
        finally:
            below.clear()
        return
    if quiet or not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console
    from rich.markup import escape
    from rich.progress import BarColumn, SpinnerColumn, TextColumn
    from rich.progress import Progress as Shown

    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(bar_width=24),
        TextColumn("{task.fields[counts]}"),
        TextColumn("[dim]{task.fields[last]}[/]"),
    )
    console = Console(stderr=True, highlight=False)
    with Shown(*columns, console=console, transient=True, refresh_per_second=4) as shown:
        line = shown.add_task(escape(label), total=None, counts="", last="")

        def update(tally: Tally) -> None:
            shown.update(
                line,
                total=tally.total,
                completed=tally.kept + tally.done,
                counts=str(tally),
                last=escape(tally.last[:40]),
            )

        yield update
