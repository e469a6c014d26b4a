"""Networks of namespaces: what is made, and that nothing of it stays."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from clearway.testbed import Network, Shape, TestbedError, lacking, remove_leftovers
from clearway.testbed.namespace import wait_until
from testbed.conftest import Build

pytestmark = pytest.mark.testbed
#: A program that makes a network, says so, and sleeps.
SLEEPER = """
from clearway.testbed import Network, Shape
import time
with Network(Shape()) as net:
    net.hosts[0].start("sleep", "1000")
    print(net.hosts[0].namespace.name, net.logs, flush=True)
    time.sleep(1000)
"""


def namespaces() -> set[str]:
    return set(subprocess.run(["ip", "netns", "list"], capture_output=True, text=True, check=True).stdout.split())


@pytest.mark.parametrize(("hosts", "switches"), [(2, 1), (3, 2), (8, 1)])
def test_every_host_reaches_every_other_one(build: Build, hosts: int, switches: int) -> None:
    net = build(hosts=hosts, switches=switches)
    assert len(net.hosts) == hosts
    first, *others = net.hosts
    for other in others:
        assert "1 received" in first.run("ping", "-c1", "-W2", other.address)


def test_hosts_have_ipv6_if_that_is_wanted_and_none_otherwise(build: Build) -> None:
    one, two = build(ipv6=True).hosts
    assert "1 received" in one.run("ping", "-c1", "-W2", two.address6)
    assert build().hosts[0].run("ip", "-6", "-o", "address", "show", "dev", "eth0") == ""


def test_offloads_are_off_and_cubic_is_set(build: Build) -> None:
    net = build()
    host = net.hosts[0]
    for features in (host.run("ethtool", "-k", "eth0"), net.switches[0].run("ethtool", "-k", "p1")):
        for name in ("tcp-segmentation-offload", "generic-segmentation-offload", "generic-receive-offload"):
            assert f"{name}: off" in features
    assert host.run("sysctl", "-n", "net.ipv4.tcp_congestion_control").strip() == "cubic"
    assert net.shape.ideal_goodput_bps == pytest.approx(89.27e6, rel=1e-4)


def test_a_network_that_ends_by_an_exception_leaves_only_its_logs() -> None:
    if why := lacking():
        pytest.skip(why)
    net = Network(Shape())
    names: set[str] = set()

    def body() -> None:
        with net:
            names.update(node.namespace.name for node in net.nodes)
            assert len(names & namespaces()) == 3
            net.hosts[0].start("sh", "-c", "echo hello; sleep 1000", log="sleeper.log")
            wait_until(lambda: (net.logs / "sleeper.log").read_text(), "the program has begun")
            raise ValueError("the test ends it")

    with pytest.raises(ValueError, match="the test ends it") as caught:
        body()
    assert not names & namespaces()
    assert net.processes[0].poll() is not None
    assert any("hello" in note for note in caught.value.__notes__)
    assert (net.logs / "sleeper.log").read_text() == "hello\n"
    shutil.rmtree(net.logs)


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_an_interrupted_program_leaves_nothing_and_the_next_one_removes_what_a_killed_one_left(how: int) -> None:
    if why := lacking():
        pytest.skip(why)
    program = subprocess.Popen(
        [sys.executable, "-c", SLEEPER], stdout=subprocess.PIPE, text=True, stderr=subprocess.DEVNULL
    )
    assert program.stdout
    name, logs = program.stdout.readline().split()
    assert name in namespaces()
    assert remove_leftovers() == []
    program.send_signal(how)
    program.wait()
    program.stdout.close()
    assert (name in namespaces()) == (how == signal.SIGKILL)
    if how == signal.SIGKILL:
        assert name in remove_leftovers()
    assert name not in namespaces()
    assert not Path(logs).exists()


def test_what_cannot_be_built_is_refused() -> None:
    with pytest.raises(TestbedError, match="hosts = 1"):
        Shape(hosts=1)
    with pytest.raises(TestbedError, match="switches = 3"):
        Shape(switches=3)


def test_a_command_that_fails_says_which_and_why(build: Build) -> None:
    with pytest.raises(TestbedError, match=r"ip link del nothing.*Cannot find device"):
        build().hosts[0].run("ip", "link", "del", "nothing")
