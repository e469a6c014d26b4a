"""Tasks and workers: one protocol for this process, for processes of this machine, and for clusters."""

from __future__ import annotations

import os
import time
import traceback
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from clearway._clearway import Error


@dataclass(frozen=True)
class Limits:
    """Bounds of a task. A worker process that exceeds one is ended, and the task counts as failed."""

    #: Seconds from its start to its end.
    wall_s: float | None = None
    #: Bytes of memory, besides those that a worker takes without a task.
    memory_bytes: int | None = None

    def __bool__(self) -> bool:
        """True if there is any bound."""
        return self != Limits()


@dataclass(frozen=True)
class Task:
    """A call of a function, which another process may make: the function is found there by module and name."""

    #: Name of the task, unique among those that are done together.
    name: str
    function: Callable[..., Any]
    arguments: tuple[Any, ...] = ()
    #: Estimate of its CPU time in any unit; large tasks are done first, so that no core idles at the end.
    weight: float = 1.0
    #: Bounds that worker processes of this machine keep.
    limits: Limits = field(default_factory=Limits)

    def __call__(self) -> Any:
        """Does the task in this process."""
        return self.function(*self.arguments)


@dataclass(frozen=True)
class Failure:
    """The reason why a task has no result."""

    #: One line for people.
    message: str
    #: The place where it was raised, for errors that nobody foresaw; else empty.
    where: str = field(default="", compare=False)


@dataclass(frozen=True)
class Done:
    """A task that was done, with its result or its failure."""

    task: Task
    result: Any = None
    failure: Failure | None = None
    #: Seconds from its start to its end.
    wall_s: float = 0.0


class Workers(Protocol):
    """Workers do tasks: an interface that this process, processes of this machine and clusters have."""

    #: True if they see the files of this process, so that they can keep results in its store themselves.
    share_files: bool

    @property
    def count(self) -> int:
        """Number of tasks that they do at a time."""
        ...

    def run(self, tasks: Sequence[Task]) -> Generator[Done]:
        """Does the tasks and yields each as soon as it is done. Closing the iterator cancels those that are left."""
        ...

    def close(self) -> None:
        """Ends the workers; what they are doing is lost."""
        ...


class InProcess:
    """The calling process as the one worker: it does the tasks one after the other."""

    count = 1
    share_files = True

    def run(self, tasks: Sequence[Task]) -> Generator[Done]:
        """Does the tasks in their order: nobody else could idle at the end."""
        for task in tasks:
            yield perform(task)

    def close(self) -> None:
        """Nothing is to be ended."""


def perform(task: Task) -> Done:
    """Does a task in this process; an error becomes the failure of the task."""
    began = time.perf_counter()
    try:
        result, failure = task(), None
    except MemoryError:
        result, failure = None, Failure("out of memory")
    except Exception as error:
        result, failure = None, failure_of(error)
    return Done(task, result, failure, time.perf_counter() - began)


def failure_of(error: Exception) -> Failure:
    """An exception in one line; with the place where it was raised, unless it is one of ours, which says enough."""
    if isinstance(error, Error):
        return Failure(" ".join(str(error).split()))
    where = "".join(traceback.format_exception(error))
    return Failure(f"{type(error).__name__}: {' '.join(str(error).split())}", where)


def largest_first(tasks: Sequence[Task]) -> list[Task]:
    """The tasks by falling weight, those of equal weight in their order."""
    return sorted(tasks, key=lambda task: -task.weight)


def cores() -> int:
    """Processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
