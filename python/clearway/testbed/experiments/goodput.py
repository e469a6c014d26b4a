"""Goodput of long flows between two hosts: one connection, and eight."""

from __future__ import annotations

from clearway.testbed.experiment import Context, Experiment, Measured, measure, table
from clearway.testbed.network import Network, Shape
from clearway.testbed.results import Results
from clearway.testbed.traffic import Flow
from clearway.testbed.variants import CUBIC, DCTCP, EC4, EXPRESSPASS

SHAPE = Shape(hosts=2)
#: The least goodput that is asked, as a share of the ideal one.
LEAST = 0.95


def run(cx: Context, results: Results) -> None:
    """Measures each transport with one connection and with eight."""
    measured = list[Measured]()
    for connections in (1, 8):
        for variant in (EXPRESSPASS, EC4, DCTCP, CUBIC):
            cx.say(f"{variant.label}, {connections} connections")

            def flows(net: Network, connections: int = connections) -> list[Flow]:
                return [Flow(net.hosts[1], net.hosts[0], connections, duration_s=cx.seconds(10), omit_s=1)]

            one = measure(cx, variant, SHAPE, flows)
            measured.append(one)
            if variant is EXPRESSPASS:
                share = one.goodput_bps / SHAPE.ideal_goodput_bps
                ideal = f"{LEAST:.0%} of the ideal {SHAPE.ideal_goodput_bps / 1e6:.1f} Mbit/s"
                words = "One connection" if connections == 1 else f"{connections} connections together"
                results.verdict(
                    f"{words} under ExpressPass: at least {ideal}.",
                    f"{one.goodput_bps / 1e6:.1f} Mbit/s, {share:.1%}",
                    share >= LEAST,
                )
    caption = "Two hosts at one switch, all connections in one direction. Queues are in packets."
    results.tables["goodput"] = table(caption, measured, SHAPE)


EXPERIMENT = Experiment(
    "goodput", "Goodput of one and of eight connections", "iperf3 between two hosts, beside DCTCP and CUBIC", 2.0, run
)
