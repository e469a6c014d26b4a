"""`clearwayd switch` on a real bridge: what it sets up, what the kernel enforces, and that nothing stays."""

from __future__ import annotations

import json
import re
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from clearway.plan import linux_tc
from clearway.plan import switches as planned
from clearway.testbed import Daemon, Host, Network, Shape, Switch, lacking
from clearway.testbed.namespace import wait_until
from clearway.testbed.traffic import listens
from testbed.attacks import SLOW_BPS

pytestmark = pytest.mark.testbed
RATE = 100_000_000
#: Credits a second that are 84 of each 1622 bytes of the link.
CREDITS = RATE / 8 / 1622
#: A frame that is a credit to a switch: our EtherType, then 46 bytes.
SENDER = """
import socket, sys, time
s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
s.bind(("eth0", 0))
frame = bytes.fromhex(sys.argv[1]) + bytes.fromhex(sys.argv[2]) + b"\\x88\\xb5\\x02\\x09" + bytes(44)
end, gap, n = time.monotonic() + 2, 1 / float(sys.argv[3]), 0
start = time.monotonic()
while time.monotonic() < end:
    if time.monotonic() - start >= n * gap:
        try:
            s.send(frame)
        except BlockingIOError:
            pass
        n += 1
print(n)
"""


@pytest.fixture
def net(clearwayd: str) -> Iterator[Network]:  # noqa: ARG001 - skips the test where there is no testbed
    """Three hosts whose switch is a plain bridge: its ports have no queues yet."""
    with Network(Shape(hosts=3, cards=False)) as net:
        net.switches[0].daemon.stop()
        yield net


def start(net: Network, *words: str) -> Daemon:
    """Starts the daemon at the switch."""
    switch = net.switches[0]
    ports = ",".join(port.device for port in switch.ports)
    return net.start_daemon(switch.namespace, "switch", "--ports", ports, "--rate", "100Mbps", *words)


def serve(host: Host, port: int = 5201) -> subprocess.Popen[bytes]:
    """Starts a server of iperf3 at a host, and returns it when it listens."""
    server = host.start("iperf3", "-s", "-1", "-p", str(port), stdout=subprocess.DEVNULL)
    wait_until(lambda: listens(host, port), f"iperf3 listens on port {port}")
    return server


def state(switch: Switch) -> dict[str, Any]:
    """Everything at the switch that the daemon could have changed."""
    links = json.loads(switch.run("ip", "-j", "-d", "link"))
    keys = ("ifname", "mtu", "master", "promiscuity", "allmulti")
    qdiscs = json.loads(switch.run("tc", "-j", "qdisc", "show"))
    return {
        "links": [{**{key: link.get(key) for key in keys}, "up": "UP" in link["flags"]} for link in links],
        # The kernel gives no handle to a qdisc that it chose itself.
        "qdiscs": [qdisc for qdisc in qdiscs if qdisc["handle"] != "0:"],
        "offloads": [switch.run("ethtool", "-k", port.device) for port in switch.ports],
        "bridge": json.loads(switch.run("bridge", "-j", "-d", "link", "show")),
    }


def passed(switch: Switch, device: str, handle: str) -> dict[str, Any]:
    """The counters of a port's queue."""
    qdiscs = json.loads(switch.run("tc", "-s", "-j", "qdisc", "show", "dev", device))
    return next(qdisc for qdisc in qdiscs if qdisc["handle"] == handle)


def test_everything_is_as_before_when_the_daemon_has_ended(net: Network) -> None:
    switch = net.switches[0]
    switch.run("ethtool", "-K", "p1", "gro", "on")
    before = state(switch)
    running = start(net, "--bridge", "br0", "--ecn", "20")
    during = state(switch)
    assert during["qdiscs"] != before["qdiscs"]
    assert during["offloads"] != before["offloads"]
    assert "the kernel does not do what was asked" not in running.log.read_text("utf-8")
    running.stop()
    assert state(switch) == before


def test_a_killed_daemon_leaves_the_switch_working_and_cleanup_restores_what_was_before(net: Network) -> None:
    switch = net.switches[0]
    switch.run("tc", "qdisc", "add", "dev", "p2", "clsact")
    before = state(switch)
    running = start(net, "--ecn", "20")
    running.kill()
    net.hosts[1].run("ping", "-c1", "-W2", net.hosts[0].address)
    assert passed(switch, "p1", "10:")["options"] == {"limit": 8}
    running.ask("cleanup")
    assert state(switch) == before


def test_a_bridge_that_the_daemon_makes_goes_with_it(net: Network) -> None:
    switch = net.switches[0]
    for port in switch.ports:
        switch.run("ip", "link", "set", port.device, "nomaster", "down")
    before = state(switch)
    running = start(net, "--bridge", "cw0", "--make-bridge", "true")
    wait_until(lambda: all(link["state"] == "forwarding" for link in state(switch)["bridge"]), "ports forward")
    net.hosts[2].run("ping", "-c1", "-W2", net.hosts[0].address)
    running.stop()
    assert state(switch) == before


