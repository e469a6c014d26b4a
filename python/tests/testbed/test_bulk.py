"""Bulk data of `clearwayd host --kernel-path bulk`, which waits in its socket and leaves in the kernel."""

from __future__ import annotations

import contextlib
import itertools
import json
import re
import subprocess
import time
from pathlib import Path

import pytest
from skips import skip

from clearway.testbed import Daemon, Host, Network
from clearway.testbed.exchange import Exchange
from clearway.testbed.frames import CREDIT, Tap
from clearway.testbed.loss import loss
from clearway.testbed.namespace import wait_until
from clearway.testbed.shell import TestbedError
from testbed.attacks import HOST, MB, STALL_S, between, both, log, stats
from testbed.conftest import Build
from testbed.echo import echo, under_credits
from testbed.test_attacks import meanwhile

pytestmark = [pytest.mark.testbed, pytest.mark.usefixtures("clearwayd")]
BULK = ("--kernel-path", "bulk")
SIZE = 20 * MB
#: The share of a transfer that leaves in the kernel at least. On a quiet machine it is nearly all. On a busy one TCP
#: has no turn for milliseconds, its credits stop, and what it sends then is held at first.
LEAST = 0.25
#: Bytes on the wire that a credit pays for.
FRAME = 1538


def in_kernel(daemon: Daemon) -> float:
    """The packets that left for a credit in the kernel."""
    return stats(daemon)["released_packets_total"]


def queued(host: Host) -> int:
    """The packets of a host that NFQUEUE holds."""
    queues = host.run("cat", "/proc/net/netfilter/nfnetlink_queue").splitlines()
    return sum(int(queue.split()[2]) for queue in queues)


def wake_ups(daemon: Daemon) -> int:
    """How often the threads of a daemon waited so far."""
    tasks = Path(f"/proc/{daemon.pid}/task").glob("*/status")
    found = [re.search(r"^voluntary_ctxt_switches:\s+(\d+)", task.read_text("utf-8"), re.M) for task in tasks]
    return sum(int(each[1]) for each in found if each)


def joined_at_most(host: Host) -> int:
    """The segments that TCP joins for the NIC of a host at most."""
    (link,) = json.loads(host.run("ip", "-details", "-json", "link", "show", "dev", "eth0"))
    return int(link["gso_max_segs"])


@pytest.mark.parametrize(
    ("shape", "settings"),
    [
        ({"ipv6": False}, ()),
        ({"ipv6": True}, ()),
        ({"congestion_control": "cw_dctcp", "ecn": True, "marking": 20}, ()),
        ({"marking": 20}, ("--transport", "ec4")),
    ],
    ids=["IPv4", "IPv6", "DCTCP", "EC4"],
)
def test_a_transfer_leaves_in_the_kernel_under_credits_and_each_byte_of_it_counts(
    build: Build, shape: dict[str, object], settings: tuple[str, ...]
) -> None:
    net = build(**shape)
    daemons = both(net.hosts, *BULK, *settings)
    assert between(net, SIZE, ipv6=bool(shape.get("ipv6"))).wait().stall_s < STALL_S
    sent, came = (stats(daemon) for daemon in daemons)
    assert "bulk data leaves in the kernel" in log(daemons[0])
    assert sent["released_packets_total"] > LEAST * SIZE / 1448
    # On a busy machine an answer may come so late that the first packets leave as plain TCP, which is counted apart.
    plain = {name: value for name, value in sent.items() if name.startswith("plain_bytes_total") and value}
    assert sent["credited_bytes_total"] + sum(plain.values()) >= SIZE, f"bytes count nowhere: {plain}"
    assert under_credits(daemons[0]) > 0.95
    assert came["data_received_total"] <= came["credits_sent_total"]
    assert came["data_received_total"] >= 0.99 * sent["credits_used_total"], "packets name the credits that they spend"


