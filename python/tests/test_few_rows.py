"""Parquet files of a few rows: Polars reads in them what was written, and no byte depends on where the rows were."""

from __future__ import annotations

import io
import struct
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import clearway
from clearway import few_rows, folder, tables

ROWS = st.integers(0, few_rows.ROWS_MAX)
WORDS = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)


@given(ROWS, st.data(), st.integers(1, 40), WORDS)
def test_polars_reads_the_columns_their_types_and_the_notes(
    rows: int, data: st.DataObject, count: int, note: str
) -> None:
    wholes = data.draw(st.lists(st.integers(0, 2**64 - 1), min_size=rows, max_size=rows))
    reals = data.draw(st.lists(st.floats(), min_size=rows, max_size=rows))
    words = data.draw(st.lists(WORDS, min_size=rows, max_size=rows))
    columns = [
        few_rows.Values("whole", "<u8", struct.pack(f"<{rows}Q", *wholes)),
        few_rows.Values("real", "<f8", struct.pack(f"<{rows}d", *reals)),
        few_rows.Values("word", "", words),
        *(few_rows.Values(f"more {at}", "", words) for at in range(count)),
    ]
    made = few_rows.content(columns, rows, {"note": note})
    found = pl.read_parquet(io.BytesIO(made))
    assert found.columns == [column.name for column in columns]
    assert found.height == rows
    assert [str(kind) for kind in found.dtypes[:3]] == ["UInt64", "Float64", "String"]
    assert found["whole"].to_list() == wholes
    assert struct.pack(f"<{rows}d", *found["real"].to_list()) == struct.pack(f"<{rows}d", *reals)
    assert found["word"].to_list() == words == found[f"more {count - 1}"].to_list()
    assert pl.read_parquet_metadata(io.BytesIO(made))["note"] == note
    assert pl.scan_parquet(io.BytesIO(made)).filter(pl.col("whole") > 2**63).collect().height == sum(
        one > 2**63 for one in wholes
    )


@pytest.mark.parametrize("senders", [6, few_rows.ROWS_MAX, few_rows.ROWS_MAX + 1])
def test_a_table_is_the_same_file_with_and_without_a_data_frame(senders: int, tmp_path: Path) -> None:
    text = f"""
name = "one"
transport = "dctcp"
topology = {{ kind = "star", hosts = 300 }}
traffic = [{{ kind = "incast", senders = {senders}, size = "1 KB" }}]
"""
    held, framed = clearway.run(text), clearway.run(text)
    assert framed.flows.height == senders
    for name in tables.TABLES:
        getattr(framed, name)  # Makes a data frame of it.
        files = [tmp_path / kind / f"{name}.parquet" for kind in ("held", "framed")]
        for run, file in zip((held, framed), files, strict=True):
            file.parent.mkdir(exist_ok=True)
            tables.write_parquet(run.stored(name), run.described[name], file)
        assert files[0].read_bytes() == files[1].read_bytes()
        table, described = tables.read_parquet(files[0], folder.file_hash(files[0]))
        assert table.equals(getattr(framed, name))
        assert described == held.described[name]
        written = pl.read_parquet_metadata(files[0])
        assert ("clearway.columns" in written) == bool(described)


def test_values_that_the_simulator_has_not_are_written_by_polars(tmp_path: Path) -> None:
    for table in (pl.DataFrame({"a": [1, None]}), pl.DataFrame({"a": [1.5, None]}), pl.DataFrame({"a": [True]})):
        assert tables.few_of(table) is None
        tables.write_parquet(table, {}, tmp_path / "table.parquet")
        assert pl.read_parquet(tmp_path / "table.parquet").equals(table)
