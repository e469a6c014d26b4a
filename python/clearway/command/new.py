"""The command `clearway new`: a commented scenario to start from."""

from __future__ import annotations

from pathlib import Path

import click

from clearway import _clearway
from clearway.command.names import TRANSPORT, WORKLOAD, Choice
from clearway.command.shared import notes
from clearway.scenario.template import PATTERNS, shapes, template

EXAMPLES = """\b
Examples:
  clearway new incast.toml
  clearway new web.toml --shape fat-tree --transport dctcp --workload data-mining
  clearway new shuffle.toml --shape star --pattern shuffle
  clearway new - --transport hpcc | less
"""


@click.command(epilog=EXAMPLES)
@click.argument("file", type=click.Path(path_type=Path, allow_dash=True))
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
def new(file: Path, shape: str, transport: str, pattern: str | None, workload: str | None) -> None:
    """Write a scenario to FILE that runs as it is and has every key with its meaning, unit and range.

    Keys that may be left out are behind a #, with their default or an example. FILE must not exist; `-` prints.
    """
    pattern = pattern or ("poisson" if workload else "incast")
    if workload and pattern != "poisson":
        raise click.UsageError(f"--workload {workload}: only --pattern poisson draws sizes; leave out one of both")
    name = "scenario" if str(file) == "-" else file.stem
    text = template(name, shape, transport, pattern, workload)
    _clearway.Scenario.parse(text, str(file), ".")
    if str(file) == "-":
        click.echo(text, nl=False)
        return
    try:
        with file.open("x", encoding="utf-8") as new_file:
            new_file.write(text)
    except FileExistsError:
        raise _clearway.Error(f"{file}: is there already, and is left as it is; choose another name") from None
    except OSError as error:
        raise _clearway.Error(f"{file}: can't be written: {error.strerror}") from None
    notes().print(f"{file}: run it with clearway run {file}", markup=False)
