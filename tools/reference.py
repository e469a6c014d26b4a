"""The reference pages of the command and of the Python package: every option from its declaration, every docstring."""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Iterator
from typing import Any

import click

import clearway
from clearway.command import cli

COMMAND = """# The command clearway

This page lists every command with its arguments and options, as `clearway COMMAND --help` prints them.

Results go to standard output, and notes and progress to standard error. The exit code is 0 if all went well, 1 if a
simulation failed or its output can't be written, and 2 if something in the input is wrong (one line says what, where
and what would be right). Ctrl-C ends a command with 130, SIGTERM with 143, and SIGHUP, as a terminal that is closed
sends it, with 129; what was simulated is kept after each of them. A reader that has seen enough, such as `head -1`, is
no failure: the exit code stays what it would be. `--json`, where a command has it, prints results for programs.

Tables are as wide as the terminal, or as the environment variable `COLUMNS` says, and 120 columns where there is
neither. Where no two columns fit beside each other, a table becomes a list. `NO_COLOR=1` takes colours away, and
`FORCE_COLOR=1` keeps them in a file or a pipe.
"""

PYTHON = """# Python

`import clearway` is all that a program needs for the functions and classes below, but for those whose names have a
module in them. The docstrings of the package are the source of this page, and `help(clearway.run)` prints them too.
Tables are [Polars](https://docs.pola.rs) data frames, whose columns [results](results.md) lists. Times are in
seconds, sizes in bytes and rates in bits per second, as the names of columns say.

[Clearway in Python](../how-to/python.md) shows these functions at work.
"""

#: The sections of the page on Python: what each holds. Names of `clearway` that no section has are in the last.
SECTIONS = {
    "Simulate": ["run", "compare", "sweep", "open", "transports"],
    "Read results": ["load", "load_sweep"],
    "Results": ["Run", "Stepped", "Comparison", "Sweep", "Progress"],
    "Measures": ["metrics"],
    "Pictures, pages and exports": ["plot.Plots", "plot.look", "report.write_page", "export.export"],
    "Errors": ["Error", "ScenarioError", "SimulationError", "Interrupted"],
    "More": [],
}


def command_md() -> str:
    """The page of the command."""
    context = click.Context(cli, info_name="clearway", max_content_width=100)
    parts = [COMMAND]
    names = sorted(cli.commands)
    parts.append("".join(f"* [`clearway {name}`](#clearway-{name}): {summary(context, name)}\n" for name in names))
    for name in names:
        parts += sections_of(context, name, level=2)
    parts.append(
        "**Next:** [scenario files](scenario.md), which commands read; [results](results.md), which they write.\n"
    )
    return "\n".join(parts)


def summary(context: click.Context, name: str) -> str:
    """The line of a command in the list of all."""
    command = cli.get_command(context, name)
    assert command is not None
    return command.get_short_help_str(limit=200)


def sections_of(parent: click.Context, name: str, level: int) -> Iterator[str]:
    """The section of a command, and those of the commands below it."""
    assert isinstance(parent.command, click.Group)
    _, command, _ = parent.command.resolve_command(parent, [name])
    assert command is not None
    context = click.Context(command, info_name=name, parent=parent, max_content_width=100)
    usage = " ".join([context.command_path, *command.collect_usage_pieces(context)])
    yield f"{'#' * level} clearway {context.command_path.removeprefix('clearway ')}\n\n```text\n{usage}\n```\n"
    yield prose(command.help or "")
    records = [record for one in command.get_params(context) if (record := one.get_help_record(context))]
    rows = [f"| `{cell(option)}` | {cell(text)} |\n" for option, text in records if text and option != "--help"]
    if rows:
        yield "| option | what it does |\n| --- | --- |\n" + "".join(rows)
    if command.epilog:
        yield prose(command.epilog)
    if isinstance(command, click.Group):
        for below in sorted(command.commands):
            yield from sections_of(context, below, level + 1)


def cell(text: str) -> str:
    """An option or its help in a table: on one line, and without the bounds of 64 bits."""
    return " ".join(text.replace(" RANGE", "").replace("[0<=x<=18446744073709551615]", "").replace("|", "\\|").split())


