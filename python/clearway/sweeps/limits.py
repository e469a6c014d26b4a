"""Limits of a point in time and memory, so that one that runs away costs neither the machine nor the other points."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from clearway import checkpoint, machine
from clearway._clearway import Error
from clearway.jobs.workers import Limits
from clearway.sweeps.points import Point


@dataclass(frozen=True)
class PointLimits:
    """The limits of every point, as they were asked for."""

    #: Seconds that a point may take; None for no limit.
    wall_s: float | None = None
    #: Bytes that a point may take; None for its share of the machine.
    memory_bytes: int | None = None

    @classmethod
    def of(cls, timeout: str | float | None, memory: str | int | None, on: str | None = None) -> PointLimits:
        """The limits as options have them; a cluster has its own."""
        if on is not None and (timeout is not None or memory is not None):
            which = "--point-timeout" if timeout is not None else "--point-memory"
            raise Error(
                f"{which}: a cluster has limits of its own, as docs/how-to/sweeps.md says; leave it out with --on"
            )
        size = None if memory is None else machine.bytes_of(memory, "--point-memory")
        if size is not None and size < 1:
            raise Error(f'--point-memory = {memory!r}: write a size above 0 such as "4 GB"')
        return cls(None if timeout is None else checkpoint.seconds(timeout, "--point-timeout"), size)


def limits(asked: PointLimits, points: Sequence[Point], processes: int, memory: int | None) -> list[Limits]:
    """The limits of each point, of which `processes` are run at a time in `memory` bytes.

    By default a point may take what it is estimated to take and an equal share of what the largest points leave, so
    that all that run together stay within the memory of the machine, whichever they are.
    """
    largest = sorted((point.memory_bytes for point in points), reverse=True)[:processes]
    found = []
    for point in points:
        size = asked.memory_bytes
        if size is None and memory is not None:
            size = point.memory_bytes + max(0, memory - sum(largest)) // max(1, len(largest))
        found.append(Limits(asked.wall_s, size))
    return found
