"""A sweep that was run: its data frame, its runs, and its folder."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from clearway import hooks, scenario_warnings, tables
from clearway._clearway import Error
from clearway.assumptions import assumption_lines
from clearway.caveats import Known, caveats, few_flows
from clearway.result import Run, load
from clearway.scenario_warnings import of_cell
from clearway.sweeps import frame, known
from clearway.sweeps.bands import CONFIDENCE, interval
from clearway.sweeps.points import Column

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, repr=False)
class Sweep:
    """The results of a sweep.

    `frame` has a row per run, with the axes as first columns and measures after them; `columns()` says what each
    column means and in which unit it is.
    """

    name: str
    #: The folder of the sweep.
    out: Path
    #: A row per run that finished: axes, then measures.
    frame: pl.DataFrame
    #: A row per run and traffic entry: axes, then completion times, goodput and losses of its flows.
    traffic: pl.DataFrame
    #: A row per run, traffic entry and size bucket: axes, then completion times of the flows of this size. Rows in
    #: which `traffic` is `all` are of all traffic; where a scenario has one entry, there are no others.
    sizes: pl.DataFrame
    #: A row per run: axes, then CPU time and memory.
    costs: pl.DataFrame
    #: A row per point that failed: axes, then the error.
    failures: pl.DataFrame
    #: Key of the scenario -> name of the column of its axis.
    axes: Mapping[str, str]
    #: Units and meanings of the columns of `runs`, `traffic` and `fct_by_size`.
    described: Mapping[str, tables.Columns] = field(default_factory=dict)
    #: Number of points, those without a result among them.
    points: int = 0
    #: True if the sweep was interrupted or killed, or still runs; the same call goes on where it was.
    interrupted: bool = False

    @property
    def missing(self) -> int:
        """The number of points that neither finished nor failed, since the sweep was ended before or still runs."""
        return self.points - self.frame.height - self.failures.height

    @property
    def findings(self) -> list[str]:
        """The findings on the sweep, in sentences: where who is ahead, how long queues are, where packets are lost."""
        return hooks.display().sweep_findings(self)

    @property
    def warnings(self) -> list[str]:
        """Warnings that must be known before a number is read, a sentence each.

        They are on signals that can't occur and transports outside of what they are made for (one for each transport
        and kind of warning), on transports on unequal networks, on runs that ended before all flows were delivered, and
        on 99th percentiles of few flows.
        """
        return list(self._warnings)

    @cached_property
    def _warnings(self) -> list[str]:
        names = list(self.axes.values())
        on_scenarios = scenario_warnings.swept_warnings(
            (", ".join(f"{name} = {row[name]}" for name in names) if row["warnings"] else "", of_cell(row["warnings"]))
            for row in self.frame.select(*names, "warnings").iter_rows(named=True)
        )
        found = self._known
        few = [f"{text} Tables mark them with an asterisk." for text in few_flows(found)]
        return [*known.of_older(self.frame), *on_scenarios, *caveats(found), *few]

    @property
    def assumptions(self) -> list[str]:
        """The assumptions of the runs besides congestion control: a line for networks, then one for each transport."""
        # Runs of many seeds share one `setup`.
        by_transport: dict[str, dict[int, Mapping[str, Any]]] = {}
        for one in self._known:
            if one.setup:
                by_transport.setdefault(one.transport, {})[id(one.setup)] = one.setup
        return assumption_lines({transport: list(found.values()) for transport, found in by_transport.items()})

    @cached_property
    def _known(self) -> list[Known]:
        """The facts on each run, of which assumptions and warnings are made."""
        return known.of_frames(self.frame, self.traffic, self.axes)

    @property
    def entries(self) -> list[str]:
        """The traffic entries of the scenario, if there are several."""
        names = self.traffic["traffic"].unique(maintain_order=True).to_list()
        return names if len(names) > 1 else []

    @property
    def runs(self) -> list[Path]:
        """The folders of the runs, in the order of the frame."""
        return [self.out / name for name in self.frame["folder"].to_list()]

    def load(self, **values: Any) -> Run:
        """The run at a point, named by columns of the frame: `load(transport="dctcp", load=0.1, seed=1)`."""
        found = self.where(**values)
        if found.height != 1:
            told = ", ".join(f"{key} = {value!r}" for key, value in values.items())
            raise Error(f"{self.out}: {found.height} runs have {told or 'any values'}; name the values of one run")
        return load(self.out / found["folder"].item())

    def each(self, **values: Any) -> Iterator[tuple[dict[str, Any], Run]]:
        """The runs that have these values, one after the other, each with its values of the axes."""
        for row in self.where(**values).iter_rows(named=True):
            yield {name: row[name] for name in self.axes.values()}, load(self.out / row["folder"])

    def where(self, **values: Any) -> pl.DataFrame:
        """The rows of the frame that have these values."""
        names = list(self.axes.values())
        for key in values:
            if key not in names:
                raise Error(f"{self.out}: {key} is no axis (axes: {', '.join(names)})")
        found = self.frame
        for key, value in values.items():
            found = found.filter(pl.col(key) == value)
        return found

    def summary(
        self, measures: Sequence[str] | None = None, *, over: Sequence[str] = ("seed",), confidence: float = CONFIDENCE
    ) -> pl.DataFrame:
        """Means over seeds, with confidence intervals: a row per point, a group of columns per measure.

        `fct_p99_s` becomes `fct_p99_s` (the mean over seeds of each run's percentile), `fct_p99_s_low` and
        `fct_p99_s_high` (the ends of the interval by Student's t); `n` is the number of runs. `over` names the axes
        whose values are repetitions. One run has no interval: its ends are NaN.
        """
        return summarise(self.frame, self.by(over), self.measures(measures), confidence)

    def summary_by_size(
        self, measures: Sequence[str] | None = None, *, over: Sequence[str] = ("seed",), confidence: float = CONFIDENCE
    ) -> pl.DataFrame:
        """As `summary`, for the completion times of each traffic entry and size bucket, and of all traffic."""
        chosen = self.measures_by_size() if measures is None else list(measures)
        return summarise(self.sizes, [*self.by(over), "traffic", "bucket"], chosen, confidence)

    def summary_by_traffic(
        self, measures: Sequence[str] | None = None, *, over: Sequence[str] = ("seed",), confidence: float = CONFIDENCE
    ) -> pl.DataFrame:
        """As `summary`, for each traffic entry."""
        chosen = self._numbers(self.traffic) if measures is None else list(measures)
        return summarise(self.traffic, [*self.by(over), "traffic"], chosen, confidence)

    def measures_by_size(self) -> list[str]:
        """The measures of `sizes`, which are numbers."""
        return self._numbers(self.sizes)

    def _numbers(self, table: pl.DataFrame) -> list[str]:
        """The measures of a table, which are numbers."""
        kinds = table.schema.items()
        return [name for name, dtype in kinds if dtype.is_numeric() and name not in self.axes.values()]

    def _rows(self, traffic: str | None = None, bucket: str | None = None) -> tuple[str, pl.DataFrame]:
        """The rows of a traffic entry, of a size bucket or of both, with the name of their table; else those of runs.

        Of a bucket alone, they are those of all traffic.
        """
        if bucket is None and traffic is None:
            return "runs", self.frame
        table = self.traffic if bucket is None else self.sizes
        columns = [name for name in ("traffic", "bucket") if name in table.columns]
        known = {name: table[name].unique(maintain_order=True).to_list() for name in columns}
        if traffic is not None and traffic not in known["traffic"]:
            raise Error(f"{traffic!r} is no traffic entry (entries: {', '.join(known['traffic'])})")
        if bucket is None:
            return "traffic", table.filter(traffic=traffic)
        if bucket not in known["bucket"]:
            raise Error(f"{bucket!r} is no size bucket (buckets: {', '.join(sorted(known['bucket']))})")
        return "fct_by_size", table.filter(traffic=traffic or frame.ALL, bucket=bucket)

    def plot(
        self,
        measure: str = "fct_p99_s",
        *,
        x: str | None = None,
        lines: str | None = None,
        bucket: str | None = None,
        traffic: str | None = None,
    ) -> Figure:
        """Draws a measure as a matplotlib figure: a line per transport over the numeric axis, with confidence bands.

        `x` and `lines` choose other axes; the values of those that are left have panels of their own. With `bucket`,
        a size bucket of `sizes`, the measure is a column of `sizes`: `plot("p99_s", bucket="S (< 10 KB)")`. With
        `traffic`, a traffic entry, it is a column of `traffic`, or with both a column of `sizes` again.
        """
        table, rows = self._rows(traffic, bucket)
        numbers = self._numbers(rows)
        if measure not in numbers:
            raise Error(f"{measure!r} is no measure to draw (measures: {', '.join(numbers)})")
        return hooks.display().sweep_picture(self, measure, x, lines, table, rows)

    def _repr_html_(self) -> str:
        """The sweep as notebooks show it: its table and pictures."""
        return hooks.display().sweep_html(self)

    def by(self, over: Sequence[str] = ("seed",)) -> list[str]:
        """The columns of the axes whose values are no repetitions."""
        return [name for key, name in self.axes.items() if key not in over and name not in over]

    def measures(self, chosen: Sequence[str] | None = None) -> list[str]:
        """The measures of the frame that are numbers, or those that were chosen."""
        numbers = self._numbers(self.frame)
        for name in chosen or ():
            if name not in numbers:
                raise Error(f"{name!r} is no measure of a sweep (measures: {', '.join(numbers)})")
        return numbers if chosen is None else list(chosen)

    def columns(self) -> pl.DataFrame:
        """All columns of the tables with their units and meanings."""
        rows = [
            (table, name, column.unit, column.doc)
            for table, columns in self.described.items()
            for name, column in columns.items()
        ]
        return pl.DataFrame(rows, schema=["table", "column", "unit", "doc"], orient="row")

    def __repr__(self) -> str:
        failed = f", {self.failures.height} failed" if self.failures.height else ""
        state = f", {self.missing} missing" if self.missing else ""
        return (
            f"<clearway.Sweep {self.name!r}: {self.frame.height} of {self.points} runs{failed}{state}, in {self.out}>"
        )


def summarise(frame: pl.DataFrame, by: Sequence[str], measures: Sequence[str], confidence: float) -> pl.DataFrame:
    """Means and intervals of measures, over the rows that have the same values of `by`."""
    rows = []
    parts = frame.partition_by(by, maintain_order=True) if by else [frame]
    for part in parts:
        row: dict[str, Any] = {**({name: part[name][0] for name in by}), "n": part.height}
        for name in measures:
            values = [float(value) for value in part[name].to_list() if value is not None]
            mean, low, high = interval(values, confidence)
            row |= {name: mean, f"{name}_low": low, f"{name}_high": high}
        rows.append(row)
    schema: dict[str, Any] = {name: frame.schema[name] for name in by} | {"n": pl.Int64}
    schema |= dict.fromkeys(itertools.chain(*((name, f"{name}_low", f"{name}_high") for name in measures)), pl.Float64)
    return pl.DataFrame(rows, schema=schema)


def assembled(
    name: str,
    out: Path,
    columns: Sequence[Column],
    folders: Sequence[str],
    rows: Mapping[int, Mapping[str, Any]],
    costs: Mapping[int, Mapping[str, Any]],
    failures: Mapping[int, str],
    *,
    interrupted: bool,
) -> Sweep:
    """A sweep of its points: by the number of each what `frame.measure` said of it, what it cost, or why it failed.

    `folders` has the folder of each point, from `out` on.
    """
    measures = {at: [{**row["measures"], "folder": folders[at]}] for at, row in rows.items()}
    runs, described = frame.table(columns, measures, frame.MEASURES)
    traffic, of_traffic = frame.table(columns, {at: row["traffic"] for at, row in rows.items()}, frame.TRAFFIC)
    sizes, of_sizes = frame.table(columns, {at: row["sizes"] for at, row in rows.items()}, frame.SIZES)
    return Sweep(
        name=name,
        out=out,
        frame=runs,
        traffic=traffic,
        sizes=sizes,
        costs=frame.table(columns, {at: [row] for at, row in costs.items()}, frame.COSTS)[0],
        failures=frame.table(columns, {at: [{"error": error}] for at, error in failures.items()}, frame.ERRORS)[0],
        axes={column.key: column.name for column in columns},
        described={"runs": described, "traffic": of_traffic, "fct_by_size": of_sizes},
        points=len(folders),
        interrupted=interrupted,
    )
