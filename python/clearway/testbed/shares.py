"""The words of a table about the share of its bytes that a daemon controlled, and about the TCP underneath.

A row of ExpressPass whose flows gave up is a row of plain TCP. So each table has a column with the share of bytes under
credits, and one below `LEAST_PERCENT` is told in the heading of its table, whichever experiment made it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

#: The columns that hold the share of bytes that a daemon controlled, in per cent, by its kind.
CREDITED, UNDER_PAC = "bytes under credits, %", "bytes under PAC, %"
#: The column that holds the congestion control of TCP underneath, as the kernel names it.
UNDERNEATH = "TCP underneath"
#: The column that counts how often a flow became plain TCP.
GIVEN_UP = "flows became plain TCP"
#: The columns that tell of control, and are no figures themselves.
CONTROL = (CREDITED, UNDER_PAC, GIVEN_UP, UNDERNEATH)
#: The share in per cent below which a row is not one of its transport alone.
LEAST_PERCENT = 95.0

Row = Sequence[str | int | float | bool | None]


def shares(columns: Sequence[str], rows: Sequence[Row]) -> Iterator[tuple[str, str, float]]:
    """Of each row with a share: its name, the column of the share, and the share in per cent."""
    for at, column in enumerate(columns):
        if column not in (CREDITED, UNDER_PAC):
            continue
        for row in rows:
            share = row[at]
            if isinstance(share, int | float):
                yield name_of(columns, row), column, float(share)


def name_of(columns: Sequence[str], row: Row) -> str:
    """The words of a row that tell which one it is, such as "expresspass, connections: 8"."""
    parts = []
    for column, cell in zip(columns, row, strict=True):
        if isinstance(cell, str) and column not in CONTROL:
            parts.append(cell)
        elif column == "connections":
            parts.append(f"{column}: {cell}")
    return ", ".join(parts)


def low(columns: Sequence[str], rows: Sequence[Row]) -> list[tuple[str, str, float]]:
    """The rows whose share is below the least one."""
    return [found for found in shares(columns, rows) if found[2] < LEAST_PERCENT]


def warning(columns: Sequence[str], rows: Sequence[Row]) -> str:
    """The sentences with which the heading of a table begins that has rows below the least share, or nothing."""
    parts = []
    for name, column, share in low(columns, rows):
        where = column.removeprefix("bytes ").removesuffix(", %")
        how = "mostly" if share < 50 else "partly"
        whose = f' of the row "{name}"' if name else ""
        parts.append(f"**Only {percent(share)} of the bytes{whose} were {where}: this is {how} plain TCP.**")
    return " ".join(parts)


def percent(share: float) -> str:
    """A share in words, of which no small one is shown as none, and none but a whole one as a hundred."""
    if 0 < share < 0.1:
        return "less than 0.1 %"
    return f"{int(share * 10) / 10:g} %"


def underneath(columns: Sequence[str], rows: Sequence[Row]) -> str:
    """A sentence that names the congestion control of TCP beneath the daemons, or nothing where none ran."""
    if UNDERNEATH not in columns:
        return ""
    at, of_shares = columns.index(UNDERNEATH), [columns.index(one) for one in columns if one in (CREDITED, UNDER_PAC)]
    names = sorted({str(row[at]) for row in rows if any(row[share] is not None for share in of_shares)})
    if not names:
        return ""
    return f"The congestion control of the kernel's TCP beneath the daemons was {listed(names, 'or')}."


def listed(words: Sequence[str], joint: str) -> str:
    """The words as a list in a sentence: with commas, and "and" or "or" before the last one."""
    return f" {joint} ".join(filter(None, (", ".join(words[:-1]), words[-1])))


def heading(caption: str, columns: Sequence[str], rows: Sequence[Row]) -> str:
    """The heading of a table: what it must say of its shares first, then the caption, then the TCP underneath."""
    return " ".join(filter(None, (warning(columns, rows), caption, underneath(columns, rows))))


def span(found: Sequence[tuple[str, str, float]]) -> str:
    """The least and the largest share in words, for pictures; nothing without shares."""
    if not found:
        return ""
    least, most = (percent(pick(share for _, _, share in found)) for pick in (min, max))
    what = " and ".join(sorted({column.removesuffix(", %") for _, column, _ in found}))
    return f"{what}, where a daemon ran: {least if least == most else f'{least} to {most}'}"
