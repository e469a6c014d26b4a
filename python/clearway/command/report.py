"""The command `clearway report`: one HTML page about result folders."""

from __future__ import annotations

from pathlib import Path

import click

from clearway import _clearway, folder
from clearway.command.names import RunFolder
from clearway.command.shared import notes

EXAMPLES = """\b
Examples:
  clearway report out/websearch
  clearway report out/websearch out/incast --out page.html
  clearway report out/buffers             the folder of a sweep
"""


@click.command(epilog=EXAMPLES)
@click.argument("runs", nargs=-1, required=True, type=RunFolder())
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    help="File of the page.  [default: index.html in out/report, in a folder named for RUNS]",
)
@click.option("--force", is_flag=True, help="Replace a file that is not the page of these RUNS.")
@click.option("--title", help="Title of the page.  [default: scenarios and transports]")
@click.option("--quiet", "-q", is_flag=True, help="Print nothing but errors.")
def report(runs: tuple[Path, ...], out: Path | None, force: bool, title: str | None, quiet: bool) -> None:
    """Make a page with tables and pictures of RUNS: result folders, folders of such, or folders of sweeps.

    Runs of one scenario are shown side by side. The page is one file that needs no network. Beside it stands another
    in which the runs can be watched, if this installation has the live page (`clearway view`). The page of the same
    RUNS is replaced, and that of others refused.
    """
    from clearway.report import write_page
    from clearway.report.live import live
    from clearway.report.source import check_page, default_page, source_of
    from clearway.report.sweeps import missing_text
    from clearway.result import load
    from clearway.sweeps.record import is_sweep
    from clearway.sweeps.saved import load_sweep

    found, folders, sweeps = [], [], []
    for path in runs:
        if not path.is_dir():
            found_there = "is a file" if path.exists() else "there is no such folder"
            raise _clearway.Error(f"{path}: {found_there}; name a folder of results, as `clearway run --out` writes it")
        if is_sweep(path):
            sweeps.append(load_sweep(path))
            if sweeps[-1].missing:
                notes(quiet=quiet).print(f"{path}: {missing_text(sweeps[-1])}", markup=False)
            continue
        inside = folder.find_runs(path)
        if not inside:
            raise _clearway.Error(f"{path}: there are no results in this folder")
        found += inside
        folders.append(path)
    out, source = default_page(runs) if out is None else out, source_of(runs)
    check_page(out, source, force=force)
    loaded = [load(path) for path in dict.fromkeys(found)]
    write_page(loaded, out, title=title, sweeps=sweeps, live=live(folders, out), source=source)
    notes(quiet=quiet).print(f"Report: {out}", markup=False)
