"""ExpressPass's buffer bounds (SIGCOMM '17, sec. 3.1, eq. (1)) as columns: by port, by class of ports, and Table 1.

The Rust crate `clearway_planner` computes; its page says how each reading is meant.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, get_args

from clearway import _clearway
from clearway.plan.networks import credit_sizes, of_table

Reading = Literal["safe", "paper", "min"]
READINGS: tuple[Reading, ...] = get_args(Reading)
#: The parts of a bound, in bytes, with their words.
PARTS = {
    "credit_queue": "credit queues",
    "path": "propagation and switching",
    "host": "host delays",
    "data_queue": "data queues before",
    "frames": "frames on the wire",
    "buckets": "credit buckets",
    "control": "control packets",
    "leftover": "left over",
    "sizes": "credit sizes",
}
TIERS = {0: "host", 1: "tor", 2: "agg", 3: "core"}


@dataclass(frozen=True)
class PortBound:
    """The bounds of one port of a switch, by reading."""

    port: str
    kind: str
    rate_bps: int
    bounds: dict[Reading, dict[str, float]]

    def bytes(self, reading: Reading) -> float:
        """The bound on data that waits at the port, in bytes."""
        return self.bounds[reading]["bytes"]


@dataclass(frozen=True)
class Class:
    """Ports between the same tiers at the same rate; `worst` has the largest bound of all."""

    kind: str
    rate_bps: int
    ports: int
    worst: PortBound
    least: dict[Reading, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Plan:
    """The bounds of a network."""

    inputs: dict[str, Any]
    ports: list[PortBound]

    def classes(self, by: Reading = "safe") -> list[Class]:
        """The classes, from the hosts up."""
        groups: dict[tuple[str, int], list[PortBound]] = {}
        for port in self.ports:
            groups.setdefault((port.kind, port.rate_bps), []).append(port)
        return [
            Class(
                kind,
                rate,
                len(ports),
                max(ports, key=lambda port: port.bytes(by)),
                {reading: min(port.bytes(reading) for port in ports) for reading in READINGS},
            )
            for (kind, rate), ports in groups.items()
        ]

    def most(self, kind: str, reading: Reading) -> float:
        """The largest bound of a class of ports, in bytes."""
        return max(port.bytes(reading) for port in self.ports if port.kind == kind)


def tier(number: int) -> str:
    """The name of the nodes of a tier."""
    return TIERS.get(number, f"tier{number}")


def plan(scenario: _clearway.Scenario, **inputs: Any) -> Plan:
    """The bounds of a scenario's network; what is not given is the scenario's. With `udp` credits are datagrams.

    Raises `ScenarioError` where there is no bound.
    """
    if inputs.get("credit_sizes") is None and not inputs.get("udp"):
        inputs["credit_sizes"] = credit_sizes(scenario)
    try:
        found = _clearway.plan_buffers(scenario, **inputs)
    except ValueError as error:
        raise _clearway.ScenarioError(str(error)) from None
    rows: Iterable[tuple[Any, ...]] = zip(found["ports"], *(found[reading] for reading in READINGS), strict=True)
    ports = [
        PortBound(
            port["port"],
            f"{tier(port['tier'])}->{tier(port['to_tier'])}",
            port["rate_bps"],
            dict(zip(READINGS, bounds, strict=True)),
        )
        for port, *bounds in rows
    ]
    return Plan(found["inputs"], ports)


def path_and_hosts(scenario: _clearway.Scenario, port: str) -> float:
    """The bound of a port in bytes from path lengths and host delays alone, without any queue (Fig. 1 (c))."""
    found = next(one for one in plan(scenario).ports if one.port == port)
    return found.bounds["min"]["path"] + found.bounds["min"]["host"]


#: Pairs of link and core link in Gbps: Table 1 has the first two, Fig. 5 all.
SPEEDS = ((10, 40), (40, 100), (100, 100))
#: Networks of Table 1 by pods, ToRs and aggregation switches of a pod, and hosts of a ToR.
NETWORKS = {"32-ary fat tree": (32, 16, 16, 16, 1), "3-tier Clos": (16, 64, 8, 8, 2)}
#: Topologies with as many tiers and two of everything. Bounds depend on tiers, rates and delays and not on numbers of
#: nodes, so they are those of the networks above.
SMALL = "two of everything"
SHAPES = {**NETWORKS, SMALL: (2, 2, 2, 2, 1)}
#: Ports of Table 1 as classes of ports.
TABLE1_PORTS = {"tor_down": "tor->host", "tor_up": "tor->agg", "core": "core->agg"}


def paper_network(name: str, link_gbps: int, core_gbps: int) -> _clearway.Scenario:
    """A network of Table 1: 8,192 hosts, 5 us on links of core switches and 1 us on others."""
    pods, tors, aggs, hosts, uplinks = SHAPES[name]
    return of_table(
        {
            "kind": "clos3",
            "pods": pods,
            "tors_per_pod": tors,
            "aggs_per_pod": aggs,
            "hosts_per_tor": hosts,
            "cores": 16 if name in NETWORKS else 2,
            "uplinks_per_agg": uplinks,
            "rate": f"{link_gbps} Gbps",
            "delay": "1 us",
            "agg_rate": f"{link_gbps} Gbps",
            "agg_delay": "1 us",
            "core_rate": f"{core_gbps} Gbps",
            "core_delay": "5 us",
        },
        Path(),
    )


def paper_plan(name: str, speeds: tuple[int, int], credit_queue: int = 8, host_spread_s: float = 5.1e-6) -> Plan:
    """The bounds of a network of Table 1 with the inputs of the paper, whose hosts answer credits in order."""
    return plan(
        paper_network(name, *speeds),
        credit_queue=credit_queue,
        credit_sizes=(84, 84),
        host_delay_s=(0.0, host_spread_s),
        turns=False,
    )


def sources(speeds: tuple[int, int], credit_queue: int, host_spread_s: float) -> dict[Reading, dict[str, float]]:
    """Fig. 5: what hosts, credit queues and the rest contribute to the bound of a ToR's port to a host, in bytes.

    A contribution is what the bound loses without it: first the hosts' spread, then the credit queues too (a queue of
    one credit is the shortest there is, and counts among the rest).
    """
    whole = paper_plan(SMALL, speeds, credit_queue, host_spread_s)
    prompt = paper_plan(SMALL, speeds, credit_queue, 0.0)
    bare = paper_plan(SMALL, speeds, 1, 0.0)
    found: dict[Reading, dict[str, float]] = {}
    for reading in READINGS:
        total, without_hosts, rest = (of.most("tor->host", reading) for of in (whole, prompt, bare))
        found[reading] = {
            "total": total,
            "host": total - without_hosts,
            "credit_queue": without_hosts - rest,
            "rest": rest,
        }
    return found
