"""The option `--threads`, and lines that say what becomes of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from clearway import units

if TYPE_CHECKING:
    from rich.console import Console

    from clearway import _clearway

F = TypeVar("F", bound=Callable[..., Any])

#: The largest number of threads: more than any machine has, and a bound on a slip of the keyboard.
MOST = 1024


def threads_option(function: F) -> F:
    """The option `--threads` of the commands that simulate or say what they would."""
    return click.option(
        "--threads",
        type=click.IntRange(1, MOST),
        default=1,
        show_default=True,
        help="Threads of a simulation. Results don't depend on it.",
    )(function)


def say_threads(out: Console, scenario: _clearway.Scenario, threads: int) -> None:
    """Says in a line each why a run has fewer threads than asked for, and that the machine has fewer processors."""
    if threads > 1:
        for line in lines(scenario.partition(threads), threads):
            out.print(line, markup=False)


def lines(found: _clearway._Partition, threads: int) -> list[str]:
    """Remarks on the number of threads of a run."""
    from clearway.jobs.workers import cores

    said = []
    parts = found["parts"]
    if found["refusal"] is not None:
        said.append(f"Threads: 1 instead of {threads}, since {found['refusal']}.")
    elif parts < threads:
        because = "since a larger number of parts would leave as much to do in the one that has the most"
        said.append(f"Threads: {parts} instead of {threads}, {because}.")
    if parts > (there := cores()):
        have = "is one processor" if there == 1 else f"are {there} processors"
        said.append(f"Threads: {parts}, though there {have}: threads that wait for each other make a run slower.")
    return said


def rows(found: _clearway._Partition) -> list[list[str]]:
    """A row for each part of a partition."""
    return [
        [str(part), f"{load:.1%}", units.count(hosts), units.count(switches)]
        for part, (load, hosts, switches) in enumerate(
            zip(found["loads"], found["hosts"], found["switches"], strict=True)
        )
    ]


def cut_text(found: _clearway._Partition) -> str:
    """The links between parts and what crosses them, in a sentence."""
    links = f"{units.count(found['cut_links'])} {'link' if found['cut_links'] == 1 else 'links'}"
    width = units.seconds(found["width_s"]) if found["width_s"] is not None else "any length"
    return (
        f"{links} between parts carry {found['cut_traffic']:.1%} of all transmissions; "
        f"packets are handed over between windows of {width} of simulated time."
    )
