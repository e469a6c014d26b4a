"""Lists of flows in Parquet, which the simulator's reader of scenarios asks for as CSV."""

from __future__ import annotations

from pathlib import Path

#: The columns that a list of flows may have.
COLUMNS = (
    "src", "dst", "start", "start_s", "start_ms", "start_us", "start_ns", "start_ps", "size", "size_bytes",
)  # fmt: skip


def csv_of(path: Path, most: int) -> str:
    """The list of flows in a Parquet file as CSV.

    Raises `ValueError`, whose text follows the file's name in a message, for a file that can't be read, for columns
    that no list has, and for more than `most` rows; the latter two before the data is read.
    """
    import polars as pl

    unreadable = (OSError, ValueError, pl.exceptions.PolarsError, pl.exceptions.PanicException)
    try:
        scanned = pl.scan_parquet(path, glob=False)
        schema = scanned.collect_schema()
        rows = scanned.select(pl.len()).collect().item()
    except unreadable as error:
        raise ValueError(f"is no whole Parquet file: {' '.join(str(error).split())[:200]}") from None
    if unknown := [name for name in schema if name not in COLUMNS]:
        known = "src, dst, start (or start_s, start_ms, start_us, start_ns, start_ps) and size (or size_bytes)"
        raise ValueError(f"{unknown[0]!r} is no column of a list of flows; keep {known}")
    if odd := [name for name, kind in schema.items() if not (kind.is_numeric() or kind in (pl.String, pl.Categorical))]:
        raise ValueError(f"the column {odd[0]!r} holds {schema[odd[0]]}; write numbers or texts")
    if rows > most:
        raise ValueError(f"has {rows:,} rows; list at most {most:,} flows")
    try:
        return scanned.collect().write_csv()
    except unreadable as error:
        raise ValueError(f"is no whole Parquet file: {' '.join(str(error).split())[:200]}") from None
