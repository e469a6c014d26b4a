"""The results of a sweep as one tidy data frame: a row a run, axes and measures as columns with their units."""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import polars as pl

from clearway import caveats, metrics, scenario_warnings, window
from clearway.assumptions import setup
from clearway.result import Run
from clearway.scenario.named import content, without_seed
from clearway.sweeps.points import Column
from clearway.tables import Columns, Described
from clearway.texts import shown_head

#: Measures of a run: column -> type, unit, meaning.
MEASURES: dict[str, tuple[type[pl.DataType], str, str]] = {
    "flows_started": (pl.Int64, "", "flows that started"),
    "flows_completed": (pl.Int64, "", "flows that were delivered in full"),
    "unfinished": (pl.Int64, "", "flows of a fixed size that started and were not delivered"),
    "fct_mean_s": (pl.Float64, "s", "mean flow completion time"),
    "fct_p50_s": (pl.Float64, "s", "median flow completion time"),
    "fct_p99_s": (pl.Float64, "s", "99th percentile of the flow completion times"),
    "slowdown_mean": (pl.Float64, "", "mean slowdown against the idle network"),
    "slowdown_p99": (pl.Float64, "", "99th percentile of the slowdowns"),
    "goodput_bps": (pl.Float64, "bit/s", "payload delivered to all receivers by time"),
    "retransmits": (pl.Int64, "", "segments that were sent again"),
    "timeouts": (pl.Int64, "", "retransmission timeouts"),
    "queue_max_bytes": (pl.Int64, "B", "maximum queue of the worst switch port"),
    "queue_mean_bytes": (pl.Float64, "B", "time average of the queue of the worst switch port"),
    "queue_max_port": (pl.String, "", "the switch port with the largest maximum queue"),
    "drops": (pl.Int64, "", "packets dropped, credits apart"),
    "credit_drops": (pl.Int64, "", "credits dropped, by design"),
    "trims": (pl.Int64, "", "packets cut to their headers; null where no switch cuts any"),
    "marks": (pl.Int64, "", "packets marked (ECN); null where no switch marks any"),
    "repeated_signals": (pl.Int64, "", "requests for credits and stops that were sent again"),
    "pauses": (pl.Int64, "", "pauses by flow control; null without flow control"),
    "longest_pause_s": (pl.Float64, "s", "longest pause of a port; null without flow control"),
    "storms": (pl.Int64, "", "ports in a pause storm; null without flow control"),
    "deadlocked_ports": (pl.Int64, "", "ports in a deadlock; null without flow control"),
    "notices": (pl.Int64, "", "notifications of congestion (CNPs)"),
    "utilisation_max": (pl.Float64, "", "utilisation of the busiest port"),
    "credit_waste": (pl.Float64, "", "share of credits that found nothing to send; NaN without credits"),
    "simulated_s": (pl.Float64, "s", "simulated time"),
    "warnings": (pl.String, "", "signals that can't occur, transports outside of what they are made for; a line each"),
    "assumptions": (pl.String, "", "what `Sweep.assumptions` and `Sweep.warnings` are made of, as JSON"),
    "ended": (pl.String, "", "the way in which the run ended"),
    "hash": (pl.String, "", "hash of all that the simulated network did"),
    "folder": (pl.String, "", "folder of the run"),
}
#: The column that `runs.parquet` has and `runs.csv` has not, of which it would be the larger half: it is for programs.
OF_PARQUET = "assumptions"
#: Measures of the flows of a traffic entry.
TRAFFIC: dict[str, tuple[type[pl.DataType], str, str]] = {
    "traffic": (pl.String, "", "traffic entry of the scenario"),
    "flows": (pl.Int64, "", "flows that were delivered in full"),
    "unfinished": (pl.Int64, "", "flows of a fixed size that started and were not delivered"),
    "goodput_bps": (pl.Float64, "bit/s", "payload delivered to all receivers by time"),
    "mean_s": (pl.Float64, "s", "mean flow completion time"),
    "p50_s": (pl.Float64, "s", "median flow completion time"),
    "p99_s": (pl.Float64, "s", "99th percentile of the flow completion times"),
    "slowdown_mean": (pl.Float64, "", "mean slowdown against the idle network"),
    "slowdown_p99": (pl.Float64, "", "99th percentile of the slowdowns"),
    "retransmits": (pl.Int64, "", "segments that were sent again"),
    "timeouts": (pl.Int64, "", "retransmission timeouts"),
}
#: The word for the flows of all traffic entries together, and for those of all sizes.
ALL = "all"
#: Measures of the flows of a size bucket.
SIZES: dict[str, tuple[type[pl.DataType], str, str]] = {
    "traffic": (pl.String, "", "traffic entry of the flows; all for all of them"),
    "bucket": (pl.String, "", "size bucket of the flows; all for all of them"),
    "flows": (pl.Int64, "", "flows that were delivered in full"),
    "unfinished": (pl.Int64, "", "flows that were not"),
    "mean_s": (pl.Float64, "s", "mean flow completion time"),
    "p50_s": (pl.Float64, "s", "median flow completion time"),
    "p99_s": (pl.Float64, "s", "99th percentile of the flow completion times"),
    "slowdown_mean": (pl.Float64, "", "mean slowdown against the idle network"),
    "slowdown_p99": (pl.Float64, "", "99th percentile of the slowdowns"),
}
#: Costs of a run, which differ from time to time and are therefore kept apart.
COSTS: dict[str, tuple[type[pl.DataType], str, str]] = {
    "cpu_s": (pl.Float64, "s", "CPU time of the simulation"),
    "wall_s": (pl.Float64, "s", "time that the simulation took"),
    "million_link_transmissions_per_cpu_s": (pl.Float64, "", "speed"),
    "peak_memory_bytes": (pl.Int64, "B", "most memory of the process"),
}
#: Points without a result.
ERRORS: dict[str, tuple[type[pl.DataType], str, str]] = {"error": (pl.String, "", "reason why the point has no result")}
#: Names that no axis can have.
TAKEN = frozenset({*MEASURES, *TRAFFIC, *SIZES, *COSTS, *ERRORS})