def test_credits_pass_at_their_share_of_the_link_beside_data_and_the_excess_is_dropped(net: Network) -> None:
    switch, (h1, h2, h3) = net.switches[0], net.hosts
    running = start(net)
    server = serve(h1)
    data = h3.start("iperf3", "-c", h1.address, "-t", "4", stdout=subprocess.DEVNULL)
    time.sleep(1)
    first, begun = passed(switch, "p1", "10:"), time.monotonic()
    words = [mac.replace(":", "") for mac in (h1.mac, h2.mac)]
    sent = int(h2.run("python3", "-c", SENDER, *words, str(2 * CREDITS)))
    last, took = passed(switch, "p1", "10:"), time.monotonic() - begun
    data.wait(10)
    server.wait(10)
    through, dropped = (last[key] - first[key] for key in ("packets", "drops"))
    assert through + dropped == sent - 8 - 2 or abs(through + dropped - sent) <= 10
    # No more than the share, the bucket and the queue may pass in the time that it took. A busy machine sends credits
    # in bursts, of which the queue drops most.
    assert 1000 <= through <= CREDITS * took + 12
    assert dropped > 0
    text = running.ask("stats", "--json")
    assert "credits_dropped_total" in text


def test_dctcp_keeps_the_queue_near_the_threshold_and_fills_the_link() -> None:
    if why := lacking("iperf3", "bpftool"):
        pytest.skip(why)
    with Network(
        Shape(hosts=3, cards=False, congestion_control="cw_dctcp", ecn=True, marking=20, rate_bps=SLOW_BPS)
    ) as net:
        switch, (h1, h2, h3) = net.switches[0], net.hosts
        servers = [serve(h1, port) for port in (5201, 5202)]
        flows = [
            h.start("iperf3", "-c", h1.address, "-p", str(port), "-t", "4", "-J", stdout=subprocess.PIPE)
            for h, port in ((h2, 5201), (h3, 5202))
        ]
        time.sleep(1.5)
        queue = []
        for _ in range(40):
            queue.append(passed(switch, "p1", "20:")["qlen"])
            time.sleep(0.04)
        ends = [json.loads(flow.communicate(timeout=20)[0])["end"] for flow in flows]
        for server in servers:
            server.wait(10)
        counted = counters(switch.daemon.ask("stats", "--json"))
    queue.sort()
    assert 10 <= queue[20] <= 26, queue
    assert queue[36] <= 40, queue
    assert sum(end["sum_received"]["bits_per_second"] for end in ends) >= 0.9 * net.shape.plain_goodput_bps
    assert {end["sender_tcp_congestion"] for end in ends} == {"cw_dctcp"}
    assert counted["marked_total"]["p1"] > 100
    assert counted["data_waiting_max"]["p1"] >= queue[-1]


def test_a_switch_in_user_space_limits_credits_exactly_and_forwards_at_the_rate_of_its_links(net: Network) -> None:
    switch, (h1, h2, h3) = net.switches[0], net.hosts
    for port in switch.ports:
        switch.run("ip", "link", "set", port.device, "nomaster")
    before = state(switch)
    running = start(net, "--user-space", "true")
    server = serve(h1)
    data = h3.start("iperf3", "-c", h1.address, "-t", "4", "-J", stdout=subprocess.PIPE)
    time.sleep(1)
    words = [mac.replace(":", "") for mac in (h1.mac, h2.mac)]
    begun = time.monotonic()
    sent = int(h2.run("python3", "-c", SENDER, *words, str(2 * CREDITS)))
    time.sleep(0.3)
    took = time.monotonic() - begun
    goodput = json.loads(data.communicate(timeout=20)[0])["end"]["sum_received"]["bits_per_second"]
    server.wait(10)
    time.sleep(0.3)
    counted = counters(running.ask("stats", "--json"))
    through, dropped = (counted[f"credits_{what}_total"]["p1"] for what in ("forwarded", "dropped"))
    assert through + dropped == sent
    # The bound is exact here: the bucket has two credits, and eight wait.
    assert 1000 <= through <= CREDITS * took + 10
    assert 0.5 * net.shape.plain_goodput_bps <= goodput <= net.shape.plain_goodput_bps
    running.stop()
    assert state(switch) == before


@pytest.mark.parametrize("udp", [None, 1022])
@pytest.mark.parametrize(("mbps", "credit_bps"), [(100, 5_178_791), (1000, 51_787_916), (10_000, 517_879_161)])
def test_the_daemon_sets_what_the_planners_script_sets(
    net: Network, clearwayd: str, tmp_path: Path, mbps: int, credit_bps: int, udp: int | None
) -> None:
    rate = mbps * 1_000_000
    port = planned.Port("p1", "p1", rate, credit_bps, 168, 8, 84, 1538, 250, 384_500, 10, 15_380, 0)
    (tmp_path / "switch.sh").write_text(linux_tc.script({"s1": [port]}, 46, ecn=False, udp=udp), "utf-8")
    (tmp_path / "tc").write_text('#!/bin/sh\necho tc "$@"\n', "utf-8")
    (tmp_path / "tc").chmod(0o755)
    path = {"PATH": f"{tmp_path}:/usr/bin:/bin"}
    done = subprocess.run(["sh", tmp_path / "switch.sh"], capture_output=True, text=True, check=True, env=path)
    scripted = {line for line in done.stdout.splitlines() if " add " in line}
    words = ["switch", "--ports", "p1", "--rate", f"{mbps}Mbps", "--credit-dscp", "46", "--dry-run"]
    if udp:
        words += ["--control", "udp", "--control-port", str(udp)]
    dry = net.switches[0].run(clearwayd, *words).splitlines()
    ours = {line for line in dry if line.startswith("tc ") and not re.search(r"clsact|egress", line)}
    assert len(scripted) == (16 if udp else 12)
    assert ours == scripted


def counters(line: str) -> dict[str, dict[str, float]]:
    """The metrics of `clearwayd stats --json` that have a port: name -> port -> value."""
    found: dict[str, dict[str, float]] = {}
    for key, value in json.loads(line)["metrics"].items():
        if match := re.fullmatch(r'(\w+)\{port="(\w+)"\}', key):
            found.setdefault(match[1], {})[match[2]] = value
    return found
