"""Inside one flow of ExpressPass: gaps between credits at both ends, and the time that a host takes for a credit."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from clearway.testbed.capture import Capture, Frames
from clearway.testbed.control import Control
from clearway.testbed.counters import Watch
from clearway.testbed.experiment import Context, Experiment
from clearway.testbed.network import Network, Shape
from clearway.testbed.results import Cell, Results, Table, quantiles
from clearway.testbed.shares import CREDITED, UNDERNEATH
from clearway.testbed.traffic import FIRST_PORT, Flow, long_flows
from clearway.testbed.variants import EXPRESSPASS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SHAPE = Shape(hosts=2)
#: The gap between credits at the full rate: a credit and a full packet take so long on the link.
IDEAL_S = (84 + 1538) * 8 / SHAPE.rate_bps
#: Microseconds that a full frame takes on the link.
FRAME_US = 1538 * 8 / SHAPE.rate_bps * 1e6
#: The paper's hosts take at most so long for a credit (SoftNIC, Fig. 14a), in seconds.
PAPER_DELAY_S = 6.2e-6


def processing_s(credit: Frames, data: Frames) -> NDArray[np.float64]:
    """The times from the arrival of a credit until the packet that spends it leaves.

    A packet carries the lower 16 bits of its credit's number, and spends the last credit before it with these bits.
    """
    low = (credit.number & np.uint64(0xFFFF)).astype(np.int64)
    arrived = dict[int, float]()
    events = sorted(
        [(float(at), 0, int(number)) for at, number in zip(credit.time_s, low, strict=True)]
        + [(float(at), 1, int(number)) for at, number in zip(data.time_s, data.ip_id, strict=True)]
    )
    took = []
    for at, spends, number in events:
        if not spends:
            arrived[number] = at
        elif number in arrived:
            took.append(at - arrived.pop(number))
    return np.array(took)


def run(cx: Context, results: Results) -> None:
    """Captures at both ends of one flow."""
    with Network(EXPRESSPASS.shape(SHAPE)) as net:
        receiver, sender = net.hosts
        daemons = EXPRESSPASS.start(net.hosts)
        flow = Flow(sender, receiver, duration_s=cx.seconds(10, 2))
        # Credits pass by the queue of the receiver's card, and by the taps there; the port beyond the link sees them.
        port = receiver.port
        with (
            Watch() as watch,
            Control(net.hosts, daemons) as control,
            Capture(sender) as at_sender,
            Capture(port.switch, port.device) as at_receiver,
        ):
            (outcome,) = long_flows([flow])
        cx.loads.append(watch.load)
    # The connection that carries the flow's data is the one with the most packets; another one sets the test up.
    ports, counts = np.unique(at_sender.frames.data(sender, FIRST_PORT).source_port, return_counts=True)
    frames = [one.frames[one.frames.source_port == ports[np.argmax(counts)]] for one in (at_receiver, at_sender)]
    leaving, arriving = (one.credits(sender, FIRST_PORT) for one in frames)
    data = frames[1].data(sender, FIRST_PORT).scheduled()
    arrived = frames[0].data(sender, FIRST_PORT)
    begin = arriving.time_s[0] + 0.5
    under: list[Cell] = [control.percent(outcome.received), control.underneath]
    parts = {
        "credits at the receiver": leaving,
        "credits at the sender": arriving,
        "data at the sender": data,
        "data at the receiver": arrived,
    }
    rows: list[list[Cell]] = []
    for name, part in parts.items():
        gaps = part[part.time_s > begin].gaps_s() * 1e6
        results.series[f"gap {name}"] = quantiles(gaps)
        rows.append([name, *under, len(gaps), *(float(np.percentile(gaps, p)) for p in (1, 50, 99)), float(gaps.std())])
    results.tables["gaps"] = Table(
        f"Times between frames of one flow, in microseconds. At the full rate of credits they are {IDEAL_S * 1e6:.1f}.",
        ["frames", CREDITED, UNDERNEATH, "gaps", "p1", "p50", "p99", "standard deviation"],
        rows,
    )
    took = processing_s(arriving[arriving.time_s > begin], data[data.time_s > begin]) * 1e6
    results.series["delay sender"] = quantiles(took)
    results.tables["delay"] = Table(
        "Time from the arrival of a credit at the sender until the packet that spends it leaves, in microseconds.",
        ["host", CREDITED, UNDERNEATH, "packets", "p1", "p50", "p99", "p99.9", "largest"],
        [["sender", *under, len(took), *(float(np.percentile(took, p)) for p in (1, 50, 99, 99.9, 100))]],
    )
    spent = len(took) / max(len(arriving[arriving.time_s > begin]), 1)
    p50, largest = float(np.percentile(took, 50)), float(took.max())
    results.notes.append(
        f"A packet left for {spent:.1%} of the credits. The median of the time that a host takes for a credit is "
        f"{p50:.0f} us, where the paper's SoftNIC took {PAPER_DELAY_S * 1e6:.1f} us at most: here each packet crosses "
        "from the kernel to a process and back."
    )
    results.notes.append(
        f"The largest time was {largest / 1e3:.1f} ms, in which the port of a receiver sends {largest / FRAME_US:.0f} "
        "packets. ExpressPass bounds the queue of a port by the spread of such times over senders, so stalls of one "
        "host are what an incast finds in the queue."
    )
    middle = abs(float(np.percentile(arriving[arriving.time_s > begin].gaps_s(), 50)) - IDEAL_S) / IDEAL_S
    results.verdict(
        f"The median gap between credits at the sender is within 10 % of {IDEAL_S * 1e6:.1f} us.",
        f"{(middle):.1%} from it",
        middle <= 0.1,
    )


def draw(results: Results) -> dict[str, tuple[str, Figure]]:
    """The distributions of the gaps and of the delay."""
    from clearway.testbed import pictures

    gaps = {name.removeprefix("gap "): one for name, one in results.series.items() if name.startswith("gap ")}
    delay = {"sender": results.series["delay sender"]}
    return {
        "gaps": (
            "Distribution of the gaps between credits and between data at both ends, and the full rate as a line",
            pictures.distributions({"gaps": gaps}, "gap, us", "share of gaps", log=True, at=IDEAL_S * 1e6),
        ),
        "delay": (
            "Distribution of the time that a host takes for a credit",
            pictures.distributions({"time for a credit": delay}, "time, us", "share of packets", log=True),
        ),
    }


EXPERIMENT = Experiment(
    "delay",
    "Gaps of credits, and the time that a host takes for one",
    "gaps between credits and data at both ends, host delay",
    0.5,
    run,
    draw,
    ("iperf3", "iptables", "tcpdump"),
)
