"""The command `clearway reproduce`: figures of papers, and whether their pages are stale."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from clearway._clearway import Error
from clearway.command.names import FIGURE, Choice
from clearway.command.shared import console, notes, print_json
from clearway.command.tables import print_heading, print_texts
from clearway.ends import INTERRUPTED

if TYPE_CHECKING:
    from rich.console import Console

    from clearway.reproduce import Job

EXAMPLES = """\b
Examples:
  clearway list figures
  clearway reproduce expresspass/fig16
  clearway reproduce expresspass --scale paper
  clearway reproduce --jobs 8
  clearway reproduce --docs docs          writes all pages and the scoreboard
  clearway reproduce --check --docs docs  says which pages are stale
"""


@click.command(epilog=EXAMPLES)
@click.argument("what", required=False, metavar="[PAPER[/FIGURE]]", type=FIGURE)
@click.option(
    "--scale",
    type=Choice(["quick", "paper", "full"]),
    default="quick",
    show_default=True,
    help="Size of the simulations: quick, the papers' own (three smaller sizes where that takes more than an hour), "
    "or all at the papers' own with four times as many seeds.",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    default=Path("out/reproduce"),
    show_default=True,
    help="Folder for the results.",
)
@click.option("--docs", type=click.Path(path_type=Path), help="Write pages and pictures to this folder of documents.")
@click.option("--jobs", "-j", type=click.IntRange(min=1), help="Simulations at a time.  [default: one a processor]")
@click.option("--check", is_flag=True, help="Compute only those pages in --docs that may be stale, and say which are.")
@click.option("--json", "as_json", is_flag=True, help="Print the claims and verdicts as JSON.")
@click.option("--quiet", "-q", is_flag=True, help="Print nothing but errors.")
def reproduce(
    what: str | None,
    scale: str,
    out: Path,
    docs: Path | None,
    jobs: int | None,
    check: bool,
    as_json: bool,
    quiet: bool,
) -> int:
    """Reproduce figures of papers: all, those of PAPER, or one.

    Prints each claim beside what was measured, and writes tables, pictures, a page for each figure and for each paper,
    and a scoreboard.
    What was run is kept: after Ctrl-C, a crash, or with another figure in between, the same command goes on where it
    was.
    """
    import clearway.reproduce as reproduction

    chosen = reproduction.find(what)
    if check:
        if docs is None:
            raise click.UsageError("--check looks at pages: name their folder with --docs docs")
        if not docs.is_dir():
            raise Error(f"{docs}: there is no such folder; name that of the documents, such as docs")
        return show_stale(chosen, docs, jobs, quiet=quiet)
    began = time.perf_counter()
    answers = []
    wanted = [job for figure in chosen for job in reproduction.all_jobs(figure, scale)]
    total = len(wanted)
    if scale != "quick":
        notes(quiet=quiet or as_json).print(cost_text(wanted, jobs), markup=False, soft_wrap=True)
    with jobs_bar(what or "all figures", total, quiet=quiet or as_json) as progress:
        try:
            for found in reproduction.reproduce_all(
                chosen, scale=scale, out=out, docs=docs, processes=jobs, progress=progress
            ):
                answers.append(found)
                progress("", "", found.cached)
                if not as_json:
                    show(console(quiet=quiet), found)
        except KeyboardInterrupt:
            notes(quiet=quiet).print("Interrupted: the same command goes on from here")
            return INTERRUPTED
    board = reproduction.write_scoreboard(out, docs)
    if as_json:
        print_json([as_dict(found) for found in answers])
    else:
        show_board(console(quiet=quiet), board, out, docs)
        wall, cpu = time.perf_counter() - began, sum(found.cpu_s for found in answers)
        runs, cached = sum(found.runs for found in answers), sum(found.cached for found in answers)
        console(quiet=quiet).print(
            f"{runs:,} simulations ({cached:,} kept from before), {cpu:.0f} CPU-seconds, {wall:.0f} s", markup=False
        )
    return 0


def cost_text(wanted: list[Job], processes: int | None) -> str:
    """The cost of simulations in all, in words."""
    import clearway.reproduce as reproduction
    from clearway import units
    from clearway.reproduce.work import cores

    total, at_once = reproduction.cost(wanted), processes or cores()
    hours = f"{total.cpu_s / 3600:.1f} hours of processor time" if total.cpu_s > 3600 else f"{total.cpu_s:.0f} CPU-s"
    return (
        f"{total.runs:,} simulations: about {hours}, {total.cpu_s / 60 / at_once:.0f} min with {at_once} at a time, "
        f"and {units.size(at_once * total.memory_bytes)} of memory for their networks and flows; those that are kept "
        "from before are not run again"
    )


def show(out: Console, found: object) -> None:
    """Prints the claims of a figure and what became of them."""
    from clearway.reproduce import Reproduction
    from clearway.reproduce.page import brief_texts

    assert isinstance(found, Reproduction)
    head, rows = brief_texts(found.findings)
    out.print()
    print_heading(out, found.figure.name, f" ({found.scale}): {found.figure.title}")
    if rows:
        print_texts(out, (head, rows), left=len(head))
    out.print(
        f"{found.runs:,} simulations ({found.cached:,} kept from before), {found.cpu_s:.1f} CPU-seconds; "
        f"{found.files[-1]}",
        soft_wrap=True,
        markup=False,
    )


def show_board(out: Console, board: Path, folder: Path, docs: Path | None) -> None:
    """Prints how many claims of each paper got which verdict."""
    import clearway.reproduce as reproduction
    from clearway.reproduce import scoreboard

    known = reproduction.figures()
    scores = scoreboard.scores(known, reproduction.records(folder, docs))
    out.print()
    print_heading(out, "Scoreboard")
    print_texts(out, scoreboard.summary_texts(scores), left=1)
    out.print(
        f"The scoreboard, with links to every claim: {board}, {reproduction.index(folder)}",
        soft_wrap=True,
        markup=False,
    )


def show_stale(chosen: object, docs: Path, jobs: int | None, *, quiet: bool) -> int:
    """Prints which pages are stale, and how to mend them."""
    from clearway.reproduce import stale

    failed = []
    assert isinstance(chosen, list)
    for found in stale.check(chosen, docs, processes=jobs):
        state = "stale" if found.stale else "computed anew, unchanged" if found.anew else "up to date"
        console(quiet=quiet).print(f"{found.figure}: {state}", markup=False)
        if found.stale:
            failed.append(found.figure)
            command = f"clearway reproduce {found.figure} --docs {docs}"
            notes(quiet=False).print(f"{found.figure}: {found.stale}; run {command}", markup=False, soft_wrap=True)
    return 1 if failed else 0


def as_dict(found: object) -> dict[str, object]:
    """A figure for `--json`."""
    from clearway.reproduce import Reproduction

    assert isinstance(found, Reproduction)
    return {
        "figure": found.figure.name,
        "scale": found.scale,
        "share_of_papers_size": found.share,
        "simulations": found.runs,
        "cpu_s": found.cpu_s,
        "findings": [
            {
                "claim": one.claim.id,
                "paper": one.claim.value,
                "measured": one.measured,
                "tolerance": one.claim.tolerance,
                "reading": one.reading,
                "seeds": one.seeds,
                "verdict": one.verdict,
                "remark": one.note,
                "smaller": [
                    {"share": share, "measured": other.measured, "verdict": other.verdict}
                    for share, findings in found.smaller
                    for other in findings
                    if other.claim.id == one.claim.id
                ],
            }
            for one in found.findings
        ],
        "files": [str(path) for path in found.files],
    }


@contextmanager
def jobs_bar(name: str, total: int, *, quiet: bool) -> Iterator[Callable[..., object]]:
    """A bar of simulations done; nothing where there is no terminal."""
    if quiet or not sys.stderr.isatty():
        yield lambda *_: None
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeRemainingColumn

    from clearway.command.printer import Printer

    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=24),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[last]}", markup=False),
    )
    with Progress(*columns, console=Printer(stderr=True, quiet=False), transient=True) as shown:
        task = shown.add_task(name, total=total, last="")

        def advance(figure: str, label: str, by: int = 1) -> None:
            shown.update(task, advance=by, last=f"{figure} {label}"[:60])

        yield advance
