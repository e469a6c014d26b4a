"""Tables on a console that is too narrow for their columns: each row is a few lines, a cell a line."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console


def is_too_narrow(least: list[int], left: int, gap: int, width: int) -> bool:
    """True if a column does not fit beside the first `left` ones, given the least width of each."""
    base = sum(least[:left]) + gap * max(left - 1, 0)
    rest = [base + (gap if left else 0) + one for one in least[left:]] or [base]
    return max(rest) > width


def print_rows(console: Console, head: list[str], rows: list[list[str]], left: int) -> None:
    """Prints a table row by row: the cells of its first `left` columns as a title, and a line for each other one.

    In a table of nothing but words, the first of them are the titles.
    """
    titles = min(left, 1) if left == len(head) else left
    for row, above in zip(rows, above_each(rows), strict=True):
        # A cell that says the same as the one above is left empty in a table; here it would be missed.
        title = ", ".join(filter(None, (cell or old for cell, old in zip(row[:titles], above, strict=False))))
        if title:
            print_wrapped(console, title, indent=0, style="bold")
        for name, cell in zip(head[titles:], row[titles:], strict=True):
            if cell:
                print_wrapped(console, f"{name}: {cell}" if name else cell, indent=2 if titles else 0)
        if len(head) > titles + 1:
            console.print()
    if len(head) <= titles + 1:
        console.print()


def print_wrapped(console: Console, text: str, *, indent: int, style: str | None = None) -> None:
    """Prints a text in lines that are as wide as the console; a word that is wider has a line of its own."""
    space = " " * indent
    lines = textwrap.wrap(
        text,
        max(console.width, indent + 1),
        initial_indent=space,
        subsequent_indent=2 * space,
        break_long_words=False,
        break_on_hyphens=False,
    )
    for line in lines:
        console.print(line, style=style, soft_wrap=True)


def above_each(rows: list[list[str]]) -> list[list[str]]:
    """For each row the last cell of each column that is not empty, in the rows above it."""
    found = [[""] * len(row) for row in rows[:1]]
    for row in rows[:-1]:
        found.append([cell or old for cell, old in zip(row, found[-1], strict=True)])
    return found
