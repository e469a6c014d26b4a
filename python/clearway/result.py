"""Runs: their data frames and totals, the scenario that gave them, and their folders."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clearway import ended, folder, hooks, packs, tables, traces
from clearway._clearway import Error
from clearway.lazy import WhenUsed
from clearway.scenario_warnings import of_run, warning_line
from clearway.scratch import uninterrupted
from clearway.tables import TABLES

if TYPE_CHECKING:
    import polars as pl

    from clearway.hooks import Pictures
    from clearway.view.notebook import View
    from clearway.view.sources import Recorded
else:
    pl = WhenUsed("polars")

#: Keys of a summary that every run has, each with its type.
TOTALS: dict[str, tuple[type | tuple[type, ...], str]] = {
    **dict.fromkeys(("clearway", "scenario", "hash", "ended"), (str, "a text")),
    **dict.fromkeys(("seed", "flows_started", "flows_completed", "link_transmissions", "notices"), (int, "a number")),
    **dict.fromkeys(("simulated_s", "measured.cpu_s", "measured.wall_s"), ((int, float), "a number")),
    **dict.fromkeys(
        ("measured.million_link_transmissions_per_cpu_s", "measured.peak_memory_bytes"), ((int, float), "a number")
    ),
    "overrides.set": (dict, "a table"),
    **dict.fromkeys(("measure.from_s", "measure.until_s"), ((int, float), "a number")),
    "measure.is_set": (bool, "true or false"),
    "measure.end": (str, "a text"),
    "measure.traffic": (list, "a list"),
    "shims": (list, "a list"),
}


@dataclass(frozen=True, repr=False)
class Run:
    """A simulation that was finished or cut off.

    `flows` has a row per flow, `ports` a row per output port, `samples` a row per sample of each series;
    `columns()` says what each column means and in which unit it is.

    Of a run that was written to a folder (`run(..., out=)`) and has many flows or samples (from about 100,000),
    `flows` and `samples` are not in memory until they are asked for. `scan` reads them part by part.
    """

    #: Name of the scenario.
    name: str
    #: A row per flow or, on connections that stay open, per message.
    flows: pl.DataFrame
    #: A row per output port.
    ports: pl.DataFrame
    #: A row per sample of each series.
    samples: pl.DataFrame
    #: Totals, how the run was asked for, and what it cost.
    summary: dict[str, Any]
    #: The scenario with every default filled in: a file that gives the same run.
    scenario: str
    #: Units and meanings of the columns of each table.
    described: Mapping[str, tables.Columns] = field(default_factory=dict)
    #: The traces that the scenario asks for, by name.
    traces: Mapping[str, traces.Trace] = field(default_factory=dict)

    @property
    def hash(self) -> str:
        """Hash of all that the simulated network did: equal for equal scenario, seed and version."""
        return str(self.summary["hash"])

    @property
    def interrupted(self) -> bool:
        """True if Ctrl-C (or the progress callback) ended the run before its end."""
        return str(self.summary["ended"]) == ended.INTERRUPTED

    @property
    def cut_off(self) -> bool:
        """True if the results are of a part of the run: Ctrl-C, memory or a livelock ended it."""
        return str(self.summary["ended"]) in ended.CUT_OFF

    def check_whole(self) -> None:
        """Raises what ended the run if it was cut off: `KeyboardInterrupt`, or `Error` with the reason."""
        if self.interrupted:
            raise KeyboardInterrupt
        if why := ended.reason(self.summary):
            raise Error(f"{self.name} under {self.label}: {why}")

    @property
    def warnings(self) -> list[str]:
        """The warnings on the scenario, a sentence each: a signal that can't occur, a transport outside of what it is
        made for. They have to be known before a number is read.
        """
        return [warning_line(one) for one in of_run(self)]

    @property
    def findings(self) -> list[str]:
        """The findings on the run, in sentences: how long flows took, where data waited, what was lost, what limits."""
        return hooks.display().findings({self.label: self})

    @property
    def transports(self) -> list[str]:
        """The transports of its flows, sorted; what was asked for if no flow started."""
        stored = self.stored("flows")
        if isinstance(stored, tables.Held):
            known = stored.texts("transport")
            names = sorted({known[at] for at in {*stored.values("transport").tolist()}})
        else:
            names = self.scan("flows").select(pl.col("transport").unique().sort()).collect()["transport"].to_list()
        return names or [self.summary["overrides"].get("transport") or "unknown"]

    @property
    def label(self) -> str:
        """The transports in one word, to tell runs of a comparison apart."""
        return str(self.summary["overrides"].get("transport") or " + ".join(self.transports))

    def trace(self, name: str | None = None) -> pl.DataFrame:
        """The events of a trace, a row each. The name may be left out if there is only one."""
        if name is None and len(self.traces) == 1:
            name = next(iter(self.traces))
        if name is None or name not in self.traces:
            known = ", ".join(self.traces) or "none; a scenario asks for one with [[trace]]"
            raise Error(f"trace {name!r}: there is no such trace in this run (there are: {known})")
        return self.traces[name].events

    @property
    def plot(self) -> Pictures:
        """Pictures of the run: `run.plot.fct()`, `.slowdown()`, `.queue()`, `.rates()`."""
        return hooks.display().pictures({self.label: self})

    def scan(self, table: str) -> pl.LazyFrame:
        """The `flows`, `ports` or `samples` as a lazy frame, which takes memory for a part of the rows only."""
        stored = self.stored(table)
        return stored.scan() if isinstance(stored, tables.Streamed) else getattr(self, table).lazy()

    def stored(self, table: str) -> tables.Table | tables.Streamed:
        """A table, in memory or where its rows lie."""
        if table not in TABLES:
            raise Error(f"{table!r} is no table of a run; name one of {', '.join(TABLES)}")
        stored: tables.Table | tables.Streamed = self.__dict__[table]
        return stored

    def held(self, table: str) -> tables.Table:
        """A table in memory, of which no data frame is made that is not there."""
        stored = self.stored(table)
        return stored.load() if isinstance(stored, tables.Streamed) else stored

    def columns(self) -> pl.DataFrame:
        """All columns of all tables with their units and meanings."""
        of_traces = [trace.columns for trace in self.traces.values()][:1]
        rows = [
            (table, name, column.unit, column.doc)
            for table, columns in [*self.described.items(), *(("trace", columns) for columns in of_traces)]
            for name, column in columns.items()
        ]
        return pl.DataFrame(rows, schema=["table", "column", "unit", "doc"], orient="row")

    def save(self, path: str | Path, *, force: bool = False) -> Path:
        """Writes the run to a folder, which `clearway.load` reads; see `docs/reference/results.md` for what is in it.

        The folder may hold the same run (from the same scenario with every default filled in), which is replaced;
        another one is, like files of other programs, refused without `force`, which deletes nothing but the files of
        an earlier run. Returns the folder: one beside `path` (`PATH-2`) if this run was cut off and `path` holds
        it finished, or if another program saved another run there meanwhile.
        """
        draft = folder.draft(path, {"": self.scenario}, force=force, partial={""} if self.cut_off else ())
        with uninterrupted(), draft as scratch:
            fill(self, scratch)
        return draft.path

    def view(self, path: str | Path | None = None, *, height: int = 860) -> View:
        """Writes the live page, in which this run is simulated again and its hash compared, and shows it in a notebook.

        The page is one file, named for the scenario where `path` is left out, which also opens from disk.
        """
        from clearway.view.notebook import view

        return view([self.recorded()], path, height)

    def recorded(self) -> Recorded:
        """The run as the live page takes it: its scenario and its hash, if it was not cut off."""
        from clearway.view.sources import Recorded
        from clearway.view.start import Expected

        expected = None if self.cut_off else Expected(self.hash, str(self.summary["clearway"]), self.label)
        return Recorded(Path(), self.name, self.scenario, expected)

    def _repr_html_(self) -> str:
        """The run in a notebook: its tables and small pictures."""
        return hooks.display().runs_html(f"{self.name}, seed {self.summary['seed']}", {self.label: self})

    def __repr__(self) -> str:
        totals = self.summary
        return (
            f"<clearway.Run {self.name!r} under {self.label}: {totals['flows_completed']} of "
            f"{totals['flows_started']} flows in {totals['simulated_s']:g} s, {totals['ended']}, {self.hash}>"
        )


class Rows:
    """A table as a field of a run, of which a data frame is made when it is first asked for."""

    def __init__(self, table: str) -> None:
        self._table = table

    def __get__(self, run: Run, _: type) -> pl.DataFrame:
        table = run.stored(self._table)
        if isinstance(table, tables.Streamed | tables.Held):
            table = run.__dict__[self._table] = table.load()
        return table

    def __set__(self, run: Run, table: tables.Table | tables.Streamed) -> None:
        run.__dict__[self._table] = table


for _table in TABLES:
    setattr(Run, _table, Rows(_table))


def fill(run: Run, path: Path) -> None:
    """Writes the files of a run to an empty folder. Those of the tables depend on scenario, seed and version alone."""
    (path / folder.SCENARIO).write_text(scenario_file(run), "utf-8")
    for table in TABLES:
        tables.write_parquet(run.stored(table), run.described.get(table, {}), path / f"{table}.parquet")
    traces.fill(run.traces, path)
    folder.seal(path, run.summary)


def scenario_file(run: Run) -> str:
    """The resolved scenario with version and seed."""
    head = f"# Resolved by Clearway {run.summary['clearway']}, seed {run.summary['seed']}.\n"
    return run.scenario if run.scenario.startswith(head) else head + run.scenario


def load(path: str | Path) -> Run:
    """Reads a folder that `Run.save` or the command wrote.

    Raises `clearway.Error` if a file is missing or is, by its hash in the summary, not the one that was written. A
    folder that is replaced meanwhile is read again, so that the run is the old or the new one.
    """
    path = Path(path)
    while True:
        before = identity(path)
        try:
            return read(path)
        except (Error, MemoryError):
            if identity(path) == before:
                raise


def identity(path: Path) -> tuple[int, ...] | None:
    """A folder's identity, which is another one as soon as the folder is replaced."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino, found.st_ctime_ns


