"""PAC under real TCP: an incast without loss, transfers whose bytes are checked, and the daemon's death meanwhile."""

from __future__ import annotations

import time

import pytest

from clearway.testbed import Network
from clearway.testbed.counters import drops, tcp
from clearway.testbed.daemon import Daemon
from clearway.testbed.rounds import Mode, incast, split
from clearway.testbed.traffic import Sink, Source
from testbed.conftest import Build

pytestmark = [pytest.mark.testbed, pytest.mark.usefixtures("clearwayd")]
CONNECTIONS, ROUNDS = 40, 2


@pytest.fixture
def net(build: Build) -> Network:
    """A receiver and four hosts that send; the port of the receiver holds 150 KB."""
    return build(hosts=5, data_packets=100)


def pac(net: Network, *sets: str) -> Daemon:
    """PAC at the receiver."""
    words = [word for one in sets for word in ("--set", one)]
    return net.hosts[0].daemon("pac", "--dev", "eth0", "--rate", "100Mbps", *words)


def stats(daemon: Daemon) -> dict[str, float]:
    """The daemon's statistics, when nothing is held any more."""
    deadline = time.monotonic() + 3
    while (found := daemon.metrics())["pac_held"] and time.monotonic() < deadline:
        time.sleep(0.05)
    return found


@pytest.mark.parametrize("congestion_control", ["cubic", "reno"])
def test_an_incast_loses_nothing_and_each_packet_held_is_released_or_superseded(
    net: Network, congestion_control: str
) -> None:
    receiver, *senders = net.hosts
    for sender in senders:
        sender.sysctl(tcp_congestion_control=congestion_control)
    daemon = pac(net)
    rounds = incast(receiver, senders, CONNECTIONS, rounds=ROUNDS)
    found = stats(daemon)
    # Without PAC 40 first windows of 10 segments overflow the port, and hundreds of packets are dropped.
    assert drops(receiver.port.switch)[receiver.port.device] <= 40
    assert rounds.goodput_bps > 20e6
    assert found["pac_held"] == 0
    assert found["pac_held_total"] == found["pac_released_total"] + found["pac_superseded_total"]
    assert found["pac_flows_opened_total"] == CONNECTIONS * ROUNDS
    assert found["pac_data_bytes_total"] >= CONNECTIONS * ROUNDS * 65_536


@pytest.mark.parametrize(("mode", "sets"), [("request", []), ("request", ["hold_requests=true"])])
def test_standing_connections_bring_all_blocks(net: Network, mode: Mode, sets: list[str]) -> None:
    receiver, *senders = net.hosts
    daemon = pac(net, *sets)
    rounds = incast(receiver, senders, CONNECTIONS, rounds=ROUNDS, mode=mode)
    assert len(rounds.rounds_s) == ROUNDS
    assert stats(daemon)["pac_held"] == 0


def test_a_transfer_goes_on_when_the_daemon_is_killed_and_when_another_one_starts(net: Network) -> None:
    receiver, sender, *_ = net.hosts
    daemon = pac(net)
    sink = Sink(receiver)
    source = Source(sender, sink, 20_000_000)
    time.sleep(0.5)
    daemon.kill()
    time.sleep(0.3)
    daemon.ask("cleanup")
    daemon.start()
    assert source.wait(30)["same"]
    assert stats(daemon)["pac_data_segments_total"] > 1000, "it found the connection in its middle"


def test_one_connection_alone_loses_nothing_to_pac(net: Network) -> None:
    receiver, sender, *_ = net.hosts
    daemon = pac(net)
    sink = Sink(receiver)
    source = Source(sender, sink, 10_000_000)
    assert source.wait(30)["same"]
    found = stats(daemon)
    assert found["pac_overdue_total"] == 0
    assert tcp(sender)["TCPTimeouts"] == 0


def test_connections_are_split_evenly() -> None:
    assert split(10, 4) == [3, 3, 2, 2]
    assert split(3, 4) == [1, 1, 1, 0]
