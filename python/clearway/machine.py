"""The memory that a run may take, and the room on the disk of its results.

The memory is that of the machine, of the container, or of the process, whichever is least.
"""

from __future__ import annotations

import contextlib
import os
import re
import resource
import shutil
import time
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

from clearway._clearway import ScenarioError

#: The environment variable that sets the memory that a run may take, such as `64 GB`.
VARIABLE = "CLEARWAY_MEMORY"
#: The units of a size of memory.
UNITS = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12, "PB": 10**15, "EB": 10**18}
UNITS |= {"KIB": 2**10, "MIB": 2**20, "GIB": 2**30, "TIB": 2**40}


def memory_limit() -> int | None:
    """The bytes that a run may take: `CLEARWAY_MEMORY` if it is set, else the least of what the machine has, what the
    control groups of this process allow (containers, Slurm, systemd), and what its resource limits leave (`ulimit -v`).
    `None` if nothing of this is known.
    """
    chosen = os.environ.get(VARIABLE)
    if chosen:
        return bytes_of(chosen, VARIABLE)
    return min(limits(), default=None)


def bytes_of(size: int | str, name: str) -> int:
    """A size of memory in bytes; `name` stands for it in messages."""
    if isinstance(size, int):
        return size
    parts = re.fullmatch(r"([0-9]+(?:\.[0-9]*)?) *([A-Za-z]*)", size.strip())
    unit = UNITS.get(parts[2].upper()) if parts else None
    if parts is None or unit is None:
        raise ScenarioError(f'{name} = {size!r}: must be a size such as "64 GB"')
    return min(int(float(parts[1]) * unit), 2**64 - 1)


def most_resident(memory: int | str | None = None) -> int | None:
    """The memory in bytes at which a run that begins now is ended; `None` if nothing is known that limits it.

    What was allowed (`memory`, or `CLEARWAY_MEMORY`) comes to what this process has already. Without that, a run may
    not fill the machine or its control group, where the system would kill it, nor the address space that is left, which
    a list that grows needs twice over for a moment.
    """
    chosen = memory if memory is not None else os.environ.get(VARIABLE)
    if chosen:
        return resident() + bytes_of(chosen, VARIABLE if memory is None else "memory")
    ends = [limit - limit // 10 for limit in shared_now(int(time.monotonic()))] + [
        resident() + left * 9 // 20 for left in own_limits()
    ]
    return min(ends, default=None)


def limits() -> Iterator[int]:
    """All limits of memory that hold for this process, in bytes."""
    yield from shared_limits()
    yield from own_limits()


def shared_limits() -> Iterator[int]:
    """The memory of the machine and of the control groups of this process, in bytes."""
    with contextlib.suppress(ValueError, OSError):
        yield os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    yield from group_limits(Path("/proc/self/cgroup"), Path("/sys/fs/cgroup"))


@lru_cache(maxsize=1)
def shared_now(second: int) -> tuple[int, ...]:  # noqa: ARG001 - the key under which they are kept
    """The limits of `shared_limits`, looked at once a second: to read them takes longer than many a small run."""
    return tuple(shared_limits())


def own_limits() -> Iterator[int]:
    """Memory that the resource limits of this process leave it, in bytes."""
    # Libraries reserve address space that they never use, so that what is taken already counts.
    taken = address_space()
    for which in (resource.RLIMIT_AS, resource.RLIMIT_DATA):
        soft, _ = resource.getrlimit(which)
        if soft != resource.RLIM_INFINITY:
            yield max(soft - taken, 0)


def group_limits(groups: Path, root: Path) -> Iterator[int]:
    """The limits of the control groups of this process and of those above: `memory.max`, or that of version 1."""
    try:
        lines = groups.read_text().splitlines()
    except OSError:
        return
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if controllers not in ("", "memory"):
            continue
        base, file = (root, "memory.max") if not controllers else (root / "memory", "memory.limit_in_bytes")
        place = base / path.lstrip("/")
        for folder in (place, *place.parents):
            if not folder.is_relative_to(base):
                break
            try:
                limit = (folder / file).read_text().strip()
            except OSError:
                continue
            # Version 1 writes a very large number where there is no limit.
            if limit.isdigit() and int(limit) < 2**60:
                yield int(limit)


def address_space() -> int:
    """The address space that this process has taken, in bytes."""
    return pages(0)


def resident() -> int:
    """The memory that this process has, in bytes."""
    return pages(1)


def pages(column: int) -> int:
    """A column of what the system counts of this process, in bytes; 0 where there is no such count."""
    try:
        count = int(Path("/proc/self/statm").read_text().split()[column])
    except (OSError, ValueError):
        return 0
    return count * os.sysconf("SC_PAGE_SIZE")


def taken(process: int | str = "self") -> int | None:
    """The memory that a process has taken for itself, in bytes, without files that it maps; `None` where the system
    does not say it, or if there is no such process.
    """
    try:
        fields = Path(f"/proc/{process}/statm").read_text().split()
        return (int(fields[1]) - int(fields[2])) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return None


def running(looks: int = 9, apart_s: float = 0.003) -> int:
    """The threads of other programs that run or wait for a processor now: the middle of some looks.

    It is 0 where the system does not say. The load average would say what ran a minute ago.
    """
    found = []
    for look in range(looks):
        if look:
            time.sleep(apart_s)
        with contextlib.suppress(OSError, ValueError, IndexError):
            # Who looks runs.
            found.append(int(Path("/proc/loadavg").read_text().split()[3].split("/")[0]) - 1)
    return max(sorted(found)[len(found) // 2], 0) if found else 0


def nearest(path: Path) -> Path:
    """The folder in which a path will be made: the nearest above it that exists."""
    place = path.resolve()
    return next((folder for folder in place.parents if folder.is_dir()), place)


def disk_left(path: Path) -> int:
    """The bytes that are free on the disk on which a path is, or will be."""
    return shutil.disk_usage(nearest(path)).free
