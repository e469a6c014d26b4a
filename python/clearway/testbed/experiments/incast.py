"""Incast: seven hosts send to one, over 7 and over 32 connections."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from clearway.testbed.experiment import Context, Experiment, Measured, measure, table
from clearway.testbed.network import Network, Shape
from clearway.testbed.results import Results, quantiles
from clearway.testbed.traffic import Flow
from clearway.testbed.variants import CUBIC, DCTCP, EXPRESSPASS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SHAPE = Shape(hosts=8)
#: The queue must stay below so many packets.
QUEUE = 16


def split(connections: int, senders: int) -> list[int]:
    """Connections as evenly over senders as they go."""
    return [connections // senders + (number < connections % senders) for number in range(senders)]


def run(cx: Context, results: Results) -> None:
    """Measures each transport with one connection a sender, and with 32 in all."""
    measured = list[Measured]()
    for connections in (7, 32):
        for variant in (EXPRESSPASS, DCTCP, CUBIC):
            cx.say(f"{variant.label}, {connections} connections")

            def flows(net: Network, connections: int = connections) -> list[Flow]:
                receiver, *senders = net.hosts
                counts = split(connections, len(senders))
                return [
                    Flow(sender, receiver, count, duration_s=cx.seconds(10), omit_s=1)
                    for sender, count in zip(senders, counts, strict=True)
                ]

            one = measure(cx, variant, SHAPE, flows)
            measured.append(one)
            results.series[f"{variant.label} {connections}"] = quantiles(one.queue.packets)
            if variant is EXPRESSPASS:
                words = f"Incast 7 to 1 over {connections} connections under ExpressPass"
                results.verdict(f"{words}: no data packet dropped.", f"{one.dropped} dropped", one.dropped == 0)
                largest = one.queue.largest()
                results.verdict(
                    f"{words}: largest sampled queue under {QUEUE} packets.", f"{largest} packets", largest < QUEUE
                )
    every_ms = np.median([one.queue.interval_s() for one in measured]) * 1e3
    caption = (
        f"Seven hosts send to the eighth over one switch. The queue of the receiver's port is in packets, sampled "
        f"every {every_ms:.1f} ms; the port holds {SHAPE.data_packets}."
    )
    results.tables["incast"] = table(caption, measured, SHAPE)


def draw(results: Results) -> dict[str, tuple[str, Figure]]:
    """The distribution of the queue."""
    from clearway.testbed import pictures

    panels = {}
    for connections in (7, 32):
        names = [name for name in results.series if name.endswith(f" {connections}")]
        curves = {name.rpartition(" ")[0]: results.series[name] for name in names}
        panels[f"{connections} connections"] = curves
    words = "Distribution of the queue at the receiver's port in an incast, by transport"
    return {"incast": (words, pictures.distributions(panels, "queue of the port, packets", "share of samples"))}


EXPERIMENT = Experiment(
    "incast", "Incast of seven hosts", "seven hosts send to one, over 7 and over 32 connections", 2.0, run, draw
)
