"""Words, bounds and small functions that the tests on failure and attack share."""

from __future__ import annotations

from typing import Any

from clearway.testbed import Daemon, Host, Network
from clearway.testbed.exchange import Exchange

HOST = ("host", "--dev", "eth0", "--rate", "100Mbps")
PAC = ("pac", "--dev", "eth0", "--rate", "100Mbps", "--offloads", "off")
MB = 1_000_000
#: The links of tests that ask for a share of a rate: a quarter of what `build` gives, because a daemon has to keep up
#: with them on a machine that is busy with others too.
SLOW_BPS = 25_000_000
#: Seconds for which a connection may stand still where the daemon has to notice a failure by itself, or TCP repeats
#: what was lost: two retransmission timeouts of TCP, and the time slices of a busy machine.
STALL_S = 1.5


def stats(daemon: Daemon) -> dict[str, float]:
    """All values of `clearwayd stats`, with all that happened before the call."""
    return {name: float(value) for name, value in daemon.settled_metrics().items()}


def refused(daemon: Daemon, reason: str) -> float:
    """The frames that a daemon refused for a reason."""
    return stats(daemon).get(f'refused_total{{reason="{reason}"}}', 0.0)


def log(daemon: Daemon) -> str:
    """The log of a daemon so far."""
    return daemon.log.read_text("utf-8")


def rated(host: Host, words: tuple[str, ...]) -> tuple[str, ...]:
    """The words of `HOST` or `PAC` with the rate of a host's links."""
    rate = f"{host.network.shape.rate_bps // 1_000_000}Mbps"
    return tuple(rate if before == "--rate" else word for before, word in zip(("", *words), words, strict=False))


def both(hosts: list[Host], *more: str) -> list[Daemon]:
    """Daemons at hosts, for the rate of their links."""
    return [host.daemon(*rated(host, HOST), *more) for host in hosts]


def between(net: Network, size: int, **options: Any) -> Exchange:
    """A transfer from the first host of a network to the second one."""
    return Exchange(net.hosts[0], net.hosts[1], size, **options)
