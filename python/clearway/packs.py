"""Packs: files with the results of many small runs each, as a sweep of thousands of them writes.

A run of a few flows has some kilobytes of tables. A folder of five files for each takes longer to write than the run,
and ten times the room. A pack is one Parquet file with a row per run; the file is called after the hash of its content,
so that a pack which was cut short or damaged is told by its name.
"""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, cast

from clearway import folder, tables
from clearway.lazy import WhenUsed
from clearway.panics import silenced
from clearway.tables import TABLES

if TYPE_CHECKING:
    import polars as pl
else:
    pl = WhenUsed("polars")

#: In the folder of a sweep: that of its packs, that of its runs, and the record of its points.
PACKS, RUNS, RECORD = "packs", "runs", "sweep.json"
#: The end of the names of packs.
END = ".pack"
#: Most bytes of the tables of a run that goes into a pack.
SMALL = 2**16
#: Columns of a pack besides those of tables: of each table the values, and what they are of.
COLUMNS = ("key", "scenario", "summary", "assumptions", "measured", "costs")


@dataclass(frozen=True)
class Packed:
    """The result of a run as a row of a pack."""

    #: The key of the result: a hash of all that it depends on.
    key: str
    #: The resolved scenario.
    scenario: str
    #: As JSON the summary, the assumptions, what else the frame says of the run, and what it cost. The assumptions are
    #: apart: they are JSON themselves, and quoted within the rest they would take most of the time to read it.
    summary: str
    assumptions: str
    measured: str
    costs: str
    #: The values of each table, column by column.
    values: tuple[bytes, ...]
    #: The columns of each table as JSON: name, unit, meaning, type, texts.
    columns: tuple[str, ...]

    def row(self) -> dict[str, str | bytes]:
        """The row of a pack."""
        found: dict[str, str | bytes] = {name: getattr(self, name) for name in COLUMNS}
        for table, values, columns in zip(TABLES, self.values, self.columns, strict=True):
            found |= {table: values, f"{table}_columns": columns}
        return found


@dataclass(frozen=True)
class Column:
    """A column of a table in a pack, as the simulator has it."""

    name: str
    unit: str
    doc: str
    dtype: str
    texts: list[str] | None
    content: bytes

    def bytes(self) -> bytes:
        """The values as little-endian bytes."""
        return self.content


@dataclass(frozen=True)
class Columns:
    """The columns of a table in a pack."""

    columns: Sequence[Column]


class Run(Protocol):
    """A `clearway.Run`, of which a row of a pack is made."""

    @property
    def scenario(self) -> str:
        """The resolved scenario."""
        ...

    @property
    def summary(self) -> dict[str, Any]:
        """The totals of the run."""
        ...

    @property
    def traces(self) -> Mapping[str, Any]:
        """The traces of the run."""
        ...

    def stored(self, table: str) -> tables.Table | tables.Streamed:
        """A table, in memory or where its rows lie."""
        ...


def packed(run: Run, key: str, assumptions: str, measured: Mapping[str, Any]) -> Packed | None:
    """The result of a run as a row of a pack; None for one that is not small, or has traces."""
    stored = [run.stored(table) for table in TABLES]
    if run.traces or not all(isinstance(table, tables.Held) for table in stored):
        return None
    held = cast("list[tables.Held]", stored)
    values = tuple(b"".join(column.bytes() for column in table.columns) for table in held)
    if sum(map(len, values)) > SMALL:
        return None
    summary = {name: value for name, value in run.summary.items() if name not in (folder.FILES, folder.CHECKSUM)}
    return Packed(
        key,
        run.scenario,
        json.dumps(summary),
        assumptions,
        json.dumps(measured),
        json.dumps(summary["measured"]),
        values,
        tuple(described(table) for table in held),
    )


def described(table: tables.Held) -> str:
    """The columns of a table as JSON, without their values."""
    return columns_json(
        tuple(
            (one.name, one.unit, one.doc, one.dtype, None if one.texts is None else tuple(one.texts))
            for one in table.columns
        )
    )


