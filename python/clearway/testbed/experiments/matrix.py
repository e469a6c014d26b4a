"""ExpressPass over the congestion controls of the kernel, with and without offloads, over few and many connections."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from clearway.testbed.daemon import Daemon
from clearway.testbed.experiment import COLUMNS, Context, Experiment, Measured, measure, row
from clearway.testbed.network import Host, Network, Shape
from clearway.testbed.results import Cell, Results, Table
from clearway.testbed.traffic import Flow
from clearway.testbed.variants import DCTCP, EXPRESSPASS, Variant

SHAPE = Shape(hosts=2)
CONTROLS = ("cubic", "reno", "bbr", "cw_dctcp")
CONNECTIONS = (1, 8, 64)
#: The least goodput that is asked, as a share of the ideal one.
LEAST = 0.95
#: The words for offloads that the daemon switches off, as it does by default, and for those that it is told to keep.
OFF, KEPT = "switched off", "kept"


@dataclass(frozen=True)
class OnOffloads(Variant):
    """A variant at hosts whose offloads that join packets are on before the daemons start."""

    def start(self, hosts: Sequence[Host]) -> list[Daemon]:
        """Switches the offloads on, and starts the daemons."""
        for host in hosts:
            host.run("ethtool", "-K", host.device, "tso", "on", "gso", "on", "gro", "on")
        return super().start(hosts)


def beneath(control: str, offloads: str) -> Variant:
    """ExpressPass over a congestion control of the kernel; one that reacts to marks gets them."""
    settings = ("--offloads", "keep") if offloads == KEPT else ()
    beside = DCTCP if control == DCTCP.congestion_control else EXPRESSPASS
    return OnOffloads(
        EXPRESSPASS.label,
        congestion_control=control,
        ecn=beside.ecn,
        credits=EXPRESSPASS.credits,
        marking=beside.marking,
        settings=settings,
    )


def run(cx: Context, results: Results) -> None:
    """Measures each combination."""
    rows, least = list[list[Cell]](), dict[str, float]()
    for connections in CONNECTIONS:
        for control in CONTROLS:
            for offloads in (OFF, KEPT):
                cx.say(f"{control}, offloads {offloads}, {connections} connections")

                def flows(net: Network, connections: int = connections) -> list[Flow]:
                    return [Flow(net.hosts[1], net.hosts[0], connections, duration_s=cx.seconds(6), omit_s=1)]

                one = measure(cx, beneath(control, offloads), SHAPE, flows)
                rows.append([control, offloads, *cells(one)])
                if offloads == OFF:
                    share = one.goodput_bps / SHAPE.ideal_goodput_bps
                    least[control] = min(share, least.get(control, share))
    for control, share in least.items():
        results.verdict(
            f"ExpressPass over {control}: at least {LEAST:.0%} of the ideal {SHAPE.ideal_goodput_bps / 1e6:.1f} "
            f"Mbit/s, over {CONNECTIONS[0]} to {CONNECTIONS[-1]} connections.",
            f"{share:.1%} at least",
            share >= LEAST,
        )
    results.tables["matrix"] = Table(
        "Two hosts at one switch, all connections in one direction, under ExpressPass. TSO, GSO and GRO of both hosts "
        "are on before the daemons start; the rows tell whether these switched them off, as by default, or kept them "
        '("--offloads keep"). Queues are in packets.',
        ["ExpressPass over", "offloads", *KEPT_COLUMNS],
        rows,
    )


#: The columns of tables of long flows that are left out: queues are short, and all rows are of one transport.
LEFT_OUT = ("transport", "queue p50", "RTT of TCP, ms")
KEPT_COLUMNS = [column for column in COLUMNS if column not in LEFT_OUT]


def cells(one: Measured) -> list[Cell]:
    """A measurement under `KEPT_COLUMNS`."""
    found = dict(zip(COLUMNS, row(one, SHAPE), strict=True))
    return [found[column] for column in KEPT_COLUMNS]


EXPERIMENT = Experiment(
    "matrix",
    "What lies underneath",
    "ExpressPass over CUBIC, New Reno, BBR and DCTCP, with and without offloads, over 1, 8 and 64 connections",
    4.0,
    run,
    needs=("iperf3", "iptables", "ethtool"),
)
