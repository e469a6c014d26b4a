"""Acknowledgements of `clearwayd pac` that programs at the NIC take: what they hold, and what becomes of them."""

from __future__ import annotations

import json
import re
import subprocess
import time
from pathlib import Path

import pytest

from clearway.testbed import Host, Network, binary
from clearway.testbed.counters import drops, tcp
from clearway.testbed.daemon import Daemon
from clearway.testbed.exchange import Exchange
from clearway.testbed.frames import Tap
from clearway.testbed.namespace import wait_until
from clearway.testbed.rounds import incast
from clearway.testbed.traffic import Sink, Source
from testbed.attacks import MB, PAC, SLOW_BPS, STALL_S, between, both, log, rated, stats
from testbed.conftest import Build
from testbed.test_attacks import meanwhile, rubbish
from testbed.test_bulk import BULK, LEAST, in_kernel
from testbed.test_bulk import SIZE as BULK_SIZE

pytestmark = [pytest.mark.testbed, pytest.mark.usefixtures("clearwayd")]
KERNEL = ("--kernel-path", "acks")
#: The words of a daemon that leaves the offloads of its NIC as they are.
JOINED = PAC[: PAC.index("--offloads")]
HELD = 'socket_packets_total{kind="packets_held"}'
SENT = 'socket_packets_total{kind="frames_sent"}'
TAKES = "programs at the NIC take acknowledgements"
QUEUES = "acknowledgements wait in NFQUEUE"
CONNECTIONS, ROUNDS = 40, 2
SIZE = 15 * MB


def programs(host: Host) -> set[int]:
    """The numbers of the programs in the kernel that take acknowledgements, at any NIC of the machine."""
    shown = json.loads(host.run("bpftool", "--json", "prog", "show"))
    return {one["id"] for one in shown if one.get("name", "").startswith("cw_acks")}


def rules(host: Host) -> list[str]:
    """The rules of a host that hold packets."""
    shown = host.run("iptables-save", "-t", "mangle") + host.run("ip6tables-save", "-t", "mangle")
    return [line for line in shown.splitlines() if "NFQUEUE" in line]


def settled(daemon: Daemon) -> dict[str, float]:
    """The daemon's statistics, when nothing is held any more."""
    deadline = time.monotonic() + 3
    while (found := stats(daemon))["pac_held"] and time.monotonic() < deadline:
        time.sleep(0.05)
    return found


def probes(sender: Host) -> int:
    """The timeouts of a sender, and the probes that it sends shortly before one."""
    found = tcp(sender)
    return found["TCPTimeouts"] + found["TCPLossProbes"]


def test_an_incast_loses_nothing_and_each_acknowledgement_taken_is_sent_or_superseded(build: Build) -> None:
    net = build(hosts=5, data_packets=100)
    receiver, *senders = net.hosts
    daemon = receiver.daemon(*PAC, *KERNEL)
    rounds = incast(receiver, senders, CONNECTIONS, rounds=ROUNDS)
    found = settled(daemon)
    # Without PAC 40 first windows of 10 segments overflow the port, and hundreds of packets are dropped.
    assert drops(receiver.port.switch)[receiver.port.device] <= 40
    assert rounds.goodput_bps > 20e6
    assert found["pac_held"] == 0
    assert found["pac_flows_opened_total"] == CONNECTIONS * ROUNDS
    assert found["pac_data_bytes_total"] >= CONNECTIONS * ROUNDS * 65_536
    assert found["pac_held_total"] == found["pac_released_total"] + found["pac_superseded_total"]
    assert found[HELD] == found["pac_held_total"] + found["pac_passed_total"]
    assert found[SENT] == found[HELD] - found["pac_superseded_total"]
    assert not any(found[name] for name in found if name.startswith("socket_failures_total"))
    # A wake-up serves many packets.
    assert found['loop_sleeps_total{until="packet"}'] < found[HELD] / 4


def test_the_log_says_which_way_acknowledgements_take_and_the_programs_stand_in_the_place_of_rules(
    build: Build,
) -> None:
    net = build()
    one, two = net.hosts
    before = programs(one)
    taking, queueing = one.daemon(*PAC, *KERNEL), two.daemon(*PAC, "--kernel-path", "off")
    assert TAKES in log(taking)
    assert QUEUES not in log(taking)
    assert len(programs(one) - before) == 2
    assert not rules(one)
    assert QUEUES in log(queueing)
    assert "kernel_path is off" in log(queueing)
    assert len(rules(two)) == 2
    taking.stop()
    # The kernel frees them a little later.
    wait_until(lambda: programs(one) <= before, "the programs are gone", 3.0, 0.02)


