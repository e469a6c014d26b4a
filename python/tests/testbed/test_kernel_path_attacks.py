"""The path in the kernel under forged credits, when addresses and MTU change, and beside other settings of a host."""

from __future__ import annotations

import itertools
import random
import threading
import time

import pytest

from clearway.testbed import Network
from clearway.testbed.frames import CREDIT, Tap
from testbed.attacks import both, refused, stats
from testbed.conftest import Build
from testbed.echo import echo, under_credits
from testbed.test_attacks import meanwhile

pytestmark = [pytest.mark.testbed, pytest.mark.usefixtures("clearwayd")]
#: Bytes of an echo of 64 on the wire, and those that a credit pays for.
WIRE, FRAME = 64 + 90, 1538


@pytest.fixture
def trio(build: Build) -> Network:
    """Three hosts, of which the third one attacks, or takes over an address."""
    return build(hosts=3)


@pytest.mark.parametrize("forged", ["cookie", "replayed"])
def test_forged_and_replayed_credits_let_no_small_packet_leave_in_the_kernel(trio: Network, forged: str) -> None:
    server, client, evil = trio.hosts
    daemons = both([server, client])
    sizes = [64] * 2_000
    running = threading.Thread(target=echo, args=([server, client], sizes))
    with Tap(client) as seen, Tap(evil) as tap:
        running.start()
        credit = seen.first(CREDIT)
        false = credit.but(cookie=credit.cookie ^ 1, number=credit.number + 1) if forged == "cookie" else credit
        with meanwhile(tap, itertools.repeat(false), 5_000):
            running.join(timeout=30)
            assert not running.is_alive()
    # A true credit may come again after its session has ended.
    reasons = ("cookie",) if forged == "cookie" else ("replayed", "session")
    assert sum(refused(daemons[1], reason) for reason in reasons) > 100
    found = stats(daemons[1])
    assert found["passed_packets_total"] > 1_500
    assert found["passed_packets_total"] * WIRE <= found["credits_received_total"] * FRAME
    assert min(under_credits(daemon) for daemon in daemons) > 0.95


@pytest.mark.parametrize(("first", "later"), [(1500, 1280), (1280, 1500)], ids=["smaller", "larger"])
def test_an_mtu_that_changes_in_mid_connection_harms_no_byte(build: Build, first: int, later: int) -> None:
    net = build()
    for host in net.hosts:
        host.run("ip", "link", "set", "eth0", "mtu", str(first))
    daemons = both(net.hosts)
    sizes = random.Random(3).choices([10, 64, 500, 1_400, 9_000], k=2_000)
    running = threading.Thread(target=echo, args=(net.hosts, sizes))
    running.start()
    time.sleep(0.3)
    for host in net.hosts:
        host.run("ip", "link", "set", "eth0", "mtu", str(later))
    assert running.is_alive(), "the MTU changed in mid-connection"
    running.join(timeout=60)
    assert not running.is_alive()
    before = [stats(daemon) for daemon in daemons]
    assert min(found["passed_packets_total"] for found in before) > 100
    # A connection begun with the new MTU has large packets that no credit pays for if that MTU is larger.
    echo(net.hosts, [64, 5_000] * 200)
    for daemon, old in zip(daemons, before, strict=True):
        found = stats(daemon)
        assert found["passed_packets_total"] > old["passed_packets_total"] + 100
        oversized = 'plain_bytes_total{reason="oversized"}'
        assert (found.get(oversized, 0.0) > old.get(oversized, 0.0)) == (later > first)


def test_small_packets_pass_again_after_an_address_moved_to_another_host(trio: Network) -> None:
    server, client, other = trio.hosts
    daemons = both(trio.hosts)
    address = "10.0.0.200"

    def moves_to(host: str) -> None:
        for each in (server, other):
            has = each.name == host
            each.run("ip", "address", "add" if has else "del", f"{address}/24", "dev", "eth0", check=has)
        mac = (server if host == server.name else other).mac
        client.run("ip", "neigh", "replace", address, "lladdr", mac, "dev", "eth0", "nud", "permanent")

    moves_to(server.name)
    echo([server, client], [64] * 1_000, address=address)
    before = [stats(daemon) for daemon in daemons]
    assert before[1]["passed_packets_total"] > 800
    moves_to(other.name)
    echo([other, client], [64] * 1_000, address=address)
    assert stats(daemons[1])["passed_packets_total"] > before[1]["passed_packets_total"] + 800
    assert stats(daemons[2])["passed_packets_total"] > 800
    assert stats(daemons[0])["credits_sent_total"] == before[0]["credits_sent_total"], "the old host gives no more"


@pytest.mark.parametrize(
    "settings",
    [
        ("--transport", "ec4"),
        ("--control", "udp"),
        ("--set", "wait_max=2ms"),
        ("--set", "leftover=0"),
    ],
    ids=["EC4", "UDP", "short queue", "nothing left over"],
)
def test_small_packets_beside_large_ones_stay_under_credits_with_other_settings(
    build: Build, settings: tuple[str, ...]
) -> None:
    net = build(control="udp" if "udp" in settings else "ethernet", marking=5)
    daemons = both(net.hosts, *settings)
    echo(net.hosts, [64, 64, 64, 20_000] * 300)
    for daemon in daemons:
        found = stats(daemon)
        assert (found["passed_packets_total"] > 600) == ("leftover=0" not in settings), found["passed_packets_total"]
        assert found["credited_bytes_total"] > 300 * 20_000
        assert under_credits(daemon) > 0.95
