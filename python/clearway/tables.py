"""Tables of a result: columns of the simulator as data frames, parquet files that know what their columns mean."""

from __future__ import annotations

import hashlib
import json
import struct
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeAlias

from clearway import _clearway, few_rows, reading
from clearway.few import Array, Few
from clearway.lazy import WhenUsed
from clearway.panics import silenced

if TYPE_CHECKING:
    import numpy as np
    import polars as pl
else:
    np = WhenUsed("numpy")
    pl = WhenUsed("polars")

#: The tables of a run: fields of `clearway.Run`, and parquet files of its folder.
TABLES = ("flows", "ports", "samples")
#: The key of a parquet file's metadata under which the units and meanings of its columns are.
COLUMNS_KEY = "clearway.columns"
#: The rows of a row group of a parquet file.
ROW_GROUP = 2**18
#: The rows of a part of a table that leaves memory while its run goes on.
PART = 2**16
#: One flow between two hosts. Flow control and DCQCN add columns.
SMALLEST = """
name = "smallest"
transport = "{}"
topology = {{ kind = "star", hosts = 2 }}
traffic = [{{ kind = "long", pairs = [["h0", "h1"]], size = "1 KB" }}]
trace = [{{ name = "trace" }}]
"""


@dataclass(frozen=True)
class Described:
    """A column's unit (empty if it has none) and meaning."""

    unit: str
    doc: str


#: Column -> unit and meaning.
Columns = dict[str, Described]


class Column(Protocol):
    """A column as the simulator has it (`clearway._clearway.Column`), or a pack of results."""

    @property
    def name(self) -> str: ...  # noqa: D102
    @property
    def unit(self) -> str: ...  # noqa: D102
    @property
    def doc(self) -> str: ...  # noqa: D102
    @property
    def dtype(self) -> str: ...  # noqa: D102
    @property
    def texts(self) -> list[str] | None: ...  # noqa: D102
    def bytes(self) -> bytes: ...  # noqa: D102


def width(column: Column) -> int:
    """The bytes of a value of a column."""
    return int(column.dtype[-1])


class Columned(Protocol):
    """A table that has columns as the simulator's have them."""

    @property
    def columns(self) -> Sequence[Column]:
        """The columns, in order."""
        ...


class Held:
    """A table of the simulator that is in memory, and of which a data frame is made only where one is asked for.

    A run of a few flows has some sixty columns: making a Polars series of each takes longer than its simulation.
    """

    def __init__(self, table: Columned) -> None:
        self._table = table

    @cached_property
    def _columns(self) -> dict[str, Column]:
        return {column.name: column for column in self._table.columns}

    @property
    def names(self) -> list[str]:
        """The names of the columns."""
        return list(self._columns)

    @property
    def columns(self) -> Iterable[Column]:
        """The columns as the simulator has them."""
        return self._columns.values()

    def values(self, name: str) -> Array:
        """The values of a column; those of a column of texts are places in its `texts`."""
        column = self._columns[name]
        content = column.bytes()
        if len(content) <= few_rows.ROWS_MAX * width(column):
            return Few.read(content, column.dtype)
        return np.frombuffer(content, dtype=column.dtype)

    def texts(self, name: str) -> list[str]:
        """The texts that occur in a column of texts, each once."""
        return self._columns[name].texts or []

    @property
    def rows(self) -> int:
        """The number of rows."""
        first = next(iter(self._columns.values()), None)
        return len(first.bytes()) // width(first) if first is not None else 0

    def few(self) -> Iterator[tuple[str, str, bytes | list[str]]]:
        """Each column as its name, its type (nothing for texts), and its values: bytes, or the text of each row."""
        for column in self.columns:
            content, known = column.bytes(), column.texts
            if known is None:
                yield column.name, column.dtype, content
            else:
                places = struct.unpack(f"<{len(content) // 4}I", content)
                yield column.name, "", [known[at] for at in places]

    def load(self, names: Iterable[str] | None = None, mask: Array | None = None) -> pl.DataFrame:
        """The table as a data frame: the columns of these names or all, and the rows where `mask` is true or all."""
        mask = np.array(mask.tolist(), bool) if isinstance(mask, Few) else mask
        chosen = self.names if names is None else names
        return pl.DataFrame([series(self._columns[name], mask) for name in chosen])

    def __reduce__(self) -> tuple[Callable[[pl.DataFrame], pl.DataFrame], tuple[pl.DataFrame]]:
        return pl.DataFrame, (self.load(),)


