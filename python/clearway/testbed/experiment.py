"""An experiment on the testbed: how it runs and is drawn; and measurements that several of them take."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from clearway.testbed.control import Control
from clearway.testbed.counters import Load, Watch, drops, processor_s, retransmissions
from clearway.testbed.network import Network, Port, Shape
from clearway.testbed.queues import Sampler, Samples
from clearway.testbed.results import Results, Table, machine
from clearway.testbed.shares import CREDITED, UNDERNEATH
from clearway.testbed.shell import TestbedError, lacking
from clearway.testbed.traffic import Flow, Outcome, long_flows
from clearway.testbed.variants import Variant

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Context:
    """The scale of a run of an experiment, its progress and the load of the machine."""

    def __init__(self, scale: float = 1.0, say: Callable[[str], None] = lambda _: None) -> None:
        self.scale, self.say = scale, say
        self.loads: list[Load] = []

    def seconds(self, full: float, least: float = 1.0) -> float:
        """A duration, scaled."""
        return max(least, full * self.scale)

    def load(self) -> str:
        """A sentence on the machine's load over all measurements."""
        if not self.loads:
            return ""
        count, first = len(self.loads), self.loads[0]
        busy, others = sum(one.busy for one in self.loads), sum(one.others for one in self.loads)
        return Load(busy / count, others / count, first.before, first.processors).words()


@dataclass(frozen=True)
class Experiment:
    """An experiment, in a module of its own in `clearway.testbed.experiments`."""

    name: str
    title: str
    #: One sentence for `clearway testbed list`.
    about: str
    #: Minutes that it takes.
    minutes: float
    #: Runs it; fills in the verdicts, tables, series and notes.
    run: Callable[[Context, Results], None]
    #: Draws pictures from results alone: file name without ending -> words for those who can't see it, and the figure.
    draw: Callable[[Results], dict[str, tuple[str, Figure]]] = lambda _: {}
    #: Programs that it needs besides those of every testbed.
    needs: Sequence[str] = ("iperf3", "iptables")
    #: Sentences that follow from its tables.
    notes: Callable[[Results], list[str]] | None = None
    #: Other pages in the folder of documents that have a part of the results too: page -> its words.
    also: Mapping[Path, Callable[[Results], str]] = field(default_factory=dict)
    #: If true, the share of bytes under control is asked for; else tables tell it, and something else was the aim.
    asks_control: bool = True

    def __call__(self, cx: Context) -> Results:
        """Runs the experiment; raises `TestbedError` where the machine lacks something."""
        why = lacking(*self.needs)
        if why:
            raise TestbedError(f"{self.name} {why}")
        results = Results(self.name, self.title, time.strftime("%Y-%m-%d"), scale=cx.scale, machine=machine())
        began = time.monotonic()
        self.run(cx, results)
        self.conclude(results)
        results.seconds = round(time.monotonic() - began, 1)
        results.load = cx.load()
        return results

    def conclude(self, results: Results) -> None:
        """Gives the verdict and the notes that follow from tables alone."""
        if self.asks_control:
            results.judge_shares()
        if self.notes:
            results.notes = self.notes(results)


@dataclass
class Measured:
    """A measurement of long flows through one port."""

    variant: Variant
    outcomes: list[Outcome]
    queue: Samples
    load: Load
    #: Data packets and credits that all ports of switches have dropped, and segments sent again.
    dropped: int
    credits_dropped: int
    retransmitted: int
    #: The share of bytes under credits in per cent, None without a daemon; TCP's congestion control underneath.
    credited: float | None
    underneath: str
    #: Processor time of the daemons over the wall time, as a share of one processor: of the senders', the receiver's.
    daemons_cpu: list[float] = field(default_factory=list)

    @property
    def goodput_bps(self) -> float:
        """The goodput of all flows together."""
        return sum(one.goodput_bps for one in self.outcomes)

    @property
    def each_bps(self) -> list[float]:
        """The goodput of each connection."""
        return [goodput for one in self.outcomes for goodput in one.goodputs_bps]

    @property
    def rtt_s(self) -> float:
        """The mean of the round trip times that TCP measured, over all connections."""
        rtts = [rtt for one in self.outcomes for rtt in one.rtts_s]
        return sum(rtts) / len(rtts)


def jain(shares: Sequence[float]) -> float:
    """Jain's index of fairness: 1 if all shares are equal, 1/n if one has all."""
    return sum(shares) ** 2 / (len(shares) * sum(share**2 for share in shares)) if any(shares) else float("nan")


FlowsOf = Callable[[Network], Sequence[Flow]]


def measure(cx: Context, variant: Variant, shape: Shape, flows_of: FlowsOf, *, interval_us: int = 1000) -> Measured:
    """Builds a network, starts what the variant needs, and measures long flows to the first host."""
    with Network(variant.shape(shape)) as net:
        daemons = variant.start(net.hosts)
        flows = list(flows_of(net))
        port: Port = net.hosts[0].port
        before = [processor_s(daemon.pid) for daemon in daemons]
        with (
            Watch() as watch,
            Control(net.hosts, daemons) as control,
            Sampler(port.switch, port.device, interval_us=interval_us) as sampler,
        ):
            began = time.monotonic()
            outcomes = long_flows(flows)
            took = time.monotonic() - began
        cx.loads.append(watch.load)
        return Measured(
            variant,
            outcomes,
            sampler.samples[port.device],
            watch.load,
            dropped=sum(sum(drops(switch).values()) for switch in net.switches),
            credits_dropped=sum(sum(drops(switch, "10:").values()) for switch in net.switches),
            retransmitted=retransmissions(net.hosts),
            credited=control.percent(sum(one.received for one in outcomes)),
            underneath=control.underneath,
            daemons_cpu=[(processor_s(one.pid) - old) / took for one, old in zip(daemons, before, strict=True)],
        )


COLUMNS = [
    "transport",
    "connections",
    CREDITED,
    UNDERNEATH,
    "goodput, Mbit/s",
    "of its ideal, %",
    "Jain's index",
    "queue p50",
    "queue p99",
    "largest queue",
    "data dropped",
    "sent again",
    "RTT of TCP, ms",
    "daemon at the receiver, % of a CPU",
    "daemon at a sender, %",
]


def row(one: Measured, shape: Shape) -> list[str | int | float | bool | None]:
    """A measurement as a row under `COLUMNS`."""
    ideal = shape.ideal_goodput_bps if one.variant.credits else shape.plain_goodput_bps
    receiver, *senders = [share * 100 for share in one.daemons_cpu] or [float("nan")] * 2
    return [
        one.variant.label,
        len(one.each_bps),
        one.credited,
        one.underneath,
        one.goodput_bps / 1e6,
        one.goodput_bps / ideal * 100,
        jain(one.each_bps),
        one.queue.percentile(50),
        one.queue.percentile(99),
        one.queue.largest(),
        one.dropped,
        one.retransmitted,
        one.rtt_s * 1e3,
        receiver,
        max(senders),
    ]


def table(caption: str, measured: Sequence[Measured], shape: Shape) -> Table:
    """Measurements as a table."""
    return Table(caption, list(COLUMNS), [row(one, shape) for one in measured], digits=2)


def at(shape: Shape, **changes: object) -> Shape:
    """A shape with other values."""
    return replace(shape, **changes)  # type: ignore[arg-type]
