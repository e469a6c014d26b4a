"""TCP traffic between hosts: long flows of iperf3, and transfers whose bytes are checked."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from clearway.testbed import stream
from clearway.testbed.namespace import wait_until
from clearway.testbed.network import Host
from clearway.testbed.shell import TestbedError

#: The first port on which iperf3 listens; each flow has a server of its own.
FIRST_PORT = 5201
#: Seconds that flows have to end beyond their duration, before they are said to hang.
PATIENCE_S = 15.0


@dataclass
class Flow:
    """A long flow of iperf3, of one connection or several."""

    sender: Host
    receiver: Host
    connections: int = 1
    #: Seconds after the start of the traffic, and until the end of the flow.
    start_s: float = 0.0
    duration_s: float = 10.0
    #: Seconds at the beginning that iperf3 leaves out of its figures.
    omit_s: float = 0.0


@dataclass
class Outcome:
    """The outcome of a flow, as its receiver counted."""

    flow: Flow
    port: int
    #: Goodput of each connection, in bit/s.
    goodputs_bps: list[float] = field(default_factory=list)
    #: Bytes that all connections brought, without those of the seconds that are left out.
    received: int = 0
    retransmissions: int = 0
    #: Round trip times that TCP of the sender measured, the mean of each connection, in seconds.
    rtts_s: list[float] = field(default_factory=list)

    @property
    def goodput_bps(self) -> float:
        """The goodput of all connections together."""
        return sum(self.goodputs_bps)


def long_flows(flows: Sequence[Flow]) -> list[Outcome]:
    """Runs flows of iperf3 to their end. A flow that does not end is killed, and raises `TestbedError`."""
    outcomes = [Outcome(flow, FIRST_PORT + number) for number, flow in enumerate(flows)]
    with ExitStack() as stack:
        for one in outcomes:
            server = one.flow.receiver.start(
                "iperf3",
                "-s",
                "-1",
                "-p",
                str(one.port),
                stdout=subprocess.DEVNULL,
                log=f"iperf3-{one.port}-server.log",
            )
            stack.callback(end, server)
        for one in outcomes:
            wait_until(lambda one=one: listens(one.flow.receiver, one.port), f"iperf3 listens on port {one.port}")
        began, clients = time.monotonic(), []
        for one in sorted(outcomes, key=lambda one: one.flow.start_s):
            time.sleep(max(0.0, began + one.flow.start_s - time.monotonic()))
            client = one.flow.sender.start(*client_words(one), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
            stack.callback(end, client)
            clients.append((one, client))
        last = max(flow.start_s + flow.duration_s + flow.omit_s for flow in flows)
        for one, client in clients:
            left = began + last + PATIENCE_S - time.monotonic()
            try:
                printed, _ = client.communicate(timeout=max(1.0, left))
            except subprocess.TimeoutExpired:
                where = f"from {one.flow.sender.name} to {one.flow.receiver.name}"
                raise TestbedError(f"iperf3 {where}: still runs {PATIENCE_S:g} s after its end") from None
            read(one, json.loads(printed))
    return outcomes


def client_words(one: Outcome) -> list[str]:
    """The command of a flow's sender."""
    flow = one.flow
    words = ["iperf3", "-c", flow.receiver.address, "-p", str(one.port), "-J", "-P", str(flow.connections)]
    words += ["-t", f"{flow.duration_s:g}", "-O", f"{flow.omit_s:g}"]
    return words


def read(one: Outcome, said: dict[str, Any]) -> None:
    """Takes a flow's figures out of what iperf3 printed."""
    if "error" in said:
        raise TestbedError(f"iperf3 from {one.flow.sender.name} to {one.flow.receiver.name}: {said['error']}")
    for connection in said["end"]["streams"]:
        one.goodputs_bps.append(float(connection["receiver"]["bits_per_second"]))
        one.received += int(connection["receiver"]["bytes"])
        one.retransmissions += int(connection["sender"]["retransmits"])
        one.rtts_s.append(connection["sender"]["mean_rtt"] / 1e6)


def listens(host: Host, port: int) -> bool:
    """True if a program at a host listens on a TCP port."""
    return bool(host.run("ss", "-Hltn", f"sport = :{port}").strip())


def end(process: subprocess.Popen[bytes]) -> None:
    """Ends a process that still runs."""
    if process.poll() is None:
        process.kill()
    process.wait()


class Sink:
    """A program at a host that takes connections and says the checksum of what each brought."""

    def __init__(self, host: Host, port: int = 7000) -> None:
        self.host, self.port = host, port
        self._log = f"sink-{host.name}-{port}.log"
        self._process = host.start(sys.executable, "-I", stream.__file__, "sink", str(port), log=self._log)
        wait_until(lambda: listens(host, port), f"the sink at {host.name} listens")

    def said(self) -> list[dict[str, Any]]:
        """All connections that have ended."""
        lines = (self.host.network.logs / self._log).read_text("utf-8").splitlines()
        return [one for one in map(json.loads, lines) if "bytes" in one]

    def close(self) -> None:
        """Ends the program."""
        end(self._process)


class Source:
    """A program at a host that sends bytes to a sink."""

    def __init__(self, host: Host, sink: Sink, size: int, seed: int = 1) -> None:
        self.host = host
        words = ["source", sink.host.address, str(sink.port), str(size), str(seed)]
        number = len(host.network.processes)
        self._log: Path = host.network.logs / f"source-{host.name}-{number}.log"
        self._process = host.start(sys.executable, "-I", stream.__file__, *words, log=self._log.name)

    @property
    def runs(self) -> bool:
        """True if the program still sends, or waits for the answer."""
        return self._process.poll() is None

    def kill(self) -> None:
        """Ends the program."""
        end(self._process)

    def wait(self, timeout_s: float = 60.0) -> dict[str, Any]:
        """Waits for the end; returns what the program says, where `same` tells if the sink got the same bytes."""
        try:
            self._process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            raise TestbedError(f"the transfer from {self.host.name} hangs: still runs after {timeout_s:g} s") from None
        said = self._log.read_text("utf-8").splitlines()
        if not said:
            raise TestbedError(f"the source at {self.host.name} ended without a word")
        last: dict[str, Any] = json.loads(said[-1])
        return last
