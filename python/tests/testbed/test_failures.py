"""`clearwayd host` when something fails: connections go on, their bytes are right, and no wait is long."""

from __future__ import annotations

import re
import time
from pathlib import Path

import pytest
from skips import program

from clearway.testbed import call
from clearway.testbed.exchange import Exchange
from clearway.testbed.frames import ACCEPT, CREDIT, REQUEST, STOP, STOPPED, Tap
from clearway.testbed.loss import loss
from clearway.testbed.namespace import wait_until
from testbed.attacks import HOST, MB, SLOW_BPS, STALL_S, between, both, log, stats
from testbed.conftest import Build

pytestmark = [pytest.mark.testbed, pytest.mark.usefixtures("clearwayd")]
SIZE = 15 * MB


FULL = pytest.mark.full
ENDS = pytest.mark.parametrize("end", [pytest.param(0, id="sender"), pytest.param(1, id="receiver", marks=FULL)])


@pytest.mark.parametrize(
    "killed",
    [
        pytest.param((0,), id="sender"),
        pytest.param((1,), id="receiver", marks=FULL),
        pytest.param((0, 1), id="both", marks=pytest.mark.slow),
    ],
)
def test_a_killed_daemon_leaves_the_connection_alive_and_credits_flow_again_once_it_is_back(
    build: Build, killed: tuple[int, ...]
) -> None:
    net = build()
    daemons = both(net.hosts)
    moving = between(net, 5 * SIZE)
    moving.wait_for(0.1)
    assert stats(daemons[0])["credits_used_total"] > 1000
    for place in killed:
        daemons[place].kill()
    moving.wait_for(0.2)
    for place in killed:
        daemons[place].start()
    used = stats(daemons[0])["credits_used_total"]
    # A host that fell silent is asked again after a second.
    wait_until(lambda: stats(daemons[0])["credits_used_total"] > used + 500, "credits flow again", 3.0, 0.1)
    assert stats(daemons[1])["data_received_total"] > 500
    assert moving.received < moving.size
    assert moving.wait().stall_s < STALL_S


