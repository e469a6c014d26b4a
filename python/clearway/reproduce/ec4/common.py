"""What the figures of the paper share: its dumbbell, transports and their readings, colours."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from clearway.reproduce.figure import Tables

EC4: dict[str, Any] = {"name": "ec4"}
DCTCP: dict[str, Any] = {"name": "dctcp", "g": 0.0625}
EXPRESSPASS: dict[str, Any] = {"name": "expresspass"}
NS2: dict[str, Any] = {"name": "expresspass", "profile": "ns2"}

#: What shares a queue with DCTCP.
MIXED: dict[str, dict[str, Any]] = {"ec4": EC4, "expresspass": EXPRESSPASS, "expresspass, ns2": NS2}

#: Readings of EC4 that take out one thing or several.
NO_HIGH: dict[str, Any] = {"mode_threshold": 1_000_000}
READINGS: dict[str, dict[str, Any]] = {
    "ec4": EC4,
    "no HIGH mode": {**EC4, **NO_HIGH},
    "no alpha in increases": {**EC4, "ecn_increase": "target"},
    "neither": {**EC4, **NO_HIGH, "ecn_increase": "target"},
    "period of 60 us": {**EC4, "update_period": "60 us"},
    "period of 30 us": {**EC4, "update_period": "30 us"},
    "alpha is the last share": {**EC4, **NO_HIGH, "ecn_increase": "target", "g": 1.0},
    "omega of its own in HIGH": {**EC4, "omega_in_high": "own"},
    "credit block always": {**EC4, "credit_block": "always"},
    "from 1/16 of the rate": {**EC4, "initial_rate": 0.0625},
}

COLORS = {"ec4": 0, "dctcp": 1, "expresspass": 3, "expresspass, ns2": 6}

#: K and the buffer of a port: 100 and 250 full frames (EC4-7, EC4-8).
SWITCH: dict[str, Any] = {"marking": "100 packets", "buffer": "384.5 KB"}

FLOWS = (2, 4, 8, 16, 32, 64, 128, 256)

ABOUT = """\
Shared by the figures of sec. II and IV-A: the dumbbell of Fig. 2 (a), all links 10 Gbps and 5 us; K = 100 frames; 250
frames of buffer; half of the flows DCTCP with g = 1/16, ten segments to start with, at least two, and a least timeout
of 10 ms. Credits have random sizes (76 to 92 B). **expresspass** is the default of
[its paper](../protocols/expresspass.md), **expresspass, ns2** its authors' code. [EC4's page](../protocols/ec4.md) has
the readings of its law.
"""


def dumbbell(pairs: int) -> dict[str, Any]:
    """Fig. 2 (a)."""
    link = {"rate": "10 Gbps", "delay": "5 us"}
    return {"kind": "dumbbell", "pairs": pairs, **link, "bottleneck_rate": "10 Gbps", "bottleneck_delay": "5 us"}


def half(name: str, transport: Mapping[str, Any], *, second: bool = False, **keys: Any) -> dict[str, Any]:
    """Long flows between the first half of the pairs or the second."""
    pairs = {"share": 0.5, "from": 0.5 if second else 0.0}
    traffic = {"name": name, "kind": "long", "transport": dict(transport), "pairs": pairs, "stagger": "7 us"}
    return {**traffic, **keys}


def throughput(*names: str, every: str) -> list[dict[str, Any]]:
    """Samples of what is delivered to each flow of these parts."""
    return [{"name": name, "what": "throughput", "traffic": name, "every": every} for name in names]


def column(tables: Tables, name: str, **where: Any) -> list[float]:
    """A column of `rows` where other columns have these values."""
    part = tables["rows"]
    for key, value in where.items():
        part = part.filter(part[key] == value)
    return [float(value) for value in part[name]]


def span(values: list[float], digits: int = 2) -> str:
    """`1.33 to 2.50`."""
    return f"{min(values):.{digits}f} to {max(values):.{digits}f}"
