"""The tables that the command prints."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from clearway.command.narrow import is_too_narrow, print_rows
from clearway.command.streams import writable

if TYPE_CHECKING:
    from rich.console import Console, JustifyMethod

    from clearway.result import Run
    from clearway.texts import Texts


#: Columns that a narrow console does without, the first of them first.
OPTIONAL = ("mean slowdown", "p50 FCT", "p99 slowdown", "timeouts", "retransmits")
#: Most letters of a line of sentences, which are hard to follow over a whole wide screen.
WIDEST = 110
#: Fewest letters of such a line, however narrow the screen is.
NARROWEST = 20
#: The last sentence where there are warnings.
MIND = "Mind {} below before you rely on this."
#: The space between two columns.
GAP = 2


def print_runs(console: Console, title: str, runs: Mapping[str, Run]) -> None:
    """Prints what there is to know of runs of one scenario."""
    from clearway import caveats
    from clearway.findings import findings
    from clearway.scenario_warnings import scenario_warnings
    from clearway.texts import fct_texts, network_texts, parts, parts_texts, traffic_texts, warning_texts

    console.print()
    print_heading(console, title)
    known = caveats.of_runs(runs)
    warnings = [*scenario_warnings(runs), *caveats.caveats(known)]
    print_findings(console, findings(runs), warnings)
    print_warnings(console, warnings)
    print_assumptions(console, runs, caveats.few_flows(known))
    if any(run.summary["flows_started"] for run in runs.values()):
        print_texts(console, fct_texts(runs), left=2)
    for name, texts in parts_texts(runs):
        console.print(f"Traffic {name}:", style="bold", markup=False)
        print_texts(console, texts, left=2)
    if parts(runs):
        print_texts(console, traffic_texts(runs), left=2)
    print_texts(console, network_texts(runs), left=1)
    for text in warning_texts(runs):
        console.print(text, style="bold", markup=False)
        console.print()


def print_heading(console: Console, title: str, more: str = "") -> None:
    """Prints a line that begins with a title."""
    from rich.text import Text

    console.print(Text.assemble((title, "bold"), more), soft_wrap=True)


def print_findings(console: Console, lines: Sequence[str], warnings: Sequence[str]) -> None:
    """Prints what was found, a sentence or two a paragraph; the last points to warnings, where there are any."""
    pointed = [MIND.format("the warnings" if len(warnings) > 1 else "the warning")] if warnings else []
    for line in [*lines, *pointed]:
        # A sentence has the letters of a table: a terminal shows microseconds as people write them, and a pipe `us`.
        written = line.replace(" µs", " us")
        console.print(item(written, max(NARROWEST, min(console.width, WIDEST))), markup=False, soft_wrap=True)
    if lines:
        console.print()


def item(text: str, width: int) -> str:
    """A text as an item of a list, broken to lines; a number stays on one line with its unit."""
    import textwrap

    from clearway.texts import BEFORE_UNIT

    whole = BEFORE_UNIT.sub("\0", text)
    return textwrap.fill(whole, width, initial_indent="- ", subsequent_indent="  ").replace("\0", " ")


def print_warnings(console: Console, lines: Sequence[str]) -> None:
    """Prints warnings on scenarios and results, which must be known before a number is read."""
    for line in lines:
        console.print(f"Warning: {line}", style="bold", markup=False, soft_wrap=True)
    if lines:
        console.print()


def print_assumptions(console: Console, runs: Mapping[str, Run], remarks: Sequence[str] = ()) -> None:
    """Says what a comparison assumes, and which time the tables cover; then what else there is to remark."""
    from clearway.assumptions import assumption_texts
    from clearway.window import window_texts

    print_muted(console, [*(assumption_texts(runs) if len(runs) > 1 else []), *window_texts(runs), *remarks])


def print_muted(console: Console, lines: Sequence[str]) -> None:
    """Prints lines that explain the tables below."""
    for line in lines:
        console.print(line, style="dim", markup=False, soft_wrap=True)
    console.print()


def print_texts(console: Console, texts: Texts, left: int) -> None:
    """Prints a table; its first `left` columns are words, the others numbers.

    Words and numbers are never broken: where the console is too narrow, columns of `OPTIONAL` are left out, or else
    the table goes on below with the columns that did not fit. Where not even one fits, each row is a few lines.
    """
    head, *rows = [[writable(cell, console.encoding) for cell in row] for row in (texts[0], *texts[1])]
    left = min(left, len(head))
    if is_too_narrow(widths(head, rows, left), left, GAP, console.width):
        print_rows(console, head, rows, left)
        return
    dropped = []
    for name in OPTIONAL:
        if sum(widths(head, rows, left)) + GAP * (len(head) - 1) <= console.width:
            break
        if name in head:
            at = head.index(name)
            head, rows = [*head[:at], *head[at + 1 :]], [[*row[:at], *row[at + 1 :]] for row in rows]
            dropped.append(name)
    for block in blocks(widths(head, rows, left), left, console.width):
        print_block(console, [head[at] for at in block], [[row[at] for at in block] for row in rows], left)
    if dropped:
        console.print(f"Left out for want of width: {', '.join(dropped)}.", style="dim", markup=False, soft_wrap=True)
        console.print()


def widths(head: list[str], rows: list[list[str]], left: int) -> list[int]:
    """The least width of each column: its longest word where it is words or a heading, and whole numbers elsewhere."""
    found = []
    for at, name in enumerate(head):
        texts = [text for row in rows for text in (words(row[at]) if at < left else [number(row[at])])]
        found.append(max(map(len, [*texts, *name.split(), ""])))
    return found


#: Most letters of a text in a first column that stays on one line, such as `100 KB-1 MB`.
SHORT = 14


def words(cell: str) -> list[str]:
    """The parts of a text that stay together."""
    return [cell] if len(cell) <= SHORT else cell.split()


def number(cell: str) -> str:
    """A number with its unit, or the longest word of what stands behind it in brackets."""
    first, bracket, rest = cell.partition(" (")
    return max((first, *(bracket + rest).split()), key=len)


def blocks(least: list[int], left: int, width: int) -> list[list[int]]:
    """The columns that stand beside each other: the first `left` of them in each block, and as many as fit."""
    first = list(range(left))
    base = sum(least[:left]) + GAP * (left - 1)
    found: list[list[int]] = [[]]
    for at in range(left, len(least)):
        if found[-1] and base + sum(least[other] + GAP for other in [*found[-1], at]) > width:
            found.append([])
        found[-1].append(at)
    return [first + block for block in found]


def print_block(console: Console, head: list[str], rows: list[list[str]], left: int) -> None:
    """Prints the columns of a table that fit beside each other."""
    from rich import box
    from rich.table import Table

    least = widths(head, rows, left)
    most = [max(map(len, [name, *(row[at] for row in rows)])) for at, name in enumerate(head)]
    spare = console.width - sum(least) - GAP * (len(head) - 1)
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False, header_style="bold", show_edge=False)
    for at, name in enumerate(head):
        # Words take what is left, the first column first, so that numbers stand close to each other.
        extra = min(most[at] - least[at], max(spare, 0))
        spare -= extra
        justify: JustifyMethod = "left" if at < left else "right"
        table.add_column(name, justify=justify, overflow="fold", width=least[at] + extra)
    for row in rows:
        table.add_row(*row)
    console.print(table)
    console.print()