def prose(text: str) -> str:
    """Help of a command as Markdown; paragraphs that click leaves as they are become blocks."""
    parts = []
    for paragraph in inspect.cleandoc(text).split("\n\n"):
        kept = paragraph.startswith("\b\n")
        lines = paragraph.removeprefix("\b\n").splitlines()
        if lines and lines[0] == "Examples:":
            parts.append("```text\n" + "\n".join(line.strip() for line in lines[1:]) + "\n```\n")
        elif kept:
            parts.append("```text\n" + "\n".join(lines) + "\n```\n")
        elif lines:
            parts.append("\n".join(lines) + "\n")
    return "\n".join(parts)


def python_md() -> str:
    """The page of the Python package."""
    named = {name.partition(".")[0] for names in SECTIONS.values() for name in names}
    more = [name for name in clearway.__all__ if name not in named and not name.startswith("__")]
    parts = [PYTHON]
    for title, names in SECTIONS.items():
        found = [*names, *(more if title == "More" else [])]
        if found:
            parts.append(f"## {title}\n")
            for name in found:
                parts += entry(name)
    parts.append("**Next:** the columns of each table ([results](results.md)), and [their formulas](definitions.md).\n")
    return "\n".join(parts)


def entry(name: str) -> Iterator[str]:
    """The part of the page on a function, a class with its members, or a module with its functions."""
    path, _, last = name.rpartition(".")
    owner = importlib.import_module(f"clearway.{path}" if path else "clearway")
    thing = getattr(owner, last)
    if inspect.ismodule(thing):
        yield f"### clearway.{name}\n\n{inspect.getdoc(thing)}\n"
        for key, value in vars(thing).items():
            if inspect.isfunction(value) and value.__module__ == thing.__name__ and not key.startswith("_"):
                yield f"#### {name}.{key}\n\n{described(key, value, prefix=name + '.')}"
        return
    yield f"### clearway.{name}\n"
    yield described(last, thing, prefix="clearway." + (path + "." if path else ""))
    if inspect.isclass(thing):
        rows = [f"| `{row[0]}` | {row[1]} |\n" for row in fields(thing)]
        if rows:
            yield "| attribute | what it is |\n| --- | --- |\n" + "".join(rows)
        for key, value in vars(thing).items():
            if inspect.isfunction(value) and not key.startswith("_"):
                yield f"#### {last}.{key}\n\n{described(key, value, prefix='')}"


def described(name: str, thing: Any, prefix: str) -> str:
    """The signature and the docstring of a function or a class."""
    doc = inspect.getdoc(thing) or ""
    if not doc:
        raise SystemExit(f"tools/reference.py: {prefix}{name} has no docstring")
    if inspect.isclass(thing):
        return doc + "\n"
    return f"```text\n{signature(prefix + name, thing)}\n```\n\n{doc}\n"


def signature(name: str, thing: Any) -> str:
    """A call with its arguments and types, on several lines if it is long."""
    of = inspect.signature(thing)
    arguments = [one for one in of.parameters.values() if one.name != "self"]
    of = of.replace(parameters=arguments)
    text = f"{name}{of}".replace("'", "")
    if len(text) <= 90:
        return text
    shown, keyword = [], False
    for one in arguments:
        if one.kind is one.KEYWORD_ONLY and not keyword:
            shown.append("*")
        keyword = keyword or one.kind in (one.KEYWORD_ONLY, one.VAR_POSITIONAL)
        shown.append(str(one).replace("'", ""))
    end = "" if of.return_annotation is of.empty else f" -> {str(of.return_annotation).replace(chr(39), '')}"
    return f"{name}(\n" + "".join(f"    {line},\n" for line in shown) + f"){end}"


def fields(thing: type) -> Iterator[tuple[str, str]]:
    """The attributes of a class with what each is: comments on fields (`#:`), and properties."""
    try:
        source = inspect.getsource(thing)
    except (OSError, TypeError):
        source = ""
    for comment, name in re.findall(r"((?:^ +#: .*\n)+)^ +(?:self\.)?(\w+)(?::| =)", source, flags=re.MULTILINE):
        yield name, " ".join(re.sub(r"^ +#:", "", comment, flags=re.MULTILINE).split())
    # Attributes of compiled classes have no order of their own.
    compiled = sorted(name for name, value in vars(thing).items() if inspect.isgetsetdescriptor(value))
    for name in compiled or [name for name, value in vars(thing).items() if isinstance(value, property)]:
        if not name.startswith("_"):
            value = vars(thing)[name]
            yield name, " ".join((inspect.getdoc(value) or "").split())
