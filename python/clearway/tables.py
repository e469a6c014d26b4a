"""Tables of a result: columns of the simulator as data frames, parquet files that know what their columns mean."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from clearway import _clearway

#: The key of a parquet file's metadata under which the units and meanings of its columns are.
COLUMNS_KEY = "clearway.columns"


@dataclass(frozen=True)
class Described:
    """A column's unit (empty if it has none) and meaning."""

    unit: str
    doc: str


#: Column -> unit and meaning.
Columns = dict[str, Described]


def frame(table: _clearway.Table) -> pl.DataFrame:
    """A table of the simulator as a data frame."""
    return pl.DataFrame([series(column) for column in table.columns])


def series(column: _clearway.Column) -> pl.Series:
    """A column of the simulator as a series; NaN stays NaN."""
    values = np.frombuffer(column.bytes(), dtype=column.dtype)
    if column.texts is None:
        return pl.Series(column.name, values)
    texts = pl.Series(column.name, column.texts, dtype=pl.String)
    return texts.gather(pl.Series(values))


def describe(table: _clearway.Table) -> Columns:
    """The units and meanings of a table's columns."""
    return {column.name: Described(column.unit, column.doc) for column in table.columns}


def to_parquet(table: pl.DataFrame, columns: Mapping[str, Described]) -> bytes:
    """A table as a parquet file that says itself what its columns mean."""
    meaning = {name: [column.unit, column.doc] for name, column in columns.items()}
    buffer = io.BytesIO()
    table.write_parquet(buffer, compression="zstd", metadata={COLUMNS_KEY: json.dumps(meaning)})
    return buffer.getvalue()


def read_parquet(file: Path) -> tuple[pl.DataFrame, Columns]:
    """The table in a parquet file of `to_parquet`, and the units and meanings of its columns."""
    table = pl.read_parquet(file)
    try:
        meaning = json.loads(pl.read_parquet_metadata(file)[COLUMNS_KEY])
        described = {name: Described(unit, doc) for name, (unit, doc) in meaning.items()}
    except (AttributeError, KeyError, TypeError, ValueError):
        described = {}
    if table.columns != list(described):
        raise ValueError(f"{file.name}: its columns are not those that Clearway wrote; run the scenario again")
    return table, described
