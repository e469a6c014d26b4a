"""The packs of a sweep: results of small points are collected, and committed to one file in groups.

A group is committed a second after its first result at the latest, so that a sweep that is killed loses no more than
that second. Until then its results are in memory alone.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from clearway import packs
from clearway._clearway import Error
from clearway.jobs import files
from clearway.packs import PACKS, Packed
from clearway.result import Run
from clearway.scratch import uninterrupted
from clearway.sweeps import frame

#: Fewest points of a sweep whose small results go into packs; those of fewer points have a folder each.
POINTS = 200
#: Most CPU seconds, by estimate, of a point that goes into a pack.
CPU_S = 0.1
#: Seconds after its first result at which a group is committed, and the most results of one.
COMMIT_S, GROUP = 1.0, 1000


class Row(NamedTuple):
    """The result of a point in a pack."""

    pack: Path
    #: As JSON the assumptions, what else the frame says of it, and what it cost.
    assumptions: str
    measured: str
    costs: str


def rows(places: Iterable[Path], wanted: Sequence[str]) -> dict[str, Row]:
    """The results of these keys in the packs of some folders, the first folder first; damaged packs are removed."""
    left, found, seen = {*wanted}, dict[str, Row](), set[str]()
    for pack in (pack for place in places for pack in packs.packs_in(place)):
        if not left:
            break
        if pack.name in seen:
            continue
        try:
            table = packs.read(pack, ["key", "assumptions", "measured", "costs"])
        except ValueError:
            with suppress(OSError):
                pack.unlink()
            continue
        except OSError:  # Another command has removed it.
            continue
        seen.add(pack.name)
        for key, *texts in table.iter_rows():
            if key in left:
                left.remove(key)
                found[key] = Row(pack, *texts)
    return found


def numbers(row: Row | Packed) -> tuple[dict[str, Any], dict[str, Any]]:
    """The numbers of the frame of a point, and its costs."""
    measured = json.loads(row.measured)
    measured["measures"][frame.OF_PARQUET] = row.assumptions
    return measured, json.loads(row.costs)


def row_of(run: Run, key: str) -> Packed | None:
    """The result of a run as a row of a pack; None for one that is not small."""
    measured = frame.measure(run)
    assumptions = measured["measures"].pop(frame.OF_PARQUET)
    return packs.packed(run, key, assumptions, measured)


class Packing:
    """Results that go into packs of a store, of which a sweep's folder has links."""

    def __init__(self, store: Path, out: Path) -> None:
        self.store, self.out = store / PACKS, out / PACKS
        #: Key of a result that could not be written -> the reason.
        self.lost: dict[str, str] = {}
        self._group: list[Packed] = []
        self._linked: set[str] = set()
        self._lock = threading.RLock()
        self._timer: threading.Timer | None = None

    def clean(self) -> None:
        """Removes what processes that were killed left unfinished."""
        for place in (self.store, self.out):
            files.clean(place)

    def add(self, result: Packed) -> None:
        """Takes a result, which is on disk a second later at the latest."""
        with self._lock:
            self._group.append(result)
            if len(self._group) >= GROUP:
                self.commit()
            elif self._timer is None:
                self._timer = threading.Timer(COMMIT_S, self.commit)
                self._timer.daemon = True
                self._timer.start()

    def commit(self) -> None:
        """Writes the results that were taken since the last time."""
        with uninterrupted(), self._lock:
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None
            group, self._group = self._group, []
            if not group:
                return
            content = packs.content(group)
            pack = self.store / packs.name_of(content)
            try:
                files.replace(pack, content, durable=True)
                self.link(pack)
            except Error as error:
                self.lost |= dict.fromkeys((one.key for one in group), str(error))

    def link(self, pack: Path) -> None:
        """Has the sweep's folder hold a pack too, which costs no space where files can be linked."""
        with self._lock:
            if pack.name in self._linked:
                return
            place = self.out / pack.name
            try:
                if not (place.exists() and place.samefile(pack)):
                    files.link(pack, place)
            except OSError as error:
                raise Error(f"{place}: can't be written: {error.strerror}") from None
            self._linked.add(pack.name)