def test_the_daemon_of_a_sender_rests_while_bulk_data_leaves(build: Build) -> None:
    net = build()
    daemon = both(net.hosts, *BULK)[0]
    moving = between(net, 2 * SIZE)
    moving.wait_for(0.2)
    before, began, packets, woke = daemon.cpu_s(), time.monotonic(), in_kernel(daemon), wake_ups(daemon)
    moving.wait_for(0.8)
    took, seconds = daemon.cpu_s() - before, time.monotonic() - began
    # It sees a sample of the acknowledgements, and does not look for more of them each millisecond.
    assert wake_ups(daemon) - woke < 400 * seconds, f"{(wake_ups(daemon) - woke) / seconds:.0f} wake-ups a second"
    assert in_kernel(daemon) > packets + LEAST * 0.6 * 2 * SIZE / 1448
    assert took < 0.1 * seconds, f"{took / seconds:.1%} of a processor"
    moving.wait()


def test_forty_connections_at_once_and_short_messages_beside_them_have_their_bytes(build: Build) -> None:
    net = build()
    daemons = both(net.hosts, *BULK)
    moving = [between(net, MB, port=8100 + number) for number in range(40)]
    echo(net.hosts, [64, 700, 1_400, 5_000] * 25)
    assert max(each.wait().stall_s for each in moving) < 2 * STALL_S
    assert under_credits(daemons[0]) > 0.95
    assert in_kernel(daemons[0]) > LEAST * 40 * MB / 1448


def test_an_application_that_writes_now_and_then_is_asked_for_anew_each_time(build: Build) -> None:
    net = build()
    daemons = both(net.hosts, *BULK)
    began = time.monotonic()
    between(net, 2 * MB, pause_s=0.02).wait()
    # Thirty blocks with pauses of 20 ms; each takes 6 ms of the link, and a request takes one round trip.
    assert time.monotonic() - began < 31 * 0.02 + 2.0
    assert under_credits(daemons[0]) > 0.95
    assert stats(daemons[0]).get('plain_flows_total{reason="silent"}', 0) == 0


