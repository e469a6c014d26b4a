"""The layout of a sweep in pictures and tables: which axis is drawn along x, which as lines, which as panels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from clearway import units
from clearway._clearway import Error
from clearway.caveats import marked
from clearway.sweeps.amounts import ENDINGS
from clearway.sweeps.bands import CONFIDENCE, interval
from clearway.sweeps.frame import ALL
from clearway.sweeps.result import Sweep, summarise
from clearway.texts import PARTS_MAX, Texts

#: Measures of the table of a sweep: column and words.
SHOWN = {
    "flows_completed": "flows",
    "fct_mean_s": "mean FCT",
    "fct_p99_s": "p99 FCT",
    "goodput_bps": "goodput",
    "queue_max_bytes": "max queue",
    "drops": "drops",
}
#: Measures of the table of a traffic entry.
SHOWN_OF_TRAFFIC = {
    "flows": "flows",
    "mean_s": "mean FCT",
    "p99_s": "p99 FCT",
    "slowdown_mean": "mean slowdown",
    "slowdown_p99": "p99 slowdown",
}
#: Measures of the table of a traffic entry of which no flow ends.
GOODPUT = {"flows": "flows", "goodput_bps": "goodput"}
#: Measures of the table of size buckets.
SHOWN_BY_SIZE = {
    "flows": "flows",
    "mean_s": "mean FCT",
    "p50_s": "p50 FCT",
    "p99_s": "p99 FCT",
    "slowdown_mean": "mean slowdown",
    "slowdown_p99": "p99 slowdown",
}
#: Columns that count the flows behind the others: of runs, and of the other tables.
COUNTS = ("flows_completed", "flows")
#: Measures that are 99th percentiles.
P99 = "p99"


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


def panels(of: Layout, frame: pl.DataFrame) -> list[tuple[dict[str, Any], pl.DataFrame]]:
    """The rows of each combination of values of the axes that have panels of their own."""
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


def summary_texts(sweep: Sweep) -> Texts:
    """A row per point as texts: its values, the number of runs, and means with half of their confidence intervals."""
    return table_texts(sweep, "runs", sweep.frame, SHOWN)


def traffic_texts(sweep: Sweep) -> list[tuple[str, Texts]]:
    """A table for each traffic entry where a scenario has several, as `summary_texts`, with the name of the entry.

    Many entries have a row each in one table, without a name.
    """
    entries = sweep.entries
    if len(entries) > PARTS_MAX:
        return [("", table_texts(sweep, "traffic", sweep.traffic, SHOWN_OF_TRAFFIC, ("traffic",)))]
    found = []
    for entry in entries:
        part = sweep.traffic.filter(traffic=entry)
        found.append((entry, table_texts(sweep, "traffic", part, SHOWN_OF_TRAFFIC if part["flows"].sum() else GOODPUT)))
    return found


def size_texts(sweep: Sweep, traffic: str = ALL) -> Texts:
    """A row per point and size bucket as texts, of a traffic entry or of all traffic."""
    return table_texts(sweep, "fct_by_size", sweep.sizes.filter(traffic=traffic), SHOWN_BY_SIZE, ("bucket",))


def table_texts(
    sweep: Sweep, name: str, table: pl.DataFrame, shown: Mapping[str, str], words: Sequence[str] = ()
) -> Texts:
    """Rows of a table of a sweep, summarised over seeds, as texts; `words` are columns besides the axes.

    The share of flows that were not delivered has a column if there are any, and 99th percentiles of few flows are
    marked.
    """
    axes, described = sweep.by(), sweep.described[name]
    by, counted = [*axes, *words], next(column for column in COUNTS if column in table.columns)
    head = [*(without_unit(column, described[column].unit) for column in by), "runs", *shown.values()]
    lost = (table["unfinished"].sum() or 0) > 0
    at = head.index(shown[counted]) + 1
    head = [*head[:at], *(["unfinished"] if lost else []), *head[at:]]
    rows = []
    parts = table.partition_by(by, maintain_order=True) if by else [table]
    for row, part in zip(summarise(table, by, list(shown), CONFIDENCE).iter_rows(named=True), parts, strict=True):
        fewest = float(part[counted].min() or 0)  # type: ignore[arg-type]
        cells = [*(amount_text(row[column], described[column].unit) for column in by), str(row["n"])]
        for column in shown:
            text = band_text(row[column], row[f"{column}_low"], described[column].unit)
            cells.append(marked(text, fewest) if P99 in column else text)
            if column == counted and lost:
                cells.append(lost_text(part, counted))
        rows.append(cells)
    return head, rows


def lost_text(part: pl.DataFrame, counted: str) -> str:
    """The share of flows of some runs that were not delivered; nothing if all were."""
    lost, done = (int(part[column].sum()) for column in ("unfinished", counted))
    return units.share(lost / (lost + done)) if lost else ""


def band_text(mean: float, low: float, unit: str) -> str:
    """A mean with half of its confidence interval, where it has one."""
    half = mean - low
    text = measure_text(mean, unit)
    return f"{text} ± {measure_text(half, unit)}" if half > 0 else text
