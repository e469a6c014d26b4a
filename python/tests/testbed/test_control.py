"""The share of bytes under credits, and TCP's congestion control underneath, as the kernel and daemons have them."""

from __future__ import annotations

from pathlib import Path

import pytest
import skips

from clearway.testbed.control import Control, counted
from clearway.testbed.shares import LEAST_PERCENT
from clearway.testbed.traffic import Flow, Sink, Source, long_flows
from clearway.testbed.variants import CUBIC, EXPRESSPASS, PAC
from testbed.conftest import Build

pytestmark = [pytest.mark.testbed, pytest.mark.usefixtures("clearwayd")]
SIZE = 2_000_000


def test_a_transfer_between_daemons_is_under_credits_and_one_without_the_receivers_is_plain_tcp(build: Build) -> None:
    net = build()
    receiver, sender = net.hosts
    daemons = EXPRESSPASS.start(net.hosts)
    sink = Sink(receiver)
    with Control(net.hosts, daemons) as control:
        assert Source(sender, sink, SIZE).wait()["same"]
    share = control.percent(SIZE)
    assert share is not None
    assert LEAST_PERCENT < share <= 100, control.payload
    # The answer of the sink, a checksum of 32 bytes, is data of the other direction.
    assert control.payload.total >= SIZE + 32
    daemons[0].kill()
    with Control(net.hosts, daemons[1:]) as control:
        assert Source(sender, sink, SIZE).wait()["same"]
    share = control.percent(SIZE)
    assert share is not None
    assert share < 5, control.payload
    assert control.payload.plain["silent"] + control.payload.plain["unanswered"] > 0.95 * SIZE
    assert control.payload.given_up > 0
    assert counted(daemons[1:]).controlled > 0.9 * SIZE, "the transfer before counts for itself"


def test_bytes_that_pass_without_a_daemon_of_their_sender_are_not_under_credits(build: Build) -> None:
    net = build()
    receiver, sender = net.hosts
    daemons = EXPRESSPASS.start([receiver])
    sink = Sink(receiver)
    with Control(net.hosts, daemons) as control:
        assert Source(sender, sink, SIZE).wait()["same"]
    share = control.percent(SIZE)
    assert share is not None
    assert share < 5, "the receiver's daemon has seen its answers alone"


def test_without_a_daemon_there_is_no_share(build: Build) -> None:
    net = build()
    with Control(net.hosts, CUBIC.start(net.hosts)) as control:
        assert Source(net.hosts[1], Sink(net.hosts[0]), 100_000).wait()["same"]
    assert control.percent(100_000) is None


def test_pac_knows_the_flows_whose_bytes_arrive(build: Build) -> None:
    net = build()
    receiver, sender = net.hosts
    daemons = PAC.start([receiver])
    with Control(net.hosts, daemons) as control:
        assert Source(sender, Sink(receiver), SIZE).wait()["same"]
    share = control.percent(SIZE)
    assert share is not None
    assert share > LEAST_PERCENT, control.payload


@pytest.mark.parametrize("name", ["reno", "cubic"])
def test_the_congestion_control_underneath_is_that_of_the_connections(build: Build, name: str) -> None:
    net = build(congestion_control=name)
    receiver, sender = net.hosts
    with Control(net.hosts, []) as control:
        (outcome,) = long_flows([Flow(sender, receiver, duration_s=1)])
    assert control.underneath == name
    assert outcome.received > 1_000_000
    # Connections that are there for too short a time leave the default of their hosts.
    receiver.sysctl(tcp_congestion_control="cubic")
    sender.sysctl(tcp_congestion_control="cubic")
    with Control(net.hosts, []) as control:
        pass
    assert control.underneath == "cubic"


@pytest.mark.slow
@pytest.mark.parametrize(("name", "connections"), [("bbr", 64), ("cw_dctcp", 8)])
def test_many_connections_stay_under_credits_whatever_lies_underneath(
    build: Build, name: str, connections: int
) -> None:
    if name == "bbr" and "bbr" not in Path("/proc/sys/net/ipv4/tcp_available_congestion_control").read_text().split():
        skips.skip("BBR", "modprobe tcp_bbr")
    net = build(congestion_control=name)
    receiver, sender = net.hosts
    daemons = EXPRESSPASS.start(net.hosts)
    with Control(net.hosts, daemons) as control:
        (outcome,) = long_flows([Flow(sender, receiver, connections, duration_s=4)])
    share = control.percent()
    assert share is not None
    assert share > LEAST_PERCENT, control.payload
    assert outcome.goodput_bps > 0.7 * net.shape.ideal_goodput_bps
    assert f'tcp="{name}"' in daemons[1].log.read_text()
