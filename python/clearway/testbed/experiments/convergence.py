"""Two flows of different hosts to one receiver, of which the second joins later: shares and queue over time."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from clearway.testbed.capture import Capture
from clearway.testbed.control import Control
from clearway.testbed.counters import Watch
from clearway.testbed.experiment import Context, Experiment
from clearway.testbed.network import Network, Shape
from clearway.testbed.queues import Sampler
from clearway.testbed.results import Results, Table, thinned
from clearway.testbed.shares import CREDITED, UNDERNEATH
from clearway.testbed.traffic import FIRST_PORT, Flow, long_flows
from clearway.testbed.variants import CUBIC, DCTCP, EXPRESSPASS, Variant

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SHAPE = Shape(hosts=3)
#: Seconds of a bin of goodput in the picture, and in what counts as converged.
BIN_S, WIDE_BIN_S = 0.02, 0.04
#: The flows have converged when this index of Jain is reached and held for `HOLD` wide bins.
FAIR, HOLD = 0.98, 5
#: Milliseconds within which two flows of ExpressPass must have converged. The paper has 3 updates of 100 us at 10
#: Gbit/s with a queue-free round trip; here an update takes one round trip of NFQUEUE, about a millisecond.
WITHIN_MS = 500.0


def converged_s(first: NDArray[np.float64], second: NDArray[np.float64]) -> float:
    """Seconds from the first bin, in which the second flow joins, until both hold equal shares; NaN if never."""
    total = first + second
    with np.errstate(invalid="ignore", divide="ignore"):
        index = total**2 / (2 * (first**2 + second**2))
    fair = index >= FAIR
    for place in range(len(fair) - HOLD + 1):
        if fair[place : place + HOLD].all():
            return place * WIDE_BIN_S
    return float("nan")


def one(cx: Context, variant: Variant, results: Results) -> list[str | int | float | bool | None]:
    """Measures one transport, and returns its row."""
    alone, both = cx.seconds(3, 2), cx.seconds(7, 3)
    with Network(variant.shape(SHAPE)) as net:
        receiver, first, second = net.hosts
        daemons = variant.start(net.hosts)
        port = receiver.port
        flows = [
            Flow(first, receiver, duration_s=alone + both),
            Flow(second, receiver, start_s=alone, duration_s=both),
        ]
        with (
            Watch() as watch,
            Control(net.hosts, daemons) as control,
            Sampler(port.switch, port.device) as sampler,
            Capture(port.switch, port.device) as capture,
        ):
            outcomes = long_flows(flows)
            time.sleep(0.2)
        cx.loads.append(watch.load)
    data = [capture.frames.data(sender, FIRST_PORT + n) for n, sender in enumerate((first, second))]
    # A connection begins with a few bytes that set the test up, on the same port; data follows at once.
    begin, joined, end = data[0].time_s[0], data[1].time_s[0], data[0].time_s[-1]
    goodputs = [each.goodput_bps(begin, end, BIN_S) for each in data]
    wide = [each.goodput_bps(joined, end - 0.2, WIDE_BIN_S) for each in data]
    for number, goodput in enumerate(goodputs):
        times = [n * BIN_S for n in range(len(goodput))]
        mbps = [float(value) / 1e6 for value in goodput]
        results.series[f"goodput {variant.label} {number + 1}"] = {"time_s": times, "value": mbps}
    queue = sampler.samples[port.device].between(begin, end)
    # The largest of each twenty samples, so that no peak is lost.
    whole = len(queue.packets) // 20 * 20
    peaks = queue.packets[:whole].reshape(-1, 20).max(axis=1)
    results.series[f"queue {variant.label}"] = {
        "time_s": [float(value - begin) for value in queue.time_s[:whole:20]],
        "value": thinned(peaks, 10_000),
    }
    took = converged_s(wide[0], wide[1])
    shares = [float(np.mean(each[len(each) // 2 :])) / 1e6 for each in wide]
    if variant is EXPRESSPASS:
        results.verdict(
            f"Two flows of ExpressPass: equal shares within {WITHIN_MS:g} ms after the second one joins.",
            "never" if took != took else f"within {(took + WIDE_BIN_S) * 1e3:.0f} ms",
            took * 1e3 <= WITHIN_MS,
        )
        largest = queue.largest()
        results.verdict("The largest sampled queue is under 16 packets.", f"{largest} packets", largest < 16)
    credited = control.percent(sum(outcome.received for outcome in outcomes))
    queues = [queue.percentile(50), queue.percentile(99), queue.largest()]
    return [variant.label, credited, control.underneath, took, *shares, *queues]


def run(cx: Context, results: Results) -> None:
    """Measures each transport."""
    rows = []
    for variant in (EXPRESSPASS, DCTCP, CUBIC):
        cx.say(variant.label)
        rows.append(one(cx, variant, results))
    results.tables["convergence"] = Table(
        f"A second flow joins a first one. They have converged when Jain's index over {WIDE_BIN_S * 1e3:.0f} ms stays "
        f"at {FAIR} or more for {HOLD} bins; the shares are the means of the last half, and the queue is in packets.",
        [
            "transport",
            CREDITED,
            UNDERNEATH,
            "converged after, s",
            "first flow, Mbit/s",
            "second flow, Mbit/s",
            "queue p50",
            "queue p99",
            "largest queue",
        ],
        rows,
    )


def draw(results: Results) -> dict[str, tuple[str, Figure]]:
    """Goodput of both flows over time, and the queue."""
    from clearway.testbed import pictures

    found = list(dict.fromkeys(name.split()[1] for name in results.series))
    panels = {
        label: {
            "first flow": results.series[f"goodput {label} 1"],
            "second flow": results.series[f"goodput {label} 2"],
        }
        for label in found
    }
    queues = {"queue of the port": {label: results.series[f"queue {label}"] for label in found}}
    return {
        "convergence": (
            "Goodput of two flows over time, of which the second joins after three seconds, by transport",
            pictures.courses(panels, ["Mbit/s"] * len(panels)),
        ),
        "queue": ("Queue of the port over time by transport", pictures.courses(queues, ["packets"])),
    }


EXPERIMENT = Experiment(
    "convergence",
    "Two flows that join",
    "shares and queue over time while a second flow joins",
    1.0,
    run,
    draw,
    ("iperf3", "iptables", "tcpdump"),
)