def read(path: Path) -> Run:
    """Reads a folder once."""
    folder.recover(path)
    if not folder.is_run(path):
        if (packed := packs.found(path)) is not None:
            return of_pack(path, *packed)
        raise Error(f"{path}: no results of a run here (no {folder.SUMMARY} of Clearway's)")
    of_tables = {f"{table}.parquet": table for table in TABLES}
    try:
        summary, hashes = folder.unseal(path)
        check_summary(summary)
        for name, sha256 in hashes.items():
            if name not in of_tables and folder.file_hash(path / name) != sha256:
                raise ValueError(f"{name} is damaged or was edited (its hash is not that in the summary)")
        scenario = folder.read_text(path / folder.SCENARIO)
        found = {table: tables.read_parquet(path / file, hashes[file]) for file, table in of_tables.items()}
        traced = traces.read(path, summary.get("traces", {}), hashes)
    except OSError as error:
        name = Path(error.filename).name if error.filename else "a file"
        raise Error(f"{path}: can't read the results: {name}: {error.strerror}") from None
    except ValueError as error:
        raise Error(f"{path}: can't read the results: {' '.join(str(error).split())}") from None
    return Run(
        name=summary["scenario"],
        summary=summary,
        scenario=scenario,
        described={table: columns for table, (_, columns) in found.items()},
        traces=traced,
        **{table: frame for table, (frame, _) in found.items()},
    )


def of_pack(path: Path, pack: Path, key: str) -> Run:
    """The run of a point of a sweep, which lies in a pack."""
    try:
        return Run(**packs.fields_of(pack, key))
    except (OSError, ValueError) as error:
        raise Error(f"{path}: can't read the results: {' '.join(str(error).split())}") from None


def check_summary(summary: dict[str, Any]) -> None:
    """Refuses a summary that lacks what every run has, as one that was edited or written by another version."""
    for key, (kind, right) in TOTALS.items():
        value: Any = summary
        for part in key.split("."):
            value = value.get(part) if isinstance(value, dict) else None
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
            raise ValueError(f"{folder.SUMMARY}: {key} = {value!r}: must be {right}; run the scenario again")