def test_data_that_is_lost_is_repeated_for_credits_of_its_own(build: Build) -> None:
    net = build()
    daemons = both(net.hosts, *BULK)
    one, two = net.hosts
    with loss(one, protocol="ip", one_in=64), loss(two, protocol="ip", one_in=64, priority=8):
        assert between(net, SIZE // 2).wait().stall_s < 2 * STALL_S
    sent, came = (stats(daemon) for daemon in daemons)
    repeated = int(re.findall(r"TcpRetransSegs +(\d+)", one.run("nstat", "-az", "TcpRetransSegs"))[0])
    assert repeated > 50
    assert sent["released_packets_total"] > LEAST * SIZE / 2 / 1448
    assert sent["credits_used_total"] <= came["credits_sent_total"]
    assert under_credits(daemons[0]) > 0.95


@pytest.mark.parametrize("end", [0, 1], ids=["sender", "receiver"])
def test_a_killed_daemon_leaves_no_connection_with_a_closed_window(build: Build, end: int) -> None:
    net = build()
    daemons = both(net.hosts, *BULK)
    moving = between(net, 4 * SIZE)
    moving.wait_for(0.1)
    assert in_kernel(daemons[0]) > 1_000
    daemons[end].kill()
    moving.wait_for(0.3)
    daemons[end].start()
    used = stats(daemons[0])["credits_used_total"]
    wait_until(
        lambda: in_kernel(daemons[0]) > 500 and stats(daemons[0])["credits_used_total"] > used, "again", 5.0, 0.1
    )
    assert moving.wait().stall_s < STALL_S


def test_a_daemon_that_is_stopped_gives_the_window_back_at_once_and_undoes_its_settings(build: Build) -> None:
    net = build()
    before = joined_at_most(net.hosts[0])
    daemons = both(net.hosts, *BULK)
    assert joined_at_most(net.hosts[0]) == 1
    moving = between(net, 4 * SIZE)
    moving.wait_for(0.1)
    daemons[0].stop()
    assert joined_at_most(net.hosts[0]) == before
    assert "CLEARWAY" not in net.hosts[0].run("iptables-save")
    moving.wait_for(0.3)
    daemons[0].start()
    assert moving.wait().stall_s < STALL_S
    daemons[0].kill()
    assert joined_at_most(net.hosts[0]) == 1
    daemons[0].ask("cleanup")
    assert joined_at_most(net.hosts[0]) == before


def test_a_daemon_that_stands_still_does_not_stop_bulk_data(build: Build) -> None:
    net = build()
    daemons = both(net.hosts, *BULK)
    assert any(goes_on_without_the_daemon(net, daemons[0], 8100 + attempt) for attempt in range(5)), "packets are held"
    assert stats(daemons[0])['plain_packets_total{reason="no_sign"}'] > 1_000
    assert all(daemon.runs for daemon in daemons)


def goes_on_without_the_daemon(net: Network, daemon: Daemon, port: int) -> bool:
    """Whether a transfer goes on while the daemon of its sender stands still. False if packets are held meanwhile.

    Those wait for the daemon, and TCP repeats none of them before they have left. On a busy machine TCP has no turn for
    milliseconds now and then, so that packets come for which there are no credits.
    """
    moving = between(net, 4 * SIZE, port=port)
    moving.wait_for(0.1)
    with daemon.paused():
        # The programs take credits for a second after the last sign of the daemon, and let all windows and packets pass
        # then. TCP learns of it at its next probe of a closed window, and waits twice as long for each as for the last.
        time.sleep(1.1)
        came = moving.received
        with contextlib.suppress(TestbedError):
            wait_until(lambda: moving.received > came + 2 * MB, "bulk data", 2 * STALL_S, 0.05)
        went_on, held = moving.received > came + 2 * MB, queued(net.hosts[0])
    assert went_on or held > 0, f"{moving.received - came} bytes came without the daemon"
    assert moving.wait().stall_s < 2 * STALL_S or held > 0
    return went_on


@pytest.mark.parametrize("end", [0, 1], ids=["sender", "receiver"])
def test_a_link_that_goes_down_and_up_interrupts_bulk_data_no_longer_than_tcp_does(build: Build, end: int) -> None:
    net = build()
    daemons = both(net.hosts, *BULK)
    moving = between(net, 3 * SIZE)
    moving.wait_for(0.1)
    net.hosts[end].run("ip", "link", "set", "eth0", "down")
    time.sleep(0.3)
    net.hosts[end].run("ip", "link", "set", "eth0", "up")
    before = in_kernel(daemons[0])
    wait_until(lambda: in_kernel(daemons[0]) > before + 500, "bulk data leaves in the kernel again", 5.0, 0.1)
    assert moving.wait().stall_s < 0.3 + 1.6 + STALL_S


@pytest.mark.parametrize(("first", "later"), [(1500, 1280), (1280, 1500)], ids=["smaller", "larger"])
def test_an_mtu_that_changes_in_mid_transfer_harms_no_byte(build: Build, first: int, later: int) -> None:
    net = build()
    for host in net.hosts:
        host.run("ip", "link", "set", "eth0", "mtu", str(first))
    daemons = both(net.hosts, *BULK)
    moving = between(net, SIZE)
    moving.wait_for(0.2)
    for host in net.hosts:
        host.run("ip", "link", "set", "eth0", "mtu", str(later))
    assert moving.wait().stall_s < STALL_S
    assert in_kernel(daemons[0]) > 1_000


@pytest.mark.parametrize("forged", ["cookie", "session", "address", "replayed"])
def test_forged_and_replayed_credits_open_no_window(build: Build, forged: str) -> None:
    net = build(hosts=3)
    one, two, evil = net.hosts
    daemons = both([one, two], *BULK)
    moving = Exchange(one, two, 2 * SIZE)
    moving.wait_for(0.1)
    with Tap(one, first=True) as tap:
        credit = tap.first(CREDIT)
    far = credit.but(number=credit.number + 1_000)
    false = {
        "cookie": far.but(cookie=credit.cookie ^ 1),
        "session": far.but(session=credit.session + 1_000),
        "address": far.but(sender=evil.mac),
        "replayed": credit,
    }[forged]
    with Tap(evil) as tap, meanwhile(tap, itertools.repeat(false), 5_000):
        assert moving.wait().stall_s < 2 * STALL_S
    reasons = (forged, "session") if forged == "replayed" else (forged,)
    sent, came = (stats(daemon) for daemon in daemons)
    assert sum(sent.get(f'refused_total{{reason="{reason}"}}', 0) for reason in reasons) > 100
    assert sent["credits_used_total"] <= came["credits_sent_total"]
    # Each packet names a credit, and none of them twice.
    assert came.get('refused_total{reason="credit_number"}', 0) < 20 + came["data_received_total"] / 100


def test_a_transfer_goes_on_while_tcp_does_not_hear_of_half_of_its_credits(build: Build) -> None:
    net = build()
    one = net.hosts[0]
    # An acknowledgement that a credit becomes has no options, and those of the other host have timestamps.
    words = ("-p", "tcp", "--tcp-flags", "ALL", "ACK", "-m", "length", "--length", "40")
    half = ("-m", "statistic", "--mode", "random", "--probability", "0.5", "-j", "DROP")
    try:
        one.run("iptables", "-w", "-A", "INPUT", *words, *half)
    except Exception as error:
        skip(f"statistic of iptables, which says: {error}", "a kernel with xt_length and xt_statistic")
    daemons = both(net.hosts, *BULK)
    assert between(net, SIZE // 2).wait().stall_s < STALL_S
    assert int(re.findall(r"\[(\d+):\d+\] -A INPUT", one.run("iptables-save", "-c", "-t", "filter"))[0]) > 100
    assert in_kernel(daemons[0]) > LEAST * SIZE / 2 / 1448
    assert under_credits(daemons[0]) > 0.95


def test_conntrack_finds_no_packet_of_bulk_data_invalid(build: Build) -> None:
    net = build()
    one = net.hosts[0]
    try:
        for chain in ("INPUT", "OUTPUT"):
            one.run("iptables", "-w", "-A", chain, "-m", "conntrack", "--ctstate", "INVALID", "-j", "DROP")
    except Exception as error:
        skip(f"conntrack of iptables, which says: {error}", "a kernel with nf_conntrack and xt_conntrack")
    daemons = both(net.hosts, *BULK)
    assert between(net, SIZE).wait().stall_s < STALL_S
    assert in_kernel(daemons[0]) > LEAST * SIZE / 1448
    counts = re.findall(r"\[(\d+):\d+\] -A (?:INPUT|OUTPUT)", one.run("iptables-save", "-c", "-t", "filter"))
    assert [int(count) for count in counts] == [0, 0]


def test_with_control_frames_over_udp_bulk_data_waits_in_user_space_and_the_log_says_so(build: Build) -> None:
    net = build(control="udp")
    daemons = both(net.hosts, *BULK, "--control", "udp")
    assert between(net, SIZE // 4).wait().stall_s < STALL_S
    assert in_kernel(daemons[0]) == 0
    assert "bulk data waits in user space" in log(daemons[0])
    assert under_credits(daemons[0]) > 0.95


def test_a_recording_of_bulk_data_in_the_kernel_gives_the_same_orders_again(
    build: Build, clearwayd: str, tmp_path: Path
) -> None:
    net = build()
    file = tmp_path / "one.rec"
    one, two = net.hosts
    daemon = one.daemon(*HOST, *BULK, "--record", str(file))
    two.daemon(*HOST, *BULK)
    for port in (8000, 8001):
        between(net, SIZE // 4, port=port).wait()
    assert in_kernel(daemon) > LEAST * SIZE / 2 / 1448
    daemon.stop()
    assert b"bulk_path = true" in file.read_bytes()[:4_096]
    done = subprocess.run([clearwayd, "replay", str(file)], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
