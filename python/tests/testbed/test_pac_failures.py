"""`clearwayd pac` when something fails: connections go on, their bytes are right, and no wait is long."""

from __future__ import annotations

import time

import pytest

from clearway.testbed.frames import Tap
from testbed.attacks import MB, PAC, SLOW_BPS, STALL_S, between, rated, stats
from testbed.conftest import Build
from testbed.test_attacks import meanwhile, rubbish

pytestmark = [pytest.mark.testbed, pytest.mark.usefixtures("clearwayd")]
SIZE = 15 * MB


def test_pac_killed_in_mid_flow_leaves_the_connection_alive_and_holds_acknowledgements_again_once_it_is_back(
    build: Build,
) -> None:
    net = build()
    daemon = net.hosts[1].daemon(*PAC)
    moving = between(net, 2 * SIZE)
    moving.wait_for(0.2)
    assert stats(daemon)['socket_packets_total{kind="packets_held"}'] > 100
    daemon.kill()
    moving.wait_for(0.5)
    daemon.start()
    moving.wait_for(0.8)
    assert moving.wait().stall_s < STALL_S
    assert stats(daemon)['socket_packets_total{kind="packets_held"}'] > 100


@pytest.mark.slow
def test_pac_goes_on_after_a_flap_of_the_link_a_pause_and_malformed_frames(build: Build) -> None:
    net = build(hosts=3)
    one, two, evil = net.hosts
    daemon = two.daemon(*PAC)
    moving = between(net, 3 * SIZE)
    moving.wait_for(0.1)
    two.run("ip", "link", "set", "eth0", "down")
    time.sleep(0.2)
    two.run("ip", "link", "set", "eth0", "up")
    moving.wait_for(0.4)
    with daemon.paused():
        time.sleep(0.5)
    moving.wait_for(0.6)
    with Tap(evil) as tap, meanwhile(tap, rubbish(two.mac, one.mac, 1), 2000) as sent:
        # Acknowledgements that waited out the pause leave, and TCP's timers have backed off meanwhile.
        assert moving.wait().stall_s < 0.5 + 1.6 + STALL_S
    assert sent[0] > 100
    assert stats(daemon)["link_downs_total"] == 1


@pytest.mark.parametrize("ipv6", [False, True], ids=["IPv4", "IPv6"])
def test_pac_holds_acknowledgements_of_either_version_of_ip_and_the_transfer_keeps_its_rate(
    build: Build, ipv6: bool
) -> None:
    net = build(ipv6=True, rate_bps=SLOW_BPS)
    daemon = net.hosts[1].daemon(*rated(net.hosts[1], PAC))
    moving = between(net, SIZE // 4, ipv6=ipv6).wait()
    assert moving.stall_s < STALL_S
    assert moving.goodput_bps(moving.began, moving.arrivals[-1][0]) > 0.7 * net.shape.plain_goodput_bps
    found = stats(daemon)
    assert found["pac_data_bytes_total"] >= SIZE // 4
    assert found["pac_flows_opened_total"] == 1, "the answer to the SYN was held"
    assert found["pac_held_total"] > 250 >= 25 * found["pac_overdue_total"]
