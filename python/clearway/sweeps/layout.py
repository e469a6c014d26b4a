"""The layout of a sweep in pictures and tables: which axis is drawn along x, which as lines, which as panels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from clearway import units
from clearway._clearway import Error
from clearway.sweeps.amounts import ENDINGS
from clearway.sweeps.bands import interval
from clearway.sweeps.result import Sweep

#: Measures of the table of a sweep: column, words, and how a number is written.
SHOWN = {
    "flows_completed": "flows",
    "fct_mean_s": "mean FCT",
    "fct_p99_s": "p99 FCT",
    "goodput_bps": "goodput",
    "queue_max_bytes": "max queue",
    "drops": "drops",
}


@dataclass(frozen=True)
class Layout:
    """The columns of a frame that are drawn along x and as lines, and those of which each value has its own panels."""

    #: The numeric axis along x; None if there is none.
    x: str | None
    #: The axis whose values are lines of their own; None if there is none.
    lines: str | None
    #: Other axes that vary, repetitions apart.
    panels: tuple[str, ...]


#: A point of a line: x, mean, and the ends of its confidence interval.
Band = tuple[float, float, float, float]


def layout(sweep: Sweep, x: str | None = None, lines: str | None = None) -> Layout:
    """Chooses the axes: along x the number with the most values, as lines the transport or the first other axis."""
    varied = [name for name in sweep.by() if sweep.frame[name].n_unique() > 1]
    for name in (x, lines):
        if name is not None and name not in sweep.axes.values():
            raise Error(f"{name} is no axis of this sweep (axes: {', '.join(sweep.axes.values())})")
    numbers = [name for name in varied if sweep.frame[name].dtype.is_numeric() and name != lines]
    x = x or max(numbers, key=lambda name: sweep.frame[name].n_unique(), default=None)
    rest = [name for name in varied if name != x]
    preferred = sorted(rest, key=lambda name: (name != "transport", sweep.frame[name].dtype.is_numeric()))
    lines = lines or next(iter(preferred), None)
    return Layout(x, lines, tuple(name for name in rest if name != lines))


def panels(sweep: Sweep, of: Layout, bucket: str | None = None) -> list[tuple[dict[str, Any], pl.DataFrame]]:
    """The rows of each combination of values of the axes that have panels of their own; those of a size bucket."""
    frame = sweep.frame if bucket is None else sweep.sizes.filter(bucket=bucket)
    if not of.panels:
        return [({}, frame)]
    parts = frame.partition_by(of.panels, maintain_order=True)
    return [({name: part[name][0] for name in of.panels}, part) for part in parts]


def bands(part: pl.DataFrame, of: Layout, measure: str) -> dict[str, list[Band]]:
    """The lines of a panel, by their label: at each x the mean over repeated runs, with its confidence interval."""
    found: dict[str, list[Band]] = {}
    groups = part.partition_by(of.lines, maintain_order=True) if of.lines else [part]
    for group in groups:
        label = str(group[of.lines][0]) if of.lines else ""
        by_x = group.partition_by(of.x, maintain_order=True) if of.x else [group]
        line = [
            (float(one[of.x][0]) if of.x else 0.0, *interval([float(y) for y in one[measure].drop_nulls()]))
            for one in by_x
        ]
        found[label] = sorted(line)
    return found


#: Unit of a column -> the function that writes numbers in it.
IN_UNITS = {"B": units.size, "s": units.seconds, "bit/s": units.rate}


def amount_text(value: object, unit: str = "") -> str:
    """A value of an axis with its unit, as `500 KB`."""
    if value is None:
        return units.NONE
    return units.value(value, unit) if isinstance(value, int | float) and not isinstance(value, bool) else str(value)


def without_unit(name: str, unit: str) -> str:
    """The name of a column without its unit, for tables that write the unit beside each number."""
    return name.removesuffix(ENDINGS.get(unit, ""))


def measure_text(value: float, unit: str) -> str:
    """A measure with its unit; counts as whole numbers where they are."""
    if value != value:
        return units.NONE
    if unit in IN_UNITS:
        return IN_UNITS[unit](value)
    return units.count(value) if float(value).is_integer() else units.digits(value)


def summary_texts(sweep: Sweep, measures: Sequence[str] = tuple(SHOWN)) -> tuple[list[str], list[list[str]]]:
    """A row per point as texts: its values, the number of runs, and means with half of their confidence intervals."""
    axes, described = sweep.by(), sweep.described["runs"]
    head = [without_unit(name, described[name].unit) for name in axes]
    head += ["runs", *(SHOWN.get(name, name) for name in measures)]
    rows = []
    for row in sweep.summary(measures).iter_rows(named=True):
        cells = [band_text(row[name], row[f"{name}_low"], described[name].unit) for name in measures]
        rows.append([*(amount_text(row[name], described[name].unit) for name in axes), str(row["n"]), *cells])
    return head, rows


def band_text(mean: float, low: float, unit: str) -> str:
    """A mean with half of its confidence interval, where it has one."""
    half = mean - low
    text = measure_text(mean, unit)
    return f"{text} ± {measure_text(half, unit)}" if half > 0 else text