class Streamed:
    """A table whose rows left memory while its run went on.

    They lie in a file without a name, which goes with the last object that holds the table. The file is on the disk of
    the run's result folder.
    """

    def __init__(self, table: _clearway.Table) -> None:
        self._table = table

    @property
    def rows(self) -> int:
        """The number of rows."""
        return self._table.rows

    def batches(self, names: Container[str] | None = None) -> Iterator[pl.DataFrame]:
        """The rows in parts of about `PART` rows, with the columns of these names or with all."""
        for index in range(self._table.parts):
            yield frame(self._table.part(index), names)

    def load(self) -> pl.DataFrame:
        """All rows, in memory."""
        return pl.concat(self.batches())

    def scan(self) -> pl.LazyFrame:
        """The rows as a lazy frame, which reads them part by part."""

        def parts(
            with_columns: list[str] | None, predicate: pl.Expr | None, n_rows: int | None, _: int | None
        ) -> Iterator[pl.DataFrame]:
            left = n_rows
            asked = {*predicate.meta.root_names()} if predicate is not None else set()
            for part in self.batches(None if with_columns is None else asked.union(with_columns)):
                rows = part if left is None else part.head(left)
                left = None if left is None else left - rows.height
                rows = rows if predicate is None else rows.filter(predicate)
                yield rows if with_columns is None else rows.select(with_columns)
                if left == 0:
                    return

        from polars.io.plugins import register_io_source

        return register_io_source(parts, schema=frame(self._table.part(0)).schema)

    def __reduce__(self) -> tuple[type[pl.DataFrame], tuple[pl.DataFrame]]:
        return pl.DataFrame, (self.load(),)


#: A table that is in memory.
Table: TypeAlias = "pl.DataFrame | Held"


def read_table(table: _clearway.Table) -> Held | Streamed:
    """A table of the simulator: in memory if it is there, else where its rows lie."""
    return Held(table) if table.parts == 1 else Streamed(table)


def names(table: Table) -> list[str]:
    """The names of a table's columns."""
    return table.names if isinstance(table, Held) else table.columns


def values(table: Table, name: str) -> Array:
    """The numbers of a column."""
    return table.values(name) if isinstance(table, Held) else table[name].to_numpy()


def texts_at(table: Table, name: str, rows: Sequence[int]) -> list[str]:
    """The texts of a column in some rows."""
    if isinstance(table, Held):
        known = table.texts(name)
        return [known[at] for at in table.values(name).take(rows).tolist()]
    return table[name].gather(list(rows)).to_list()


def frame(table: _clearway.Table, names: Container[str] | None = None) -> pl.DataFrame:
    """A table of the simulator as a data frame, with the columns of these names or with all."""
    return pl.DataFrame([series(column) for column in table.columns if names is None or column.name in names])


def series(column: Column, mask: np.ndarray | None = None) -> pl.Series:
    """A column of the simulator as a series, of the rows where `mask` is true or of all; NaN stays NaN."""
    values = np.frombuffer(column.bytes(), dtype=column.dtype)
    if mask is not None:
        values = values[mask]
    if column.texts is None:
        return pl.Series(column.name, values)
    texts = pl.Series(column.name, column.texts, dtype=pl.String)
    return texts.gather(pl.Series(values))


def describe(table: _clearway.Table) -> Columns:
    """The units and meanings of a table's columns."""
    return dict(meanings(tuple((column.name, column.unit, column.doc) for column in table.part(0).columns)))


@lru_cache(maxsize=64)
def meanings(columns: tuple[tuple[str, str, str], ...]) -> Columns:
    """The units and meanings of columns, by name; runs of one scenario have the same."""
    return {name: Described(unit, doc) for name, unit, doc in columns}


