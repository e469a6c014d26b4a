"""Bulk data that leaves in the kernel (`--kernel-path bulk`), in turns with the queue in user space.

Each load runs in several rounds, and in each round once in either way, one right after the other, so that both meet the
same machine. Tables have the medians of the rounds, and the ranges, which say where one way is ahead.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import mean, median

from clearway.testbed.experiment import Context, Experiment, Measured
from clearway.testbed.experiment import measure as take
from clearway.testbed.experiments.incast import split
from clearway.testbed.network import Network, Shape
from clearway.testbed.results import Cell, Results, Table
from clearway.testbed.shares import CREDITED, UNDERNEATH
from clearway.testbed.traffic import Flow
from clearway.testbed.variants import EXPRESSPASS

#: The rounds of record.
ROUNDS = 5
#: The names of the two ways, and what the daemons are told for them.
KERNEL, QUEUE = "in the kernel", "in user space"
WAYS = {
    QUEUE: replace(EXPRESSPASS, settings=("--kernel-path", "auto")),
    KERNEL: replace(EXPRESSPASS, settings=("--kernel-path", "bulk")),
}


@dataclass(frozen=True)
class Load:
    """A load: connections from all hosts but the first one to that."""

    name: str
    shape: Shape
    connections: int

    def flows(self, cx: Context) -> Callable[[Network], list[Flow]]:
        """The flows of the load in a network."""

        def flows(net: Network) -> list[Flow]:
            receiver, *senders = net.hosts
            counts = split(self.connections, len(senders))
            return [
                Flow(sender, receiver, count, duration_s=cx.seconds(5), omit_s=1)
                for sender, count in zip(senders, counts, strict=True)
            ]

        return flows


PAIR = Shape(hosts=2)
FAST = Shape(hosts=2, rate_bps=1_000_000_000, cards=False)
LOADS = (
    Load("100 Mbit/s, 1 connection", PAIR, 1),
    Load("100 Mbit/s, 7 hosts to 1, 7 connections", Shape(hosts=8), 7),
    Load("100 Mbit/s, 7 hosts to 1, 32 connections", Shape(hosts=8), 32),
    Load("1 Gbit/s, 1 connection", FAST, 1),
    Load("1 Gbit/s, 8 connections", FAST, 8),
)


@dataclass(frozen=True)
class Measure:
    """A quantity of which a larger or a smaller value is better."""

    name: str
    of: Callable[[Measured, Shape], float]
    more_is_better: bool
    digits: int = 1
    #: A difference of medians that tells nothing.
    nothing: float = 0.0


def of_ideal(one: Measured, shape: Shape) -> float:
    """The goodput in per cent of the ideal one."""
    return one.goodput_bps / shape.ideal_goodput_bps * 100


def at_receiver(one: Measured, _: Shape) -> float:
    """The processor time of the receiver's daemon, in per cent of a processor."""
    return one.daemons_cpu[0] * 100


def at_senders(one: Measured, _: Shape) -> float:
    """The processor time of a sender's daemon, the mean of all senders, in per cent of a processor."""
    return mean(one.daemons_cpu[1:]) * 100


MEASURES = (
    Measure("goodput of the ideal, %", of_ideal, True),
    Measure("largest queue, packets", lambda one, _: float(one.queue.largest()), False, 0, 1.0),
    Measure("queue p99, packets", lambda one, _: float(one.queue.percentile(99)), False, 0, 1.0),
    Measure("RTT of TCP, ms", lambda one, _: one.rtt_s * 1e3, False, 2),
    Measure("sent again, segments", lambda one, _: float(one.retransmitted), False, 0),
    Measure("daemon of the receiver, % of a CPU", at_receiver, False),
    Measure("daemon of a sender, % of a CPU", at_senders, False),
    Measure("all processors busy, %", lambda one, _: one.load.busy * 100, False),
)

#: The measures that the page on the daemon shows.
SHOWN = [MEASURES[at].name for at in (0, 1, 5, 6)]

#: The goals of bulk data in the kernel: load, measure, bound, and the words for it.
GOALS = (
    (0, 6, 2.0, "At 100 Mbit/s the daemon of a sender takes at most 2 % of a CPU"),
    (0, 5, 10.0, "At 100 Mbit/s the daemon of the receiver takes at most 10 % of a CPU"),
    (1, 1, 15.0, "In an incast of seven hosts over 7 connections the queue stays under 16 packets"),
    (2, 1, 15.0, "In an incast of seven hosts over 32 connections the queue stays under 16 packets"),
    (3, 0, 90.0, "At 1 Gbit/s one connection has at least 90 % of the ideal"),
    (4, 0, 90.0, "At 1 Gbit/s eight connections have at least 90 % of the ideal"),
)

Rounds = dict[tuple[str, str], list[Measured]]


def run(cx: Context, results: Results) -> None:
    """Measures each load in both ways, round by round."""
    rounds = max(3, round(ROUNDS * min(1.0, cx.scale)))
    found = Rounds()
    for number in range(rounds):
        # Neither way is always the first one.
        order = list(WAYS) if number % 2 == 0 else list(reversed(WAYS))
        for load in LOADS:
            for way in order:
                cx.say(f"round {number + 1} of {rounds}: {load.name}, {way}")
                one = take(cx, WAYS[way], load.shape, load.flows(cx))
                found.setdefault((load.name, way), []).append(one)
    report(results, found)


