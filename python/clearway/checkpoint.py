"""Checkpoints of a run: a folder beside its results from which the same run goes on after its process was killed.

The folder `out/incast.checkpoint` of the results `out/incast` holds:

| entry | what it is |
|---|---|
| `lock` | its process holds a lock (`flock`) on this file |
| `scenario.toml` | the scenario of the run, every default filled in |
| `state` | the last checkpoint that is complete |
| `state.new` | the next one, incomplete |
| `flows.rows`, `samples.rows` | rows of the results that left memory before the last checkpoint, and after it |
| `cost.json` | the seconds that the run had taken at the last checkpoint |

The folder goes when the results of the finished run are in their place.
"""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import TracebackType

from clearway import folder, scratch
from clearway._clearway import Error
from clearway.cost import Meter

#: The name of a checkpoint's folder is that of the results with this behind it.
SUFFIX = ".checkpoint"
STATE, COST = "state", "cost.json"
#: The files of the folder but for its lock.
FILES = (STATE, "state.new", "flows.rows", "samples.rows", COST, f"{COST}.new", folder.SCENARIO)
#: Units of the wall time between two checkpoints, in seconds.
UNITS = {"s": 1.0, "min": 60.0, "h": 3600.0}


class Checkpoints:
    """The checkpoints of one run, whose folder no other process may use meanwhile. The simulator writes `state`.

    `every` is the wall time between two of them, in seconds or as `"10 min"`. A run whose checkpoint is in the folder
    goes on from it, with any number of threads, and `tell` is called with the simulated time, in seconds, at which it
    does. With `fresh`, the run starts over. `close` removes the folder, which stays where that is not called.
    """

    def __init__(
        self,
        out: str | Path,
        scenario: str,
        every: str | float,
        *,
        fresh: bool = False,
        tell: Callable[[float], object] | None = None,
    ) -> None:
        self.every_s = seconds(every)
        self.place = folder_of(Path(out))
        self._scenario, self._fresh, self._tell = scenario, fresh, tell
        self._meter: Meter | None = None

    @property
    def folder(self) -> str:
        """The folder, for the simulator."""
        return str(self.place)

    def __enter__(self) -> Checkpoints:
        """Makes the folder or takes the one that is there, unless it is of another run or another process uses it."""
        try:
            self.place.mkdir(parents=True, exist_ok=True)
            self._lock = os.open(self.place / scratch.LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        except OSError as error:
            raise Error(f"{self.place}: can't keep checkpoints here: {error.strerror or error}") from None
        try:
            if not scratch.take(self._lock, without_locks=True):
                raise Error(f"{self.place}: another process uses these checkpoints; wait until it is done")
            self._open()
        except BaseException:
            os.close(self._lock)
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, _: BaseException | None, __: TracebackType | None) -> None:
        """Lets other processes use the folder."""
        os.close(self._lock)

    def _open(self) -> None:
        """Sees to it that what is in the folder is of this run, or empties it."""
        if (self.place / STATE).exists() and not self._fresh:
            if differs := folder.difference(self.place, self._scenario):
                raise Error(
                    f"{self.place}: holds another run ({differs}); start over with --fresh, or name another --out"
                )
            return
        self._empty()
        (self.place / folder.SCENARIO).write_text(self._scenario, "utf-8")

    def _empty(self) -> None:
        for name in FILES:
            (self.place / name).unlink(missing_ok=True)

    def measure(self, meter: Meter) -> None:
        """Adds what the run had taken before its last checkpoint to what a meter measures."""
        self._meter = meter
        with suppress(OSError, ValueError, TypeError, LookupError):
            spent = json.loads((self.place / COST).read_text("utf-8"))
            meter.add(wall_s=float(spent["wall_s"]), cpu_s=float(spent["cpu_s"]))

    def resumed(self, simulated_s: float) -> None:
        """Called by the simulator before a run goes on."""
        if self._tell is not None:
            self._tell(simulated_s)

    def saved(self) -> None:
        """Called by the simulator after each checkpoint."""
        if self._meter is not None:
            draft = self.place / f"{COST}.new"
            draft.write_text(json.dumps(self._meter.spent()), "utf-8")
            draft.replace(self.place / COST)

    def close(self) -> None:
        """Removes the folder, once the results of the finished run are in their place."""
        with suppress(OSError):  # What stays is in nobody's way: the next run goes on from it to the same results.
            self._empty()
            (self.place / scratch.LOCK).unlink()
            self.place.rmdir()


def folder_of(out: Path) -> Path:
    """The folder of the checkpoints of a run with these results."""
    place = out.resolve()
    return place.with_name(place.name + SUFFIX)


def is_waiting(out: str | Path) -> bool:
    """True if there is a checkpoint from which a run with these results could go on."""
    return (folder_of(Path(out)) / STATE).exists()


def seconds(every: str | float, name: str = "checkpoint") -> float:
    """A wall time in seconds, such as that between two checkpoints; `name` stands for it in messages."""
    if isinstance(every, str):
        found = re.fullmatch(r"\s*([0-9]+(?:\.[0-9]*)?)\s*([a-z]+)\s*", every)
        value = float(found[1]) * UNITS.get(found[2], math.nan) if found else math.nan
    else:
        value = float(every)
    if not 0 < value < math.inf:
        raise Error(f'{name} = {every!r}: write a wall time above 0 such as "30 s", "10 min" or "2 h"')
    return value