def write_parquet(table: Table | Streamed, columns: Mapping[str, Described], file: Path) -> None:
    """Writes a table as a parquet file that says itself what its columns mean. Where the rows lie changes no byte."""
    meaning = json.dumps({name: [column.unit, column.doc] for name, column in columns.items()})
    if (few := few_of(table)) is not None:
        file.write_bytes(few_rows.content(few, rows_of(table), {COLUMNS_KEY: meaning}))
        return
    if isinstance(table, Streamed):
        lazy = table.scan()
        lazy.sink_parquet(file, compression="zstd", row_group_size=ROW_GROUP, metadata={COLUMNS_KEY: meaning})
    else:
        table = table.load() if isinstance(table, Held) else table
        table.write_parquet(file, compression="zstd", row_group_size=ROW_GROUP, metadata={COLUMNS_KEY: meaning})


def rows_of(table: Table | Streamed) -> int:
    """The number of rows of a table."""
    return table.height if not isinstance(table, Held | Streamed) else table.rows


def few_of(table: Table | Streamed) -> list[few_rows.Values] | None:
    """The columns of a table of few rows; None of one with more, or with values that the simulator's have not."""
    if rows_of(table) > few_rows.ROWS_MAX:
        return None
    table = table.load() if isinstance(table, Streamed) else table
    if isinstance(table, Held):
        return [few_rows.Values(*few) for few in table.few()]
    types = {pl.UInt64: "<u8", pl.Float64: "<f8", pl.String: ""}
    if any(kind.base_type() not in types for kind in table.dtypes) or any(
        one.null_count() for one in table.get_columns()
    ):
        return None
    return [
        few_rows.Values(
            one.name,
            dtype := types[one.dtype.base_type()],
            one.to_numpy().astype(dtype).tobytes() if dtype else one.to_list(),
        )
        for one in table.get_columns()
    ]


def unreadable() -> tuple[type[BaseException], ...]:
    """The errors of a file that is no table, or describes its columns otherwise than `write_parquet` does.

    Polars reports what it did not expect in a file as a panic, which is no `Exception`.
    """
    of_polars = (pl.exceptions.PolarsError, pl.exceptions.PanicException)
    return (AttributeError, LookupError, RecursionError, TypeError, ValueError, *of_polars)


@silenced()
def read_parquet(file: Path, sha256: str) -> tuple[pl.DataFrame, Columns]:
    """The table in a parquet file of `write_parquet`, and the units and meanings of its columns.

    Raises `ValueError` for a file with another hash, or with columns that this version does not write.
    """
    with reading.of_result(file) as content:
        if hashlib.file_digest(content, "sha256").hexdigest() != sha256:
            raise ValueError(f"{file.name} is damaged or was edited (its hash is not that in the summary)")
        try:
            content.seek(0)
            table = pl.read_parquet(content)
            content.seek(0)
            meaning = json.loads(pl.read_parquet_metadata(content)[COLUMNS_KEY])
            described = {name: Described(unit, doc) for name, (unit, doc) in meaning.items()}
        except unreadable() as error:
            what = " ".join(str(error).split())
            raise ValueError(f"{file.name}: it is not a table of Clearway's ({what}); run the scenario again") from None
    check_columns(file.stem, table, described)
    return table, described


def check_columns(name: str, table: pl.DataFrame, described: Columns) -> None:
    """Raises `ValueError` for a table whose columns are not those that this version writes."""
    required, known = columns_written()["trace" if name.startswith("trace-") else name]
    wrong = f"{name}.parquet: its columns are not those that Clearway {_clearway.__version__} writes"
    if table.columns != list(described):
        raise ValueError(f"{wrong} (they are not those that it describes); run the scenario again")
    if absent := [column for column in required if column not in table.columns]:
        raise ValueError(f"{wrong} ({', '.join(absent)} missing); run the scenario again")
    for column, kind in table.schema.items():
        if kind != known.get(column, kind):
            raise ValueError(f"{wrong} ({column} is {kind}, not {known[column]}); run the scenario again")


@cache
def columns_written() -> dict[str, tuple[set[str], dict[str, pl.DataType]]]:
    """For each table the columns that every run has, and the types of all: those of two runs of two hosts."""
    texts = (SMALLEST.format("dctcp"), SMALLEST.format("dcqcn"))
    results = [_clearway.Scenario.parse(text, "<text>", ".").run() for text in texts]
    plain, controlled = (
        {table.name: frame(table).schema for table in [*run.tables, *(trace.table for trace in run.traces)]}
        for run in results
    )
    return {name: ({*plain[name]}, {**plain[name], **controlled[name]}) for name in plain}
