"""`clearwayd host` on connections over IPv6, alone and beside those over IPv4."""

from __future__ import annotations

import random
import shutil
import socket
import time
from pathlib import Path

import pytest

from clearway.testbed import Daemon, Host, Network
from clearway.testbed.exchange import Exchange
from clearway.testbed.frames import ACCEPT, CREDIT, REQUEST, STOP, STOPPED, Control, Tap
from clearway.testbed.loss import loss
from clearway.testbed.namespace import wait_until
from clearway.testbed.sockets import open_socket
from testbed.attacks import MB, SLOW_BPS, STALL_S, between, both, log, refused, stats
from testbed.conftest import Build

pytestmark = [pytest.mark.testbed, pytest.mark.usefixtures("clearwayd")]
SIZE = 15 * MB
EVIL = "02:00:00:00:66:66"


@pytest.fixture
def net(build: Build) -> Network:
    """Two hosts with addresses of both versions of IP, and a switch of traffic control between them."""
    return build(ipv6=True)


@pytest.fixture
def slow(build: Build) -> Network:
    """The same with links so slow that daemons keep up with them on a busy machine."""
    return build(ipv6=True, rate_bps=SLOW_BPS)


def rate(moving: Exchange) -> float:
    """The goodput of a transfer from its beginning to its end."""
    return moving.goodput_bps(moving.began, moving.arrivals[-1][0])


def rules(host: Host) -> str:
    """The rules of a host for either version of IP."""
    return host.run("iptables-save", "-t", "mangle") + host.run("ip6tables-save", "-t", "mangle")


def credited_share(daemon: Daemon) -> float:
    """The share of the bytes sent that left for credits."""
    found = stats(daemon)
    plain = sum(value for name, value in found.items() if name.startswith("plain_bytes_total"))
    return found["credited_bytes_total"] / (found["credited_bytes_total"] + plain)


