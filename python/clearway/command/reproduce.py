"""`clearway reproduce`."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import click
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeRemainingColumn

from clearway.command.shared import INTERRUPTED, console, notes, print_json
from clearway.command.tables import print_texts

EXAMPLES = """\b
Examples:
  clearway list figures
  clearway reproduce expresspass/fig16
  clearway reproduce expresspass --scale full
"""


@click.command(epilog=EXAMPLES)
@click.argument("what", required=False, metavar="[PAPER[/FIGURE]]")
@click.option("--scale", type=click.Choice(["quick", "full"]), default="quick", show_default=True, help="How much.")
@click.option(
    "--out", type=click.Path(path_type=Path), default=Path("out/reproduce"), show_default=True, help="Results go here."
)
@click.option("--docs", type=click.Path(path_type=Path), help="Write page and pictures to this folder of documents.")
@click.option("--processes", type=click.IntRange(min=1), help="Simulations at a time.  [default: one a processor]")
@click.option("--json", "as_json", is_flag=True, help="Print the claims and verdicts as JSON.")
@click.option("--quiet", "-q", is_flag=True, help="Print nothing but errors.")
def reproduce(
    what: str | None, scale: str, out: Path, docs: Path | None, processes: int | None, as_json: bool, quiet: bool
) -> int:
    """Reproduce figures of papers: all, those of PAPER, or one.

    Prints each claim beside what was measured, and writes tables, pictures and a page. What was run is kept:
    after Ctrl-C, or with another figure in between, the same command goes on where it was.
    """
    import clearway.reproduce as reproduction

    answers = []
    for figure in reproduction.find(what):
        began = time.perf_counter()
        jobs = figure.jobs(scale)
        with jobs_bar(figure.name, len(jobs), quiet=quiet or as_json) as progress:
            try:
                found = reproduction.reproduce(
                    figure, scale=scale, out=out, docs=docs, processes=processes, jobs=jobs, progress=progress
                )
            except KeyboardInterrupt:
                notes(quiet=quiet).print(f"Interrupted in {figure.name}: the same command goes on from here")
                return INTERRUPTED
        answers.append(found)
        if not as_json:
            show(console(quiet=quiet), found, time.perf_counter() - began)
    if as_json:
        print_json([as_dict(found) for found in answers])
    return 0


def show(out: Console, found: object, wall_s: float) -> None:
    """Prints the claims of a figure and what became of them."""
    from clearway.reproduce import Reproduction
    from clearway.reproduce.page import finding_texts

    assert isinstance(found, Reproduction)
    head, rows = finding_texts(found.findings)
    out.print(f"\n[bold]{found.figure.name}[/] ({found.scale}): {escape(found.figure.title)}", soft_wrap=True)
    print_texts(out, (head, [[escape(text) for text in row] for row in rows]), left=5)
    page = found.files[-1]
    out.print(
        f"{found.runs:,} simulations ({found.cached:,} kept from before), {found.cpu_s:.1f} CPU-seconds, "
        f"{wall_s:.1f} s; {page}",
        soft_wrap=True,
        markup=False,
    )


def as_dict(found: object) -> dict[str, object]:
    """A figure for `--json`."""
    from clearway.reproduce import Reproduction

    assert isinstance(found, Reproduction)
    return {
        "figure": found.figure.name,
        "scale": found.scale,
        "simulations": found.runs,
        "cpu_s": found.cpu_s,
        "findings": [
            {
                "claim": one.claim.id,
                "paper": one.claim.value,
                "measured": one.measured,
                "verdict": one.verdict,
                "remark": one.note,
            }
            for one in found.findings
        ],
        "files": [str(path) for path in found.files],
    }


@contextmanager
def jobs_bar(name: str, total: int, *, quiet: bool) -> Iterator[Callable[[int, str], object]]:
    """A bar of simulations done; nothing where there is no terminal."""
    if quiet or not sys.stderr.isatty():
        yield lambda *_: None
        return
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(bar_width=24),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[last]}"),
    )
    with Progress(*columns, console=Console(stderr=True, highlight=False), transient=True) as shown:
        task = shown.add_task(name, total=total, last="")
        yield lambda done, label: shown.update(task, completed=done, last=label[:50])
