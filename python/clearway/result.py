"""What a run found out: data frames, totals, and the scenario that gave them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

if TYPE_CHECKING:
    from pathlib import Path

    from clearway import _clearway


@dataclass(frozen=True)
class Described:
    """A column's unit (empty if it has none) and meaning."""

    unit: str
    doc: str


#: table -> column -> unit and meaning.
Columns = dict[str, dict[str, Described]]


@dataclass(frozen=True, repr=False)
class Run:
    """A finished (or interrupted) simulation.

    `flows` has a row per flow, `ports` a row per output port, `samples` a row per sample of each series;
    `columns()` says what each column means and in which unit it is.
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
    described: Columns = field(default_factory=dict)

    @property
    def hash(self) -> str:
        """Hash of all that the simulated network did: equal for equal scenario, seed and version."""
        return str(self.summary["hash"])

    @property
    def interrupted(self) -> bool:
        """Whether Ctrl-C (or the progress callback) ended the run before its end."""
        return str(self.summary["ended"]) == "interrupted"

    @property
    def transports(self) -> list[str]:
        """The transports of its flows, sorted; what was asked for if no flow started."""
        names = self.flows["transport"].unique().sort().to_list()
        return names or [self.summary["overrides"].get("transport") or "unknown"]

    @property
    def label(self) -> str:
        """The transports in one word, to tell runs of a comparison apart."""
        return str(self.summary["overrides"].get("transport") or " + ".join(self.transports))

    def columns(self) -> pl.DataFrame:
        """All columns of all tables with their units and meanings."""
        rows = [
            (table, name, column.unit, column.doc)
            for table, columns in self.described.items()
            for name, column in columns.items()
        ]
        return pl.DataFrame(rows, schema=["table", "column", "unit", "doc"], orient="row")

    def save(self, path: str | Path, *, force: bool = False) -> Path:
        """Writes the run to a folder, which `clearway.load` reads; see `docs/results.md` for what is in it."""
        from clearway import folder

        return folder.save(self, path, force=force)

    def __repr__(self) -> str:
        totals = self.summary
        return (
            f"<clearway.Run {self.name!r} under {self.label}: {totals['flows_completed']} of "
            f"{totals['flows_started']} flows in {totals['simulated_s']:g} s, {totals['ended']}, {self.hash}>"
        )


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


def describe(results: _clearway.Results) -> Columns:
    """Units and meanings of all columns."""
    return {
        table.name: {column.name: Described(column.unit, column.doc) for column in table.columns}
        for table in results.tables
    }
