"""The folder of a sweep: its tables are written, read, and told from what was damaged or edited."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from pathlib import Path

import polars as pl

from clearway import folder, packs, scratch, tables
from clearway._clearway import Error
from clearway.jobs import files
from clearway.panics import silenced
from clearway.result import load
from clearway.sweeps import frame, packing, record
from clearway.sweeps.record import KEY, RECORD, RUNS, Record
from clearway.sweeps.result import Sweep, assembled

FAILURES, COSTS = "failures.csv", "costs.csv"
#: Tables that are written as Parquet and as CSV.
TABLES = ("runs", "traffic", "fct_by_size")
#: The remedy for a damaged folder, which ends a message.
AGAIN = "run the same sweep again, which keeps the points that it has and writes the rest anew"


def write(sweep: Sweep, kept: Record) -> None:
    """Writes the tables of a sweep to its folder, each file at once, and then the record with their hashes.

    Until then the record that is there knows of no tables, so whoever reads makes them of the runs.
    """
    content: dict[str, bytes] = {}
    for name, table in zip(TABLES, (sweep.frame, sweep.traffic, sweep.sizes), strict=True):
        content[f"{name}.parquet"] = to_parquet(table, sweep.described[name])
        content[f"{name}.csv"] = table.drop(frame.OF_PARQUET, strict=False).write_csv().encode()
    content[COSTS] = sweep.costs.write_csv().encode()
    if sweep.failures.height:
        content[FAILURES] = sweep.failures.write_csv().encode()
    with scratch.locked(sweep.out):  # Of two commands, the tables and the record of one.
        for name, one in content.items():
            files.replace(sweep.out / name, one)
        if FAILURES not in content:
            (sweep.out / FAILURES).unlink(missing_ok=True)
        kept.sealed(sweep.out, [*kept.files, *content], interrupted=sweep.interrupted).write(sweep.out)


def to_parquet(table: pl.DataFrame, columns: tables.Columns) -> bytes:
    """A table as a Parquet file that says itself what its columns mean, as those of runs do."""
    meaning = {name: [column.unit, column.doc] for name, column in columns.items()}
    buffer = io.BytesIO()
    table.write_parquet(buffer, compression="zstd", metadata={tables.COLUMNS_KEY: json.dumps(meaning)})
    return buffer.getvalue()


@silenced()
def read_parquet(content: bytes, name: str) -> tuple[pl.DataFrame, tables.Columns]:
    """The table in a file of `to_parquet`, and what its columns mean."""
    try:
        table = pl.read_parquet(io.BytesIO(content))
        meaning = json.loads(pl.read_parquet_metadata(io.BytesIO(content))[tables.COLUMNS_KEY])
        return table, {name: tables.Described(unit, doc) for name, (unit, doc) in meaning.items()}
    except tables.unreadable() as error:
        raise ValueError(f"{name}: it is not a table of a sweep ({' '.join(str(error).split())})") from None


def load_sweep(path: str | Path) -> Sweep:
    """Reads the folder of a sweep, as `clearway sweep` or `clearway.sweep` wrote it.

    Raises `clearway.Error` if a file is missing or is, by its hash in `sweep.json`, not the one that was written. The
    tables of a sweep that was killed, or that still runs, are made of the runs that are there.
    """
    path = Path(path)
    if not record.is_sweep(path):
        raise Error(f"{path}: no results of a sweep here (no {record.FILE} and {RECORD})")
    while True:
        before = identity(path)
        try:
            return read(path)
        except Error:
            if identity(path) == before:  # Else the sweep was written meanwhile.
                raise


def identity(path: Path) -> tuple[int, int] | None:
    """The identity of a folder's record, which is another one as soon as the record is replaced."""
    try:
        found = (path / RECORD).stat()
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns


def read(path: Path) -> Sweep:
    """Reads the folder of a sweep once."""
    try:
        kept = record.read(path)
        content = {name: kept.content(path, name) for name in kept.files}
        return from_tables(path, kept, content) if kept.has_tables else from_runs(path, kept)
    except OSError as error:
        name = Path(error.filename).name if error.filename else "a file"
        raise Error(f"{path}: can't read the sweep: {name}: {error.strerror}; {AGAIN}") from None
    except (ValueError, pl.exceptions.PolarsError) as error:
        raise Error(f"{path}: can't read the sweep: {' '.join(str(error).split())}; {AGAIN}") from None


def from_tables(path: Path, kept: Record, content: dict[str, bytes]) -> Sweep:
    """A sweep by its tables."""
    found = {
        name: read_parquet(content[f"{name}.parquet"], f"{name}.parquet")
        for name in TABLES
        if f"{name}.parquet" in content
    }
    (runs, described), (traffic, of_traffic), (sizes, of_sizes) = as_written_now(kept, found)
    kinds = {column.name: runs.schema[column.name] for column in kept.columns}
    numbers = {name: kind for name, (kind, _, _) in frame.COSTS.items()}
    costs = pl.read_csv(content[COSTS], schema_overrides={**kinds, **numbers})
    errors = pl.DataFrame(schema={**kinds, "error": pl.String})
    failures = pl.read_csv(content[FAILURES], schema_overrides=kinds) if FAILURES in content else errors
    return Sweep(
        name=kept.name,
        out=path,
        frame=runs,
        traffic=traffic,
        sizes=sizes,
        costs=costs,
        failures=failures,
        axes={column.key: column.name for column in kept.columns},
        described={"runs": described, "traffic": of_traffic, "fct_by_size": of_sizes},
        points=len(kept.points),
        interrupted=kept.interrupted,
    )


def as_written_now(
    kept: Record, found: Mapping[str, tuple[pl.DataFrame, tables.Columns]]
) -> list[tuple[pl.DataFrame, tables.Columns]]:
    """The tables of a sweep with the columns of this version: in those of an earlier one, what it kept not is null.

    Buckets were of all traffic then, and no table was of traffic entries.
    """
    kinds = {"runs": frame.MEASURES, "traffic": frame.TRAFFIC, "fct_by_size": frame.SIZES}
    absent = {"traffic": frame.ALL} if "traffic" not in found else {}
    full = []
    for name, columns in kinds.items():
        empty, described = frame.table(kept.columns, {}, columns)
        table, _ = found.get(name, (empty, described))
        table = table.with_columns(
            pl.lit(absent.get(column)).cast(kind).alias(column)
            for column, kind in empty.schema.items()
            if column not in table.columns
        )
        full.append((table.select(empty.columns), described))
    return full


def from_runs(path: Path, kept: Record) -> Sweep:
    """A sweep by the runs that its folder has: it was killed before its tables were written, or it still runs."""
    rows, costs = {}, {}
    packed = packing.rows([path / packs.PACKS], [point.key for point in kept.points])
    for at, point in enumerate(kept.points):
        if point.key in packed:
            rows[at], costs[at] = packing.numbers(packed[point.key])
            continue
        place = path / RUNS / point.folder
        if not folder.is_run(place):
            continue
        try:
            run = load(place)
        except Error as error:
            raise ValueError(str(error)) from None
        if run.summary.get(KEY) == point.key:  # Else it is of an earlier sweep, whose place it had.
            rows[at], costs[at] = frame.measure(run), run.summary["measured"]
    return assembled(
        kept.name, path, kept.columns, [f"{RUNS}/{point.folder}" for point in kept.points], rows, costs, {},
        interrupted=True,
    )  # fmt: skip
