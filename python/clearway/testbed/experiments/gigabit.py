"""One gigabit per second: goodput of one and of eight connections, and the processor time that the daemons take."""

from __future__ import annotations

from clearway.testbed.experiment import Context, Experiment, Measured, measure, table
from clearway.testbed.network import Network, Shape
from clearway.testbed.results import Results
from clearway.testbed.traffic import Flow
from clearway.testbed.variants import CUBIC, EXPRESSPASS

#: Cards of hosts have no HTB here: two more shapers on the way would take processor time that real cards do not.
SHAPE = Shape(hosts=2, rate_bps=1_000_000_000, cards=False)
#: The least goodput that is asked, as a share of the ideal one.
LEAST = 0.8


def run(cx: Context, results: Results) -> None:
    """Measures ExpressPass and CUBIC with one connection and with eight."""
    measured = list[Measured]()
    for connections in (1, 8):
        for variant in (EXPRESSPASS, CUBIC):
            cx.say(f"{variant.label}, {connections} connections")

            def flows(net: Network, connections: int = connections) -> list[Flow]:
                return [Flow(net.hosts[1], net.hosts[0], connections, duration_s=cx.seconds(10), omit_s=1)]

            one = measure(cx, variant, SHAPE, flows)
            measured.append(one)
            results.notes.append(
                f"Under {variant.label}, connections: {connections}, all processors together were busy for "
                f"{one.load.busy:.0%} of the time."
            )
            if variant is EXPRESSPASS:
                share, ideal = one.goodput_bps / SHAPE.ideal_goodput_bps, SHAPE.ideal_goodput_bps / 1e6
                words = "One connection" if connections == 1 else f"{connections} connections together"
                results.verdict(
                    f"{words} at 1 Gbit/s: at least {LEAST:.0%} of the ideal {ideal:.0f} Mbit/s.",
                    f"{one.goodput_bps / 1e6:.0f} Mbit/s, {share:.1%}",
                    share >= LEAST,
                )
    caption = "Two hosts at one switch with links of 1 Gbit/s; cards of hosts are not shaped. Queues are in packets."
    results.tables["gigabit"] = table(caption, measured, SHAPE)


EXPERIMENT = Experiment(
    "gigabit", "One gigabit per second", "goodput and processor time at 1 Gbit/s, beside CUBIC", 1.0, run
)
