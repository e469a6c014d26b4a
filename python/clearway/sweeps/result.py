"""A sweep that was run: its data frame, its runs, and its folder."""

from __future__ import annotations

import importlib
import io
import itertools
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from clearway import tables
from clearway._clearway import Error
from clearway.jobs import files
from clearway.panics import silenced
from clearway.result import Run, load
from clearway.sweeps import frame
from clearway.sweeps.bands import CONFIDENCE, interval

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Files and folders of a sweep's folder.
FILE, RUNS, FAILURES, COSTS = "sweep.toml", "runs", "failures.csv", "costs.csv"
#: Tables that are written as Parquet and as CSV.
TABLES = ("runs", "fct_by_size")
#: Beginning of the description of a column that is an axis.
AXIS = "axis: "


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
    #: A row per run and size bucket: axes, then completion times of the flows of this size.
    sizes: pl.DataFrame
    #: A row per run: axes, then CPU time and memory.
    costs: pl.DataFrame
    #: A row per point that failed: axes, then the error.
    failures: pl.DataFrame
    #: Key of the scenario -> name of the column of its axis.
    axes: Mapping[str, str]
    #: Units and meanings of the columns of `runs` and `fct_by_size`.
    described: Mapping[str, tables.Columns] = field(default_factory=dict)
    #: Number of points, those without a result among them.
    points: int = 0
    #: True if Ctrl-C ended the sweep; the same call goes on where it was.
    interrupted: bool = False

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
        """As `summary`, for the completion times of each size bucket."""
        chosen = self.measures_by_size() if measures is None else list(measures)
        return summarise(self.sizes, [*self.by(over), "bucket"], chosen, confidence)

    def measures_by_size(self) -> list[str]:
        """The measures of `sizes`, which are numbers."""
        kinds = self.sizes.schema.items()
        return [name for name, dtype in kinds if dtype.is_numeric() and name not in self.axes.values()]

    def plot(
        self, measure: str = "fct_p99_s", *, x: str | None = None, lines: str | None = None, bucket: str | None = None
    ) -> Figure:
        """Draws a measure as a matplotlib figure: a line per transport over the numeric axis, with confidence bands.

        `x` and `lines` choose other axes; the values of those that are left have panels of their own. With `bucket`,
        a size bucket of `sizes`, the measure is a column of `sizes`: `plot("p99_s", bucket="S (< 10 KB)")`.
        """
        numbers = self.measures() if bucket is None else self.measures_by_size()
        if measure not in numbers:
            raise Error(f"{measure!r} is no measure to draw (measures: {', '.join(numbers)})")
        if bucket is not None and bucket not in (known := self.sizes["bucket"].unique().sort().to_list()):
            raise Error(f"{bucket!r} is no size bucket (buckets: {', '.join(known)})")
        try:
            report = importlib.import_module("clearway.report.sweeps")
        except ModuleNotFoundError as error:
            if error.name is None or error.name.partition(".")[0] != "matplotlib":
                raise
            raise Error("pictures need matplotlib, which is not installed: pip install matplotlib") from None
        drawn: Figure = report.picture(self, measure, x, lines, bucket)
        return drawn

    def _repr_html_(self) -> str:
        """The sweep as notebooks show it: its table and pictures."""
        shown: str = importlib.import_module("clearway.report.sweeps").notebook_html(self)
        return shown

    def by(self, over: Sequence[str] = ("seed",)) -> list[str]:
        """The columns of the axes whose values are no repetitions."""
        return [name for key, name in self.axes.items() if key not in over and name not in over]

    def measures(self, chosen: Sequence[str] | None = None) -> list[str]:
        """The measures of the frame that are numbers, or those that were chosen."""
        known = [
            name for name, dtype in self.frame.schema.items() if dtype.is_numeric() and name not in self.axes.values()
        ]
        for name in chosen or ():
            if name not in known:
                raise Error(f"{name!r} is no measure of a sweep (measures: {', '.join(known)})")
        return known if chosen is None else list(chosen)

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
        state = ", interrupted" if self.interrupted else ""
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


def write(sweep: Sweep, text: str) -> None:
    """Writes the tables of a sweep to its folder, each file at once."""
    files.replace(sweep.out / FILE, text.encode())
    for name, table in (("runs", sweep.frame), ("fct_by_size", sweep.sizes)):
        files.replace(sweep.out / f"{name}.parquet", to_parquet(table, sweep.described[name]))
        files.replace(sweep.out / f"{name}.csv", table.write_csv().encode())
    files.replace(sweep.out / COSTS, sweep.costs.write_csv().encode())
    if sweep.failures.height:
        files.replace(sweep.out / FAILURES, sweep.failures.write_csv().encode())
    else:
        (sweep.out / FAILURES).unlink(missing_ok=True)


def to_parquet(table: pl.DataFrame, columns: tables.Columns) -> bytes:
    """A table as a Parquet file that says itself what its columns mean, as those of runs do."""
    meaning = {name: [column.unit, column.doc] for name, column in columns.items()}
    buffer = io.BytesIO()
    table.write_parquet(buffer, compression="zstd", metadata={tables.COLUMNS_KEY: json.dumps(meaning)})
    return buffer.getvalue()


@silenced()
def read_parquet(file: Path) -> tuple[pl.DataFrame, tables.Columns]:
    """The table in a file of `to_parquet`, and what its columns mean."""
    try:
        table = pl.read_parquet(file)
        meaning = json.loads(pl.read_parquet_metadata(file)[tables.COLUMNS_KEY])
        return table, {name: tables.Described(unit, doc) for name, (unit, doc) in meaning.items()}
    except (*tables.UNREADABLE, pl.exceptions.PanicException) as error:
        raise ValueError(f"{file.name} is damaged: {' '.join(str(error).split())}") from None


def is_sweep(path: str | Path) -> bool:
    """True if a folder holds a sweep."""
    return all((Path(path) / name).is_file() for name in (FILE, "runs.parquet"))


def load_sweep(path: str | Path) -> Sweep:
    """Reads the folder of a sweep, as `clearway sweep` or `clearway.sweep` wrote it."""
    import tomllib

    path = Path(path)
    if not is_sweep(path):
        raise Error(f"{path}: no results of a sweep here (no {FILE} and runs.parquet)")
    try:
        read = {name: read_parquet(path / f"{name}.parquet") for name in TABLES}
        content = tomllib.loads((path / FILE).read_text("utf-8"))
        (runs, described), (sizes, of_sizes) = read["runs"], read["fct_by_size"]
        names = {
            column.doc.removeprefix(AXIS): name for name, column in described.items() if column.doc.startswith(AXIS)
        }
        kinds = {name: runs.schema[name] for name in names.values()}
        numbers = {name: kind for name, (kind, _, _) in frame.COSTS.items()}
        costs = pl.read_csv(path / COSTS, schema_overrides={**kinds, **numbers})
        there = (path / FAILURES).is_file()
        errors = pl.DataFrame(schema={**kinds, "error": pl.String})
        failures = pl.read_csv(path / FAILURES, schema_overrides=kinds) if there else errors
    except (OSError, ValueError, pl.exceptions.PolarsError) as error:
        raise Error(f"{path}: can't read the sweep: {' '.join(str(error).split())}") from None
    return Sweep(
        name=str(content["name"]),
        out=path,
        frame=runs,
        sizes=sizes,
        costs=costs,
        failures=failures,
        axes=names,
        described={"runs": described, "fct_by_size": of_sizes},
        points=runs.height + failures.height,
    )
