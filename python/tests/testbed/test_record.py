"""Recordings of the daemon: what happened to a host, replayed, gives the same actions again."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from clearway.testbed.exchange import Exchange
from clearway.testbed.traffic import Sink, Source
from testbed.conftest import Build

pytestmark = pytest.mark.testbed
SAME = re.compile(r"(\d+) inputs in [\d.]+ s: all (\d+) verdicts and (\d+) frames are the same again")


def replay(clearwayd: str, file: Path) -> subprocess.CompletedProcess[str]:
    """Replays a recording."""
    return subprocess.run([clearwayd, "replay", str(file)], capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.parametrize(("transport", "ipv6"), [("expresspass", False), ("ec4", False), ("expresspass", True)])
def test_a_recorded_transfer_replayed_gives_the_same_verdicts_and_frames(
    build: Build, clearwayd: str, tmp_path: Path, transport: str, ipv6: bool
) -> None:
    sender, receiver = build(ipv6=ipv6).hosts
    files = [tmp_path / f"{host.name}.rec" for host in (sender, receiver)]
    words = ("host", "--dev", "eth0", "--rate", "100Mbps", "--transport", transport, "--record")
    daemons = [host.daemon(*words, str(file)) for host, file in zip((sender, receiver), files, strict=True)]
    Exchange(sender, receiver, 1_000_000, ipv6=ipv6).wait()
    sent = daemons[0].settled_metrics()
    for daemon in daemons:
        daemon.stop()
    counts = []
    for file in files:
        done = replay(clearwayd, file)
        assert done.returncode == 0, done.stderr
        assert done.stdout.startswith(f"{transport} at 02:00:00:00:00:0")
        found = SAME.search(done.stdout)
        assert found, done.stdout
        counts.append([int(number) for number in found.groups()])
        assert file.stat().st_mode & 0o077 == 0, "nobody else may read the seed of the cookies"
    (_, verdicts, _), (_, _, frames) = counts
    full = 1_000_000 // 1448
    assert verdicts >= full, "each packet of data got a verdict"
    # First data to an unknown host waits no longer than TCP's handshake took. Where a busy machine lets the other
    # daemon answer some milliseconds later, packets leave as plain TCP until then.
    plain = sum(value for name, value in sent.items() if name.startswith("plain_packets_total"))
    assert sent["credits_used_total"] + plain >= full, "each packet spends a credit or leaves as plain TCP"
    assert frames >= sent["credits_used_total"], "the other host has recorded the credits that it sent"
    assert sent["credits_used_total"] >= 100, "credits flow"


def test_a_recording_with_another_seed_is_not_what_the_host_does(build: Build, clearwayd: str, tmp_path: Path) -> None:
    sender, receiver = build().hosts
    file = tmp_path / "h1.rec"
    daemon = sender.daemon("host", "--dev", "eth0", "--rate", "100Mbps", "--record", str(file))
    assert Source(sender, Sink(receiver), 10_000).wait()["same"]
    daemon.stop()
    text = file.read_bytes()
    seed = re.search(rb'seed = "0x([0-9a-f]{16})"', text)
    assert seed
    other = tmp_path / "other.rec"
    other.write_bytes(text.replace(seed[1], seed[1][::-1]))
    done = replay(clearwayd, other)
    assert done.returncode == 1
    assert "was recorded with the actions" in done.stderr
