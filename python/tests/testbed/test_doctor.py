"""`clearwayd doctor`: it finds what a machine lacks, and changes nothing."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

import pytest

from clearway.testbed import Host, Network
from testbed.conftest import Build

pytestmark = pytest.mark.testbed
KINDS = pytest.mark.parametrize("kind", ["host", "pac", "switch"])


@pytest.fixture
def host(build: Build) -> Host:
    """A host whose NIC has the queue that the kernel chose."""
    net: Network = build()
    net.hosts[0].run("tc", "qdisc", "del", "dev", "eth0", "root", check=False)
    return net.hosts[0]


def doctor(host: Host, program: str, *words: str, path: str | None = None) -> tuple[int, dict[str, dict[str, Any]]]:
    """The exit code and the findings by what was examined."""
    environment = {**os.environ, **({} if path is None else {"PATH": path})}
    done = subprocess.run(
        [*enter(host), program, "doctor", "--json", *words],
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
        env=environment,
    )
    assert not done.stderr
    report = json.loads(done.stdout)
    assert report["missing"] == sum(finding["status"] == "missing" for finding in report["findings"])
    return done.returncode, {finding["check"]: finding for finding in report["findings"]}


def enter(host: Host) -> tuple[str, ...]:
    """The beginning of a command in the namespace of a host, by the program's own path."""
    return ("/usr/bin/nsenter", f"--net=/run/netns/{host.namespace.name}")


def state(host: Host) -> str:
    """Everything that a daemon may change, at a host and on the machine."""
    words = (
        ("iptables-save",),
        ("tc", "qdisc", "show"),
        ("ethtool", "-k", "eth0"),
        ("ip", "-details", "link", "show"),
        ("sysctl", "net.ipv4.tcp_tso_rtt_log"),
    )
    shown = [line for one in words for line in host.run(*one, check=False).splitlines() if line[:1] not in "#:"]
    shown += subprocess.run(["ip", "-brief", "link"], capture_output=True, text=True, check=True).stdout.splitlines()
    shown += sorted(str(found) for found in Path(tempfile.gettempdir()).glob("clearwayd-doctor-*"))
    return "\n".join([*shown, Path("/proc/mounts").read_text(), str(sorted(Path("/run/netns").iterdir()))])


@KINDS
def test_a_machine_on_which_the_daemons_run_lacks_nothing_and_stays_as_it_was(
    host: Host, clearwayd: str, kind: str, tmp_path: Path
) -> None:
    # The first listing loads modules of the kernel and makes empty tables.
    state(host)
    before = state(host)
    code, found = doctor(host, clearwayd, kind, "--dev", "eth0", "--run-dir", str(tmp_path / "run"))
    assert code == 0, found
    assert {finding["status"] for finding in found.values()} <= {"ok", "note"}
    tried = ["traffic control", "counters of ports"] if kind == "switch" else ["sockets", "rules of iptables"]
    assert [found[name]["status"] for name in tried] == ["ok", "ok"]
    assert found["rate of eth0"]["status"] == "note"
    assert state(host) == before
    assert not (tmp_path / "run").exists()


def test_without_iptables_a_host_is_not_fine_and_a_switch_is(host: Host, clearwayd: str, tmp_path: Path) -> None:
    code, found = doctor(host, clearwayd, "host", path=str(tmp_path))
    assert code == 1
    assert (found["program iptables"]["status"], found["rules of iptables"]["status"]) == ("missing", "missing")
    code, found = doctor(host, clearwayd, "switch")
    assert code == 0, found


def test_an_iptables_whose_kernel_lacks_the_target_is_found_by_a_trial(
    host: Host, clearwayd: str, tmp_path: Path
) -> None:
    said = "Warning: Extension NFQUEUE revision 0 not supported, missing kernel module?"
    for name in ("iptables", "iptables-nft", "iptables-legacy"):
        (tmp_path / name).write_text(f"#!/bin/sh\necho '{said}' >&2\nexit 1\n")
        (tmp_path / name).chmod(0o755)
    code, found = doctor(host, clearwayd, path=f"{tmp_path}:{os.environ['PATH']}")
    assert code == 1
    assert found["program iptables"]["status"] == "ok"
    assert found["rules of iptables"]["status"] == "missing"
    assert said in found["rules of iptables"]["reason"]


def test_rules_of_a_killed_daemon_are_noted_and_left(host: Host, clearwayd: str, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    daemon = host.namespace.start(
        clearwayd, "host", "--dev", "eth0", "--rate", "100Mbps", "--run-dir", str(folder), stderr=subprocess.DEVNULL
    )
    try:
        until = time.monotonic() + 5
        while "NFQUEUE" not in host.run("iptables-save") and time.monotonic() < until:
            time.sleep(0.05)
        code, found = doctor(host, clearwayd, "--run-dir", str(folder))
        assert code == 0
        assert {"daemon on eth0", "queue 7"} <= set(found)
    finally:
        daemon.send_signal(signal.SIGKILL)
        daemon.wait(5)
    before = state(host)
    code, found = doctor(host, clearwayd, "--run-dir", str(folder))
    assert code == 0
    assert "cleanup" in found["journal of eth0"]["remedy"]
    assert "queue 7" not in found
    assert state(host) == before
    assert "NFQUEUE" in before


def test_a_nic_that_is_not_there_and_a_qdisc_of_others_are_missing(host: Host, clearwayd: str) -> None:
    host.run("tc", "qdisc", "add", "dev", "eth0", "root", "handle", "1:", "htb")
    code, found = doctor(host, clearwayd, "switch", "--dev", "eth0,eth7")
    assert code == 1
    missing = {name for name, finding in found.items() if finding["status"] == "missing"}
    assert missing == {"root qdisc of eth0", "NIC eth7"}
    code, found = doctor(host, clearwayd, "host", "--dev", "eth0")
    assert (code, found["root qdisc of eth0"]["status"]) == (0, "note")


def test_the_text_ends_with_a_verdict_and_an_unknown_kind_is_refused(host: Host, clearwayd: str) -> None:
    assert host.run(clearwayd, "doctor", "pac").endswith("Nothing is missing for `clearwayd pac`.\n")
    refused = subprocess.run([clearwayd, "doctor", "hots"], capture_output=True, text=True, check=False)
    assert (refused.returncode, refused.stdout) == (2, "")
    assert refused.stderr == 'clearwayd: doctor "hots": there is no such daemon; write host, pac or switch\n'
