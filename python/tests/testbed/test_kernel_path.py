"""Small packets of `clearwayd host` that leave in the kernel, for what credits have left over."""

from __future__ import annotations

import random
import re
import subprocess
import time
from pathlib import Path

import pytest

from clearway.testbed import Host, Network
from clearway.testbed.namespace import wait_until
from testbed.attacks import HOST, both, log, stats
from testbed.conftest import Build
from testbed.echo import echo, under_credits

pytestmark = [pytest.mark.testbed, pytest.mark.usefixtures("clearwayd")]


@pytest.fixture
def net(build: Build) -> Network:
    """Two hosts with addresses of both versions of IP."""
    return build(ipv6=True)


def out_of_order(host: Host) -> int:
    """The packets that the TCP of a host put into its queue of those that came too early."""
    text = host.run("nstat", "-az", "TcpExtTCPOFOQueue")
    found = re.search(r"TcpExtTCPOFOQueue +(\d+)", text)
    assert found, text
    return int(found[1])


@pytest.mark.parametrize("ipv6", [False, True], ids=["ipv4", "ipv6"])
def test_nearly_all_packets_of_an_echo_leave_in_the_kernel_and_count_as_under_credits(
    net: Network, *, ipv6: bool
) -> None:
    daemons = both(net.hosts)
    server = net.hosts[0]
    echo(net.hosts, [64] * 2_000, address=server.address6 if ipv6 else server.address)
    for daemon in daemons:
        assert "small packets leave in the kernel" in log(daemon)
        found = stats(daemon)
        assert found["passed_packets_total"] > 1_800
        assert found["passed_packets_total"] + found["packets_held_total"] >= 2_000
        assert found["credited_bytes_total"] >= 2_000 * 64
        assert under_credits(daemon) > 0.95
        # A credit pays for a full frame, and an echo takes 64 bytes of payload and 90 of headers.
        wire = found["passed_packets_total"] * (64 + 90)
        assert wire <= found["credits_received_total"] * 1538
        assert found["credits_sent_total"] < 4 * found["passed_packets_total"] * 154 / 1538 + 2_000


def test_credits_of_small_packets_are_taken_in_the_kernel_and_those_that_arrive_are_counted_there(net: Network) -> None:
    daemons = both(net.hosts)
    echo(net.hosts, [64] * 3_000)
    for daemon in daemons:
        found = stats(daemon)
        assert found['socket_packets_total{kind="segments_counted"}'] > 2_500
        assert found['socket_packets_total{kind="segments_seen"}'] < 600
        # Requests, their answers, and the first credits of a session come to the daemon.
        assert found['socket_packets_total{kind="frames_received"}'] < 0.3 * found["credits_received_total"]
        assert found['refused_total{reason="replayed"}'] == 0
        assert under_credits(daemon) > 0.95


def test_credits_over_udp_come_to_the_daemon_and_small_packets_are_counted_all_the_same(net: Network) -> None:
    daemons = both(net.hosts, "--control", "udp")
    echo(net.hosts, [64] * 3_000)
    for daemon in daemons:
        found = stats(daemon)
        assert found['socket_packets_total{kind="frames_received"}'] >= found["credits_received_total"] > 100
        assert found['socket_packets_total{kind="segments_counted"}'] > 2_500
        assert found["passed_packets_total"] > 2_500
        assert under_credits(daemon) > 0.95


def test_small_packets_go_on_in_the_kernel_after_a_link_was_down(net: Network) -> None:
    daemons = both(net.hosts)
    echo(net.hosts, [64] * 500)
    host = net.hosts[1]
    host.run("ip", "link", "set", "eth0", "down")
    time.sleep(0.3)
    host.run("ip", "link", "set", "eth0", "up")
    before = [stats(daemon) for daemon in daemons]
    echo(net.hosts, [64] * 2_000)
    for daemon, was in zip(daemons, before, strict=True):
        found = stats(daemon)
        assert found["passed_packets_total"] - was["passed_packets_total"] > 1_500
        counted = 'socket_packets_total{kind="segments_counted"}'
        assert found[counted] - was[counted] > 1_500
        assert under_credits(daemon) > 0.95
    assert stats(daemons[1])["link_downs_total"] == 1


