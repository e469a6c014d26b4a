"""`clearway list`."""

from __future__ import annotations

import click
from rich.console import Console
from rich.markup import escape

from clearway import _clearway
from clearway.command.shared import console, print_json
from clearway.command.tables import print_texts

EXAMPLES = """\b
Examples:
  clearway list transports
  clearway list transports expresspass
  clearway list topologies --json
"""


@click.command("list", epilog=EXAMPLES)
@click.argument("what", type=click.Choice(["transports", "topologies", "workloads"]))
@click.argument("name", required=False)
@click.option("--json", "as_json", is_flag=True, help="Print as JSON.")
def list_(what: str, name: str | None, as_json: bool) -> None:
    """List the transports, topologies or workloads that scenarios may name; with NAME, all about that one."""
    if what == "transports":
        list_transports(name, as_json)
    else:
        list_named(what, _clearway.topologies() if what == "topologies" else _clearway.workloads(), name, as_json)


def list_transports(name: str | None, as_json: bool) -> None:
    """All transports in a line each, or all about one."""
    known = {transport["name"]: transport for transport in _clearway.transports()}
    if name is not None and name not in known:
        raise click.UsageError(f"there is no transport {name!r}; there are {', '.join(known)}")
    if as_json:
        print_json(known[name] if name else list(known.values()))
    elif name:
        describe(console(), known[name])
    else:
        rows = [[each["name"], escape(each["summary"]), escape(each["source"])] for each in known.values()]
        print_texts(console(), (["transport", "what it is", "source"], rows), left=3)


def list_named(what: str, entries: list[tuple[str, str]], name: str | None, as_json: bool) -> None:
    """Topologies or workloads."""
    known = dict(entries)
    if name is not None and name not in known:
        raise click.UsageError(f"there is nothing named {name!r} among the {what}; there are {', '.join(known)}")
    shown = {name: known[name]} if name else known
    if as_json:
        print_json([{"name": key, "description": text} for key, text in shown.items()])
        return
    rows = [[key, escape(text)] for key, text in shown.items()]
    print_texts(console(), ([what.removesuffix("s"), "what it is"], rows), left=2)


def describe(out: Console, transport: _clearway._Transport) -> None:
    """All about a transport."""
    out.print(f"[bold]{transport['name']}[/]: {escape(transport['summary'])}", soft_wrap=True)
    out.print(f"Source: {escape(transport['source'])}", soft_wrap=True)
    out.print()
    rows = [
        [
            each["name"],
            each["kind"],
            each["default"],
            limits(each),
            escape(each["source"]),
            escape(each["doc"]),
        ]
        for each in transport["parameters"]
    ]
    if rows:
        head = ["parameter", "written as", "default", "range", "source", "what it does"]
        print_texts(out, (head, rows), left=6)
    for profile in transport["profiles"]:
        values = ", ".join(f"{key} = {value}" for key, value in profile["values"].items())
        out.print(f'[bold]profile = "{profile["name"]}"[/]: {escape(profile["doc"])}', soft_wrap=True)
        out.print(f"  sets {escape(values)}", soft_wrap=True)


def limits(parameter: _clearway._Parameter) -> str:
    """The range of a parameter."""
    least, most = parameter["min"], parameter["max"]
    if least and most:
        return f"{least} to {most}"
    return f"from {least}" if least else f"to {most}" if most else ""
