"""The command `clearway new`: a commented scenario to start from, or a copy of an example."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import click
from click.core import ParameterSource

from clearway import _clearway, examples, reading
from clearway.command.names import EXAMPLE, TRANSPORT, WORKLOAD, Choice
from clearway.command.shared import notes
from clearway.scenario.template import PATTERNS, shapes, template

EXAMPLES = """\b
Examples:
  clearway new incast.toml
  clearway new --from incast
  clearway new --from websearch mine.toml
  clearway new web.toml --shape fat-tree --transport dctcp --workload data-mining
  clearway new shuffle.toml --shape star --pattern shuffle
  clearway new - --transport hpcc | less
"""
#: The name that stands for standard output.
PRINTED = "-"
#: The command that takes a copy of an example of a kind.
TAKEN_BY = {examples.SCENARIO: "run", examples.SWEEP: "sweep", examples.NETWORK: "show"}


@click.command(epilog=EXAMPLES)
@click.argument("file", type=click.Path(path_type=Path, allow_dash=True), required=False)
@click.option("--from", "source", type=EXAMPLE, help="Copy this example (`clearway list scenarios`).")
@click.option("--shape", type=Choice(shapes()), default="leaf-spine", show_default=True, help="Kind of network.")
@click.option(
    "--transport",
    type=TRANSPORT,
    default="expresspass",
    show_default=True,
    help="Transport of all traffic.",
)
@click.option(
    "--pattern",
    type=Choice(list(PATTERNS)),
    help="Kind of traffic.  [default: incast; poisson with --workload]",
)
@click.option(
    "--workload",
    type=WORKLOAD,
    help="Flow sizes of poisson traffic.  [default: web-search]",
)
@click.pass_context
def new(
    context: click.Context,
    file: Path | None,
    source: str | None,
    shape: str,
    transport: str,
    pattern: str | None,
    workload: str | None,
) -> None:
    """Write a scenario to FILE that runs as it is and has every key with its meaning, unit and range.

    Keys that may be left out are behind a #, with their default or an example. With --from, FILE is a copy of that
    example, by default NAME.toml, with the files that it reads beside it. FILE must not exist; `-` prints.
    """
    if source is not None:
        refuse_others(context, source)
        copy(examples.examples()[source], file or Path(f"{source}{examples.ENDING}"))
        return
    if file is None:
        raise click.UsageError("name the FILE to write, or an example to copy with --from", context)
    pattern = pattern or ("poisson" if workload else "incast")
    if workload and pattern != "poisson":
        raise click.UsageError(f"--workload {workload}: only --pattern poisson draws sizes; leave out one of both")
    name = "scenario" if str(file) == PRINTED else file.stem
    text = template(name, shape, transport, pattern, workload)
    _clearway.Scenario.parse(text, str(file), ".")
    if str(file) == PRINTED:
        click.echo(text, nl=False)
        return
    write({file: text})
    notes().print(f"{file}: run it with clearway run {file}", markup=False)


def refuse_others(context: click.Context, source: str) -> None:
    """Refuses the options that describe a scenario beside an example, which is copied as it is."""
    for name in ("shape", "transport", "pattern", "workload"):
        if context.get_parameter_source(name) is not ParameterSource.DEFAULT:
            raise click.UsageError(f"--{name}: the example {source} is copied as it is; leave out this or --from")


def copy(one: examples.Example, file: Path) -> None:
    """Writes a copy of an example, and beside it copies of the files that it reads."""
    text, others = one.text(), one.others()
    if str(file) == PRINTED:
        if others:
            raise _clearway.Error(f"{one.name}: reads {' and '.join(others)} too; name a FILE, to copy both")
        click.echo(text, nl=False)
        return
    beside = {file.parent / path.name: reading.content(path).decode("utf-8") for path in others.values()}
    if file in beside:
        raise _clearway.Error(f"{file}: {one.name} reads a file of that name; choose another name")
    for written, path in others.items():
        text = text.replace(f'"{written}"', f'"{path.name}"')
    # The commands in the comment at the head are those of the copy.
    text = text.replace(f"scenarios/{one.file}", str(file))
    write({file: text, **{other: content for other, content in beside.items() if not has(other, content)}})
    named = " and ".join(map(str, (file, *beside)))
    notes().print(f"{named}: run it with clearway {TAKEN_BY[one.kind]} {file}", markup=False)


def write(texts: Mapping[Path, str]) -> None:
    """Writes files, none of which may be there."""
    for file in texts:
        if os.path.lexists(file):
            raise taken(file)
    for file, text in texts.items():
        try:
            with file.open("x", encoding="utf-8") as new_file:
                new_file.write(text)
        except FileExistsError:
            raise taken(file) from None
        except OSError as error:
            raise _clearway.Error(f"{file}: can't be written: {error.strerror}") from None


def has(file: Path, text: str) -> bool:
    """True if a file has a text."""
    try:
        return reading.content(file) == text.encode()
    except _clearway.Error:
        return False


def taken(file: Path) -> _clearway.Error:
    """The error of a file that is there and would be replaced."""
    return _clearway.Error(f"{file}: is there already, and is left as it is; choose another name")
