"""The command `clearway compare`: one scenario under several transports."""

from __future__ import annotations

from pathlib import Path

import click

from clearway.command.names import SCENARIO, VARIANTS
from clearway.command.run import run_json, saved_text
from clearway.command.shared import console, notes, print_json, run_options, settings_dict
from clearway.command.tables import print_runs
from clearway.command.threads import runs_beside
from clearway.ends import FAILED, INTERRUPTED

EXAMPLES = """\b
Examples:
  clearway compare websearch --transports expresspass,dctcp
  clearway compare websearch --transports expresspass,dctcp --stacks own
  clearway compare incast --transports expresspass,expresspass+tell_end=true
  clearway compare incast --transports expresspass,dctcp,cubic --json
"""


@click.command(epilog=EXAMPLES)
@click.argument("scenario", type=SCENARIO)
@click.option(
    "--transports",
    type=VARIANTS,
    required=True,
    help="Transports, separated by commas; +KEY=VALUE behind one sets a parameter of it alone.",
)
@run_options
def compare(
    scenario: Path,
    transports: str,
    settings: tuple[tuple[str, str], ...],
    stacks: str | None,
    seed: int | None,
    out: Path | None,
    force: bool,
    threads: int | str,
    as_json: bool,
    quiet: bool,
) -> int:
    """Simulate SCENARIO under several transports, with the same traffic, and show them side by side.

    SCENARIO is a file or an example of `clearway list scenarios`. Writes a folder for each transport; `clearway report`
    makes pictures of them.
    """
    import clearway.comparison
    from clearway.bars import progress_bar
    from clearway.interrupt import Interrupted
    from clearway.naming import default_folder
    from clearway.runner import load_scenario

    names = [name.strip() for name in transports.split(",") if name.strip()]
    chosen = settings_dict(settings, stacks)
    if not names:
        raise click.UsageError(f"--transports {transports!r}: name at least one, such as expresspass,dctcp")
    first = load_scenario(scenario, transport=names[0], seed=seed, set=chosen)
    out = out or default_folder(first, transports=False, seed=seed, settings=chosen)
    beside, count = runs_beside(notes(quiet=quiet), first, threads, len(names))
    with progress_bar(quiet=quiet or as_json) as bar:
        try:
            found = clearway.comparison.compare(
                scenario,
                names,
                seed=seed,
                set=chosen,
                out=out,
                force=force,
                progress=bar.beside(names, beside),
                threads=count,
                beside=beside,
            )
        except Interrupted as stop:
            if stop.partial is None:
                raise
            found = stop.partial
    saved = found.path or out
    if as_json:
        print_json({name: run_json(run, saved / name) for name, run in found.runs.items()})
    else:
        print_runs(console(quiet=quiet), f"{first.name}, seed {first.seed}", found.runs)
    runs = list(found.runs.values())
    last = next((run for run in runs if run.cut_off), runs[-1])
    notes(quiet=quiet).print(saved_text(last, saved, out), markup=False)
    return INTERRUPTED if found.interrupted else FAILED if found.cut_off else 0