def test_a_transfer_over_ipv6_fills_the_link_under_credits_and_the_rules_go_with_the_daemon(slow: Network) -> None:
    daemons = both(slow.hosts)
    moving = between(slow, SIZE // 2, ipv6=True).wait()
    assert moving.stall_s < STALL_S
    # The header of IPv6 is 20 bytes longer: 1428 bytes of 1622 are payload. A busy machine takes a part of that.
    assert 0.6 < rate(moving) / (SLOW_BPS * 1428 / 1622) < 1.02
    assert credited_share(daemons[0]) > 0.99
    sent, came = stats(daemons[0]), stats(daemons[1])
    assert sent["credits_used_total"] >= SIZE / 2 / 1428 * 0.99
    assert came["data_received_total"] >= 0.99 * sent["credits_used_total"], "the stamps arrive"
    assert came['refused_total{reason="credit_number"}'] == 0
    assert rules(slow.hosts[0]).count("--queue-num 7") == 2
    for daemon in daemons:
        daemon.stop()
    assert "NFQUEUE" not in rules(slow.hosts[0])


def test_connections_over_both_versions_share_the_link(slow: Network) -> None:
    daemons = both(slow.hosts)
    one, two = slow.hosts
    # The time in which both are under way.
    pair = [Exchange(one, two, SIZE // 2, port=8000 + ipv6, ipv6=bool(ipv6)) for ipv6 in (0, 1)]
    time.sleep(0.5)
    begin = time.monotonic()
    time.sleep(2.0)
    four, six = (each.goodput_bps(begin, begin + 2.0) for each in pair)
    assert max(each.wait().stall_s for each in pair) < STALL_S
    assert 0.4 < six / (four + six) < 0.6
    assert four + six > 0.6 * slow.shape.ideal_goodput_bps
    assert credited_share(daemons[0]) > 0.99


@pytest.mark.parametrize("transport", ["expresspass", "ec4"])
def test_marks_of_ecn_and_a_short_queue_over_ipv6(build: Build, transport: str) -> None:
    net = build(hosts=3, ipv6=True, marking=2)
    daemons = both(net.hosts, "--transport", transport)
    one, two, three = net.hosts
    pair = [Exchange(one, three, SIZE, ipv6=True), Exchange(two, three, SIZE, port=8001, ipv6=True)]
    # Whether scheduled data meet a queue by themselves depends on how evenly the machine lets the hosts answer credits.
    # Each burst makes a queue of 20 packets, which is marked after the second.
    with open_socket(one.namespace, socket.AF_INET6, socket.SOCK_DGRAM) as other:
        for _ in range(20):
            time.sleep(0.05)
            for _ in range(20):
                other.sendto(bytes(1400), (three.address6, 9))
    assert max(each.received for each in pair) < SIZE, "the bursts met data"
    assert max(each.wait().stall_s for each in pair) < STALL_S
    came, port = stats(daemons[2]), three.port.device
    switch = stats(net.switches[0].daemon)
    assert switch[f'data_dropped_total{{port="{port}"}}'] == 0
    assert switch[f'data_waiting_max{{port="{port}"}}'] < 60
    if transport == "ec4":
        # Scheduled data is ECN-capable, since the receiver asked for it. The packets of the bursts are not.
        assert switch[f'unmarkable_total{{port="{port}"}}'] < 400 + 0.05 * came["data_received_total"]
        # The switch reads its counters now and then.
        assert came["data_marked_total"] == pytest.approx(switch[f'marked_total{{port="{port}"}}'], rel=0.1)
        assert came["data_marked_total"] > 100


@pytest.mark.parametrize("end", [0, 1], ids=["sender", "receiver"])
def test_a_killed_daemon_leaves_a_connection_over_ipv6_alive_and_credits_flow_again(net: Network, end: int) -> None:
    daemons = both(net.hosts)
    moving = between(net, 5 * SIZE, ipv6=True)
    moving.wait_for(0.1)
    daemons[end].kill()
    assert rules(net.hosts[end]).count("NFQUEUE") == 2, "the kernel keeps rules of a killed daemon"
    moving.wait_for(0.2)
    daemons[end].start()
    used = stats(daemons[0])["credits_used_total"]
    wait_until(lambda: stats(daemons[0])["credits_used_total"] > used + 500, "credits flow again", 3.0, 0.1)
    assert moving.received < moving.size
    assert moving.wait().stall_s < STALL_S
    daemons[end].kill()
    daemons[end].ask("cleanup")
    assert "NFQUEUE" not in rules(net.hosts[end])


def test_a_host_without_clearway_gets_plain_tcp_over_ipv6_at_once(slow: Network) -> None:
    plain = [between(slow, 1000, port=7000 + n, ipv6=True).wait().first_s for n in range(10)]
    daemon = both(slow.hosts[:1])[0]
    first = between(slow, 1000, ipv6=True).wait().first_s
    later = [between(slow, 1000, port=8001 + n, ipv6=True).wait().first_s for n in range(10)]
    assert first < max(plain) + 0.02
    assert sorted(later)[5] < sorted(plain)[5] + 0.02
    unanswered = 'plain_flows_total{reason="unanswered"}'
    wait_until(lambda: stats(daemon)[unanswered] == 1, "the first flow, and no other one, had to become plain TCP")
    long = between(slow, SIZE // 4, port=9000, ipv6=True).wait()
    assert long.stall_s < STALL_S
    assert rate(long) > 0.7 * slow.shape.plain_goodput_bps


def test_lost_requests_answers_and_credits_over_ipv6_are_made_up_for(net: Network) -> None:
    daemons = both(net.hosts)
    one, two = net.hosts
    with (
        loss(one, REQUEST, STOP, one_in=2),
        loss(two, ACCEPT, STOPPED, one_in=2),
        loss(two, CREDIT, one_in=4, priority=8),
    ):
        # Each connection is a request and a stop: so many that chance alone can't let 80 % of the requests through.
        for turn in range(10):
            ports = range(7000 + 4 * turn, 7004 + 4 * turn)
            moving = [Exchange(one, two, MB // 5, port=port, pause_s=0.02, ipv6=True) for port in ports]
            assert max(each.wait().stall_s for each in moving) < STALL_S
    sent, came = stats(daemons[0]), stats(daemons[1])
    assert sent["requests_sent_total"] >= 40
    assert came["requests_received_total"] < 0.8 * sent["requests_sent_total"]
    assert sent["credits_received_total"] < 0.85 * came["credits_sent_total"]
    assert sent["credits_used_total"] > 1000


def test_a_machine_without_ip6tables_says_so_and_goes_on_with_ipv4(
    net: Network, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for program in ("iptables", "ethtool", "sysctl", "ip", "nsenter"):
        found = shutil.which(program, path="/usr/sbin:/usr/bin:/sbin:/bin")
        assert found, program
        (tmp_path / program).symlink_to(found)
    with monkeypatch.context() as patch:
        patch.setenv("PATH", str(tmp_path))
        daemons = both(net.hosts)
    lines = [line for line in log(daemons[0]).splitlines() if "IPv6" in line]
    assert len(lines) == 1, lines
    assert "ip6tables" in lines[0]
    assert rules(net.hosts[0]).count("NFQUEUE") == 1
    assert between(net, SIZE, ipv6=True).wait().stall_s < STALL_S
    sent = stats(daemons[0])
    assert sent["packets_held_total"] == sent["requests_sent_total"] == 0
    assert between(net, SIZE, port=8001).wait().stall_s < STALL_S
    assert credited_share(daemons[0]) > 0.99


def test_forged_frames_of_ipv6_are_refused_with_their_reasons_and_move_nothing(build: Build) -> None:
    net = build(hosts=3, ipv6=True)
    one, two, evil = net.hosts
    daemons = both([one, two])
    moving = Exchange(one, two, 2 * SIZE, ipv6=True)
    moving.wait_for(0.05)
    with Tap(one) as tap:
        credit = tap.first(CREDIT)
    assert (credit.source, credit.destination, len(credit.to_bytes())) == ("::1", "::2", 60)
    flow = credit.but(number=credit.number + 100_000)
    whole = {"source": one.address6, "destination": two.address6}
    forged: list[tuple[str, Control]] = [
        ("unknown_flow", flow.but(cookie=credit.cookie ^ 1)),
        ("unknown_flow", flow.but(destination_port=credit.destination_port + 1)),
        ("address", flow.but(sender=evil.mac)),
        ("session", flow.but(session=credit.session + 1000)),
        ("kind", flow.but(kind=10, **whole)),
        ("cookie", flow.but(kind=ACCEPT, cookie=1, **whole)),
        ("not_ours", flow.but(to="ff:ff:ff:ff:ff:ff")),
    ]
    backwards = credit.but(kind=REQUEST, to=two.mac, sender=one.mac, session=9, **whole)
    to_two = [
        ("cookie", backwards.but(cookie=1)),
        ("address", backwards.but(sender=EVIL)),
        ("cookie", backwards.but(kind=STOP, cookie=1)),
    ]
    before = [
        {reason: refused(daemons[place], reason) for reason, _ in each} for place, each in enumerate((forged, to_two))
    ]
    with Tap(evil) as tap:
        # Most frames are lost at the switch, among true credits at the full rate. The order is random, so that no kind
        # of frame always finds the queue full.
        frames = [control for _ in range(100) for _, control in (*forged, *to_two)]
        random.Random(1).shuffle(frames)
        tap.send(frames, per_second=2000)
    for place, counts in enumerate(before):
        for reason, least in counts.items():
            wait_until(
                lambda why=reason, least=least, place=place: refused(daemons[place], why) > least,
                f"host {place + 1} refuses {reason}",
            )
    assert moving.wait().stall_s < STALL_S
