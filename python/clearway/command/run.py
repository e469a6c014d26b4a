"""The command `clearway run`: one simulation."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from clearway.command.names import SCENARIO, VARIANT
from clearway.command.shared import console, notes, print_json, run_options, settings_dict
from clearway.command.tables import print_runs
from clearway.command.threads import chosen as chosen_threads
from clearway.ends import FAILED, INTERRUPTED

if TYPE_CHECKING:
    from clearway.result import Run

EXAMPLES = """\b
Examples:
  clearway run incast
  clearway run incast --transport dctcp --seed 7
  clearway run incast --set switch.buffer='1 MB' --out out/small-buffer
  clearway run websearch --checkpoint '10 min'
"""


@click.command(epilog=EXAMPLES)
@click.argument("scenario", type=SCENARIO)
@click.option("--transport", type=VARIANT, help="Transport of all traffic, instead of the scenario's.")
@run_options
@click.option(
    "--checkpoint",
    metavar="EVERY",
    help="Keep the run's state this often ('10 min' of wall time): after a kill the same command goes on from it, "
    "with any number of threads.",
)
@click.option("--fresh", is_flag=True, help="Start over, in place of going on from a checkpoint.")
def run(
    scenario: Path,
    transport: str | None,
    settings: tuple[tuple[str, str], ...],
    stacks: str | None,
    seed: int | None,
    out: Path | None,
    force: bool,
    threads: int | str,
    as_json: bool,
    quiet: bool,
    checkpoint: str | None,
    fresh: bool,
) -> int:
    """Simulate SCENARIO, a file or an example of `clearway list scenarios`, and say what happened.

    Prints flow completion times by size, queues, drops and speed, and writes the results to a folder: the resolved
    scenario, flows, ports and samples as Parquet, totals as JSON. Ctrl-C keeps what was simulated so far.
    """
    from clearway import folder, units
    from clearway.bars import progress_bar
    from clearway.checkpoint import SUFFIX, is_waiting
    from clearway.ended import GOES_ON
    from clearway.naming import default_folder
    from clearway.runner import kept, load_scenario, simulate

    if fresh and checkpoint is None:
        raise click.UsageError("--fresh: starts a run with --checkpoint over; without that, every run starts anew")
    chosen = settings_dict(settings, stacks)
    loaded = load_scenario(scenario, transport=transport, seed=seed, set=chosen, out=out or "out")
    out = out or default_folder(loaded, transports=True, seed=seed, settings=chosen)
    folder.check_target(out, {"": loaded.to_toml()}, force=force)
    tell = notes(quiet=quiet)
    if checkpoint is None and is_waiting(out):
        tell.print(
            f"{out}{SUFFIX} holds a part of such a run; with --checkpoint this command goes on from it.", markup=False
        )

    def resumed(simulated_s: float) -> None:
        tell.print(
            f"Going on from {units.seconds(simulated_s)} of simulated time, which {out}{SUFFIX} holds.", markup=False
        )

    count = chosen_threads(tell, loaded, threads)
    with kept(checkpoint, out, loaded, fresh=fresh, tell=resumed) as checkpoints:
        with progress_bar(quiet=quiet or as_json) as bar:
            shown = bar.start(loaded.name)
            result = simulate(
                loaded,
                transport=transport,
                set=chosen,
                progress=shown,
                out=out,
                threads=count,
                checkpoints=checkpoints,
            )
        saved = result.save(out, force=force)
        if checkpoints is not None and result.summary["ended"] not in GOES_ON:
            checkpoints.close()
    if as_json:
        print_json(run_json(result, saved))
    elif not quiet:
        print_runs(console(), f"{result.name}, seed {result.summary['seed']}", {result.label: result})
    tell.print(saved_text(result, saved, out), markup=False)
    if checkpoint is not None and result.summary["ended"] in GOES_ON:
        tell.print("The same command goes on from there.")
    return INTERRUPTED if result.interrupted else FAILED if result.cut_off else 0


def run_json(run: Run, out: Path) -> dict[str, object]:
    """A run for `--json`."""
    from clearway.comparison import headline
    from clearway.metrics import FCT, fct_by_size
    from clearway.window import flows, tiers

    return {
        "out": str(out),
        "summary": run.summary,
        "findings": run.findings,
        "headline": headline(run),
        "fct_by_size": fct_by_size(flows(run, FCT)).to_dicts(),
        "tiers": tiers(run).to_dicts(),
    }


def saved_text(run: Run, saved: Path, out: Path) -> str:
    """Says where the results are, why not in `out` if not, and of which part they are if the run was cut off."""
    from clearway.ended import covered

    elsewhere = f", as {out} holds others that are finished" if saved != out else ""
    if run.cut_off:
        ended = str(run.summary["ended"]).capitalize()
        return f"{ended}: {covered(run.summary)}. They are in {saved}{elsewhere}"
    return f"Results: {saved}{elsewhere}"