def report(results: Results, found: Rounds) -> None:
    """Fills in tables and verdicts."""
    values = {
        (load.name, way, measure.name): [measure.of(one, load.shape) for one in found[load.name, way]]
        for load in LOADS
        for way in WAYS
        for measure in MEASURES
    }
    rounds = len(next(iter(found.values())))
    others = [one.load.others for several in found.values() for one in several]
    how = f"{rounds} rounds, in each of which both ways ran one after the other"
    rows: list[list[Cell]] = []
    for load in LOADS:
        for way in WAYS:
            several = found[load.name, way]
            cells = [median(values[load.name, way, measure.name]) for measure in MEASURES]
            rows.append(
                [
                    load.name,
                    way,
                    min(one.credited or 0.0 for one in several),
                    " and ".join(sorted({one.underneath for one in several})),
                    median(one.goodput_bps for one in several) / 1e6,
                    *cells,
                    max(one.dropped for one in several),
                ]
            )
    results.tables["bulk"] = Table(
        f"Bulk data that leaves in the kernel and bulk data that waits in user space: medians of {how}; of the bytes "
        f"under credits the least, and of data dropped the most. Programs outside of the testbed took "
        f"{min(others):.0%} to {max(others):.0%} of the processors.",
        [
            "load",
            "bulk data",
            CREDITED,
            UNDERNEATH,
            "goodput, Mbit/s",
            *(one.name for one in MEASURES),
            "data dropped, packets",
        ],
        rows,
    )
    compared: list[list[Cell]] = []
    for load in LOADS:
        both_ways = [one for way in WAYS for one in found[load.name, way]]
        least = min(one.credited or 0.0 for one in both_ways)
        beneath = " and ".join(sorted({one.underneath for one in both_ways}))
        for measure in MEASURES:
            both = [values[load.name, way, measure.name] for way in (KERNEL, QUEUE)]
            texts = [spread(one, measure.digits) for one in both]
            compared.append([load.name, measure.name, *texts, ahead(measure, *both), least, beneath])
    results.tables["ranges"] = Table(
        f"Median, and in brackets the least and the most, of {how}. A way is ahead where all of its rounds are better "
        "than all of the other one's, and by the median where that is better by a twentieth at least.",
        ["load", "measured", f"bulk data {KERNEL}", QUEUE, "ahead", CREDITED, UNDERNEATH],
        compared,
    )
    for of_load, of_measure, bound, asked in GOALS:
        of = MEASURES[of_measure]
        mine = values[LOADS[of_load].name, KERNEL, of.name]
        meets = median(mine) >= bound if of.more_is_better else median(mine) <= bound
        results.verdict(f"{asked} (median).", spread(mine, of.digits), meets)


def spread(values: Sequence[float], digits: int) -> str:
    """The median with the least and the most."""
    least, most, middle = min(values), max(values), median(values)
    return f"{middle:,.{digits}f} ({least:,.{digits}f} to {most:,.{digits}f})"


def ahead(measure: Measure, kernel: Sequence[float], queue: Sequence[float]) -> str:
    """The way that is ahead: in all rounds, by the median, or none."""
    if not measure.more_is_better:
        kernel, queue = [-one for one in kernel], [-one for one in queue]
    if min(kernel) > max(queue):
        return KERNEL
    if min(queue) > max(kernel):
        return QUEUE
    mine, other = median(kernel), median(queue)
    if abs(mine - other) <= max(measure.nothing, 0.05 * max(abs(mine), abs(other))):
        return "neither"
    return f"{KERNEL if mine > other else QUEUE}, by the median"


def notes(results: Results) -> list[str]:
    """Sentences on where bulk data in the kernel is behind."""
    rows = results.tables["ranges"].rows
    behind = [
        f"{load}: {measured} ({mine}, and {QUEUE} {other})"
        for load, measured, mine, other, at, *_ in rows
        if at == QUEUE
    ]
    maybe = [f"{load}: {measured}" for load, measured, _, _, at, *_ in rows if str(at).startswith(f"{QUEUE},")]
    said = []
    if behind:
        said.append(f"Bulk data in the kernel is behind in all rounds in {'; '.join(behind)}.")
    if maybe:
        said.append(f"It is behind by the median alone in {'; '.join(maybe)}.")
    return said


def words(results: Results) -> str:
    """The part of the page on the daemon: the ranges of the most important measures."""
    table = results.tables["ranges"]
    table = replace(table, rows=[row for row in table.rows if row[1] in SHOWN])
    said = "\n\n".join((table.heading, table.markdown(), "\n".join(f"* {note}" for note in results.notes)))
    return f"{said}\n\nMeasured{results.circumstances()}\n"


EXPERIMENT = Experiment(
    "bulk",
    "Bulk data in the kernel",
    "bulk data in the kernel in turns with the queue, at 100 Mbit/s, in an incast and at 1 Gbit/s",
    9.0,
    run,
    notes=notes,
    also={Path("how-to/clearwayd.md"): words},
)