def test_no_packet_overtakes_another_one_of_its_connection_where_large_and_small_ones_mix(net: Network) -> None:
    daemons = both(net.hosts)
    before = [out_of_order(host) for host in net.hosts]
    sizes = random.Random(2).choices([10, 64, 500, 700, 1_400, 3_000, 9_000], k=1_500)
    echo(net.hosts, sizes, parts=3)
    # TCP joins parts of a large message, and the queue parts them again, which the kernel must count.
    assert min(stats(daemon)["passed_packets_total"] for daemon in daemons) > 100
    # A few may swap places behind the daemon, where two processors send. Without the kernel's count about 200 do.
    assert sum(out_of_order(host) for host in net.hosts) - sum(before) < 20


def test_with_the_path_off_all_packets_are_held_and_the_log_says_why(net: Network) -> None:
    daemons = both(net.hosts, "--kernel-path", "off")
    echo(net.hosts, [64] * 200)
    for daemon in daemons:
        found = stats(daemon)
        assert found["passed_packets_total"] == 0
        assert found["packets_held_total"] >= 200
        assert "all packets wait in user space" in log(daemon)
        assert "kernel_path is off" in log(daemon)


def test_the_rules_go_with_the_daemon_and_cleanup_removes_those_of_a_killed_one(net: Network) -> None:
    host = net.hosts[0]

    def rules() -> str:
        return host.run("iptables-save", "-t", "mangle") + host.run("ip6tables-save", "-t", "mangle")

    before = [line for line in rules().splitlines() if line.startswith("-A")]
    daemon, other = both(net.hosts)
    assert rules().count("CLEARWAY-eth0") == 2 * 4, "a chain for each version of IP, with two rules and a way to it"
    assert rules().count("bpf pinned") + rules().count("--object-pinned") == 2
    daemon.stop()
    assert [line for line in rules().splitlines() if line.startswith("-A")] == before
    daemon.start()
    daemon.kill()
    assert rules().count("CLEARWAY-eth0") == 8, "the kernel keeps rules of a killed daemon"
    # Packets pass: those with an allowance by the program, and others since nobody has bound the queue.
    echo(net.hosts, [64, 5_000] * 100)
    said = daemon.ask("cleanup")
    assert "CLEARWAY" not in rules(), said
    other.stop()


def test_a_daemon_that_starts_again_lets_packets_pass_again(net: Network) -> None:
    daemons = both(net.hosts)
    echo(net.hosts, [64] * 200)
    daemons[1].kill()
    daemons[1].start()
    echo(net.hosts, [64] * 20)
    wait_until(lambda: stats(daemons[1])["credits_received_total"] > 0, "credits come", 12.0, 0.1)
    echo(net.hosts, [64] * 500)
    assert stats(daemons[1])["passed_packets_total"] > 400


def test_a_recording_of_packets_that_left_in_the_kernel_gives_the_same_allowances_again(
    net: Network, clearwayd: str, tmp_path: Path
) -> None:
    files = [tmp_path / f"{host.name}.rec" for host in net.hosts]
    daemons = [host.daemon(*HOST, "--record", str(file)) for host, file in zip(net.hosts, files, strict=True)]
    echo(net.hosts, [64, 64, 64, 3_000] * 200)
    passed = [stats(daemon)["passed_packets_total"] for daemon in daemons]
    assert min(passed) > 500
    for daemon, file in zip(daemons, files, strict=True):
        daemon.stop()
        assert b"kernel_path = true" in file.read_bytes()[:4_096]
        done = subprocess.run([clearwayd, "replay", str(file)], capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == 0, done.stderr
        assert "are the same again" in done.stdout