def measure(run: Run) -> dict[str, Any]:
    """A run in the numbers of the frame: its measures, and those of each traffic entry and size bucket.

    They are of the window of measurement where the scenario sets one (`[measure]`), else of the whole run; goodput and
    utilisation are always of a window, by default without the drain at the end.
    """
    found = shown_head(run) | {"warnings": scenario_warnings.cell(run), "unfinished": caveats.unfinished(run)}
    found["assumptions"] = assumptions(without_seed(run.scenario))
    sizes = by_size(run, ALL, None)
    every = sizes[-1]
    found |= {f"fct_{key}": every[key] for key in ("mean_s", "p50_s", "p99_s")}
    found |= {key: every[key] for key in ("slowdown_mean", "slowdown_p99")}
    entries = [str(line["traffic"]) for line in run.summary["measure"]["traffic"]]
    traffic = [
        {
            **row,
            **by_size(run, row["traffic"], row["traffic"])[-1],
            "unfinished": caveats.unfinished(run, row["traffic"]),
        }
        for row in window.traffic_rows(run)
    ]
    for entry in entries if len(entries) > 1 else []:
        # The word for all of them is not taken by an entry of this name.
        sizes += by_size(run, f"{entry} (entry)" if entry == ALL else entry, entry)
    return {"measures": {key: found[key] for key in MEASURES if key in found}, "traffic": traffic, "sizes": sizes}


@lru_cache(maxsize=64)
def assumptions(scenario: str) -> str:
    """The assumptions of a resolved scenario as JSON. Those of runs that differ in their seeds alone are made once."""
    return json.dumps(setup(content(scenario)), ensure_ascii=False, default=str)


def by_size(run: Run, name: str, part: str | None) -> list[dict[str, Any]]:
    """The rows of the size buckets of a traffic entry, or of all traffic, under a name; the last is of all sizes."""
    return [{"traffic": name, **row} for row in metrics.fct_rows(*window.numbers(run, metrics.FCT, part))]


def table(
    columns: Sequence[Column], rows: Mapping[int, Sequence[Mapping[str, Any]]], kinds: Mapping[str, Any]
) -> tuple[pl.DataFrame, Columns]:
    """A table with the axes as first columns: the rows of each point, by its number."""
    order = [(point, row) for point in sorted(rows) for row in rows[point]]
    series = [
        pl.Series(column.name, [column.values[point] for point, _ in order], dtype=dtype_of(column))
        for column in columns
    ]
    # A row at a time, since a value lies beside others of its row: columns of many rows take half as long so.
    values = zip(*(tuple(map(row.get, kinds)) for _, row in order), strict=True) if order else itertools.repeat(())
    for (name, (dtype, _, _)), column in zip(kinds.items(), values, strict=False):
        series.append(pl.Series(name, column, dtype=dtype))
    described = {column.name: Described(column.unit, f"axis: {column.key}") for column in columns}
    return pl.DataFrame(series), described | {name: Described(unit, doc) for name, (_, unit, doc) in kinds.items()}


def dtype_of(column: Column) -> type[pl.DataType]:
    """The type of an axis: whole numbers, numbers or texts, by all of its values."""
    values = [value for value in column.values if value is not None]
    if any(isinstance(value, str) for value in values):
        return pl.String
    fits = all(isinstance(value, int) and -(2**63) <= value < 2**63 for value in values)
    return pl.Int64 if fits else pl.Float64
