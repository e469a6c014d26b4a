"""The tables that the command prints."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

    from clearway.result import Run
    from clearway.texts import Texts


def print_runs(console: Console, title: str, runs: Mapping[str, Run]) -> None:
    """Prints what there is to know of runs of one scenario."""
    from clearway.texts import fct_texts, network_texts, warning_texts

    console.print()
    print_heading(console, title)
    print_assumptions(console, runs)
    if any(run.flows.height for run in runs.values()):
        print_texts(console, fct_texts(runs), left=2)
    print_texts(console, network_texts(runs), left=1)
    for text in warning_texts(runs):
        console.print(text, style="bold", markup=False)
        console.print()


def print_heading(console: Console, title: str, more: str = "") -> None:
    """Prints a line that begins with a title."""
    from rich.text import Text

    console.print(Text.assemble((title, "bold"), more), soft_wrap=True)


def print_assumptions(console: Console, runs: Mapping[str, Run]) -> None:
    """Says what a comparison assumes; nothing for a run alone."""
    from clearway.assumptions import assumption_texts

    for line in assumption_texts(runs) if len(runs) > 1 else []:
        console.print(line, style="dim", markup=False, soft_wrap=True)
    console.print()


def print_texts(console: Console, texts: Texts, left: int) -> None:
    """Prints a table; its first `left` columns are words, the others numbers."""
    from rich import box
    from rich.table import Table

    head, rows = texts
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, header_style="bold", show_edge=False)
    for index, name in enumerate(head):
        table.add_column(name, justify="left" if index < left else "right", overflow="fold")
    for row in rows:
        table.add_row(*row)
    console.print(table)
    console.print()
