"""Warnings on the scenarios of runs: signals that can't occur, and transports outside of what they are made for.

The simulator makes them from the scenario alone, before a run, and each run keeps those of its own. They stand above
tables and pictures, since they have to be known before a number is read.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from clearway._clearway import _Warning


class Run(Protocol):
    """A `clearway.Run`, of which the summary is read."""

    @property
    def summary(self) -> Mapping[str, Any]:
        """The setting of the run and how it ended."""


def of_run(run: Run) -> Sequence[_Warning]:
    """The warnings that a run keeps; none for a run of a Clearway that had none."""
    found: Sequence[_Warning] = run.summary.get("warnings", ())
    return found


def warning_line(warning: _Warning) -> str:
    """A warning as a whole sentence."""
    return f"{warning['transport']}: {warning['text']}."


def scenario_warnings(runs: Mapping[str, Run]) -> list[str]:
    """The warnings on the scenarios of some runs, each once; named by the run, unless that names the transport."""
    found: dict[str, None] = {}
    for name, run in runs.items():
        for warning in of_run(run):
            line = warning_line(warning)
            found[line if len(runs) == 1 or warning["transport"] in name else f"{name}: {line}"] = None
    return list(found)


def cell(run: Run) -> str:
    """The warnings of a run in a cell of a table, a line each: `dctcp [marks]: ...`. `of_cell` reads it."""
    return "\n".join(f"{one['transport']} [{one['kind']}]: {one['text']}" for one in of_run(run))


def of_cell(text: str | None) -> list[_Warning]:
    """The warnings in a cell of a table."""
    found = re.finditer(r"^(\S+) \[(\S+)\]: (.*)$", text or "", flags=re.MULTILINE)
    return [{"transport": one[1], "kind": one[2], "text": one[3]} for one in found]


def swept_warnings(points: Iterable[tuple[str, Iterable[_Warning]]]) -> list[str]:
    """One warning for each transport and kind on the points of a sweep, with how many have it and the first of them."""
    places: dict[tuple[str, str], list[tuple[str, _Warning]]] = {}
    total = 0
    for name, warnings in points:
        total += 1
        for warning in warnings:
            places.setdefault((warning["transport"], warning["kind"]), []).append((name, warning))
    return [
        f"{warning_line(found[0][1])} So it is, with other numbers, at {len(found):,} of {total:,} points; this is the "
        f"first, {found[0][0]}."
        for found in places.values()
    ]
