"""The command `clearway testbed`: experiments with the daemon on network namespaces of this machine."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from clearway._clearway import Error
from clearway.command.shared import console, notes, print_json
from clearway.command.tables import print_heading, print_texts

if TYPE_CHECKING:
    from clearway.testbed.experiment import Experiment
    from clearway.testbed.results import Results

EXAMPLES = """\b
Examples:
  clearway testbed list
  clearway testbed run goodput
  clearway testbed run incast convergence --scale 0.2
  clearway testbed run all --out out/testbed --docs docs
  clearway testbed page --docs docs
  clearway testbed clean
"""

RUN_EXAMPLES = """\b
Examples:
  clearway testbed run goodput
  clearway testbed run incast convergence --scale 0.2
  clearway testbed run all --out out/testbed --docs docs
"""


@click.group(epilog=EXAMPLES)
def testbed() -> None:
    """Measure clearwayd under real TCP on network namespaces of this machine.

    It needs root, and the daemon: `make clearwayd` builds it, and CLEARWAYD names another one.
    """


@testbed.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print as JSON.")
def list_(as_json: bool) -> None:
    """List the experiments, and say whether they can run here."""
    from clearway.testbed.experiments import NAMES, find
    from clearway.testbed.shell import lacking

    found = [find(name) for name in NAMES]
    if as_json:
        print_json([{"name": one.name, "about": one.about, "minutes": one.minutes} for one in found])
        return
    rows = [[one.name, f"{one.minutes:g}", one.about, lacking(*one.needs) or "yes"] for one in found]
    print_texts(console(), (["experiment", "minutes", "measures", "can run here"], rows), left=4)


@testbed.command(epilog=RUN_EXAMPLES)
@click.argument("names", nargs=-1, required=True, metavar="NAME...|all")
@click.option("--out", type=click.Path(path_type=Path), default=Path("out/testbed"), show_default=True, help="Folder.")
@click.option("--scale", type=click.FloatRange(0.01, 100), default=1.0, show_default=True, help="Factor of durations.")
@click.option(
    "--docs", type=click.Path(path_type=Path), help="Write the results into evidence/linux.md in this folder too."
)
@click.option(
    "--keep-figures",
    is_flag=True,
    help="With --docs: keep the results that are there, and take over the shares of bytes under control alone.",
)
@click.option("--json", "as_json", is_flag=True, help="Print as JSON.")
@click.option("--quiet", "-q", is_flag=True, help="Print nothing but errors.")
def run(
    names: tuple[str, ...], out: Path, scale: float, docs: Path | None, keep_figures: bool, as_json: bool, quiet: bool
) -> int:
    """Run experiments; the exit code is 1 if something that was asked is not met.

    Writes OUT/NAME with results.json, a CSV file for each table, and pictures.
    """
    from clearway.testbed.experiment import Context
    from clearway.testbed.experiments import NAMES, find
    from clearway.testbed.page import PAGE, place, save

    chosen = [find(name) for name in (NAMES if names == ("all",) else names)]
    if docs is not None and not (docs / PAGE).is_file():
        raise Error(f"{docs / PAGE}: there is no such page; name the folder of documents, such as docs")
    if keep_figures and docs is None:
        raise Error("--keep-figures: it needs --docs, the folder of documents with the results that are kept")
    told, answers = notes(quiet=quiet or as_json), []
    for one in chosen:
        told.print(f"{one.name}: about {max(1, round(one.minutes * scale))} min", markup=False)
        results = one(Context(scale, lambda words: told.print(f"  {words}", markup=False)))
        save(one, results, out / one.name)
        if docs is not None:
            place(one, results, docs, keep_figures=keep_figures)
        answers.append(results)
        if not as_json:
            show(one, results, out / one.name, quiet=quiet)
    if as_json:
        print_json([{"name": one.name, "met": one.met, "verdicts": [vars(v) for v in one.verdicts]} for one in answers])
    return 0 if all(one.met for one in answers) else 1


@testbed.command()
@click.option("--docs", type=click.Path(path_type=Path), default=Path("docs"), show_default=True, help="Folder.")
def page(docs: Path) -> None:
    """Write evidence/linux.md and its pictures anew from the results that are kept in the folder."""
    from clearway.testbed.page import PAGE, rewrite_all

    for name in rewrite_all(docs):
        console().print(f"{docs / PAGE}: {name}", markup=False)


@testbed.command()
def clean() -> None:
    """Remove what killed testbeds have left: namespaces and the programs in them."""
    from clearway.testbed.namespace import remove_leftovers

    for name in remove_leftovers():
        console().print(f"removed {name}", markup=False)


def show(experiment: Experiment, results: Results, folder: Path, *, quiet: bool) -> None:
    """Prints verdicts and tables."""
    out = console(quiet=quiet)
    out.print()
    print_heading(out, experiment.title)
    if results.verdicts:
        rows = [["yes" if one.met else "NO", one.asked, one.measured] for one in results.verdicts]
        print_texts(out, (["met", "asked", "measured"], rows), left=3)
    for table in results.tables.values():
        out.print(f"\n{table.heading.replace('**', '')}", markup=False)
        print_texts(out, (table.columns, table.texts()), left=1)
    for note in (*results.notes, results.load, f"Results: {folder}"):
        out.print(note, markup=False)
