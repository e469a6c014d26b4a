"""A flow of EC4, or of ExpressPass, and a flow of the kernel's DCTCP share a link (EC4 Fig. 3).

Ports mark at the threshold of all experiments with DCTCP, and for EC4 also at that of its paper.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from clearway.testbed.capture import Capture
from clearway.testbed.control import Control
from clearway.testbed.counters import Watch, drops
from clearway.testbed.experiment import Context, Experiment, jain
from clearway.testbed.network import Network, Shape
from clearway.testbed.queues import Sampler
from clearway.testbed.results import Cell, Results, Table
from clearway.testbed.shares import CREDITED, UNDERNEATH
from clearway.testbed.traffic import FIRST_PORT, Flow, long_flows
from clearway.testbed.variants import DCTCP, EC4, EXPRESSPASS, MARKING, Variant

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SHAPE = DCTCP.shape(Shape(hosts=3))
#: The threshold of marks in the EC4 paper, in packets (sec. III-C), for queues of 250 packets, as ports have them here.
OF_PAPER = 100
#: The transports that run beside DCTCP, and the thresholds of marks.
CASES: tuple[tuple[Variant, int], ...] = ((EC4, OF_PAPER), (EC4, MARKING), (EXPRESSPASS, MARKING))
BIN_S = 0.1
#: Jain's index of two flows from which on they share fairly: 62 % against 38 % have 0.945.
FAIR = 0.95


def one(cx: Context, variant: Variant, marking: int, results: Results) -> list[Cell]:
    """Measures a transport beside DCTCP, where ports mark from so many packets on, and returns its row."""
    duration = cx.seconds(12, 3)
    with Network(replace(SHAPE, marking=marking)) as net:
        receiver, ours, theirs = net.hosts
        # The flow under credits is no flow of ECN itself; the marks are for EC4's receiver.
        ours.sysctl(tcp_ecn=0, tcp_congestion_control=variant.congestion_control)
        daemons = variant.start([receiver, ours])
        port = receiver.port
        flows = [
            Flow(ours, receiver, duration_s=duration),
            Flow(theirs, receiver, duration_s=duration),
        ]
        with (
            Watch() as watch,
            Control([ours], daemons) as control,
            Sampler(port.switch, port.device) as sampler,
            Capture(port.switch, port.device) as capture,
        ):
            mine, _ = long_flows(flows)
        cx.loads.append(watch.load)
        dropped = drops(port.switch)[port.device]
    data = [capture.frames.data(sender, FIRST_PORT + n) for n, sender in enumerate((ours, theirs))]
    begin, end = data[0].time_s[0], data[0].time_s[-1]
    goodputs = [each.goodput_bps(begin, end, BIN_S) / 1e6 for each in data]
    for label, goodput in zip((variant.label, "dctcp"), goodputs, strict=True):
        results.series[f"{variant.label} and dctcp, marks from {marking} packets on: {label}"] = {
            "time_s": [n * BIN_S for n in range(len(goodput))],
            "value": [float(value) for value in goodput],
        }
    shares = [float(np.mean(goodput[len(goodput) // 4 :])) for goodput in goodputs]
    queue = sampler.samples[port.device]
    credited = control.percent(mine.received)
    row: list[Cell] = [variant.label, marking, credited, control.underneath, *shares, jain(shares)]
    return [*row, queue.percentile(50), queue.largest(), dropped]


def run(cx: Context, results: Results) -> None:
    """Measures EC4 and ExpressPass."""
    rows = []
    for variant, marking in CASES:
        cx.say(f"{variant.label} beside dctcp, marks from {marking} packets on")
        row = one(cx, variant, marking, results)
        index, measured = float(row[6] or 0), f"{row[6]:.3f}; {row[4]:.0f} and {row[5]:.0f} Mbit/s"
        if variant is EC4:
            words = f"EC4 and DCTCP share a link fairly where ports mark from {marking} packets on"
            results.verdict(f"{words}: Jain's index at least {FAIR:g}.", measured, index >= FAIR)
        else:
            results.verdict(f"ExpressPass and DCTCP do not: less than {FAIR:g}.", measured, index < FAIR)
        rows.append(row)
    results.tables["sharing"] = Table(
        "Two senders and one receiver; the mean goodput without the first quarter of the time, and the queue of the "
        f"port in packets. The EC4 paper marks from {OF_PAPER} packets on.",
        [
            "transport",
            "marks from, packets",
            CREDITED,
            UNDERNEATH,
            "its goodput, Mbit/s",
            "that of DCTCP",
            "Jain's index",
            "queue p50",
            "largest queue",
            "dropped",
        ],
        rows,
        digits=2,
    )


def draw(results: Results) -> dict[str, tuple[str, Figure]]:
    """Goodput over time, a panel for each pair."""
    from clearway.testbed import pictures

    panels: dict[str, dict[str, dict[str, list[float]]]] = {}
    for name, series in results.series.items():
        pair, _, label = name.rpartition(": ")
        panels.setdefault(pair, {})[label] = series
    words = "Goodput over time of EC4 beside DCTCP and of ExpressPass beside DCTCP"
    return {"sharing": (words, pictures.courses(panels, ["Mbit/s"] * len(panels)))}


EXPERIMENT = Experiment(
    "sharing",
    "Sharing a link with DCTCP",
    "EC4 beside the kernel's DCTCP, and ExpressPass beside it",
    1.0,
    run,
    draw,
    ("iperf3", "iptables", "tcpdump", "bpftool"),
)
