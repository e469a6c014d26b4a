"""The daemon's transports under real TCP: bytes are right, data leaves by credits, and whatever fails, TCP goes on.

Rates are bounded widely, and links that have to be filled are slow, because machines that run tests are busy with
others.
"""

from __future__ import annotations

import json
import time

import pytest

from clearway.testbed import Network, lacking
from clearway.testbed.capture import Capture
from clearway.testbed.counters import drops
from clearway.testbed.traffic import Flow, Sink, Source, long_flows
from clearway.testbed.variants import EC4, EXPRESSPASS, PAC, Variant
from testbed.attacks import SLOW_BPS
from testbed.conftest import Build

pytestmark = [pytest.mark.testbed, pytest.mark.usefixtures("clearwayd")]
SIZE = 3_000_000


def transfer(net: Network, size: int = SIZE) -> float:
    """Sends bytes from the second host to the first one, and returns their goodput."""
    sink = Sink(net.hosts[0])
    said = Source(net.hosts[1], sink, size, seed=5).wait()
    assert said["same"], said
    assert sink.said()[-1]["bytes"] == size
    sink.close()
    return float(size * 8 / said["seconds"])


@pytest.mark.parametrize("variant", [EXPRESSPASS, EC4, PAC], ids=lambda variant: variant.label)
def test_bytes_arrive_right_and_at_a_rate_of_the_links_order(build: Build, variant: Variant) -> None:
    net = build(marking=variant.marking, rate_bps=SLOW_BPS)
    variant.start(net.hosts)
    assert 0.4 * net.shape.ideal_goodput_bps < transfer(net) < 1.1 * net.shape.plain_goodput_bps


@pytest.mark.parametrize("variant", [EXPRESSPASS, EC4], ids=lambda variant: variant.label)
def test_data_spends_credits_and_no_more_than_came(build: Build, variant: Variant) -> None:
    if why := lacking("tcpdump"):
        pytest.skip(why)
    net = build(marking=variant.marking)
    variant.start(net.hosts)
    sender = net.hosts[1]
    with Capture(sender) as capture:
        transfer(net)
    data, credit = capture.frames.data(sender, 7000), capture.frames.credits(sender, 7000)
    scheduled = data.scheduled()
    assert len(scheduled) > 0.9 * len(data) > 0.9 * SIZE / 1448
    assert len(scheduled) <= len(credit)
    numbers = {int(number) & 0xFFFF for number in credit.number}
    assert {int(number) for number in scheduled.ip_id} <= numbers
    marks = set((scheduled.tos & 3).tolist())
    assert marks <= ({2, 3} if variant is EC4 else {0})


def test_three_senders_drop_no_data_and_keep_the_queue_short(build: Build) -> None:
    if why := lacking("iperf3"):
        pytest.skip(why)
    net = build(hosts=4, rate_bps=SLOW_BPS)
    EXPRESSPASS.start(net.hosts)
    receiver, *senders = net.hosts
    outcomes = long_flows([Flow(sender, receiver, connections=2, duration_s=3) for sender in senders])
    assert sum(drops(net.switches[0]).values()) == 0
    assert sum(one.goodput_bps for one in outcomes) > 0.4 * net.shape.ideal_goodput_bps
    assert all(min(one.goodputs_bps) > 0 for one in outcomes)


def test_a_host_without_a_daemon_gets_plain_tcp_at_once(build: Build) -> None:
    net = build(rate_bps=SLOW_BPS)
    EXPRESSPASS.start(net.hosts[1:])
    began = time.monotonic()
    transfer(net, 20_000)
    assert time.monotonic() - began < 2.0
    assert transfer(net) > 0.4 * net.shape.plain_goodput_bps


@pytest.mark.parametrize("who", [0, pytest.param(1, marks=pytest.mark.slow)], ids=["receiver", "sender"])
def test_a_daemon_killed_and_started_again_in_mid_flow_harms_no_byte(build: Build, who: int) -> None:
    net = build(rate_bps=SLOW_BPS)
    daemons = EXPRESSPASS.start(net.hosts)
    sink = Sink(net.hosts[0])
    source = Source(net.hosts[1], sink, 5_000_000, seed=6)
    time.sleep(0.4)
    assert source.runs
    daemons[who].kill()
    time.sleep(0.4)
    daemons[who].start()
    said = source.wait(timeout_s=30)
    assert said["same"], said
    sink.close()
    # The flow is one under credits again.
    assert transfer(net) > 0.3 * net.shape.ideal_goodput_bps


def test_a_daemon_that_ends_leaves_no_rule_and_the_connection_goes_on(build: Build) -> None:
    net = build()
    sender = net.hosts[1]
    before = sender.run("iptables-save"), json.loads(sender.run("tc", "-j", "qdisc", "show"))
    daemons = EXPRESSPASS.start(net.hosts)
    assert "NFQUEUE" in sender.run("iptables-save")
    sink = Sink(net.hosts[0])
    source = Source(sender, sink, 10_000_000, seed=7)
    time.sleep(0.3)
    for daemon in daemons:
        daemon.stop()
    assert source.wait()["same"]
    after = sender.run("iptables-save"), json.loads(sender.run("tc", "-j", "qdisc", "show"))
    assert "NFQUEUE" not in after[0]
    assert after[1] == before[1]


def test_both_directions_at_once_are_right(build: Build) -> None:
    net = build()
    EXPRESSPASS.start(net.hosts)
    one, two = net.hosts
    sources = [Source(one, Sink(two), SIZE, 8), Source(two, Sink(one), SIZE, 9)]
    for source in sources:
        assert source.wait()["same"]


def test_hosts_of_two_switches_talk_under_credits(build: Build) -> None:
    net = build(hosts=4, switches=2)
    EXPRESSPASS.start(net.hosts)
    left, right = net.hosts[:2], net.hosts[2:]
    sinks = [Sink(host) for host in right]
    sources = [Source(host, sink, SIZE, 3) for host, sink in zip(left, sinks, strict=True)]
    assert all(source.wait()["same"] for source in sources)
    assert sum(sum(drops(switch).values()) for switch in net.switches) == 0
