"""The command `clearway check`: what a scenario would simulate, and what it would cost."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import click

from clearway import _clearway, units
from clearway.command import threads as threads_of
from clearway.command.names import SCENARIO, TRANSPORT
from clearway.command.shared import console, print_json, settings_dict, settings_options
from clearway.command.tables import print_texts, print_warnings
from clearway.command.threads import parts_option
from clearway.scenario.remarks import remarks
from clearway.scenario_warnings import warning_line

EXAMPLES = """\b
Examples:
  clearway check websearch
  clearway check websearch --transport hpcc --set traffic.web.flows=1000000
  clearway check incast --json
"""


@click.command(epilog=EXAMPLES)
@click.argument("scenario", type=SCENARIO)
@click.option("--transport", type=TRANSPORT, help="Transport of all traffic, instead of the scenario's.")
@settings_options
@parts_option
@click.option("--json", "as_json", is_flag=True, help="Print as JSON.")
def check(
    scenario: Path,
    transport: str | None,
    settings: tuple[tuple[str, str], ...],
    stacks: str | None,
    seed: int | None,
    threads: int,
    as_json: bool,
) -> None:
    """Read SCENARIO without running it: say what it is, and what it would cost.

    SCENARIO is a file or an example of `clearway list scenarios`. Prints hosts, switches, links and flows, the expected
    simulated time, packets, memory and CPU time, warnings where a transport is outside of what it is made for, and
    remarks on what has no effect; with --threads also how the network is cut. A mistake is one line with file, line,
    key, value and what would be right, and exit code 2.
    """
    chosen = settings_dict(settings, stacks)
    loaded = _clearway.Scenario.load(scenario, transport=transport, seed=seed, set=list(chosen.items()))
    resolved = tomllib.loads(loaded.to_toml())
    expected = loaded.estimate()
    said = remarks(resolved, expected)
    warned = loaded.warnings()
    cut = loaded.partition(threads) if threads > 1 else None
    if as_json:
        found = {
            "scenario": loaded.name,
            "seed": loaded.seed,
            "estimate": expected,
            "warnings": warned,
            "remarks": said,
        }
        print_json(found if cut is None else {**found, "partition": cut})
        return
    out = console()
    out.print(f"{loaded.name}: can be run", style="bold", markup=False)
    out.print()
    print_texts(out, (["", "expected"], rows(resolved, expected)), left=2)
    print_texts(out, (["traffic", "kind", "transport", "flows"], traffic_rows(resolved, expected)), left=3)
    if expected["samples"]:
        print_texts(out, (["series", "what", "samples", "memory"], sample_rows(resolved, expected)), left=2)
    if cut is not None:
        if cut["parts"] > 1:
            print_texts(out, (["part", "load", "hosts", "switches"], threads_of.rows(cut)), left=1)
            out.print(threads_of.cut_text(cut), markup=False, soft_wrap=True)
        for line in threads_of.lines(cut, threads):
            out.print(line, markup=False, soft_wrap=True)
    print_warnings(out, [warning_line(warning) for warning in warned])
    for remark in said:
        out.print(f"Remark: {remark}", markup=False, soft_wrap=True)


def rows(resolved: dict[str, Any], expected: _clearway._Estimate) -> list[list[str]]:
    """The network and the totals of the run."""
    flows = units.count(expected["flows"])
    if expected["open_flows"]:
        flows += f", {units.count(expected['open_flows'])} of them without a size"
    network = ", ".join(
        f"{units.count(number)} {one if number == 1 else several}"
        for one, several, number in (
            ("host", "hosts", expected["hosts"]),
            ("switch", "switches", expected["switches"]),
            ("link", "links", expected["links"]),
        )
    )
    return [
        ["network", f"{resolved['topology']['kind']}: {network}"],
        ["flows", flows],
        ["payload", units.size(expected["payload_bytes"])],
        *([["payload share of links", tiers_text(expected)]] if expected["tiers"] else []),
        ["data packets", units.count(expected["packets"])],
        ["link transmissions", units.count(expected["link_transmissions"])],
        ["simulated time", units.seconds(expected["simulated_s"])],
        ["memory", units.size(expected["memory_bytes"])],
        ["CPU time", units.seconds(expected["cpu_s"])],
    ]


def tiers_text(expected: _clearway._Estimate) -> str:
    """The share of the links of each tier that Poisson traffic asks for, which is the same in both directions."""
    shown: dict[frozenset[str], str] = {}
    for row in expected["tiers"]:
        shown.setdefault(frozenset(row["tier"].split("->")), f"{row['tier']} {units.share(row['asked'])}")
    return ", ".join(shown.values())


def traffic_rows(resolved: dict[str, Any], expected: _clearway._Estimate) -> list[list[str]]:
    """A row for each traffic entry."""
    default = resolved.get("transport", {}).get("name", "")
    found = []
    for part, entry in zip(resolved["traffic"], expected["traffic"], strict=True):
        own = part.get("transport", default)
        name = own.get("name", default) if isinstance(own, dict) else own
        found.append([entry["name"], part["kind"], name, units.count(entry["flows"])])
    return found


def sample_rows(resolved: dict[str, Any], expected: _clearway._Estimate) -> list[list[str]]:
    """A row for each sampled series."""
    return [
        [series["name"], one["what"], units.count(series["rows"]), units.size(series["memory_bytes"])]
        for one, series in zip(resolved["sample"], expected["samples"], strict=True)
    ]
