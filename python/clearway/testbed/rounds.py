"""An incast of barrier-synchronised rounds: every connection brings a block, and the next round waits for all."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from clearway.testbed import incast_program
from clearway.testbed.namespace import wait_until
from clearway.testbed.network import Host
from clearway.testbed.shell import TestbedError
from clearway.testbed.traffic import end

#: The TCP port of the receiver.
PORT = 7100
#: Seconds between two probes beside the incast.
PROBE_S = 0.01

Mode = Literal["connect", "request"]


@dataclass
class Rounds:
    """The times, timeouts and round trip times of an incast."""

    connections: int
    block: int
    #: The duration of each round, in seconds.
    rounds_s: list[float]
    #: The retransmission timeouts of all senders in each round.
    timeouts: list[int]
    #: The smoothed round trip times of the senders' TCP, sampled every 5 ms, in seconds.
    rtts_s: list[float]
    #: The round trip times of probes beside the incast, in seconds.
    probes_s: list[float] = field(default_factory=list)

    @property
    def goodput_bps(self) -> float:
        """The bytes of all rounds over the time of all rounds."""
        return self.connections * self.block * 8 * len(self.rounds_s) / sum(self.rounds_s)

    @property
    def with_timeouts(self) -> float:
        """The share of rounds in which a sender timed out."""
        return sum(count > 0 for count in self.timeouts) / len(self.timeouts)


def split(connections: int, senders: int) -> list[int]:
    """Connections as evenly over senders as they go."""
    return [connections // senders + (number < connections % senders) for number in range(senders)]


def incast(
    receiver: Host,
    senders: Sequence[Host],
    connections: int,
    *,
    rounds: int,
    block: int = 65_536,
    mode: Mode = "connect",
    probe: Host | None = None,
) -> Rounds:
    """Runs all rounds; `probe` is a host that sends a ping to the receiver every 10 ms meanwhile."""
    busy = [(host, count) for host, count in zip(senders, split(connections, len(senders)), strict=True) if count]
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="clearway-incast-")))
        path = str(folder / "control")

        def start(host: Host, *words: object) -> subprocess.Popen[bytes]:
            command = [sys.executable, "-I", incast_program.__file__, *map(str, words)]
            process = host.start(*command, stdout=subprocess.PIPE)
            stack.callback(end, process)
            return process

        taking = start(receiver, "receiver", path, PORT, connections, rounds, block, mode)
        wait_until(lambda: Path(path).exists(), "the receiver of the incast waits for senders")
        pings = None
        if probe is not None:
            pings = probe.start("ping", "-n", "-i", str(PROBE_S), receiver.address, stdout=subprocess.PIPE)
            stack.callback(end, pings)
        sending = [start(host, "sender", path, receiver.address, PORT, count, block, mode) for host, count in busy]
        took = said(taking, "the receiver of the incast", timeout_s=incast_program.PATIENCE_S * rounds)
        each = [said(one, "a sender of the incast", timeout_s=10.0) for one in sending]
        probes = []
        if pings is not None:
            pings.terminate()
            printed = pings.communicate(timeout=10.0)[0].decode()
            probes = [float(found) / 1e3 for found in re.findall(r"time=([0-9.]+) ms", printed)]
    return Rounds(
        connections,
        block,
        took["rounds_s"],
        [sum(counts) for counts in zip(*(one["timeouts"] for one in each), strict=True)],
        [rtt / 1e6 for one in each for rtt in one["rtts_us"]],
        probes,
    )


def said(process: subprocess.Popen[bytes], what: str, *, timeout_s: float) -> dict[str, Any]:
    """The line that a program printed at its end."""
    try:
        printed, _ = process.communicate(timeout=timeout_s)
    except subprocess.TimeoutExpired:
        raise TestbedError(f"{what} hangs: still runs after {timeout_s:g} s") from None
    if process.returncode:
        raise TestbedError(f"{what} ended with code {process.returncode}")
    found: dict[str, Any] = json.loads(printed)
    return found
