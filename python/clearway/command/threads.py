"""The option `--threads`: how many are taken where nobody says it, and lines that say what becomes of it."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar

import click

from clearway import units

if TYPE_CHECKING:
    from clearway import _clearway
    from clearway.command.silent import Notes

F = TypeVar("F", bound=Callable[..., Any])

#: The largest number of threads: more than any machine has, and a bound on a slip of the keyboard.
MOST = 1024
#: The word for as many threads as make a run faster on this machine now.
AUTO = "auto"
#: A run takes several threads by itself where it is expected to be so many times as fast with them.
GAIN_LEAST = 1.3
#: A run that takes less CPU time than this by itself gets one thread: its user hardly waits.
WORTH_S = 2.0
#: The most threads that are considered; networks are rarely even enough for more.
AUTO_MOST = 64
#: A part of a cut network takes so many times its share of the work: packets that cross are handed over twice.
CUT_COST = 1.2
#: The time that threads add to a window of simulated time, in seconds: all hear of each other, at the same time.
WINDOW_S = 4e-6
#: A thread that goes through a large network, or a large part of one, block by block is so many times as fast as one
#: that goes through it as a whole.
BLOCKS_GAIN = 1.2


class ThreadsType(click.ParamType[int | str]):
    """A number of threads, or `auto`."""

    name = "threads"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int | str:
        """Reads the option."""
        if value == AUTO:
            return AUTO
        with suppress(click.UsageError):
            return int(click.IntRange(1, MOST).convert(value, param, ctx))
        raise click.BadParameter(f"{value!r}: write {AUTO!r}, or a number of threads from 1 to {MOST}", ctx, param)

    def get_metavar(self, param: click.Parameter, ctx: click.Context | None = None) -> str:  # noqa: ARG002
        """Shows what can be written."""
        return f"{AUTO}|N"


def parts_option(function: F) -> F:
    """The option `--threads` of a command that says how a network is cut for them."""
    return click.option(
        "--threads",
        type=click.IntRange(1, MOST),
        default=1,
        show_default=True,
        help="Threads of a simulation. Results don't depend on it.",
    )(function)


def threads_option(function: F) -> F:
    """The option `--threads` of the commands that simulate."""
    return click.option(
        "--threads",
        type=ThreadsType(),
        default=AUTO,
        show_default=True,
        help="Threads of a simulation; auto takes idle processors where they help. Results don't depend on it.",
    )(function)


def chosen(out: Notes, scenario: _clearway.Scenario, threads: int | str) -> int:
    """The threads of a run; lines say why these."""
    if not isinstance(threads, int):
        threads, line = automatic(scenario, idle_processors)
        if line is not None:
            out.print(line, markup=False)
        return threads
    say_threads(out, scenario, threads)
    return threads


def runs_beside(out: Notes, scenario: _clearway.Scenario, threads: int | str, runs: int) -> tuple[int, int]:
    """The runs of a comparison that go on at a time, and the threads of each; lines say why these.

    Runs beside each other need no windows, so they come before threads.
    """
    if isinstance(threads, int):
        say_threads(out, scenario, threads)
        return 1, threads
    if runs == 1:
        return 1, chosen(out, scenario, threads)
    from clearway.machine import memory_limit

    expected = scenario.estimate()
    if expected["cpu_s"] * runs < WORTH_S:
        return 1, 1
    idle = idle_processors()
    memory = memory_limit()
    room = runs if memory is None else max(memory // 2 // max(expected["memory_bytes"], 1), 1)
    beside = max(min(idle, runs, room), 1)
    if beside > 1:
        out.print(f"Runs: {beside} at a time (auto), of {idle} idle processors, with the same results.", markup=False)
    return beside, 1


def automatic(scenario: _clearway.Scenario, idle_now: Callable[[], int]) -> tuple[int, str | None]:
    """The threads that a run takes by itself where so many processors are idle, and a line that says why.

    A run of a moment has one thread and no line.
    """
    from clearway.jobs.workers import cores

    expected = scenario.estimate()
    if expected["cpu_s"] < WORTH_S or cores() < 2:
        return 1, None
    alone = "Threads: 1 (auto), since"
    idle = idle_now()
    if idle < 2:
        return 1, f"{alone} other programs keep the processors busy."
    one = scenario.partition(1)
    gains: dict[int, float] = {}
    for threads in range(2, min(idle, AUTO_MOST) + 1):
        cut = scenario.partition(threads)
        if cut["refusal"] is not None:
            return 1, f"{alone} {cut['refusal']}."
        if cut["parts"] == threads:
            gains[threads] = gain(expected["cpu_s"], expected["simulated_s"], one, cut)
    most = max(gains.values(), default=1.0)
    if most < GAIN_LEAST:
        return 1, f"{alone} more would gain little: no cut of this network has parts of even work that seldom meet."
    # A processor more must be worth it.
    best = min(threads for threads, times in gains.items() if times >= 0.95 * most)
    about = f"about {gains[best]:.1f} times as fast"
    return best, f"Threads: {best} (auto), of {idle} idle processors: {about}, with the same results."


def gain(cpu_s: float, simulated_s: float, one: _clearway._Partition, cut: _clearway._Partition) -> float:
    """The expected elapsed time of one thread divided by that of a thread for each part of a cut network.

    `cpu_s` is what one thread takes without blocks.
    """
    windows = simulated_s / cut["width_s"] if cut["width_s"] else 0.0
    of_one, of_all = (cpu_s / (BLOCKS_GAIN if max(each["blocks"]) > 1 else 1.0) for each in (one, cut))
    return of_one / (of_all * max(cut["loads"]) * CUT_COST + windows * WINDOW_S)


def idle_processors() -> int:
    """Processors that this process may use and that nobody uses now, its own one included."""
    from clearway.jobs.workers import cores
    from clearway.machine import running

    return max(min(cores(), (os.cpu_count() or 1) - running()), 0)


def say_threads(out: Notes, scenario: _clearway.Scenario, threads: int) -> None:
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
