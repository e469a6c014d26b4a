"""The command `clearway sweep`: a scenario at every point that the axes of a file span."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import click

from clearway import units
from clearway.command.names import SWEEP
from clearway.command.shared import Setting, console, notes, print_json, settings_dict
from clearway.command.tables import print_findings, print_heading, print_muted, print_texts, print_warnings
from clearway.ends import INTERRUPTED

if TYPE_CHECKING:
    from rich.console import Console

    from clearway.sweeps.result import Sweep
    from clearway.sweeps.run import Plan

#: Exit code if a point failed.
FAILED = 1
#: Most failures that are printed.
NAMED = 10
#: Most points that `--dry-run` lists.
LISTED = 1000

EXAMPLES = """\b
Examples:
  clearway sweep buffers
  clearway sweep buffers --dry-run
  clearway sweep buffers --set topology.rate='40 Gbps' --out out/buffers-40
  clearway sweep evaluation --processes 8
  clearway sweep evaluation --on dask://scheduler:8786
"""


@click.command(epilog=EXAMPLES)
@click.argument("file", type=SWEEP)
@click.option("--set", "settings", type=Setting(), multiple=True, help="Set a key at all points; repeatable.")
@click.option("--out", type=click.Path(path_type=Path), help="Folder for the results.  [default: out/NAME]")
@click.option(
    "--store",
    type=click.Path(path_type=Path),
    help="Folder that keeps the result of every point, for all sweeps.  [default: .store beside the results]",
)
@click.option(
    "--processes",
    "-j",
    type=click.IntRange(min=1),
    help="Runs at a time, or jobs of Slurm.  [default: one a processor]",
)
@click.option("--on", metavar="CLUSTER", help="Run on a cluster: dask://HOST:PORT, or slurm.")
@click.option(
    "--point-timeout", metavar="TIME", help="Time that a point may take, such as '10 min'.  [default: no limit]"
)
@click.option(
    "--point-memory",
    metavar="SIZE",
    help="Memory that a point may take, such as '4 GB'.  [default: its share of the machine]",
)
@click.option("--dry-run", is_flag=True, help="Check the sweep and list its points; run nothing.")
@click.option(
    "--force", is_flag=True, help="Replace another sweep, or write into a folder with other files; they stay."
)
@click.option("--json", "as_json", is_flag=True, help="Print the results as JSON.")
@click.option("--quiet", "-q", is_flag=True, is_eager=True, help="Print nothing but errors.")
def sweep(
    file: Path,
    settings: tuple[tuple[str, str], ...],
    out: Path | None,
    store: Path | None,
    processes: int | None,
    on: str | None,
    point_timeout: str | None,
    point_memory: str | None,
    dry_run: bool,
    force: bool,
    as_json: bool,
    quiet: bool,
) -> int:
    """Run the scenario of the sweep FILE at every point of its axes.

    FILE may also be a sweep of `clearway list scenarios`, by its name. Writes a folder with a table of all runs
    (runs.csv, runs.parquet) and a result folder for each run. What was run is kept: after Ctrl-C, a crash, or with more
    values in FILE, the same command goes on where it was. A point that fails, or exceeds a limit of time or memory,
    stops no other.
    """
    from clearway.jobs.progress import bar
    from clearway.machine import memory_limit
    from clearway.sweeps.copies import read
    from clearway.sweeps.limits import PointLimits
    from clearway.sweeps.run import Plan, run, workers

    spec = read(file, settings_dict(settings))
    limits = PointLimits.of(point_timeout, point_memory, on)
    plan = Plan.of(spec, out, store, force=force, memory=memory_limit() if on is None else None, limits=limits)
    if dry_run:
        list_points(plan, as_json=as_json, quiet=quiet)
        return 0
    notes(quiet=quiet or as_json).print(counts(plan), markup=False)
    with bar(spec.name, quiet=quiet or as_json) as progress, closing(workers(plan, processes, on)) as staff:
        found = run(plan, staff, progress)
    if as_json:
        print_json(as_dict(found))
    elif found.frame.height:
        print_sweep(console(quiet=quiet), found)
    for row in found.failures.head(NAMED).iter_rows(named=True):
        point = ", ".join(f"{name} = {row[name]}" for name in found.axes.values())
        notes().print(f"Failed: {point}: {row['error']}", markup=False)
    if found.failures.height:
        text = (
            f"{found.failures.height} of {found.points} points failed; they are listed in {found.out / 'failures.csv'}"
        )
        notes().print(f"{text}, and the same command tries them again", markup=False)
    if found.interrupted:
        done = f"{found.frame.height} of {found.points} points are done"
        notes(quiet=quiet).print(f"Interrupted: {done}; the same command goes on from here", markup=False)
    notes(quiet=quiet).print(f"Results: {found.out}", markup=False)
    return INTERRUPTED if found.interrupted else FAILED if found.failures.height else 0


def print_sweep(shown: Console, found: Sweep) -> None:
    """Prints a sweep: findings, warnings, assumptions, and a row a point, of all traffic and then of each entry."""
    from clearway.sweeps.layout import summary_texts, traffic_texts

    print_findings(shown, found.findings, found.warnings)
    print_warnings(shown, found.warnings)
    print_muted(shown, found.assumptions)
    by_traffic = traffic_texts(found)
    if by_traffic:
        print_heading(shown, "All traffic:")
    print_texts(shown, summary_texts(found), left=len(found.by()))
    for entry, texts in by_traffic:
        print_heading(shown, f"Traffic {entry}:" if entry else "By traffic:")
        print_texts(shown, texts, left=len(found.by()) + (not entry))


def counts(plan: Plan) -> str:
    """The number of points, and how many of them are to be run."""
    missing = plan.missing()
    kept = len(plan.points) - len(missing)
    left_s = sum(plan.points[index].cpu_s for index in missing)
    cost = f", about {units.value(float(f'{left_s:.1g}'), 's')} of CPU time to go" if left_s else ""
    return f"{len(plan.points):,} points" + (f", {kept:,} of them kept from before" if kept else "") + cost


def list_points(plan: Plan, *, as_json: bool, quiet: bool) -> None:
    """Prints the points of a sweep, with those that have a result marked."""
    missing = {*plan.missing()}
    rows = [
        {column.name: column.values[index] for column in plan.columns} | {"kept": index not in missing}
        for index in range(len(plan.points))
    ]
    if as_json:
        print_json({"name": plan.spec.name, "out": str(plan.out), "points": rows})
        return
    head = [*(column.name for column in plan.columns), "result"]
    texts = [
        [*(text_of(row[column.name]) for column in plan.columns), "kept" if row["kept"] else "to be run"]
        for row in rows[:LISTED]
    ]
    print_texts(console(quiet=quiet), (head, texts), left=len(head))
    more = f" (the first {LISTED:,} are listed)" if len(rows) > LISTED else ""
    console(quiet=quiet).print(f"{counts(plan)}{more}; the results would be in {plan.out}", markup=False)


def text_of(value: object) -> str:
    """A value of an axis as a cell."""
    return f"{value:,.10g}" if isinstance(value, int | float) and not isinstance(value, bool) else str(value)


def as_dict(found: Sweep) -> dict[str, object]:
    """A sweep for `--json`."""
    return {
        "name": found.name,
        "out": str(found.out),
        "points": found.points,
        "interrupted": found.interrupted,
        "findings": found.findings,
        "assumptions": found.assumptions,
        "warnings": found.warnings,
        "runs": found.frame.to_dicts(),
        "traffic": found.traffic.to_dicts(),
        "failures": found.failures.to_dicts(),
    }
