"""Lists of flows in Parquet, which the simulator's reader of scenarios asks for as CSV.

A process of its own reads the file: Polars panics over some damaged files, with a backtrace on standard error, and over
others it asks for so much memory that the process ends.
"""

from __future__ import annotations

import _thread
import os
import subprocess
import sys
from pathlib import Path

#: The columns that a list of flows may have.
COLUMNS = (
    "src", "dst", "start", "start_s", "start_ms", "start_us", "start_ns", "start_ps", "size", "size_bytes",
    "connection", "name", "after", "pause", "done",
)  # fmt: skip
#: The program of that process, and its exit code where the file is refused, for the reason that it then prints.
PROGRAM, REFUSED = "import clearway.parquet_lists; clearway.parquet_lists.main()", 3


def csv_of(path: Path, most: int) -> str:
    """The list of flows in a Parquet file as CSV.

    Raises `ValueError`, whose text follows the file's name in a message, for a file that can't be read, for columns
    that no list has, and for more than `most` rows; the latter two before the data is read.
    """
    package = str(Path(__file__).parent.parent)
    places = [package, *filter(None, [os.environ.get("PYTHONPATH")])]
    try:
        # A process group of its own keeps Ctrl-C away from it, which is for this process.
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM, str(path), str(most)],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(places), "POLARS_MAX_THREADS": "1"},
            process_group=0,
            check=False,
        )
    except KeyboardInterrupt:  # The caller knows no exception but the one; Ctrl-C comes again after it.
        _thread.interrupt_main()
        raise ValueError("was not read to its end, because of Ctrl-C") from None
    if done.returncode == 0:
        return done.stdout.decode()
    if done.returncode == REFUSED:
        raise ValueError(done.stdout.decode())
    raise ValueError("is no whole Parquet file: it ends the process that reads it")


def main() -> None:
    """Prints the list in the file that the command line names as CSV, or why it is refused."""
    try:
        text, code = converted(Path(sys.argv[1]), int(sys.argv[2])), 0
    except ValueError as error:
        text, code = str(error), REFUSED
    sys.stdout.buffer.write(text.encode())
    sys.stdout.flush()
    sys.exit(code)


def converted(path: Path, most: int) -> str:
    """The list of flows in a Parquet file as CSV, as `csv_of`, read by this process."""
    import polars as pl

    unreadable = (OSError, ValueError, pl.exceptions.PolarsError, pl.exceptions.PanicException)
    try:
        scanned = pl.scan_parquet(path, glob=False)
        schema = scanned.collect_schema()
        rows = scanned.select(pl.len()).collect().item()
    except unreadable as error:
        raise ValueError(f"is no whole Parquet file: {' '.join(str(error).split())[:200]}") from None
    if unknown := [name for name in schema if name not in COLUMNS]:
        known = (
            "src, dst, start (or start_s, start_ms, start_us, start_ns, start_ps), size (or size_bytes), connection, "
            "name, after, pause and done"
        )
        raise ValueError(f"{unknown[0]!r} is no column of a list of flows; keep {known}")
    if schema.get("after") == pl.List(pl.String):
        scanned = scanned.with_columns(pl.col("after").list.join(" "))
        schema["after"] = pl.String()
    if odd := [name for name, kind in schema.items() if not (kind.is_numeric() or kind in (pl.String, pl.Categorical))]:
        raise ValueError(f"the column {odd[0]!r} holds {schema[odd[0]]}; write numbers or texts")
    if rows > most:
        raise ValueError(f"has {rows:,} rows; list at most {most:,} flows")
    try:
        return scanned.collect().write_csv()
    except unreadable as error:
        raise ValueError(f"is no whole Parquet file: {' '.join(str(error).split())[:200]}") from None
