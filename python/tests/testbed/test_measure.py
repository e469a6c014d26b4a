"""Measurements on networks of namespaces, with plain TCP: what they say agrees with what is known."""

from __future__ import annotations

import time

import numpy as np
import pytest

from clearway.testbed import TestbedError, lacking
from clearway.testbed.capture import CREDIT, Capture, read
from clearway.testbed.counters import Watch, drops, retransmissions
from clearway.testbed.queues import Sampler
from clearway.testbed.traffic import Flow, Sink, Source, long_flows
from testbed.conftest import Build

pytestmark = pytest.mark.testbed


@pytest.fixture(autouse=True)
def programs() -> None:
    if why := lacking("iperf3", "tcpdump"):
        pytest.skip(why)


def test_two_flows_of_cubic_share_the_port_and_fill_its_queue(build: Build) -> None:
    net = build(hosts=3, rate_bps=20_000_000, data_packets=100)
    receiver, *senders = net.hosts
    with Sampler(net.switches[0], "p1", "p2") as sampler, Watch() as watch:
        outcomes = long_flows([Flow(sender, receiver, connections=2, duration_s=2) for sender in senders])
    goodput = sum(one.goodput_bps for one in outcomes)
    assert [len(one.goodputs_bps) for one in outcomes] == [2, 2]
    assert 0.8 < goodput / net.shape.plain_goodput_bps <= 1.05
    full, idle = sampler.samples["p1"], sampler.samples["p2"]
    assert 50 < full.largest() <= 100
    assert idle.largest() < 20
    assert full.dropped() == drops(net.switches[0])["p1"] > 0
    # Packets dropped in the last round trip before the flows end are not sent again.
    assert retransmissions(senders) > full.dropped() / 2
    passed = int(full.passed_bytes[-1]) - int(full.passed_bytes[0])
    assert passed > goodput / 8 * 2 * 0.9
    assert 0.0 <= watch.load.others <= 1.0


def test_a_capture_holds_each_byte_of_a_transfer_once_and_at_its_time(build: Build) -> None:
    net = build(rate_bps=50_000_000)
    receiver, sender = net.hosts
    sink = Sink(receiver)
    began = time.time()
    with Capture(net.switches[0], "p1") as capture:
        said = Source(sender, sink, 500_000, seed=3).wait()
    assert said["same"]
    assert sink.said()[0]["sha256"] == said["sha256"]
    data = capture.frames.data(sender, sink.port)
    assert int(data.payload.sum()) == 500_000
    assert began <= data.time_s[0] <= data.time_s[-1] <= time.time()
    assert (data.gaps_s() >= 0).all()
    # No frame leaves earlier than the port's rate allows; HTB's timer may be late, and then a few follow at once.
    assert len(data) * 1538 * 8 / 50e6 * 0.9 < data.time_s[-1] - data.time_s[0]
    assert data.goodput_bps(data.time_s[0], data.time_s[-1], 0.01).max() < 60e6
    assert len(capture.frames.credits()) == 0


def test_control_frames_are_read_as_the_wire_format_has_them(build: Build) -> None:
    net = build()
    one, two = net.hosts
    program = f"""
import socket
frame = bytes.fromhex("{two.mac}{one.mac}".replace(":", "")) + bytes.fromhex("88b5") + bytes([2, 9, 0, 0])
frame += (7).to_bytes(4, "big") + bytes([10, 0, 0, 2, 10, 0, 0, 1]) + (40000).to_bytes(2, "big")
frame += (5201).to_bytes(2, "big") + bytes(8) + (1 << 33 | 5).to_bytes(8, "big") + bytes(8) + bytes(2)
with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as card:
    card.bind(("eth0", 0))
    card.send(frame)
"""
    with Capture(two) as capture:
        one.run("python3", "-c", program)
        time.sleep(0.2)
    (frame,) = [capture.frames.credits(two, 5201)]
    assert frame.control.tolist() == [CREDIT]
    assert frame.number.tolist() == [1 << 33 | 5]
    assert frame.source_port.tolist() == [40000]
    assert frame.payload.tolist() == [0]


def test_a_transfer_that_hangs_is_an_error(build: Build) -> None:
    net = build()
    receiver, sender = net.hosts
    sink = Sink(receiver)
    net.switches[0].run("ip", "link", "set", "p1", "down")
    with pytest.raises(TestbedError, match="hangs"):
        Source(sender, sink, 10_000).wait(timeout_s=1)


def test_what_is_no_capture_is_refused() -> None:
    with pytest.raises(TestbedError, match="no capture"):
        read(b"nothing of that kind, but long enough")
    empty = bytes.fromhex("4d3cb2a1") + bytes(20)
    assert len(read(empty)) == 0
    assert np.isclose(read(empty).goodput_bps(0, 1, 0.5), 0).all()
