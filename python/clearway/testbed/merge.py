"""Shares of bytes under control that were measured later than the other figures of a table, and beside them."""

from __future__ import annotations

from dataclasses import replace

from clearway._clearway import Error
from clearway.testbed.results import Cell, Results, Table
from clearway.testbed.shares import CONTROL, listed


def with_shares(kept: Results, new: Results) -> Results:
    """The kept results with the shares and the congestion controls of new ones, and a sentence that says so.

    This is for a machine that is too busy for figures of time, of which the shares of bytes depend less.
    """
    tables = {name: merged(kept.name, name, table, new.tables.get(name)) for name, table in kept.tables.items()}
    both = replace(kept, tables=tables)
    columns = [f'"{column}"' for column in CONTROL if any(column in table.columns for table in tables.values())]
    both.shares_from = (
        f"The columns {listed(columns, 'and')} are of another run, which was measured{new.circumstances()}"
    )
    return both


def merged(experiment: str, name: str, kept: Table, new: Table | None) -> Table:
    """A kept table with the columns on control of a new one, at the places that they have there."""
    if new is None or [texts(kept, row) for row in kept.rows] != [texts(new, row) for row in new.rows]:
        raise Error(
            f"{experiment}: the table {name!r} that is kept has other rows than the new one, so its figures can't be "
            "kept; run the experiment without --keep-figures"
        )
    columns = [column for column in kept.columns if column not in CONTROL]
    rows = [
        [cell for column, cell in zip(kept.columns, row, strict=True) if column not in CONTROL] for row in kept.rows
    ]
    for at, column in enumerate(new.columns):
        if column in CONTROL:
            columns.insert(at, column)
            for row, fresh in zip(rows, new.rows, strict=True):
                row.insert(at, fresh[at])
    return replace(kept, columns=columns, rows=rows)


def texts(table: Table, row: list[Cell]) -> list[Cell]:
    """The cells of a row that say which one it is: its words, and its number of connections."""
    return [
        cell
        for column, cell in zip(table.columns, row, strict=True)
        if column not in CONTROL and (isinstance(cell, str) or column == "connections")
    ]
