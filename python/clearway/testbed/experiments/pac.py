"""PAC at the receiver of an incast: goodput by the number of senders, round trip times, and processor time.

The rounds are those of PAC's incast application (its sec. V): each sender's connection brings 64 KB, and the next round
begins when all blocks have come. The port in front of the receiver holds 100 packets, the paper's 150 KB, and PAC's
threshold starts at the paper's 80 KB. The link is ten times as slow as the paper's, so that two processors can carry
hundreds of senders; first windows are those of today's Linux, 10 segments, where the paper has 3.

Acknowledgements are held in both ways that the daemon has: in NFQUEUE, and by programs at the NIC.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from clearway.testbed.control import Control
from clearway.testbed.counters import Load, Watch, drops, processor_s, retransmissions
from clearway.testbed.experiment import Context, Experiment
from clearway.testbed.network import Network, Shape
from clearway.testbed.results import Cell, Results, Table
from clearway.testbed.rounds import Mode, Rounds, incast
from clearway.testbed.shares import UNDER_PAC, UNDERNEATH
from clearway.testbed.traffic import Flow, Outcome, long_flows
from clearway.testbed.variants import CUBIC, DCTCP, Variant

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: One receiver, eight hosts with senders, and one that probes.
SENDERS = 8
SHAPE = Shape(hosts=SENDERS + 2, data_packets=100)
CONNECTIONS = (8, 16, 32, 64, 128, 256)
RENO = Variant("newreno", congestion_control="reno")
PLAIN = (CUBIC, RENO, DCTCP)
WITH_PAC = tuple(replace(one, label=f"pac, over {one.label}", pac=True) for one in PLAIN)
#: PAC where programs at the NIC take acknowledgements, over each of these.
IN_KERNEL = tuple(
    replace(one, label=f"pac in the kernel, over {plain.label}", settings=("--kernel-path", "acks"))
    for one, plain in zip(WITH_PAC, PLAIN, strict=True)
)
#: The least share of the ideal goodput that is asked of PAC at any number of senders.
LEAST = 0.8
#: The paper's mark: the additional load of a processor, with 10 long connections at 900 Mbit/s.
PAPER_CPU = 0.016
#: The least share of the goodput that long connections must keep.
KEPT = 0.97
RATES = (100_000_000, 1_000_000_000)
#: The most of the machine's processor time that the daemon of the path in the kernel shall take with the most senders.
DAEMON_MOST = 0.03
#: The load of the machine from which on it tells nothing of what a daemon adds.
SATURATED = 0.97
#: The share of the machine that other programs may take where a difference of loads shall tell something.
OTHERS_MOST = 0.02
#: The last table's columns: goodput, the daemon's share of a processor, the load of the machine, and that of others.
GOODPUT, DAEMON, LOAD, OTHERS = 5, 6, 7, 8


#: The ways that long connections take.
LONG = (CUBIC, WITH_PAC[0], IN_KERNEL[0])


@dataclass
class Point:
    """An incast with its counters."""

    variant: Variant
    rounds: Rounds
    dropped: int
    retransmitted: int
    #: Processor time of the daemon over the time of the rounds, as a share of one processor.
    daemon: float
    #: Values of the daemon's statistics by name.
    stats: dict[str, float]
    #: The share of bytes of flows that the daemon knew, in per cent; TCP's congestion control underneath.
    controlled: float | None
    underneath: str
    #: The share of time in which the machine's processors were busy, with anything.
    busy: float


def point(
    cx: Context, variant: Variant, connections: int, *, rounds: int, mode: Mode = "connect", sets: Sequence[str] = ()
) -> Point:
    """Measures one incast in a network of its own."""
    with Network(variant.shape(SHAPE)) as net:
        receiver, *others = net.hosts
        daemon = None
        if variant.pac:
            words = [word for one in sets for word in ("--set", one)]
            daemon = receiver.daemon(
                "pac",
                "--dev",
                receiver.device,
                "--rate",
                f"{SHAPE.rate_bps // 1_000_000} Mbps",
                *variant.settings,
                *words,
            )
        with Watch() as watch, Control(others, [daemon] if daemon else []) as control:
            cpu = processor_s(daemon.pid) if daemon else 0.0
            result = incast(receiver, others[:SENDERS], connections, rounds=rounds, mode=mode, probe=others[SENDERS])
            cpu = processor_s(daemon.pid) - cpu if daemon else 0.0
        cx.loads.append(watch.load)
        return Point(
            variant,
            result,
            drops(receiver.port.switch)[receiver.port.device],
            retransmissions(others),
            cpu / sum(result.rounds_s),
            daemon.metrics() if daemon else {},
            control.percent(connections * result.block * rounds),
            control.underneath,
            watch.load.busy,
        )


def ms(values: Sequence[float], percent: float) -> float:
    """A percentile in milliseconds."""
    return float(np.percentile(values, percent)) * 1e3 if values else float("nan")


COLUMNS = [
    "connections",
    "TCP",
    UNDER_PAC,
    UNDERNEATH,
    "goodput, Mbit/s",
    "rounds with a timeout, %",
    "timeouts",
    "dropped",
    "sent again",
    "RTT p50, ms",
    "RTT p99, ms",
    "ping p50, ms",
    "ping p99, ms",
    "most ACKs held",
    "daemon, % of a CPU",
    "load of the machine, %",
]


def row(one: Point) -> list[Cell]:
    """A measurement as a row under `COLUMNS`."""
    rounds = one.rounds
    return [
        rounds.connections,
        one.variant.label,
        one.controlled,
        one.underneath,
        rounds.goodput_bps / 1e6,
        rounds.with_timeouts * 100,
        sum(rounds.timeouts),
        one.dropped,
        one.retransmitted,
        ms(rounds.rtts_s, 50),
        ms(rounds.rtts_s, 99),
        ms(rounds.probes_s, 50),
        ms(rounds.probes_s, 99),
        int(one.stats["pac_held_max"]) if one.stats else None,
        one.daemon * 100 if one.variant.pac else None,
        one.busy * 100,
    ]


def rounds_of(cx: Context, connections: int) -> int:
    """The number of rounds: fewer where a round is long."""
    return max(2, round((10 if connections <= 64 else 5) * cx.scale))


def senders(cx: Context, results: Results) -> None:
    """Goodput by the number of senders, with and without PAC (Figs. 7, 8, 11)."""
    rows = list[list[Cell]]()
    for variant in (*PLAIN, *WITH_PAC, *IN_KERNEL):
        columns: dict[str, list[float]] = {
            name: [] for name in ("senders", "goodput", "timeouts", "p50", "p99", "daemon")
        }
        for connections in CONNECTIONS:
            cx.say(f"{variant.label}, {connections} senders")
            one = point(cx, variant, connections, rounds=rounds_of(cx, connections))
            rows.append(row(one))
            columns["senders"].append(connections)
            columns["goodput"].append(one.rounds.goodput_bps / 1e6)
            columns["timeouts"].append(one.rounds.with_timeouts * 100)
            columns["p50"].append(ms(one.rounds.rtts_s, 50))
            columns["p99"].append(ms(one.rounds.rtts_s, 99))
            columns["daemon"].append(one.daemon / (os.cpu_count() or 1))
        results.series[variant.label] = columns
    rows.sort(key=lambda cells: int(cells[0] or 0))
    results.tables["senders"] = Table(
        "Every connection is new in each round and brings 64 KB; the port holds 100 packets. RTT is that of the "
        "senders' TCP, with the time for which PAC holds ACKs; a ping beside them waits in the same port.",
        list(COLUMNS),
        rows,
    )


def standing(cx: Context, results: Results) -> None:
    """Measures connections that stand, on which the receiver asks for blocks."""
    rows = []
    for connections in (16, 64, 256):
        ways = ((CUBIC, ()), (WITH_PAC[0], ()), (WITH_PAC[0], ("hold_requests=true",)), (IN_KERNEL[0], ()))
        for variant, sets in ways:
            cx.say(f"{variant.label}, {connections} standing connections {' '.join(sets)}")
            one = point(cx, variant, connections, rounds=max(2, round(5 * cx.scale)), mode="request", sets=sets)
            cells = row(one)
            cells[1] = f"{variant.label}{', requests held' if sets else ''}"
            rows.append(cells)
    results.tables["standing"] = Table(
        "Connections stand from the beginning, and the receiver asks on each one for 64 KB. A request is no "
        "acknowledgement, so the windows that it opens come whole unless PAC holds requests too.",
        list(COLUMNS),
        rows,
    )


def cost(cx: Context, results: Results) -> None:
    """The processor time of PAC under long connections, and what one connection alone loses."""
    rows = list[list[Cell]]()
    for rate in RATES:
        for connections in (1, 10):
            for variant in LONG:
                cx.say(f"{variant.label}, {connections} long connections at {rate // 1_000_000} Mbit/s")
                shape = replace(SHAPE, hosts=2, rate_bps=rate, data_packets=250 if rate == RATES[0] else 1000)
                one = long(cx, variant, shape, connections)
                daemon = one.daemon * 100 if variant.pac else None
                figures = [one.outcome.goodput_bps / 1e6, daemon, one.load.busy * 100, one.load.others * 100]
                link = f"{rate // 1_000_000} Mbit/s"
                rows.append([link, connections, variant.label, one.controlled, one.underneath, *figures])
    results.tables["cost"] = Table(
        "Long connections from one host to another. The load is that of all processors together, which carry both "
        "hosts, the switch and iperf3.",
        [
            "link",
            "connections",
            "TCP",
            UNDER_PAC,
            UNDERNEATH,
            "goodput, Mbit/s",
            "daemon, % of a CPU",
            "load of the machine, %",
            "programs outside of the testbed, %",
        ],
        rows,
        digits=2,
    )


def cost_verdict(results: Results, plain: list[Cell], pac: list[Cell]) -> None:
    """The verdict on long connections under PAC beside plain ones."""
    link, connections, label = pac[:3]
    kept = number(pac[GOODPUT]) / number(plain[GOODPUT])
    more = number(pac[LOAD]) - number(plain[LOAD])
    way = "PAC in the kernel" if label == IN_KERNEL[0].label else "PAC"
    if connections == 1:
        asked = f"One connection alone at {link} keeps its goodput under {way}: at least {KEPT:.0%}."
        results.verdict(asked, f"{kept:.1%}", kept >= KEPT)
    else:
        # What PAC adds cannot be told where the processors have nothing left, or others take a part, in either row.
        is_told = max(number(row[LOAD]) for row in (plain, pac)) < SATURATED * 100
        is_told = is_told and max(number(row[OTHERS]) for row in (plain, pac)) < OTHERS_MOST * 100
        added = f"{more:.1f} % more" if is_told else "not told, since the machine was busy with other programs too"
        results.verdict(
            f"{connections} long connections at {link}: {way} adds at most the paper's {PAPER_CPU:.1%} of the "
            f"machine's processor time, and keeps {KEPT:.0%} of the goodput.",
            f"{added}; {kept:.0%} of the goodput",
            is_told and more <= PAPER_CPU * 100 and kept >= KEPT,
        )


def judge(results: Results) -> None:
    """Gives the verdicts and the notes, by the tables and series alone."""
    ideal = SHAPE.plain_goodput_bps / 1e6
    for plain, *paced in zip(PLAIN, WITH_PAC, IN_KERNEL, strict=True):
        without, *with_it = (min(results.series[one.label]["goodput"]) / ideal for one in (plain, *paced))
        results.verdict(
            f"PAC over {plain.label}, 8 to 256 senders: at least {LEAST:.0%} of the ideal {ideal:.1f} Mbit/s.",
            f"{with_it[0]:.0%} at least, in the kernel {with_it[1]:.0%}; without PAC {without:.0%}",
            min(with_it) >= LEAST,
        )
    queued, taken = (results.series[one.label]["daemon"][-1] for one in (WITH_PAC[0], IN_KERNEL[0]))
    results.verdict(
        f"{CONNECTIONS[-1]} senders: the daemon of PAC in the kernel takes at most {DAEMON_MOST:.0%} of the machine's "
        "processor time.",
        f"{taken:.1%}, with NFQUEUE {queued:.1%}",
        taken <= DAEMON_MOST,
    )
    rows = results.tables["cost"].rows
    for plain_row, *pac_rows in zip(*(rows[at :: len(LONG)] for at in range(len(LONG))), strict=True):
        for pac_row in pac_rows:
            cost_verdict(results, plain_row, pac_row)
    series = results.series[WITH_PAC[0].label]
    p50, p99 = series["p50"][-2], series["p99"][-2]
    results.notes += [
        "Ideal is the goodput of full frames at the link's rate. A round's time counts from the signal to the senders "
        "to the last byte, handshakes included.",
        f"With 128 senders over CUBIC half of the RTTs under PAC are below {p50:.0f} ms and 99 % below {p99:.0f} ms. "
        "The paper's 1.3 ms and 3.6 ms are of 100 connections at ten times the rate, with first windows of 3 segments.",
        "An acknowledgement that waits longer than its sender's timeout, at least 200 ms here, makes the sender repeat "
        "one segment. Such timeouts are counted as timeouts, though nothing was lost.",
        "The paper's module decides inside the kernel. With NFQUEUE the daemon in user space is woken for each packet, "
        "and a profile (`perf`, ten connections at 100 Mbit/s) shows its time in the kernel, where tasks are switched "
        "and woken, and in the network stack, which sends a released packet on in the daemon's time.",
        "In the kernel a wake-up serves many packets. In a profile with 256 senders half of the daemon's time is work "
        "of the network in software interrupts while it sends: the bridge, and the TCP of the senders, which share the "
        "machine and do that work in the time of others without PAC. Of the rest two fifths are PAC and the reading of "
        "headers, nearly a third sleeping and waking up, and a quarter sending.",
        "Counted in samples of all processors (`perf`, ten connections at 100 Mbit/s, four turns of each way on a busy "
        "machine), the network and its programs take 8.8 % of the machine without PAC, 19.0 % with NFQUEUE, and 11.7 % "
        "in the kernel, of which 0.3 % are the programs at the NIC. So PAC adds 2.9 % there, and 10.2 % with NFQUEUE. "
        "On a machine that did nothing else the load rose by 17.1 % with NFQUEUE (2026-11-22).",
        "PAC's threshold of 80 KB is 0.64 ms of a link of 1 Gbit/s, less than the millisecond by which Linux's "
        "timestamps tell what data answers. Here two processors do the network's work and reorder data. With NFQUEUE "
        "98 % of the data frames leave their host in the daemon's time, on one processor; with PAC in the kernel 70 "
        "%, and the rest on both, so that some twenty times as much is reordered as without PAC, and four times as "
        "much as with NFQUEUE. Senders then cut their windows, and for a while acknowledgements trigger nothing. PAC "
        "expected what they would trigger for two round trips of a millisecond and longer, threshold after "
        "threshold, while the line stood still. That patience goes by measured round trips now, which alone raised "
        "ten connections in the kernel from between 387 and 469 Mbit/s to between 589 and 619, and with NFQUEUE from "
        "between 555 and 623 to between 674 and 770 (five turns of each on a quiet machine, 2026-11-29). To look at "
        "once instead of every 80 us did not help.",
        "Without losses the window of a connection grows until the sender's buffer is full (4 MB), and Linux wakes the "
        "program that writes when a third of it is free. Until then acknowledgements trigger nothing, and PAC waited "
        "15 ms for each threshold of them while the line stood still: one connection alone at 100 Mbit/s had 71 to 93 "
        "Mbit/s in the kernel, 93.8 where the sender's buffer held 64 MB, and 64 to 67 where it held 1 MB, beside 94 "
        "without PAC. On a host PAC takes a line that has been silent for two round trips and a millisecond as empty "
        "now. That alone raised one connection from a median of 88.6 to 93.6 Mbit/s in the kernel, and from 70.4 to "
        "90.5 with NFQUEUE (five turns of each on a busy machine, 2026-11-29).",
        "Requests that are held make goodput fall on standing connections: the sender's window has grown beyond the "
        "first window that PAC expects, and the last acknowledgements of a block trigger nothing.",
    ]


def number(cell: Cell) -> float:
    """The number in a cell."""
    assert isinstance(cell, int | float)
    return float(cell)


@dataclass
class Long:
    """A measurement of long connections."""

    outcome: Outcome
    load: Load
    #: Processor time of the daemon over the wall time, as a share of one processor.
    daemon: float
    #: The share of bytes of flows that the daemon knew, in per cent; TCP's congestion control underneath.
    controlled: float | None
    underneath: str


def long(cx: Context, variant: Variant, shape: Shape, connections: int) -> Long:
    """Measures long connections."""
    with Network(variant.shape(shape)) as net:
        receiver, sender = net.hosts
        daemon = None
        if variant.pac:
            daemon = receiver.daemon(
                "pac",
                "--dev",
                receiver.device,
                "--rate",
                f"{shape.rate_bps // 1_000_000} Mbps",
                "--set",
                "buffer=80 KB",
                *variant.settings,
            )
        duration = cx.seconds(8, 2)
        flow = Flow(sender, receiver, connections, duration_s=duration, omit_s=1)
        with Watch() as watch, Control([sender], [daemon] if daemon else []) as control:
            before = processor_s(daemon.pid) if daemon else 0.0
            (outcome,) = long_flows([flow])
            used = processor_s(daemon.pid) - before if daemon else 0.0
        cx.loads.append(watch.load)
        share = used / (duration + flow.omit_s)
        return Long(outcome, watch.load, share, control.percent(outcome.received), control.underneath)


def run(cx: Context, results: Results) -> None:
    """Measures all."""
    senders(cx, results)
    standing(cx, results)
    cost(cx, results)
    judge(results)


#: The lines of pictures: of plain TCP, of PAC with NFQUEUE, and of PAC in the kernel.
LINES = {"": ":", "pac": "--", "pac in the kernel": "-"}


def draw(results: Results) -> dict[str, tuple[str, Figure]]:
    """Goodput, rounds with timeouts and RTT by the number of senders."""
    from clearway.testbed import pictures

    labels = list(results.series)
    # A colour for each congestion control of the senders, and a line for each way of PAC or none.
    palette = pictures.palette_of([label for label in labels if " " not in label])

    def look(label: str) -> dict[str, Any]:
        way, _, tcp = label.rpartition(", over ")
        return {"color": palette.color(tcp), "linestyle": LINES[way]}

    def by_senders(panels: Sequence[tuple[str, str, str, bool]], labels: Sequence[str]) -> Figure:
        figure, all_axes = pictures.grid(len(panels), height=4.4)
        for axes, (key, title, unit, log) in zip(all_axes, panels, strict=True):
            for label in labels:
                series = results.series[label]
                axes.plot(series["senders"], series[key], label=label, marker="o", ms=3, **look(label))
            axes.set_xscale("log", base=2)
            axes.set_xticks(CONNECTIONS, [str(number) for number in CONNECTIONS])
            axes.set(title=title, xlabel="senders", ylabel=unit)
            if log:
                axes.set_yscale("log")
            else:
                axes.set_ylim(bottom=0)
        # A column of the legend for each way.
        pictures.legend(figure, all_axes[0], columns=len(LINES))
        return figure

    goodput = by_senders(
        [("goodput", "Goodput", "Mbit/s", False), ("timeouts", "Rounds with a timeout", "%", False)], labels
    )
    rtts = by_senders(
        [("p50", "RTT, 50th percentile", "ms", True), ("p99", "RTT, 99th percentile", "ms", True)], labels
    )
    return {
        "pac-goodput": ("Goodput and timeouts of an incast by the number of senders, with and without PAC", goodput),
        "pac-rtt": ("Round trip times of an incast by the number of senders, with and without PAC", rtts),
    }


EXPERIMENT = Experiment(
    "pac",
    "PAC at the receiver of an incast",
    "incast of 8 to 256 senders with and without PAC, which holds ACKs in both of its ways; processor time",
    18.0,
    run,
    draw,
    ("iperf3", "iptables", "bpftool", "ping"),
)
