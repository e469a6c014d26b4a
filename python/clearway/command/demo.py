"""`clearway demo`: the main job, which `make run` runs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import click

from clearway import _clearway
from clearway.command.shared import console, notes
from clearway.command.tables import (
    print_assumptions,
    print_findings,
    print_heading,
    print_runs,
    print_texts,
    print_warnings,
)
from clearway.ends import INTERRUPTED

if TYPE_CHECKING:
    from clearway.result import Run

TRANSPORTS = ("dctcp", "expresspass")
#: ExpressPass that tells its receiver how much there is to send. The paper assumes that senders do not know it, and
#: measures what that wastes, so it is no default; answers of one packet show what it would save.
END_TOLD = "expresspass+tell_end=true"
FAN_OUT_KEY = "traffic.workers.fan_out"
FAN_OUTS = (32, 64, 128, 256, 512, 1024, 2048)

EXAMPLES = """\b
Examples:
  clearway demo
  clearway demo --quick --out /tmp/clearway
"""


@dataclass(frozen=True)
class Job:
    """One simulation of the demonstration."""

    #: Name of one of the example scenarios.
    scenario: str
    transport: str
    set: dict[str, str] = field(default_factory=dict)

    @property
    def label(self) -> str:
        """The name of this simulation in the progress bar."""
        return " ".join([self.scenario, *self.set.values(), self.transport])

    @property
    def folder(self) -> str:
        """The name of this simulation's folder."""
        return "-".join([self.scenario, *self.set.values(), self.transport])


def jobs(quick: bool) -> Iterator[Job]:
    """All simulations, in order."""
    for fan_out in FAN_OUTS[:3] if quick else FAN_OUTS:
        for transport in (*TRANSPORTS, END_TOLD):
            yield Job("fig01-partition-aggregate", transport, {FAN_OUT_KEY: str(fan_out)})
    for transport in TRANSPORTS:
        yield Job("websearch", transport, {"traffic.web.flows": "200" if quick else "10000"})


@click.command(epilog=EXAMPLES)
@click.option(
    "--scenarios",
    type=click.Path(path_type=Path),
    help="Folder with the two scenarios as files, to demonstrate changed ones.  [default: those of the package]",
)
@click.option(
    "--out", type=click.Path(path_type=Path), default=Path("out"), show_default=True, help="Folder for the results."
)
@click.option("--quick", is_flag=True, help="Fewer and smaller simulations.")
@click.option("--force", is_flag=True, help="Replace other results, and a page of others.")
def demo(scenarios: Path | None, out: Path, quick: bool, force: bool) -> int:
    """Run the main job: ExpressPass against DCTCP, and a report with pictures.

    A partition/aggregate incast (ExpressPass '17, Fig. 1) with fan-outs of 32 to 2,048 on an 8-ary fat tree, where
    ExpressPass also runs with tell_end, since one-packet answers waste most of the credits without it. Then
    web-search traffic at a load of 0.6 on a 3:1 oversubscribed fat tree of 192 hosts.
    """
    from clearway import folder
    from clearway.bars import progress_bar
    from clearway.comparison import save
    from clearway.report import write_page
    from clearway.report.live import live
    from clearway.report.source import check_page, source_of
    from clearway.runner import load_scenario, simulate

    wanted = list(jobs(quick))
    loaded = [load_scenario(source(job.scenario, scenarios), transport=job.transport, set=job.set) for job in wanted]
    target = out / ("demo-quick" if quick else "demo")
    results = {job.folder: one.to_toml() for job, one in zip(wanted, loaded, strict=True)}
    folder.check_target(target, results, force=force)
    # The same page with and without --quick: the demonstration's.
    page, page_source = out / "report" / "index.html", source_of([out / "demo"])
    check_page(page, page_source, force=force)
    runs: list[Run] = []
    with progress_bar(quiet=False) as bar:
        for number, (job, scenario) in enumerate(zip(wanted, loaded, strict=True), 1):
            label = f"[{number}/{len(wanted)}] {job.label}"
            run = simulate(scenario, transport=job.transport, set=job.set, progress=bar.start(label))
            runs.append(run)
            if run.interrupted:
                break
            run.check_whole()
    board = board_html(Path("docs") / "results" / "data")
    saved = save({job.folder: run for job, run in zip(wanted, runs, strict=False)}, target, results, force=force)
    title = "ExpressPass against DCTCP"
    write_page(runs, page, title=title, more=board, live=live([saved], page), source=page_source)
    show(runs)
    notes().print(f"Results: {saved}\nReport:  {page} (open it in a browser)", markup=False)
    return INTERRUPTED if runs[-1].interrupted else 0


def source(name: str, folder: Path | None) -> Path | str:
    """The file of an example scenario in a folder or, without one, its text from the package."""
    if folder is not None:
        return folder / f"{name}.toml"
    text = next(one["text"] for one in _clearway.scenarios() if one["name"] == name)
    return f'name = "{name}"\n{text}'


def board_html(records: Path) -> str:
    """The verdicts on the papers' claims as HTML, from the records of the repository; empty where there are none."""
    from clearway.report.html import prose
    from clearway.reproduce import figures, scoreboard

    if not records.exists():
        return ""
    scores = scoreboard.scores(figures(), records)
    table = scoreboard.table_html(*scoreboard.summary_texts(scores), words=1)
    about = (
        "Every claim of the five papers is computed by `clearway reproduce`; docs/results/README.md has a row for each."
    )
    board = f'<p class="muted">{prose(about)}</p><div class="card">{table}</div>'
    return f"<section><h2>What the papers claim</h2>{board}</section>"


def show(runs: list[Run]) -> None:
    """Prints the tables of the demonstration, one a scenario."""
    from clearway import caveats, units
    from clearway.findings import variation_findings
    from clearway.groups import as_variation
    from clearway.scenario_warnings import of_run, swept_warnings
    from clearway.texts import variation_texts

    by_name: dict[str, list[Run]] = {}
    for run in runs:
        by_name.setdefault(run.name, []).append(run)
    for name, members in by_name.items():
        variation = as_variation(name, members)
        if variation is None:
            print_runs(console(), name, {run.label: run for run in members})
        else:
            console().print()
            print_heading(console(), name)
            known = caveats.of_lines(variation.lines)
            last = {label: line[-1][1] for label, line in variation.lines.items()}
            points = [
                (f"{label}, {units.value(x, variation.unit)}", of_run(run))
                for label, line in variation.lines.items()
                for x, run in line
            ]
            warnings = [*swept_warnings(points), *caveats.caveats(known)]
            print_findings(console(), variation_findings(variation), warnings)
            print_warnings(console(), warnings)
            print_assumptions(console(), last, caveats.few_flows(known))
            print_texts(console(), variation_texts(variation), left=2)
