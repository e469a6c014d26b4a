"""The nodes and links of a scenario's network, and the paths of a pair of hosts in it."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from clearway import _clearway, units


def rate_text(bps: float) -> str:
    """A rate without needless zeros."""
    return short(units.rate(bps))


def time_text(seconds: float) -> str:
    """A time without needless zeros."""
    return short(units.seconds(seconds))


def short(text: str) -> str:
    """The text of a number and a unit without needless zeros: `10 Gbps` for `10.0 Gbps`."""
    number, _, unit = text.partition(" ")
    return f"{number.rstrip('0').rstrip('.') if '.' in number else number} {unit}"


def counts(found: dict[str, Any]) -> str:
    """The numbers of hosts, switches and links."""
    words = (("host", "hosts"), ("switch", "switches"), ("link", "links"))
    return ", ".join(f"{found[many]:,} {one if found[many] == 1 else many}" for one, many in words)


@dataclass(frozen=True)
class Link:
    """A link between two nodes."""

    a: int
    b: int
    rate_bps: int
    delay_s: float

    @property
    def text(self) -> str:
        """The rate and delay in words."""
        return f"{rate_text(self.rate_bps)}, {time_text(self.delay_s)}"


@dataclass(frozen=True)
class Paths:
    """The shortest paths from one host to another."""

    src: int
    dst: int
    hops: int
    count: float
    #: From node, to node, share of the traffic, for each port that the paths use, in the order of their distance.
    shares: tuple[tuple[int, int, float], ...]
    one_way_s: float
    rtt_s: float


@dataclass(frozen=True)
class Graph:
    """A network: hosts are the nodes `0..hosts`, and a switch's tier is 1 or more."""

    name: str
    hosts: int
    names: list[str]
    tiers: list[int]
    links: list[Link]
    host_names: str
    switch_names: str
    oversubscription: float
    #: The two hosts that are farthest from each other.
    farthest: tuple[int, int]
    scenario: _clearway.Scenario = field(repr=False)

    @cached_property
    def neighbours(self) -> dict[int, list[int]]:
        """The neighbours of each node, in the order of the links."""
        found: dict[int, list[int]] = defaultdict(list)
        for link in self.links:
            found[link.a].append(link.b)
            found[link.b].append(link.a)
        return found

    def paths(self, src: int, dst: int) -> Paths:
        """The shortest paths between two different hosts."""
        found = _clearway.paths(self.scenario, src, dst)
        ends = [(self.links[port // 2], port % 2, share) for port, share in found["ports"]]
        shares = tuple((link.b, link.a, share) if back else (link.a, link.b, share) for link, back, share in ends)
        return Paths(src, dst, found["hops"], found["paths"], shares, found["one_way_s"], found["rtt_s"])


def read(scenario: _clearway.Scenario, name: str) -> Graph:
    """The network of a scenario."""
    network: dict[str, Any] = _clearway.network(scenario)
    one, other, _ = network["farthest"]
    columns = (network[key] for key in ("a", "b", "rate_bps", "delay_ps"))
    return Graph(
        name=name,
        hosts=network["hosts"],
        names=network["names"],
        tiers=network["tiers"],
        links=[Link(a, b, rate, delay / 1e12) for a, b, rate, delay in zip(*columns, strict=True)],
        host_names=network["host_names"],
        switch_names=network["switch_names"],
        oversubscription=network["oversubscription"],
        farthest=(min(one, other), max(one, other)),
        scenario=scenario,
    )