@lru_cache(maxsize=64)
def columns_json(columns: tuple[object, ...]) -> str:
    """The columns of a table as JSON; runs of one scenario have the same."""
    return json.dumps(columns)


def content(rows: Sequence[Packed]) -> bytes:
    """The content of a pack."""
    types = {name: pl.Binary if name in TABLES else pl.String for name in rows[0].row()}
    buffer = io.BytesIO()
    pl.DataFrame([row.row() for row in rows], schema=types).write_parquet(buffer, compression="zstd", statistics=False)
    return buffer.getvalue()


def name_of(content: bytes) -> str:
    """The name of the pack with a content."""
    return f"{folder.bytes_hash(content)}{END}"


def packs_in(place: Path) -> list[Path]:
    """The packs in a folder, by name; none where there is no such folder."""
    return sorted(place.glob(f"*{END}"))


@silenced()
def read(path: Path, columns: Sequence[str]) -> pl.DataFrame:
    """Columns of a pack; raises `ValueError` for one that was cut short or damaged."""
    found = folder.read_bytes(path)
    if hashlib.sha256(found).hexdigest() + END != path.name:
        raise ValueError(f"{path.name} is damaged or was edited (its hash is not that in its name)")
    try:
        return pl.read_parquet(io.BytesIO(found), columns=list(columns))
    except tables.unreadable() as error:
        raise ValueError(f"{path.name}: it is no pack ({' '.join(str(error).split())})") from None


def keys(path: Path) -> list[str]:
    """The keys of the results in a pack; none of one that can't be read."""
    try:
        return read(path, ["key"])["key"].to_list()
    except (OSError, ValueError):
        return []


def found(path: Path) -> tuple[Path, str] | None:
    """The pack and the key of a point of a sweep by the path of its folder, `runs/POINT`; None if no pack has it."""
    sweep = path.parent.parent
    packed = packs_in(sweep / PACKS)
    if not packed or path.parent.name != RUNS:
        return None
    try:
        points = json.loads(folder.read_text(sweep / RECORD))["points"]
        key = next(str(point["key"]) for point in points if point["folder"] == path.name)
    except (LookupError, OSError, StopIteration, TypeError, ValueError):
        return None
    return next(((pack, key) for pack in packed if key in keys(pack)), None)


def scenario_of(path: Path, key: str) -> str:
    """The resolved scenario of a run in a pack; raises `ValueError` if it is not there."""
    rows = read(path, ["key", "scenario"]).filter(key=key)
    if not rows.height:
        raise ValueError(f"{path.name} lacks the run {key}")
    return str(rows["scenario"][0])


def fields_of(path: Path, key: str) -> dict[str, Any]:
    """The fields of a run in a pack, as `clearway.Run` takes them; raises `ValueError` if it is not there."""
    of_tables = [name for table in TABLES for name in (table, f"{table}_columns")]
    rows = read(path, ["key", "scenario", "summary", *of_tables]).filter(key=key)
    if not rows.height:
        raise ValueError(f"{path.name} lacks the run {key}")
    row = rows.row(0, named=True)
    summary = json.loads(row["summary"])
    columns = {table: columns_of(row[table], json.loads(row[f"{table}_columns"])) for table in TABLES}
    return {
        "name": summary["scenario"],
        "summary": summary,
        "scenario": row["scenario"],
        "described": {
            table: {one.name: tables.Described(one.unit, one.doc) for one in of} for table, of in columns.items()
        },
        **{table: tables.Held(Columns(of)) for table, of in columns.items()},
    }


def columns_of(values: bytes, columns: Sequence[Sequence[Any]]) -> list[Column]:
    """The columns of a table, with their parts of its values."""
    sizes = [int(dtype[-1]) for _, _, _, dtype, _ in columns]
    rows, at, found = len(values) // sum(sizes) if sizes else 0, 0, []
    for (name, unit, doc, dtype, texts), size in zip(columns, sizes, strict=True):
        found.append(Column(name, unit, doc, dtype, texts, values[at : at + rows * size]))
        at += rows * size
    return found
