"""A flow of EC4, or of ExpressPass, and a flow of the kernel's DCTCP share a link (EC4 Fig. 3)."""

from __future__ import annotations

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
from clearway.testbed.variants import DCTCP, EC4, EXPRESSPASS, Variant

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SHAPE = DCTCP.shape(Shape(hosts=3))
BIN_S = 0.1
#: Jain's index of two flows from which on they share fairly: 62 % against 38 % have 0.945.
FAIR = 0.95


def one(cx: Context, variant: Variant, results: Results) -> list[Cell]:
    """Measures a transport beside DCTCP, and returns its row."""
    duration = cx.seconds(12, 3)
    with Network(SHAPE) as net:
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
        results.series[f"{variant.label} beside: {label}"] = {
            "time_s": [n * BIN_S for n in range(len(goodput))],
            "value": [float(value) for value in goodput],
        }
    shares = [float(np.mean(goodput[len(goodput) // 4 :])) for goodput in goodputs]
    queue = sampler.samples[port.device]
    credited = control.percent(mine.received)
    row: list[Cell] = [variant.label, credited, control.underneath, *shares, jain(shares)]
    return [*row, queue.percentile(50), queue.largest(), dropped]


def run(cx: Context, results: Results) -> None:
    """Measures EC4 and ExpressPass."""
    rows = []
    for variant in (EC4, EXPRESSPASS):
        cx.say(f"{variant.label} beside dctcp")
        rows.append(one(cx, variant, results))
    fair, unfair = (float(row[5] or 0) for row in rows)
    shares = [f"{row[3]:.0f} and {row[4]:.0f} Mbit/s" for row in rows]
    results.verdict(
        f"EC4 and DCTCP share a link fairly: Jain's index at least {FAIR:g}.", f"{fair:.3f}; {shares[0]}", fair >= FAIR
    )
    results.verdict(f"ExpressPass and DCTCP do not: less than {FAIR:g}.", f"{unfair:.3f}; {shares[1]}", unfair < FAIR)
    results.tables["sharing"] = Table(
        f"Two senders and one receiver, ports that mark at {SHAPE.marking} waiting packets; the mean goodput without "
        "the first quarter of the time, and the queue of the port in packets.",
        [
            "transport",
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
        ours, _, label = name.partition(" beside: ")
        panels.setdefault(f"{ours} and dctcp", {})[label] = series
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
