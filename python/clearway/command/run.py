"""The command `clearway run`: one simulation."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from clearway.command.names import SCENARIO, TRANSPORT
from clearway.command.shared import INTERRUPTED, console, notes, print_json, run_options, settings_dict
from clearway.command.tables import print_runs

if TYPE_CHECKING:
    from clearway.result import Run

EXAMPLES = """\b
Examples:
  clearway run scenarios/incast.toml
  clearway run scenarios/incast.toml --transport dctcp --seed 7
  clearway run scenarios/incast.toml --set switch.buffer='1 MB' --out out/small-buffer
"""


@click.command(epilog=EXAMPLES)
@click.argument("scenario", type=SCENARIO)
@click.option("--transport", type=TRANSPORT, help="Transport of all traffic, instead of the scenario's.")
@run_options
def run(
    scenario: Path,
    transport: str | None,
    settings: tuple[tuple[str, str], ...],
    stacks: str | None,
    seed: int | None,
    out: Path | None,
    force: bool,
    threads: int,  # noqa: ARG001 - checked to be 1
    as_json: bool,
    quiet: bool,
) -> int:
    """Simulate SCENARIO and say what happened.

    Prints flow completion times by size, queues, drops and speed, and writes the results to a folder: the resolved
    scenario, flows, ports and samples as Parquet, totals as JSON. Ctrl-C keeps what was simulated so far.
    """
    from clearway import folder
    from clearway.bars import progress_bar
    from clearway.naming import default_folder
    from clearway.runner import load_scenario, simulate

    chosen = settings_dict(settings, stacks)
    loaded = load_scenario(scenario, transport=transport, seed=seed, set=chosen, out=out or "out")
    out = out or default_folder(loaded, transports=True, seed=seed, settings=chosen)
    folder.check_target(out, {"": loaded.to_toml()}, force=force)
    with progress_bar(quiet=quiet or as_json) as bar:
        result = simulate(loaded, transport=transport, set=chosen, progress=bar.start(loaded.name), out=out)
    saved = result.save(out, force=force)
    if as_json:
        print_json(run_json(result, saved))
    else:
        print_runs(console(quiet=quiet), f"{result.name}, seed {result.summary['seed']}", {result.label: result})
    notes(quiet=quiet).print(saved_text(result.interrupted, result.summary["simulated_s"], saved, out), markup=False)
    return INTERRUPTED if result.interrupted else 0


def run_json(run: Run, out: Path) -> dict[str, object]:
    """A run for `--json`."""
    from clearway.comparison import headline
    from clearway.metrics import FCT, fct_by_size
    from clearway.window import flows

    return {
        "out": str(out),
        "summary": run.summary,
        "headline": headline(run),
        "fct_by_size": fct_by_size(flows(run, FCT)).to_dicts(),
    }


def saved_text(interrupted: bool, simulated_s: float, saved: Path, out: Path) -> str:
    """Says where the results are, why not in `out` if not, and, after Ctrl-C, of which part they are."""
    elsewhere = f", as {out} holds others that are finished" if saved != out else ""
    if interrupted:
        first = f"Interrupted: the results are of the first {simulated_s:g} s of simulated time."
        return f"{first} They are in {saved}{elsewhere}"
    return f"Results: {saved}{elsewhere}"
