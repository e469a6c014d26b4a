"""Traces of a run: their events as data frames, and their files for Wireshark and Perfetto."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from clearway import _clearway, tables
from clearway.lazy import WhenUsed

if TYPE_CHECKING:
    import polars as pl
else:
    pl = WhenUsed("polars")

#: The Wireshark dissector of our own headers, which `clearway` brings along.
DISSECTOR = Path(__file__).parent / "data" / "clearway.lua"


@dataclass(frozen=True)
class Trace:
    """A trace: what happened to the packets that a `[[trace]]` of the scenario chose."""

    #: A row per event.
    events: pl.DataFrame
    #: Units and meanings of the columns.
    columns: tables.Columns
    #: The files, by their names: `trace-incast.pcapng`.
    files: Mapping[str, bytes]


def taken(results: _clearway.Results, scenario: str) -> dict[str, Trace]:
    """The traces in the simulator's results, by name."""
    found = {}
    for trace in results.traces:
        files = {f"{stem(trace.name)}.{end}": content for end, content in trace.files(scenario).items()}
        found[trace.name] = Trace(tables.frame(trace.table), tables.describe(trace.table), files)
    return found


def fill(traces: Mapping[str, Trace], path: Path) -> None:
    """Writes the files of traces to a folder, and their events as tables."""
    for name, trace in traces.items():
        tables.write_parquet(trace.events, trace.columns, path / f"{stem(name)}.parquet")
        for file, content in trace.files.items():
            (path / file).write_bytes(content)


def read(path: Path, names: Mapping[str, object], hashes: Mapping[str, str]) -> dict[str, Trace]:
    """The traces of these names in a run's folder, whose files have these hashes."""
    found = {}
    for name in names:
        table = f"{stem(name)}.parquet"
        if table not in hashes:
            raise ValueError(f"{table} is missing; run the scenario again")
        events, columns = tables.read_parquet(path / table, hashes[table])
        files = [file for file in hashes if file.startswith(f"{stem(name)}.") and file != table]
        found[name] = Trace(events, columns, {file: (path / file).read_bytes() for file in files})
    return found


def stem(name: str) -> str:
    """The names of a trace's files without their ends. A scenario's names of traces are safe in names of files."""
    return f"trace-{name}"
