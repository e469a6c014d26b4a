"""The common ground of the paper's figures: dumbbell, transports and their readings, estimates over seeds, colours."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from clearway.report.style import own
from clearway.reproduce import stats
from clearway.reproduce.figure import Tables
from clearway.reproduce.stats import Estimate

EC4: dict[str, Any] = {"name": "ec4"}
DCTCP: dict[str, Any] = {"name": "dctcp", "g": 0.0625}
#: DCTCP of INET, the library on which the paper ran (DCTCP-4).
INET: dict[str, Any] = {**DCTCP, "profile": "inet"}
EXPRESSPASS: dict[str, Any] = {"name": "expresspass"}
NS2: dict[str, Any] = {"name": "expresspass", "profile": "ns2"}

#: Transports that share a queue with DCTCP.
MIXED: dict[str, dict[str, Any]] = {"ec4": EC4, "expresspass": EXPRESSPASS, "expresspass, ns2": NS2}

#: Algorithm 1 of EC4 to the letter.
PRINTED: dict[str, Any] = {**EC4, "profile": "printed"}
NO_HIGH: dict[str, Any] = {"mode_threshold": 1_000_000}
#: The default with one thing changed, and Algorithm 1 to the letter.
READINGS: dict[str, dict[str, Any]] = {
    "ec4": EC4,
    "printed": PRINTED,
    "marks speed the increase (EC4-4)": {**EC4, "ecn_increase": "alpha"},
    "marked periods increase too (EC4-17)": {**EC4, "credit_increase": "always"},
    "no HIGH mode": {**EC4, **NO_HIGH},
    "credit block after HIGH mode (EC4-1)": {**EC4, "credit_block": "always"},
    "omega of its own in HIGH mode (EC4-2)": {**EC4, "omega_in_high": "own"},
    "from 1/16 of the rate (EC4-5)": {**EC4, "initial_rate": 0.0625},
    "credits of one size": {**EC4, "randomize_size": False},
}

COLORS = {**own("ec4", "dctcp", "expresspass"), "expresspass, ns2": 6}

#: K and the buffer of a port: 100 and 250 full frames (EC4-7, EC4-8).
SWITCH: dict[str, Any] = {"marking": "100 packets", "buffer": "384.5 KB"}
#: The K that eq. (1) asks for at 10 Gbps is 20 packets; 25 frames are another reading of K.
SMALL_K: dict[str, Any] = {**SWITCH, "marking": "25 packets"}
#: The K with which Fig. 5 comes out as the paper has it: between 30 and 40 frames, found by trying 25 to 50.
FAIR_K: dict[str, Any] = {**SWITCH, "marking": "35 packets"}
#: K of `SWITCH` in bytes.
K_BYTES = 100 * 1538.0

FLOWS = (2, 4, 8, 16, 32, 64, 128, 256)

ABOUT = """\
Shared by the figures of sec. II and IV-A: the dumbbell of Fig. 2 (a), all links 10 Gbps and 5 us; K = 100 frames; 250
frames of buffer; half of the flows DCTCP with g = 1/16, ten segments to start with, at least two, and a least timeout
of 10 ms. Connections are open already. **expresspass** is our default reading of [its
paper](../protocols/expresspass.md), **expresspass, ns2** its authors' code. [EC4's page](../protocols/ec4.md) has the
readings of its law.
"""


def dumbbell(pairs: int) -> dict[str, Any]:
    """The dumbbell of Fig. 2 (a)."""
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


def of_seeds(tables: Tables, name: str, **where: object) -> list[float]:
    """A measure by seed, where other columns have these values."""
    part = tables["rows"]
    for key, value in where.items():
        part = part.filter(pl.col(key) == value)
    return [float(value) for value in part.sort("seed")[name]]


def mean(tables: Tables, name: str, **where: object) -> Estimate:
    """The mean of a measure over seeds."""
    return stats.estimate(of_seeds(tables, name, **where))


def ratio(tables: Tables, name: str, ours: Mapping[str, object], theirs: Mapping[str, object]) -> Estimate:
    """A measure over another's, paired by seed."""
    return stats.paired_ratio(of_seeds(tables, name, **ours), of_seeds(tables, name, **theirs))


def means(table: pl.DataFrame, keys: Sequence[str], columns: Mapping[str, pl.Expr]) -> pl.DataFrame:
    """Means over seeds, for reading."""
    return table.group_by(list(keys), maintain_order=True).agg(
        *(expression.mean().alias(name) for name, expression in columns.items())
    )


def span(values: Sequence[Estimate | float], digits: int = 2) -> str:
    """The least and the greatest mean as text, such as `1.33 to 2.50`."""
    plain = [value.mean if isinstance(value, Estimate) else value for value in values]
    return f"{min(plain):.{digits}f} to {max(plain):.{digits}f}"