def test_requests_that_are_held_go_through_nfqueue_and_the_log_says_why(build: Build) -> None:
    net = build()
    daemon = net.hosts[1].daemon(*PAC, *KERNEL, "--set", "hold_requests=true")
    assert QUEUES in log(daemon)
    assert "hold_requests is set, and requests have data" in log(daemon)
    assert between(net, SIZE // 4).wait().stall_s < STALL_S
    assert stats(daemon)["pac_held_total"] > 100


def test_where_no_program_may_be_loaded_acknowledgements_wait_in_nfqueue_and_the_log_says_why(
    build: Build, tmp_path: Path
) -> None:
    host = build().hosts[0]
    capabilities = "-all,+net_admin,+net_raw"
    run = f"setpriv --bounding-set {capabilities} --inh-caps {capabilities} timeout --preserve-status 2 {binary()}"
    said = host.run("sh", "-c", f"{run} {' '.join((*PAC, *KERNEL))} --run-dir {tmp_path} 2>&1", check=False)
    assert QUEUES in said
    assert "cannot load the programs" in said
    assert "ready" in said


def test_a_killed_daemon_leaves_tcp_working_and_no_program_and_another_one_finds_the_connection(build: Build) -> None:
    net = build()
    receiver = net.hosts[1]
    before = programs(receiver)
    daemon = receiver.daemon(*PAC, *KERNEL)
    moving = between(net, 2 * SIZE)
    moving.wait_for(0.2)
    assert stats(daemon)[HELD] > 100
    daemon.kill()
    wait_until(lambda: programs(receiver) <= before, "the kernel takes the programs away with the daemon", 3.0, 0.02)
    moving.wait_for(0.5)
    daemon.start()
    moving.wait_for(0.8)
    assert moving.wait().stall_s < STALL_S
    assert stats(daemon)[HELD] > 100


def test_a_daemon_that_ends_sends_all_that_it_holds_first(build: Build) -> None:
    net = build()
    sender, receiver = net.hosts
    # A threshold of two segments, so that nearly all acknowledgements of eight connections wait at any time.
    daemon = receiver.daemon(*PAC, *KERNEL, "--set", "buffer=3 KB", "--set", "hold_syn_ack=false")
    moving = [Exchange(sender, receiver, SIZE // 8, port=8001 + number) for number in range(8)]
    moving[0].wait_for(0.1)
    assert stats(daemon)["pac_held"] > 4
    daemon.stop()
    before = probes(sender)
    assert max(one.wait().stall_s for one in moving) < STALL_S
    assert probes(sender) - before < 4, "an acknowledgement that is lost costs its connection a probe"


@pytest.mark.slow
def test_tcp_goes_on_after_a_flap_of_the_link_beside_a_paused_daemon_and_malformed_frames(build: Build) -> None:
    net = build(hosts=3)
    one, two, evil = net.hosts
    daemon = two.daemon(*PAC, *KERNEL)
    moving = between(net, 4 * SIZE)
    moving.wait_for(0.1)
    two.run("ip", "link", "set", "eth0", "down")
    time.sleep(0.2)
    two.run("ip", "link", "set", "eth0", "up")
    moving.wait_for(0.3)
    with daemon.paused():
        # After 0.3 s without a sign of the daemon the programs let all acknowledgements pass.
        before = len(moving.arrivals)
        time.sleep(2.0)
        assert len(moving.arrivals) > before
    moving.wait_for(0.7)
    with Tap(evil) as tap, meanwhile(tap, rubbish(two.mac, one.mac, 1), 2000) as sent:
        assert moving.wait().stall_s < 0.5 + 1.6 + STALL_S
    assert sent[0] > 100
    assert stats(daemon)["link_downs_total"] == 1


@pytest.mark.parametrize("ipv6", [False, True], ids=["IPv4", "IPv6"])
def test_acknowledgements_of_either_version_of_ip_are_taken_and_the_transfer_keeps_its_rate(
    build: Build, ipv6: bool
) -> None:
    net = build(ipv6=True, rate_bps=SLOW_BPS)
    daemon = net.hosts[1].daemon(*rated(net.hosts[1], PAC), *KERNEL)
    moving = between(net, SIZE // 4, ipv6=ipv6).wait()
    assert moving.stall_s < STALL_S
    assert moving.goodput_bps(moving.began, moving.arrivals[-1][0]) > 0.7 * net.shape.plain_goodput_bps
    found = stats(daemon)
    assert found["pac_data_bytes_total"] >= SIZE // 4
    assert found["pac_flows_opened_total"] == 1, "the answer to the SYN was held"
    assert found["pac_held_total"] > 250 >= 25 * found["pac_overdue_total"]
    assert tcp(net.hosts[0])["TCPTimeouts"] == 0


def test_lost_segments_are_repeated_without_a_timeout_since_duplicate_acknowledgements_keep_their_order(
    build: Build,
) -> None:
    # A threshold above what the port holds, so that it drops some segments of the window.
    net = build(data_packets=20)
    daemon = net.hosts[1].daemon(*PAC, *KERNEL, "--set", "buffer=80 KB", "--set", "hold_syn_ack=false")
    sink = Sink(net.hosts[1])
    source = Source(net.hosts[0], sink, 10 * MB)
    assert source.wait(30)["same"]
    found = tcp(net.hosts[0])
    assert found["RetransSegs"] > 10
    assert found["TCPTimeouts"] <= 2
    assert stats(daemon)["pac_overdue_total"] == 0


def test_offloads_change_nothing_since_checksums_are_complete_and_joined_segments_count_whole(build: Build) -> None:
    net = build()
    receiver = net.hosts[1]
    receiver.run("ethtool", "-K", "eth0", "tx", "on", "gro", "on", "tso", "on", "gso", "on")
    daemon = receiver.daemon(*JOINED, *KERNEL)
    assert between(net, SIZE).wait().stall_s < STALL_S
    found = stats(daemon)
    assert found["pac_data_bytes_total"] >= SIZE
    assert found["pac_held_total"] > 100
    assert tcp(net.hosts[0])["InCsumErrors"] == 0


def test_bulk_data_in_the_kernel_at_the_same_nics_harms_no_byte(build: Build) -> None:
    net = build()
    daemons = both(net.hosts, *BULK)
    # Each daemon of a testbed has a run directory of its own, so that none finds the other one's journal.
    paced = [host.daemon(*JOINED, *KERNEL) for host in net.hosts]
    assert between(net, BULK_SIZE).wait().stall_s < STALL_S
    assert in_kernel(daemons[0]) > LEAST * BULK_SIZE / 1448
    found = settled(paced[1])
    assert found["pac_data_bytes_total"] >= BULK_SIZE
    assert found["pac_held"] == 0


def test_connections_in_both_directions_and_many_short_ones_end_as_they_should(net_of_two: Network) -> None:
    one, two = net_of_two.hosts
    daemons = [host.daemon(*PAC, *KERNEL) for host in (one, two)]
    sinks = [Sink(one), Sink(two)]
    sources = [Source(two, sinks[0], 5 * MB), Source(one, sinks[1], 5 * MB)]
    assert all(source.wait(30)["same"] for source in sources)
    rounds = incast(one, [two], 20, rounds=4)
    assert len(rounds.rounds_s) == 4
    for daemon in daemons:
        found = settled(daemon)
        assert found["pac_held"] == 0
        assert found[SENT] == found[HELD] - found["pac_superseded_total"]


@pytest.mark.parametrize("path", ["acks", "off"])
def test_a_recording_gives_the_same_verdicts_again_in_both_ways(
    net_of_two: Network, clearwayd: str, tmp_path: Path, path: str
) -> None:
    file = tmp_path / "pac.rec"
    receiver, sender = net_of_two.hosts
    daemon = receiver.daemon(*PAC, "--kernel-path", path, "--record", str(file))
    incast(receiver, [sender], 20, rounds=2)
    held = stats(daemon)[HELD]
    assert held > 100
    daemon.stop()
    assert file.stat().st_mode & 0o777 == 0o600
    done = subprocess.run([clearwayd, "replay", str(file)], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    found = re.search(r"all (\d+) verdicts .* are the same again", done.stdout)
    assert found
    assert int(found[1]) >= held


@pytest.fixture
def net_of_two(build: Build) -> Network:
    """Two hosts."""
    return build(hosts=2)
