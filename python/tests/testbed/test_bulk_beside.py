"""Bulk data in the kernel beside PAC, a switch in user space and MPTCP."""

from __future__ import annotations

import pytest
from skips import skip

from clearway.testbed import Network, TestbedError
from clearway.testbed.exchange import Exchange
from testbed.attacks import MB, STALL_S, between, both, log, stats
from testbed.conftest import Build
from testbed.echo import under_credits
from testbed.test_bulk import BULK, LEAST, SIZE, in_kernel

pytestmark = [pytest.mark.testbed, pytest.mark.usefixtures("clearwayd")]
PAC = ("pac", "--dev", "eth0", "--rate", "100Mbps")


def test_pac_at_the_nic_of_a_host_with_bulk_data_is_refused_and_bulk_data_goes_on(build: Build) -> None:
    net = build()
    daemons = both(net.hosts, *BULK)
    moving = between(net, 2 * SIZE)
    moving.wait_for(0.1)
    for daemon in daemons:
        with pytest.raises(TestbedError, match="eth0: another clearwayd works on this device"):
            daemon.ask(*PAC)
    before = in_kernel(daemons[0])
    assert moving.wait().stall_s < STALL_S
    assert in_kernel(daemons[0]) > before + LEAST * SIZE / 1448
    assert under_credits(daemons[0]) > 0.95


def test_pac_and_bulk_data_at_the_same_nics_with_run_directories_of_their_own_harm_no_byte(build: Build) -> None:
    net = build()
    daemons = both(net.hosts, *BULK)
    # Each daemon of a testbed has a run directory of its own, so that none finds the other one's journal.
    paced = [host.daemon(*PAC) for host in net.hosts]
    assert between(net, SIZE).wait().stall_s < STALL_S
    assert in_kernel(daemons[0]) > LEAST * SIZE / 1448
    assert under_credits(daemons[0]) > 0.95
    found = {name: float(value) for name, value in paced[1].metrics().items()}
    assert found["pac_data_bytes_total"] >= SIZE
    assert found["pac_held"] == 0


def test_bulk_data_to_one_host_and_data_to_a_host_with_pac_leave_side_by_side(build: Build) -> None:
    net = build(hosts=3)
    sender, receiver, paced = net.hosts
    daemons = both([sender, receiver], *BULK)
    pac = paced.daemon(*PAC)
    pair = [Exchange(sender, receiver, SIZE), Exchange(sender, paced, SIZE // 2, port=8001)]
    back = Exchange(paced, sender, SIZE // 4, port=8002)
    assert max(each.wait().stall_s for each in (*pair, back)) < STALL_S
    assert in_kernel(daemons[0]) > LEAST * SIZE / 1448
    found = {name: float(value) for name, value in pac.metrics().items()}
    assert found["pac_data_bytes_total"] >= SIZE // 2
    assert found["pac_held"] == 0
    # A host that answers no request gets plain TCP.
    assert stats(daemons[0])['plain_bytes_total{reason="unanswered"}'] >= SIZE // 4


def in_user_space(net: Network) -> None:
    """Has a daemon forward frames in the place of the bridge."""
    (switch,) = net.switches
    switch.daemon.stop()
    for port in switch.ports:
        switch.run("ip", "link", "set", port.device, "nomaster")
    ports = ",".join(port.device for port in switch.ports)
    rate = f"{net.shape.rate_bps // 1_000_000}Mbps"
    net.start_daemon(switch.namespace, "switch", "--ports", ports, "--rate", rate, "--user-space", "true")


def test_bulk_data_leaves_in_the_kernel_through_a_switch_in_user_space(build: Build) -> None:
    net = build(hosts=3)
    in_user_space(net)
    one, two, three = net.hosts
    daemons = both(net.hosts, *BULK)
    pair = [Exchange(one, three, SIZE // 2), Exchange(two, three, SIZE // 2, port=8001)]
    assert max(each.wait().stall_s for each in pair) < STALL_S
    assert sum(in_kernel(daemon) for daemon in daemons[:2]) > LEAST * SIZE / 1448
    assert min(under_credits(daemon) for daemon in daemons[:2]) > 0.95
    used = sum(stats(daemon)["credits_used_total"] for daemon in daemons[:2])
    came = stats(daemons[2])
    assert 0.99 * used <= came["data_received_total"] <= came["credits_sent_total"]


def test_a_connection_of_mptcp_stays_in_user_space_and_one_of_tcp_beside_it_leaves_in_the_kernel(build: Build) -> None:
    net = build()
    try:
        enabled = net.hosts[0].run("sysctl", "-n", "net.mptcp.enabled").strip()
    except Exception as error:
        skip(f"MPTCP, of which sysctl says: {error}", "a kernel with CONFIG_MPTCP")
    if enabled != "1":
        skip("MPTCP, which is off", "sysctl net.mptcp.enabled=1")
    daemons = both(net.hosts, *BULK)
    assert between(net, 5 * MB, mptcp=True).wait().stall_s < STALL_S
    # The window of MPTCP stands in an option that an acknowledgement of ours does not have.
    assert in_kernel(daemons[0]) == 0
    assert under_credits(daemons[0]) > 0.95
    pair = [between(net, 5 * MB, mptcp=True, port=8001), between(net, SIZE, port=8002)]
    assert max(each.wait().stall_s for each in pair) < STALL_S
    assert in_kernel(daemons[0]) > LEAST * SIZE / 1448
    assert "panicked" not in log(daemons[0])
