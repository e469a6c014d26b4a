"""The payload that daemons controlled during a measurement, by their counters, and the TCP underneath."""

from __future__ import annotations

import re
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import TracebackType

from clearway.testbed.daemon import Daemon
from clearway.testbed.network import Host

#: The reason of bytes that applications received and no daemon saw.
UNSEEN = "unseen"
#: Seconds after the beginning at which connections are looked at, and between two looks while there are none.
LOOK_S = 0.3
#: The part of what `ss -ti` says of a connection in which the congestion control stands: before the scaling of windows
#: and the timeout.
CONGESTION = re.compile(r"\s(\S+)(?: wscale:\S+)? rto:")


@dataclass(frozen=True)
class Payload:
    """Bytes of TCP payload that passed daemons: sent over `clearwayd host`, received under `clearwayd pac`.

    Bytes that TCP sends again count again.
    """

    #: Bytes that left for a credit, or that came on flows of which PAC knew.
    controlled: int = 0
    #: Bytes that were not controlled, by the reason.
    plain: Mapping[str, int] = field(default_factory=dict)
    #: Times at which a flow became plain TCP.
    given_up: int = 0

    @property
    def total(self) -> int:
        """All bytes."""
        return self.controlled + sum(self.plain.values())

    @property
    def percent(self) -> float | None:
        """The share of bytes that were controlled, in per cent; None if there were no bytes."""
        return self.controlled / self.total * 100 if self.total else None

    def __add__(self, other: Payload) -> Payload:
        reasons = dict.fromkeys((*self.plain, *other.plain))
        plain = {reason: self.plain.get(reason, 0) + other.plain.get(reason, 0) for reason in reasons}
        return Payload(self.controlled + other.controlled, plain, self.given_up + other.given_up)

    def since(self, before: Payload) -> Payload:
        """The payload that was added to an earlier value."""
        plain = {reason: count - before.plain.get(reason, 0) for reason, count in self.plain.items()}
        return Payload(self.controlled - before.controlled, plain, self.given_up - before.given_up)

    def of(self, received: int) -> Payload:
        """The payload where applications received so many bytes: those that no daemon saw count as plain."""
        unseen = max(0, received - self.total)
        return self + Payload(plain={UNSEEN: unseen}) if unseen else self


def payload(metrics: Mapping[str, float]) -> Payload:
    """The payload in a daemon's statistics."""
    if "pac_data_bytes_total" in metrics:
        untracked = int(metrics["pac_untracked_bytes_total"])
        return Payload(int(metrics["pac_data_bytes_total"]) - untracked, {"untracked": untracked})
    plain = {}
    for name, value in metrics.items():
        if found := re.fullmatch(r'plain_bytes_total\{reason="(\w+)"\}', name):
            plain[found[1]] = int(value)
    given_up = sum(int(value) for name, value in metrics.items() if name.startswith("plain_flows_total{"))
    return Payload(int(metrics["credited_bytes_total"]), plain, given_up)


def counted(daemons: Sequence[Daemon]) -> Payload:
    """The payload that passed daemons since they started."""
    return sum((payload(daemon.settled_metrics()) for daemon in daemons), Payload())


def congestion_controls(printed: str) -> set[str]:
    """The congestion controls of the connections that `ss -ti` has printed."""
    return set(CONGESTION.findall(printed))


class Control:
    """Counts what daemons control while its block runs; then `payload` and `underneath` have it.

    `underneath` names the congestion control of the connections at `hosts`, which is asked of the kernel once, when
    there are some; of hosts whose connections were too short for that, it is the one that new connections get.
    """

    def __init__(self, hosts: Sequence[Host], daemons: Sequence[Daemon]) -> None:
        self._hosts, self._daemons = hosts, daemons
        self._found = set[str]()
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._look)
        self.payload = Payload()
        self.underneath = ""

    def percent(self, received: int = 0) -> float | None:
        """The share of bytes that were controlled, in per cent, where applications received so many; None if no daemon
        ran.
        """
        return self.payload.of(received).percent if self._daemons else None

    def __enter__(self) -> Control:
        self._before = counted(self._daemons)
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._done.set()
        self._thread.join()
        if error is not None:
            return
        self.payload = counted(self._daemons).since(self._before)
        names = self._found or {default(host) for host in self._hosts}
        self.underneath = " and ".join(sorted(names))

    def _look(self) -> None:
        while not self._found and not self._done.wait(LOOK_S):
            for host in self._hosts:
                self._found |= congestion_controls(host.run("ss", "-Htin", check=False))


def default(host: Host) -> str:
    """The congestion control of new connections of a host."""
    return host.run("sysctl", "-n", "net.ipv4.tcp_congestion_control").strip()
