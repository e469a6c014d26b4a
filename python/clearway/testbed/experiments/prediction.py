"""The simulator as a prediction: given the testbed's measured delays, it says the goodput and the queue beforehand."""

from __future__ import annotations

import re

import numpy as np
import polars as pl

import clearway
from clearway.testbed.capture import Capture
from clearway.testbed.counters import Watch
from clearway.testbed.experiment import Context, Experiment, Measured, measure
from clearway.testbed.experiments.delay import processing_s
from clearway.testbed.network import LARGEST, Host, Network, Shape
from clearway.testbed.results import Cell, Results, Table
from clearway.testbed.shares import CREDITED, UNDERNEATH
from clearway.testbed.traffic import FIRST_PORT, Flow, long_flows
from clearway.testbed.variants import EXPRESSPASS

#: The stated errors: the goodput by this share of the predicted one, the 99th percentile of the queue by packets.
GOODPUT_ERROR, QUEUE_ERROR = 0.05, 4
#: Payload of a full frame on the testbed, where TCP's timestamps take 12 bytes.
PAYLOAD = 1448
#: Shares of packets at which the distribution of the hosts' delay is handed to the simulator.
SHARES = (0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99, 1.0)

SCENARIO = """
stop = "3 s"
[topology]
kind = "star"
hosts = {hosts}
rate = "{rate} bps"
delay = "{delay_ns} ns"
[switch]
buffer = "{buffer} packets"
[host]
processing_delay = {{ quantiles = [{quantiles}] }}
[transport]
name = "expresspass"
randomize_size = false
bucket = "840 B"
idle_timeout = "2 ms"
retry = "1 ms"
[[traffic]]
name = "flows"
kind = "long"
pairs = [{pairs}]
[measure]
from = "1 s"
[[sample]]
name = "queue"
what = "queue"
every = "1 ms"
ports = ["s0->h0"]
"""


def link_delay_ns(one: Host, other: Host) -> int:
    """The delay of a link by a ping of the idle network, without the time that frames take on four links."""
    said = one.run("ping", "-q", "-c", "200", "-i", "0.005", other.address)
    found = re.search(r"= [\d.]+/([\d.]+)/", said)
    assert found, said
    # The shaper of a port lets a frame pass at once that finds an idle link, so no serialisation time is in the ping.
    return max(0, round(float(found[1]) * 1e6 / 4))


def delays(cx: Context) -> tuple[int, np.ndarray[tuple[int], np.dtype[np.float64]]]:
    """The delay of a link in ns, and quantiles of the time in seconds that a host takes for a credit."""
    shape = Shape(hosts=2)
    with Network(EXPRESSPASS.shape(shape)) as net:
        receiver, sender = net.hosts
        link = link_delay_ns(sender, receiver)
        EXPRESSPASS.start(net.hosts)
        with Watch() as watch, Capture(sender) as capture:
            long_flows([Flow(sender, receiver, duration_s=cx.seconds(5, 2))])
        cx.loads.append(watch.load)
        frames = capture.frames
        ports, counts = np.unique(frames.data(sender, FIRST_PORT).source_port, return_counts=True)
        frames = frames[frames.source_port == ports[np.argmax(counts)]]
        took = processing_s(frames.credits(sender, FIRST_PORT), frames.data(sender, FIRST_PORT).scheduled())
    return link, np.quantile(took, SHARES)


def predict(shape: Shape, link_ns: int, host_s: np.ndarray[tuple[int], np.dtype[np.float64]]) -> tuple[float, float]:
    """The goodput in bit/s and the 99th percentile of the queue in packets that the simulator finds."""
    quantiles = ", ".join(f'[{share}, "{delay * 1e9:.0f} ns"]' for share, delay in zip(SHARES, host_s, strict=True))
    pairs = ", ".join(f'["h{number}", "h0"]' for number in range(1, shape.hosts))
    text = SCENARIO.format(
        hosts=shape.hosts,
        rate=shape.rate_bps,
        delay_ns=link_ns,
        buffer=shape.data_packets,
        quantiles=quantiles,
        pairs=pairs,
    )
    run = clearway.run(text)
    port = run.ports.filter(pl.col("port") == "s0->h0").row(0, named=True)
    queue = run.samples.filter(pl.col("time_s") > 1)["value"]
    p99 = queue.quantile(0.99)
    assert p99 is not None
    return port["window_utilisation"] * shape.rate_bps * PAYLOAD / LARGEST, p99 / LARGEST


def run(cx: Context, results: Results) -> None:
    """Measures the delays, predicts, and measures what was predicted."""
    cx.say("delays")
    link_ns, host_s = delays(cx)
    rows: list[list[Cell]] = []
    for senders in (1, 2, 7):
        shape = Shape(hosts=senders + 1)
        goodput, queue = predict(shape, link_ns, host_s)
        cx.say(f"{senders} to 1")

        def flows(net: Network) -> list[Flow]:
            receiver, *others = net.hosts
            return [Flow(sender, receiver, duration_s=cx.seconds(10), omit_s=1) for sender in others]

        one: Measured = measure(cx, EXPRESSPASS, shape, flows)
        p99 = one.queue.percentile(99)
        error = one.goodput_bps / goodput - 1
        figures = [goodput / 1e6, one.goodput_bps / 1e6, error * 100, queue, p99]
        rows.append([f"{senders} to 1", one.credited, one.underneath, *figures])
        results.verdict(
            f"Goodput of {senders} to 1: within {GOODPUT_ERROR:.0%} of the simulator's {goodput / 1e6:.1f} Mbit/s.",
            f"{one.goodput_bps / 1e6:.1f} Mbit/s, {error:+.1%}",
            abs(error) <= GOODPUT_ERROR,
        )
        results.verdict(
            f"Queue of {senders} to 1, 99th percentile: within {QUEUE_ERROR} of the simulator's {queue:.1f} packets.",
            f"{p99:.1f} packets",
            abs(p99 - queue) <= QUEUE_ERROR,
        )
    shown = ", ".join(f"{delay * 1e6:.0f}" for delay in host_s)
    results.notes.append(
        f"The simulator was given a delay of {link_ns / 1e3:.1f} us for each link, a quarter of a ping through the idle"
        f" network, and for each host the times that the sender took for a credit: {shown} us at the shares "
        f"{', '.join(f'{share:.0%}' for share in SHARES)} of packets."
    )
    results.tables["prediction"] = Table(
        "One flow from each sender. The queue is the 99th percentile at the receiver's port, in packets.",
        [
            "flows",
            CREDITED,
            UNDERNEATH,
            "predicted, Mbit/s",
            "measured, Mbit/s",
            "difference, %",
            "queue predicted",
            "queue measured",
        ],
        rows,
    )


EXPERIMENT = Experiment(
    "prediction", "The simulator as a prediction", "the simulator's goodput and queue, given measured delays", 1.5, run
)