def test_a_peer_without_clearway_gets_plain_tcp_at_once(build: Build) -> None:
    net = build(rate_bps=SLOW_BPS)
    plain = [between(net, 1000, port=7000 + n).wait().first_s for n in range(10)]
    daemon = both(net.hosts[:1])[0]
    first = between(net, 1000).wait().first_s
    later = [between(net, 1000, port=8001 + n).wait().first_s for n in range(10)]
    # The first connection waits for an answer at least 2 ms, the later ones do not wait; the rest is the machine's.
    assert first < max(plain) + 0.02
    assert sorted(later)[5] < sorted(plain)[5] + 0.02
    unanswered = 'plain_flows_total{reason="unanswered"}'
    wait_until(lambda: stats(daemon)[unanswered] == 1, "the first flow, and no other one, had to become plain TCP")
    long = between(net, SIZE // 4, port=9000).wait()
    assert long.stall_s < STALL_S
    assert SIZE / 4 * 8 / (long.arrivals[-1][0] - long.began) > 0.7 * net.shape.plain_goodput_bps


def test_half_of_all_requests_stops_and_answers_may_be_lost_and_a_quarter_of_all_credits(build: Build) -> None:
    net = build()
    daemons = both(net.hosts)
    one, two = net.hosts
    with (
        loss(one, REQUEST, STOP, one_in=2),
        loss(two, ACCEPT, STOPPED, one_in=2),
        loss(two, CREDIT, one_in=4, priority=8),
    ):
        # Each connection is a request and a stop: so many that chance alone can't let 80 % of the requests through.
        # Where all tries of a connection are lost, the other host is taken for one without a daemon, and asked again
        # one or ten seconds later. Connections go on until enough requests were sent.
        for turn in range(200):
            ports = range(7000 + 4 * turn, 7004 + 4 * turn)
            moving = [Exchange(one, two, MB // 5, port=port, pause_s=0.02) for port in ports]
            assert max(each.wait().stall_s for each in moving) < STALL_S
            if turn >= 9 and stats(daemons[0])["requests_sent_total"] >= 60:
                break
    sent, came = stats(daemons[0]), stats(daemons[1])
    assert sent["requests_sent_total"] >= 40
    assert came["requests_received_total"] < 0.8 * sent["requests_sent_total"]
    assert sent["credits_received_total"] < 0.85 * came["credits_sent_total"]
    assert sent["credits_used_total"] > 1000


@pytest.mark.parametrize(
    "kinds",
    [
        pytest.param((REQUEST,), id="request", marks=FULL),
        pytest.param((ACCEPT,), id="accept", marks=FULL),
        pytest.param((CREDIT,), id="credit", marks=FULL),
        pytest.param((STOP,), id="stop", marks=FULL),
        pytest.param((), id="any"),
    ],
)
def test_a_connection_goes_on_without_frames_of_one_kind(build: Build, kinds: tuple[int, ...]) -> None:
    net = build()
    both(net.hosts)
    one, two = net.hosts
    moving = Exchange(one, two, 2 * SIZE)
    moving.wait_for(0.3)
    with loss(one, *kinds), loss(two, *kinds):
        begun = Exchange(one, two, SIZE // 3, port=8001)
        assert begun.wait().stall_s < STALL_S
    assert moving.wait().stall_s < STALL_S


@ENDS
def test_a_link_that_goes_down_and_up_interrupts_the_connection_no_longer_than_tcp_does(build: Build, end: int) -> None:
    net = build()
    daemons = both(net.hosts)
    moving = between(net, 4 * SIZE)
    moving.wait_for(0.1)
    host = net.hosts[end]
    host.run("ip", "link", "set", "eth0", "down")
    time.sleep(0.3)
    host.run("ip", "link", "set", "eth0", "up")
    used = stats(daemons[0])["credits_used_total"]
    wait_until(lambda: stats(daemons[0])["credits_used_total"] > used + 500, "credits flow again", 4.0, 0.1)
    # TCP repeats after 0.2 s, 0.4 s and 0.8 s at the latest.
    assert moving.wait().stall_s < 0.3 + 1.6 + STALL_S
    assert all(daemon.runs for daemon in daemons)
    assert stats(daemons[end])["link_downs_total"] == 1


def test_a_nic_that_is_removed_ends_the_daemon_with_a_clear_error_and_its_rules_go(build: Build) -> None:
    net = build()
    host = net.hosts[0]
    daemon = host.daemon(*HOST)
    assert "NFQUEUE" in host.run("iptables-save")
    host.run("ip", "link", "del", "eth0")
    deadline = time.monotonic() + 5
    while daemon.runs and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not daemon.runs
    assert re.search(r"eth0.*removed|eth0.*gone", log(daemon)), log(daemon)
    assert "NFQUEUE" not in host.run("iptables-save")


@pytest.mark.slow
@ENDS
def test_a_pause_of_the_daemon_is_followed_by_no_burst_and_the_connection_goes_on(build: Build, end: int) -> None:
    net = build()
    daemons = both(net.hosts)
    one, two = net.hosts
    moving = Exchange(one, two, 2 * SIZE)
    moving.wait_for(0.3)
    with daemons[end].paused():
        time.sleep(2.0)
    with Tap(one) as tap:
        came = sum(1 for each in tap.seen(0.5) if each.kind == CREDIT)
    # Half a second has room for 3,853 credits, and the switch's queue for 8 more.
    assert came < 3853 * 1.05 + 8
    assert moving.wait().stall_s < 2.0 + STALL_S
    assert stats(daemons[end])["clock_jumps_total"] <= 1


def test_hosts_of_different_mtu_talk_and_the_log_says_so(build: Build) -> None:
    net = build()
    one, two = net.hosts
    one.run("ip", "link", "set", "eth0", "mtu", "1280")
    daemons = both(net.hosts)
    for source, sink in ((one, two), (two, one)):
        assert Exchange(source, sink, SIZE // 2).wait().stall_s < STALL_S
    for daemon in daemons:
        assert stats(daemon)["mtu_mismatches_total"] == 1
        assert "the MTU of the host differs from ours" in log(daemon)
    assert stats(daemons[0])["credits_used_total"] > 1000
    assert stats(daemons[1])["credits_used_total"] > 1000


@FULL
def test_offloads_that_stay_on_are_told_and_the_kernel_splits_large_packets_before_it_holds_them(
    build: Build,
) -> None:
    net = build()
    for host in net.hosts:
        host.run("ethtool", "-K", "eth0", "tx", "on", "rx", "on", "sg", "on", "tso", "on", "gso", "on", "gro", "on")
    daemons = both(net.hosts, "--offloads", "keep")
    assert between(net, SIZE).wait().stall_s < STALL_S
    for daemon in daemons:
        assert re.search(r"offloads stay on: .*", log(daemon)), log(daemon)
    sent = stats(daemons[0])
    assert sent['plain_packets_total{reason="oversized"}'] == 0
    assert sent["credits_used_total"] > 1000


#: Makes the clock of the day jump by a day, forth and back, whenever a program reads it.
JUMPING = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <time.h>
int clock_gettime(clockid_t clock, struct timespec *time) {
    static int (*true_one)(clockid_t, struct timespec *);
    static int count;
    if (!true_one) true_one = dlsym(RTLD_NEXT, "clock_gettime");
    int result = true_one(clock, time);
    if (clock == CLOCK_REALTIME && count++ & 1) time->tv_sec -= 86400;
    return result;
}
"""


@pytest.mark.slow
def test_a_clock_of_the_day_that_jumps_disturbs_nothing(
    build: Build, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiler = program("cc", "gcc")
    library = tmp_path / "jumping.so"
    call(compiler, "-shared", "-fPIC", "-o", str(library), "-x", "c", "-", "-ldl", stdin=JUMPING)
    net = build()
    monkeypatch.setenv("LD_PRELOAD", str(library))
    daemons = both(net.hosts)
    monkeypatch.delenv("LD_PRELOAD")
    assert between(net, SIZE).wait().stall_s < STALL_S
    sent = stats(daemons[0])
    assert sent["clock_jumps_total"] == 0
    assert sent["credits_used_total"] > 8000
    days = {line[:10] for line in log(daemons[0]).splitlines()}
    assert len(days) == 2, "the clock that the log shows did jump"
