"""The command `clearway list`: transports, topologies, workloads, example scenarios and figures."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from clearway import _clearway, examples, units
from clearway.command import names
from clearway.command.names import Choice, NameOf, unknown
from clearway.command.shared import console, notes, print_json
from clearway.command.tables import print_heading, print_texts

if TYPE_CHECKING:
    from rich.console import Console

    from clearway.texts import Texts

#: The costs of figures, which `make docs` writes.
COSTS = Path(__file__).parent.parent / "data" / "figures.json"

EXAMPLES = """\b
Examples:
  clearway list transports
  clearway list transports expresspass
  clearway list topologies --json
  clearway list scenarios
  clearway list scenarios incast > incast.toml
  clearway list figures
"""


@click.command("list", epilog=EXAMPLES)
@click.argument("what", type=Choice(["transports", "topologies", "workloads", "scenarios", "figures"]))
@click.argument("name", required=False, type=NameOf())
@click.option("--json", "as_json", is_flag=True, help="Print as JSON.")
def list_(what: str, name: str | None, as_json: bool) -> None:
    """List the transports, topologies or workloads that scenarios may name, examples, or the figures that can be
    reproduced, with the processor time and the memory that these take.

    The examples (`scenarios`) are listed by question, each with the command that shows it. With NAME, all about that
    one; of an example that is its file.
    """
    if what == "scenarios" and not as_json:
        list_scenarios(name)
        return
    if name is None and not as_json:
        print_texts(console(), overview(what), left=4)
        return
    known = {entry["name"]: entry for entry in catalog(what)}
    if name is not None and name not in known:
        raise click.UsageError(unknown(name, {"topologies": "topology"}.get(what, what.removesuffix("s")), known))
    if as_json:
        print_json(known[name] if name else list(known.values()))
    elif what == "transports":
        describe(console(), next(entry for entry in _clearway.transports() if entry["name"] == name))
    else:
        describe_other(console(), known[name])


def catalog(what: str) -> list[dict[str, Any]]:
    """The entries of a kind, by name."""
    of: dict[str, Callable[[], Sequence[Mapping[str, Any]]]] = {
        "transports": _clearway.transports,
        "topologies": _clearway.topologies,
        "workloads": _clearway.workloads,
        "scenarios": scenarios,
        "figures": figures,
    }
    return [dict(entry) for entry in of[what]()]


def list_scenarios(name: str | None) -> None:
    """Prints the examples by the questions that they answer, or the file of one."""
    if name is None:
        from clearway.command.examples import print_examples

        print_examples(console(), click.get_current_context().find_root().command)
        return
    known = examples.examples()
    if name not in known:
        raise click.UsageError(unknown(name, "scenario", known))
    one = known[name]
    click.echo(one.text(), nl=False)
    if others := one.others():
        named = " and ".join(others)
        notes().print(f"{name}: reads {named} too, which `clearway new --from {name}` copies with it")


def scenarios() -> list[dict[str, Any]]:
    """The examples, with the commands that show them."""
    from clearway.command.examples import entries

    return entries(click.get_current_context().find_root().command)


def figures() -> list[dict[str, Any]]:
    """The figures that can be reproduced, with all that is known of them."""
    from clearway.reproduce import figures as known

    costs = figure_costs()
    return [
        {"name": name, "summary": one.title, "doc": one.doc, **costs.get(name, {})} for name, one in known().items()
    ]


def figure_costs() -> dict[str, dict[str, dict[str, Any]]]:
    """The cost of each figure at each scale, by the estimates of its simulations.

    `make docs` writes them, since there are ten thousand simulations, whose estimates take ten seconds.
    """
    found: dict[str, dict[str, dict[str, Any]]] = json.loads(COSTS.read_text("utf-8"))
    return found


def cost_text(cost: Mapping[str, Any] | None) -> str:
    """The simulations of a figure, with what they take by their estimates."""
    if cost is None:  # It is a new figure.
        return "make docs estimates it"
    if not cost["runs"]:
        return "no simulation"
    cpu_s = cost["cpu_s"]
    spent = f"{cpu_s / 3600:.1f} h" if cpu_s >= 3600 else f"{cpu_s / 60:.0f} min" if cpu_s >= 60 else f"{cpu_s:.0f} s"
    return f"{cost['runs']:,} runs, {spent}, {units.size(cost['memory_bytes'])}"


def overview(what: str) -> Texts:
    """A line for each entry of a kind."""
    if what == "workloads":
        rows = [[w["name"], units.size(w["mean_bytes"]), w["summary"]] for w in _clearway.workloads()]
        return ["workload", "mean size", "what it is"], rows
    if what == "figures":
        costs = figure_costs()
        rows = [
            [name, title, *(cost_text(costs.get(name, {}).get(scale)) for scale in ("quick", "paper"))]
            for name, title in names.figures().items()
        ]
        return ["figure", "what it is", "quick", "at the paper's size"], rows
    if what == "topologies":
        rows = [[t["name"], t["summary"], ", ".join(t["keys"])] for t in _clearway.topologies()]
        return ["topology", "what it is", "keys"], rows
    rows = [[t["name"], t["summary"], t["source"], t["checked"]] for t in _clearway.transports()]
    return ["transport", "what it is", "source", "checked against"], rows


def describe_other(out: Console, entry: Mapping[str, Any]) -> None:
    """Prints all about a topology, a workload or a figure."""
    print_heading(out, entry["name"], f": {entry['summary']}")
    if entry.get("names"):
        out.print(f"  names: {entry['names']}", soft_wrap=True, markup=False)
    for key, default in entry.get("keys", {}).items():
        out.print(f"  {key} = {default or 'left out'}", soft_wrap=True, markup=False)
    if "mean_bytes" in entry:
        out.print(f"  mean size {units.size(entry['mean_bytes'])}", soft_wrap=True, markup=False)
    if "doc" in entry:
        out.print(f"\n{entry['doc']}", soft_wrap=True, markup=False)
    for note in entry.get("notes", []):
        out.print(f"  {note}", soft_wrap=True, markup=False)


def describe(out: Console, transport: _clearway._Transport) -> None:
    """Prints all that is known of a transport: parameters, profiles, sources."""
    print_heading(out, transport["name"], f": {transport['summary']}")
    out.print(f"Source: {transport['source']}", soft_wrap=True)
    out.print(f"Checked against: {transport['checked']}. {transport['checked_how']}", soft_wrap=True)
    out.print()
    rows = [
        [
            each["name"],
            each["kind"],
            each["default"],
            limits(each),
            each["source"],
            each["doc"],
        ]
        for each in transport["parameters"]
    ]
    if rows:
        head = ["parameter", "written as", "default", "range", "source", "what it does"]
        print_texts(out, (head, rows), left=6)
    for profile in transport["profiles"]:
        values = ", ".join(f"{key} = {value}" for key, value in profile["values"].items())
        print_heading(out, f'profile = "{profile["name"]}"', f": {profile['doc']}")
        out.print(f"  sets {values}", soft_wrap=True)


def limits(parameter: _clearway._Parameter) -> str:
    """The range of a parameter."""
    least, most = parameter["min"], parameter["max"]
    if least and most:
        return f"{least} to {most}"
    return f"from {least}" if least else f"to {most}" if most else ""
