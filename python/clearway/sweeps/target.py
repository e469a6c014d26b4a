"""The folder that a sweep is to be written to: another sweep, and what is no sweep, stay there unless forced."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from clearway import folder, packs
from clearway.folder import Taken
from clearway.sweeps import packing, record
from clearway.sweeps.points import Point
from clearway.sweeps.record import RECORD, RUNS, Record

#: The remedy for a folder that holds something else, which ends a message.
ELSE = "name another folder with --out, or use --force"


def check(path: Path, points: Sequence[Point], names: Sequence[str], *, force: bool) -> None:
    """Refuses a folder whose results the sweep of these points would replace by others.

    The results of a folder are the runs of the points in its record. A sweep that has all of these points, and maybe
    more, goes on from them. `names` are the names of the folders of the points.
    """
    if not (path / RECORD).exists() and not record.is_sweep(path):
        folder.check_target(path, force=force)
        return
    if force:
        return
    try:
        kept = record.read(path)
    except ValueError as error:
        raise Taken(f"{path}: can't tell which sweep this folder holds: {error}; {ELSE}") from None
    if differs := difference(path, kept, points, names):
        raise Taken(f"{path}: holds another sweep ({differs}); {ELSE}")


def difference(path: Path, kept: Record, points: Sequence[Point], names: Sequence[str]) -> str:
    """The points with results in a folder that a sweep has not, and what is different in the first; empty if none."""
    ours = {point.identity for point in points}
    others = [one for one in kept.points if one.scenario not in ours]
    packed = packing.rows([path / packs.PACKS], [one.key for one in others])
    lost = [one.folder for one in others if one.key in packed or (path / RUNS / one.folder).is_dir()]
    if not lost:
        return ""
    by_name = dict(zip(names, points, strict=True))
    first = next((name for name in lost if name in by_name), lost[0])
    if first in by_name:
        key = next(one.key for one in others if one.folder == first)
        there = packs.scenario_of(packed[key].pack, key) if key in packed else path / RUNS / first
        told = f"at the point {first}: {folder.difference(there, by_name[first].resolved)}"
    else:
        told = f"the point {first} is not in this sweep"
    more = f"; in all {len(lost):,} of the points there differ or are left out" if len(lost) > 1 else ""
    return told + more
