"""`clearwayd host --control udp`: credits in UDP datagrams, which a router forwards."""

from __future__ import annotations

import socket
import time

import pytest

from clearway.testbed import Host, Network, TestbedError
from clearway.testbed.exchange import Exchange
from clearway.testbed.namespace import wait_until
from clearway.testbed.sockets import open_socket
from testbed.attacks import HOST, SLOW_BPS, STALL_S, both, log, stats
from testbed.conftest import Build
from testbed.test_ipv6 import SIZE, credited_share, rate

pytestmark = [pytest.mark.testbed, pytest.mark.usefixtures("clearwayd")]
UDP = ("--control", "udp")
BOTH = pytest.mark.parametrize("ipv6", [False, True], ids=["IPv4", "IPv6"])


def renumber(host: Host, net: int) -> None:
    """Moves a host into a network of its own, whose router is the third host."""
    router = host.network.hosts[2]
    host.address, host.address6 = f"10.1.{net}.1", f"fd01:{net}::1"
    host.namespace.ip(
        "address flush dev eth0\n"
        f"address add {host.address}/24 dev eth0\naddress add {host.address6}/64 dev eth0 nodad\n"
        f"neigh add 10.1.{net}.254 lladdr {router.mac} dev eth0 nud permanent\n"
        f"neigh add fd01:{net}::fe lladdr {router.mac} dev eth0 nud permanent\n"
        f"route add default via 10.1.{net}.254\nroute add ::/0 via fd01:{net}::fe\n"
    )
    router.namespace.ip(
        f"address add 10.1.{net}.254/24 dev eth0\naddress add fd01:{net}::fe/64 dev eth0 nodad\n"
        f"neigh add {host.address} lladdr {host.mac} dev eth0 nud permanent\n"
        f"neigh add {host.address6} lladdr {host.mac} dev eth0 nud permanent\n"
    )


@pytest.fixture
def routed(build: Build) -> Network:
    """Two hosts in two networks, and a third one that is the router between them, all at one switch for UDP."""
    net = build(hosts=3, ipv6=True, control="udp", rate_bps=SLOW_BPS)
    one, two, router = net.hosts
    # Both networks are at one NIC of the router, which must not tell the hosts of a shorter way.
    router.sysctl(ip_forward=1, conf__all__send_redirects=0, conf__eth0__send_redirects=0)
    router.run("sysctl", "-qw", "net.ipv6.conf.all.forwarding=1")
    for host in (one, two):
        host.run("sysctl", "-qw", "net.ipv6.conf.eth0.accept_redirects=0")
    renumber(one, 1)
    renumber(two, 2)
    return net


@BOTH
def test_a_router_forwards_credits_and_scheduled_data_between_two_networks(routed: Network, ipv6: bool) -> None:
    one, two, _ = routed.hosts
    daemons = both([one, two], *UDP)
    moving = Exchange(one, two, SIZE // 4, ipv6=ipv6).wait()
    assert moving.stall_s < STALL_S
    # A credit over UDP takes 132 bytes of a link, and its frame 1538.
    assert 0.6 < rate(moving) / (SLOW_BPS * (1428 if ipv6 else 1448) / 1670) < 1.02
    assert credited_share(daemons[0]) > 0.99
    came = stats(daemons[1])
    assert came["data_received_total"] > 0.99 * stats(daemons[0])["credits_used_total"]
    # The kernel takes part in no datagram: the daemon keeps the port, and reads them from the wire.
    for host in (one, two):
        assert "61021" in host.run("ss", "-Hulnp") + host.run("ss", "-H6ulnp")


def test_frames_of_ethernet_do_not_pass_a_router_and_the_connection_is_plain_tcp(routed: Network) -> None:
    one, two, _ = routed.hosts
    daemons = both([one, two])
    assert Exchange(one, two, SIZE // 12).wait().stall_s < STALL_S
    assert stats(daemons[0])["credits_received_total"] == 0


def test_hosts_that_send_control_frames_in_two_ways_use_plain_tcp_and_the_log_says_so_once(build: Build) -> None:
    net = build()
    one, two = net.hosts
    daemons = [*both([one]), *both([two], *UDP)]
    for port in range(3):
        assert Exchange(one, two, SIZE // 15, port=8000 + port).wait().stall_s < STALL_S
    wait_until(lambda: "set --control alike" in log(daemons[1]), "the log says that the ways differ")
    assert log(daemons[1]).count("set --control alike") == 1
    assert stats(daemons[0])["credits_received_total"] == 0


def test_a_daemon_killed_behind_a_router_leaves_the_connection_alive(routed: Network) -> None:
    one, two, _ = routed.hosts
    daemons = both([one, two], *UDP)
    moving = Exchange(one, two, SIZE, ipv6=True)
    moving.wait_for(0.1)
    daemons[1].kill()
    moving.wait_for(0.2)
    daemons[1].start()
    used = stats(daemons[0])["credits_used_total"]
    wait_until(lambda: stats(daemons[0])["credits_used_total"] > used + 500, "credits flow again", 3.0, 0.1)
    assert moving.received < moving.size
    assert moving.wait().stall_s < STALL_S


def test_a_udp_port_that_another_program_has_is_refused_with_what_would_be_right(build: Build) -> None:
    (host, _) = build().hosts
    with open_socket(host.namespace, socket.AF_INET6, socket.SOCK_DGRAM) as other:
        other.bind(("::", 61021))
        with pytest.raises(TestbedError, match=r"another program has it; choose another one .* with --control-port"):
            host.daemon(*HOST, *UDP)
        assert "NFQUEUE" not in host.run("iptables-save")
        assert host.daemon(*HOST, *UDP, "--control-port", "1022").runs


def test_a_switch_for_udp_gives_credits_of_both_versions_of_ip_their_class(build: Build) -> None:
    net = build(hosts=3, ipv6=True, control="udp")
    one, two, three = net.hosts
    daemons = both(net.hosts, *UDP)
    # Two senders to one host over one version each, so that the queue of the port shows what the credits allow.
    pair = [Exchange(one, three, 2 * SIZE), Exchange(two, three, 2 * SIZE, port=8001, ipv6=True)]
    assert max(each.wait().stall_s for each in pair) < STALL_S
    assert min(credited_share(daemon) for daemon in daemons[:2]) > 0.99
    time.sleep(0.3)
    switch, port = stats(net.switches[0].daemon), three.port.device
    assert switch[f'data_dropped_total{{port="{port}"}}'] == 0
    assert switch[f'data_waiting_max{{port="{port}"}}'] < 60
    forwarded = sum(switch[f'credits_forwarded_total{{port="{host.port.device}"}}'] for host in (one, two))
    assert forwarded >= 0.95 * sum(stats(daemon)["credits_received_total"] for daemon in daemons[:2]) > 10_000
    signals = sum(switch[f'signals_forwarded_total{{port="{host.port.device}"}}'] for host in net.hosts)
    assert signals >= 6, "a request, an accept, a stop and its answer of each flow"
