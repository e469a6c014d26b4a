"""The examples as `clearway list scenarios` prints them: by question, with commands and what these cost."""

from __future__ import annotations

import shlex
import textwrap
from collections.abc import Mapping
from itertools import groupby
from typing import TYPE_CHECKING, Any

import click

from clearway import _clearway, units
from clearway.command.shared import settings_dict
from clearway.examples import Example, examples
from clearway.scenario import variant
from clearway.sweeps import file

if TYPE_CHECKING:
    from rich.console import Console

#: The column at which sentences and commands begin.
INDENT = 4


def entries(root: click.Command) -> list[dict[str, Any]]:
    """All examples for `clearway list scenarios --json`; `root` is the command `clearway`."""
    return [
        {
            "name": one.name,
            "kind": one.kind,
            "question": one.question,
            "summary": one.shows,
            "command": one.command,
            "cpu_s": cpu_s(one, root),
            "text": one.text(),
        }
        for one in examples().values()
    ]


def print_examples(out: Console, root: click.Command) -> None:
    """Prints all examples below their questions; a command ends with a comment, so that the line can be copied."""
    for question, those in groupby(examples().values(), key=lambda one: one.question):
        out.print(question, style="bold")
        for one in those:
            cost = cpu_s(one, root)
            spent = f"about {units.value(float(f'{cost:.1g}'), 's')} of CPU time" if cost else "no simulation"
            out.print(f"  {one.name}")
            for line in textwrap.wrap(one.shows, max(out.width - INDENT, 20)):
                out.print(f"{' ' * INDENT}{line}", soft_wrap=True)
            out.print(f"{' ' * INDENT}{one.command}  # {spent}", soft_wrap=True)
        out.print()


def parsed(one: Example, root: click.Command) -> tuple[str, Mapping[str, Any]]:
    """The name and the arguments of the command that shows an example, as the command line reads them."""
    assert isinstance(root, click.Group)
    _, *words = shlex.split(one.command)
    context = click.Context(root, info_name="clearway")
    name, command, rest = root.resolve_command(context, words)
    assert name is not None
    assert command is not None
    # Resilient, so that nothing is said of files of the current folder that have the name of an example.
    return name, command.make_context(name, rest, parent=context, resilient_parsing=True).params


def cpu_s(one: Example, root: click.Command) -> float:
    """The processor time that the command of an example takes, by the estimates of its simulations."""
    name, given = parsed(one, root)
    if name == "sweep":
        spec = file.read(one.path, settings_dict(given["settings"]))
        return sum(spec.load(choice).estimate()["cpu_s"] for choice in spec.choices())
    if name not in ("run", "compare"):
        return 0.0
    asked = given["transports"].split(",") if name == "compare" else [given["transport"]]
    chosen = settings_dict(given["settings"], given["stacks"])
    return sum(estimated(one, transport, given["seed"], chosen) for transport in asked)


def estimated(one: Example, transport: str | None, seed: int | None, chosen: Mapping[str, str]) -> float:
    """The processor time of one simulation of an example."""
    transport, own = (None, {}) if transport is None else variant.split(transport)
    settings = [*chosen.items(), *own.items()]
    return _clearway.Scenario.load(one.path, transport=transport, seed=seed, set=settings).estimate()["cpu_s"]
