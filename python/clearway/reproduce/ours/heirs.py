"""NDP, EQDS and Ultra Ethernet beside uet-htsim, the simulator of the Ultra Ethernet consortium, on the same flows.

The authors' programs (revision 40ccb05) were run once on these workloads, at 25 seeds, and NDP's on those of the first
six kinds at five; only what they printed is kept here. Each runs here at 25 seeds under the profile `htsim`, which does
as the program does, and at five under the defaults, which follow the specification where it is known. No two simulators
draw the same random numbers, so means are compared. Senders of NDP know their paths there and in the profile `htsim`
here; by default, switches hash an entropy value.

* **single**: one flow of 1 MB between two pods, at 100 Gbps; 10 MB at 400 Gbps.
* **incast 8**, **incast 32**: so many hosts send 1 MB each to one, at 100 Gbps.
* **permutation**: each of 128 hosts sends 1 MB to another one, at 400 Gbps, over 64 entropy values.
* **all to all**: each of 16 hosts sends 1 MB to each other one, at 100 Gbps.
* **shift**: host i of 128 sends 1 MB to host i + 64, at 100 Gbps, oblivious of what its paths say.

When the constants and readings of the profile had been settled by these, it was held against more, all at 400 Gbps but
where 100 stands beside the name:

* **incast 4, 32**: 1 MB from each; **short incast**: 256 KiB from each of 32.
* **permutation 2**: other pairs, of 2 MB each. **short all to all**: 100 KB from each of 16 hosts to each other one.
* **ring**: each of 128 hosts sends 1 MB to the next one.
* **victim**: an incast of 8, and a flow to another host at the same switch.
* **leaf-spine 4:1**: a permutation of 32 hosts, 1 MB each, whose switches have a quarter of the links upwards.
* **slow link**: permutation 2, with one link from the core down at a quarter of its rate, under REPS and under the
  mixture.
* **SLEEK**: incasts of 8 and 32 without trimming.

They found four faults, which were mended before this page was written; the list of changes names them.

The programs were then built again, and held against the profile in cases that were drawn at random: the five transports
on trees and leaf-spines of 16 to 432 hosts at 25 to 800 Gbps, oversubscribed up to four to one, with links of 0.3 to
2 us and frames of 1500 to 9000 bytes; single flows, incasts, permutations, rings, shifts, flows to and from one host,
between one pair, in both directions, from all to all, and many at random times, of one byte to 3 MB each; with the
programs' options of paths, queues, marks, windows, acknowledgements, slow links and SLEEK. What differed was followed
to its cause in the source of the program, and mended. The table of drawn cases is of others, which nobody had seen.
`htsim_ndp` and `htsim_eqds` had two lines changed there, by which they read the sizes of queues beside a tree file, and
begin with an average of marks that is set.

All networks but
the leaf-spine are fat trees of three tiers, with links of 1 us. A frame is 4150 bytes on the wire, of which 64 are
headers, and an acknowledgement 64. A flow is complete when its sender knows that all has arrived.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl
from matplotlib.figure import Figure as Picture

from clearway import metrics
from clearway.reproduce import stats
from clearway.reproduce.figure import Figure, Job, Tables
from clearway.reproduce.look import Look, grid
from clearway.result import Run

#: The seeds of each reading.
SEEDS = {"htsim": tuple(range(1, 26)), "default": stats.SEEDS, "hashed": tuple(range(1, 26)), "64 values": stats.SEEDS}
TRANSPORTS = ("uec-nscc", "uec-rccc", "uec", "eqds", "ndp")
READINGS = ("htsim", "default")
#: Readings of NDP's permutation, each with one thing changed from `htsim`: `hashed` has switches that hash an entropy
#: value, and `64 values` four times as many values as there are paths.
BETWEEN = ("hashed", "64 values")

#: The host to which each of 128 hosts sends in the permutation.
PERMUTATION = (
    127, 43, 66, 85, 15, 55, 99, 125, 118, 95, 77, 123, 19, 116, 17, 36, 5, 18, 30, 101, 107, 110, 40, 56, 92, 114,
    80, 73, 117, 84, 124, 75, 54, 47, 94, 51, 105, 33, 48, 71, 59, 113, 28, 89, 88, 90, 119, 49, 65, 91, 27, 38, 13,
    97, 122, 87, 6, 16, 12, 50, 26, 126, 24, 39, 102, 82, 60, 63, 41, 115, 106, 83, 103, 67, 93, 20, 21, 8, 37, 112,
    96, 108, 14, 34, 31, 35, 1, 57, 2, 10, 9, 86, 4, 32, 98, 11, 23, 74, 120, 22, 81, 29, 3, 76, 58, 42, 78, 100,
    79, 69, 68, 0, 44, 53, 45, 104, 62, 52, 64, 25, 70, 72, 46, 111, 61, 7, 121, 109,
)  # fmt: skip
#: The hosts to which hosts send in the second permutation, and in the one over the leaf-spine.
SECOND = (
    12, 3, 28, 29, 1, 43, 111, 109, 59, 54, 91, 107, 101, 50, 38, 112, 121, 41, 56, 125, 14, 104, 45, 106, 8, 124,
    36, 15, 0, 27, 33, 103, 127, 73, 84, 49, 48, 46, 98, 77, 2, 64, 126, 90, 23, 78, 65, 97, 17, 75, 5, 79, 71, 31,
    67, 123, 34, 82, 24, 99, 9, 57, 25, 60, 74, 35, 110, 120, 62, 85, 66, 95, 96, 93, 37, 100, 108, 114, 47, 55, 21,
    13, 52, 115, 86, 72, 16, 26, 42, 63, 117, 81, 7, 18, 53, 83, 58, 32, 44, 105, 94, 30, 4, 51, 68, 76, 116, 6, 113,
    20, 61, 119, 88, 92, 19, 80, 10, 102, 22, 122, 40, 87, 39, 11, 69, 89, 118, 70,
)  # fmt: skip
OVER_LEAVES = (
    29, 14, 28, 20, 17, 4, 8, 0, 10, 6, 15, 26, 25, 9, 13, 30, 21, 31, 24, 18, 23, 11, 1, 16, 19, 5, 7, 12, 22, 27,
    3, 2,
)  # fmt: skip


@dataclass(frozen=True)
class Workload:
    """A set of flows that start together."""

    #: The size of the tree: k^3/4 hosts.
    k: int
    gbps: int
    size: str
    #: The pairs of hosts, sender first.
    pairs: tuple[tuple[int, int], ...]
    #: The way in which senders choose entropy values, if not by default.
    policy: str | None = None
    #: Other settings of the transport, and tables of the scenario in place of those that all have.
    transport: Mapping[str, Any] = field(default_factory=dict)
    tables: Mapping[str, Any] = field(default_factory=dict)


def incast(senders: int) -> tuple[tuple[int, int], ...]:
    """Every third host sends to the first one."""
    return tuple((20 + 3 * n, 0) for n in range(senders))


LEAF_SPINE = {
    "kind": "leaf-spine",
    "leaves": 4,
    "spines": 2,
    "hosts_per_leaf": 8,
    "rate": "100 Gbps",
    "uplink_rate": "100 Gbps",
    "uplink_delay": "1 us",
    "delay": "1 us",
}
SLOW = {
    "link": ["agg0", "core0"],
    "direction": "backward",
    "down": "0 s",
    "rate": "100 Gbps",
    "queues": "scaled",
}
SLEEK = {"sleek": True, "trimming": False}

WORKLOADS = {
    "single, 1 MB": Workload(8, 100, "1 MB", ((0, 127),)),
    "single, 10 MB": Workload(8, 400, "10 MB", ((0, 127),)),
    "incast 8": Workload(8, 100, "1 MB", tuple((4 * i + 3, 0) for i in range(8))),
    "incast 32": Workload(8, 100, "1 MB", tuple((3 * i + 4, 0) for i in range(32))),
    "permutation": Workload(8, 400, "1 MB", tuple(enumerate(PERMUTATION))),
    "all to all": Workload(4, 100, "1 MB", tuple((i, (i + d) % 16) for i in range(16) for d in range(1, 16))),
    "shift": Workload(8, 100, "1 MB", tuple((i, (i + 64) % 128) for i in range(128)), "oblivious"),
    "incast 4, 400": Workload(8, 400, "1 MB", incast(4)),
    "incast 32, 400": Workload(8, 400, "1 MB", incast(32)),
    "short incast": Workload(8, 400, "262144 B", incast(32)),
    "permutation 2": Workload(8, 400, "2 MB", tuple(enumerate(SECOND))),
    "short all to all": Workload(4, 400, "100 KB", tuple((i, (i + d) % 16) for i in range(16) for d in range(1, 16))),
    "ring": Workload(8, 400, "1 MB", tuple((i, (i + 1) % 128) for i in range(128))),
    "victim": Workload(8, 400, "1 MB", (*incast(8), (100, 1))),
    "leaf-spine 4:1, 100": Workload(8, 100, "1 MB", tuple(enumerate(OVER_LEAVES)), tables={"topology": LEAF_SPINE}),
    "slow link, REPS": Workload(8, 400, "2 MB", tuple(enumerate(SECOND)), "reps", tables={"fault": [SLOW]}),
    "slow link, mixed": Workload(8, 400, "2 MB", tuple(enumerate(SECOND)), "mixed", tables={"fault": [SLOW]}),
    "SLEEK 8, 100": Workload(8, 100, "1 MB", incast(8), transport=SLEEK),
    "SLEEK 32": Workload(8, 400, "1 MB", incast(32), transport=SLEEK),
}


@dataclass(frozen=True)
class Golden:
    """The output of the authors' program: mean and maximum in microseconds, each with its standard deviation over
    seeds, and the packets that were sent again, if they were counted.
    """

    mean: float
    mean_deviation: float
    maximum: float
    maximum_deviation: float
    again: float | None = None


def alone(us: float) -> Golden:
    """The output for one flow, in which nothing is drawn."""
    return Golden(us, 0, us, 0, 0)


#: The output of the authors' programs, by workload and transport.
GOLDEN: dict[tuple[str, str], Golden] = {
    ("single, 1 MB", "uec-nscc"): alone(94.945),
    ("single, 1 MB", "uec-rccc"): alone(95.101),
    ("single, 1 MB", "uec"): alone(95.101),
    ("single, 1 MB", "eqds"): alone(95.453),
    ("single, 1 MB", "ndp"): alone(95.451),
    ("single, 10 MB", "uec-nscc"): alone(215.556),
    ("single, 10 MB", "uec-rccc"): alone(217.409),
    ("single, 10 MB", "uec"): alone(217.409),
    ("single, 10 MB", "eqds"): alone(218.297),
    ("single, 10 MB", "ndp"): alone(217.503),
    ("incast 8", "uec-nscc"): Golden(584.5, 14.3, 671.5, 8.1, 338),
    ("incast 8", "uec-rccc"): Golden(651.5, 1.6, 659.6, 0, 238),
    ("incast 8", "uec"): Golden(651.5, 1.6, 659.6, 0, 238),
    ("incast 8", "eqds"): Golden(648.2, 0.6, 657.6, 0, 234),
    ("incast 8", "ndp"): Golden(651.724, 0.9, 663.912, 2, 275),
    ("incast 32", "uec-nscc"): Golden(2380, 26, 2640, 9, 2073),
    ("incast 32", "uec-rccc"): Golden(2615, 2.3, 2636, 0.7, 1551),
    ("incast 32", "uec"): Golden(2615, 2.3, 2636, 0.7, 1551),
    ("incast 32", "eqds"): Golden(2612, 1.7, 2639, 0.3, 1538),
    ("incast 32", "ndp"): Golden(2615.133, 1.5, 2642.140, 2, 1316),
    ("permutation", "uec-nscc"): Golden(35.95, 0.19, 39.25, 0.76),
    ("permutation", "uec-rccc"): Golden(36.06, 0.19, 39.47, 0.78),
    ("permutation", "uec"): Golden(36.06, 0.19, 39.47, 0.78),
    ("permutation", "eqds"): Golden(36.37, 0.20, 39.90, 0.88),
    ("permutation", "ndp"): Golden(34.261, 0.05, 35.032, 0.05),
    ("all to all", "uec-nscc"): Golden(1239.9, 1.7, 1254, 23),
    ("all to all", "uec-rccc"): Golden(1225.5, 2.7, 1284, 4),
    ("all to all", "eqds"): Golden(1257.4, 0.5, 1267, 1.5),
    ("all to all", "ndp"): Golden(1260.99, 0.1, 1265.29, 0.1),
    ("shift", "uec-nscc"): Golden(111.0, 0.6, 120.7, 1.9),
    ("shift", "uec-rccc"): Golden(111.3, 0.7, 119.2, 1.8),
    ("incast 4, 400", "uec-nscc"): Golden(92.387, 0.5859, 97.188, 2.9661, 609.48),
    ("incast 4, 400", "uec-rccc"): Golden(93.107, 0.389, 94.086, 0.0022, 319.52),
    ("incast 4, 400", "uec"): Golden(93.107, 0.389, 94.086, 0.0022, 319.52),
    ("incast 4, 400", "eqds"): Golden(93.757, 0.0856, 94.082, 0.0021, 316.52),
    ("incast 4, 400", "ndp"): Golden(93.478, 0.2824, 94.162, 0, 312),
    ("incast 32, 400", "uec-nscc"): Golden(586.7, 9.0722, 683.85, 5.8494, 7183.9),
    ("incast 32, 400", "uec-rccc"): Golden(663.31, 0.7835, 669.21, 0.0424, 5248.5),
    ("incast 32, 400", "uec"): Golden(662.12, 0.8052, 669.2, 0.043, 5248.3),
    ("incast 32, 400", "eqds"): Golden(649.06, 1.5566, 671.43, 0.3092, 5268.6),
    ("incast 32, 400", "ndp"): Golden(664.21, 0.4431, 676.2, 2.293, 4602),
    ("short incast", "uec-nscc"): Golden(171.1, 1.8907, 198.45, 4.6109, 3708.2),
    ("short incast", "uec-rccc"): Golden(172.93, 2.1047, 185.05, 0.0066, 1717),
    ("short incast", "uec"): Golden(176.73, 0.93, 187.53, 2.0089, 1717),
    ("short incast", "eqds"): Golden(181.51, 0.4719, 186.44, 1.6089, 1748.8),
    ("short incast", "ndp"): Golden(183.07, 0.3447, 188.7, 1.8065, 1809),
    ("permutation 2", "uec-nscc"): Golden(58.137, 0.3714, 63.406, 1.0742, 0),
    ("permutation 2", "uec-rccc"): Golden(58.197, 0.3521, 62.977, 0.9491, 0),
    ("permutation 2", "uec"): Golden(58.197, 0.3521, 62.975, 0.9491, 0),
    ("permutation 2", "eqds"): Golden(59.787, 0.5802, 66.54, 1.5201, 4.4),
    ("permutation 2", "ndp"): Golden(55.52, 0.0136, 56.799, 0.0794, 0),
    ("short all to all", "uec-nscc"): Golden(42.128, 0.0551, 44.131, 0.1957, 0),
    ("short all to all", "uec-rccc"): Golden(49.127, 0.1327, 61.42, 0.882, 0),
    ("short all to all", "uec"): Golden(49.127, 0.1327, 61.42, 0.882, 0),
    ("short all to all", "ndp"): Golden(42.9, 0.0311, 44.99, 0.113, 0),
    ("ring", "uec-nscc"): Golden(25.781, 0, 32.807, 0, 0),
    ("ring", "uec-rccc"): Golden(25.892, 0.0016, 32.958, 0.0389, 0),
    ("ring", "uec"): Golden(25.892, 0.0016, 32.958, 0.0389, 0),
    ("ring", "eqds"): Golden(26.101, 0.0012, 33.25, 0.0376, 0),
    ("ring", "ndp"): Golden(26.084, 0.0009, 33.118, 0.0238, 0),
    ("victim", "uec-nscc"): Golden(156.69, 1.8174, 189.36, 3.9863, 1561),
    ("victim", "uec-rccc"): Golden(158.52, 0.849, 176.16, 0.0093, 978.6),
    ("victim", "uec"): Golden(158.5, 0.867, 176.16, 0.0093, 978.6),
    ("victim", "eqds"): Golden(160.3, 0.3498, 176.16, 0.0088, 982.8),
    ("victim", "ndp"): Golden(160.06, 0.4883, 176.29, 0.0446, 942),
    ("leaf-spine 4:1, 100", "uec-nscc"): Golden(189.69, 1.5821, 361.83, 12.306, 544.72),
    ("leaf-spine 4:1, 100", "uec-rccc"): Golden(223.05, 1.0099, 368.82, 6.1018, 1217.8),
    ("leaf-spine 4:1, 100", "uec"): Golden(192.06, 1.3789, 367.6, 12.698, 540.64),
    ("slow link, REPS", "uec-nscc"): Golden(59.653, 0.2869, 69.877, 1.5071, 206.4),
    ("slow link, REPS", "uec-rccc"): Golden(59.806, 0.3, 70.383, 1.2933, 198.44),
    ("slow link, mixed", "uec-nscc"): Golden(58.261, 0.3482, 63.713, 1.2379, 84.96),
    ("slow link, mixed", "uec-rccc"): Golden(58.364, 0.3103, 63.49, 1.3082, 82.44),
    ("SLEEK 8, 100", "uec-nscc"): Golden(610.01, 10.577, 682.06, 8.5709, 248),
    ("SLEEK 32", "uec-nscc"): Golden(626.49, 10.355, 685.52, 10.997, 5803.9),
}


@dataclass(frozen=True)
class Drawn:
    """The outcome of drawn cases: how many there were, in how many the program left flows that never end, and in how
    many of the others the profile agreed, before what was found in earlier ones was mended and after.
    """

    cases: int
    stuck: int
    before: int
    after: int


#: The drawn cases of each transport, and others that were drawn of one kind. Those agree of which no mean is off by
#: more than 5 % (incasts 2 %, single flows 0.01 %), and no maximum by more than 10 % (2 %, 0.01 %), and two standard
#: errors over six to 24 seeds of each.
DRAWN_ON = "2026-11-29"
DRAWN = {
    "uec-nscc": Drawn(113, 0, 113, 113),
    "uec-rccc": Drawn(112, 0, 112, 112),
    "uec": Drawn(65, 0, 65, 65),
    "eqds": Drawn(50, 8, 34, 42),
    "ndp": Drawn(60, 0, 53, 60),
    "SLEEK": Drawn(40, 0, 40, 39),
    "Ultra Ethernet, a slow link": Drawn(20, 0, 20, 20),
    "all, incasts at 400 Gbps": Drawn(40, 0, 38, 40),
}

#: The workloads in which many packets are sent again.
SENT_AGAIN = (
    "incast 8",
    "incast 32",
    "incast 4, 400",
    "incast 32, 400",
    "short incast",
    "victim",
    "leaf-spine 4:1, 100",
)


def jobs(_: str) -> list[Job]:
    """Every workload under every transport, in both readings, at every seed."""
    return [
        job(workload, transport, reading, seed)
        for workload, transport in GOLDEN
        for reading in (*READINGS, *(BETWEEN if (workload, transport) == ("permutation", "ndp") else ()))
        for seed in (SEEDS[reading][:1] if workload.startswith("single") else SEEDS[reading])
    ]


def job(workload: str, name: str, reading: str, seed: int) -> Job:
    """The job of one run."""
    of = WORKLOADS[workload]
    transport: dict[str, Any] = {"name": name}
    network: dict[str, Any] = {"payload": "4086 B", "overhead": "64 B", "wire_min": "64 B"}
    if reading != "default":
        transport["profile"] = "htsim"
        if name == "ndp":
            # Its first window is an option of the program, and was that of the network. It knows all paths.
            transport |= {"window": {100: 43, 400: 151}[of.gbps], "path_values": (of.k // 2) ** 2}
            network["routing"] = "source"
    if reading == "hashed":
        network["routing"] = "entropy"
    if reading == "64 values":
        transport["path_values"] = 64
    if of.policy is not None and name.startswith("uec"):
        transport["entropy"] = of.policy
    transport |= of.transport
    flows = [{"src": f"h{src}", "dst": f"h{dst}", "size": of.size} for src, dst in of.pairs]
    body = {
        "name": "heirs",
        "seed": seed,
        "stop": "20 ms",
        "network": network,
        "topology": {"kind": "fat-tree", "k": of.k, "rate": f"{of.gbps} Gbps", "delay": "1 us"},
        "transport": transport,
        "traffic": [{"name": "flows", "kind": "flows", "list": flows}],
        **of.tables,
    }
    return Job({"workload": workload, "transport": name, "reading": reading, "seed": seed}, body)


def measure(_: Job, run: Run) -> Tables:
    """Completion times as the senders see them, and the packets that were sent again."""
    acked = 1e6 * run.flows["acked_s"].to_numpy()
    row = {
        "mean": float(np.mean(acked)),
        "maximum": float(np.max(acked)),
        "again": float(run.flows["retransmits"].sum()),
        "queue_KB": float(metrics.switch_ports(run.ports)["queue_max_bytes"].max()) / 1e3,  # type: ignore[arg-type]
    }
    return {"rows": pl.DataFrame([row])}


def agrees(golden: float, deviation: float, drawn: list[float]) -> bool:
    """True if a mean over seeds differs from the authors' by at most 1 % and 0.85 standard deviations, which is three
    standard errors of a difference of two means over 25 seeds; by 0.01 % where nothing is drawn.
    """
    if len(drawn) == 1:
        return abs(drawn[0] / golden - 1) <= 1e-4
    spread = max(deviation, float(np.std(drawn, ddof=1)))
    return abs(float(np.mean(drawn)) - golden) <= 0.01 * golden + 0.85 * spread


def summarise(tables: Tables) -> Tables:
    """Means over the seeds beside what the authors' programs printed."""
    rows = []
    for (workload, transport), golden in GOLDEN.items():
        row: dict[str, object] = {"workload": workload, "transport": transport}
        for value, printed, deviation in (
            ("mean", golden.mean, golden.mean_deviation),
            ("maximum", golden.maximum, golden.maximum_deviation),
        ):
            drawn = stats.per_seed(tables["rows"], value, workload=workload, transport=transport, reading="htsim")
            row[f"{value}:_uet-htsim_us"] = f"{printed:.5g}"
            row["htsim_us" if value == "mean" else "max_htsim_us"] = stats.estimate(drawn).text(".5g")
            row["agrees" if value == "mean" else "max_agrees"] = (
                "yes" if agrees(printed, deviation, drawn) else f"{100 * (np.mean(drawn) / printed - 1):+.1f} %"
            )
            other = stats.over_seeds(tables["rows"], value, workload=workload, transport=transport, reading="default")
            row["default_us" if value == "mean" else "max_default_us"] = other.text(".5g")
        again = [
            stats.over_seeds(tables["rows"], "again", workload=workload, transport=transport, reading=reading).mean
            for reading in READINGS
        ]
        row["sent_again:_uet-htsim,_htsim,_default"] = (
            f"{'?' if golden.again is None else round(golden.again)}, {again[0]:.0f}, {again[1]:.0f}"
        )
        rows.append(row)
    of_drawn = [
        {
            "transport": transport,
            "cases": of.cases,
            "the_program_stalls": of.stuck,
            "agreed_before": of.before,
            "agree": of.after,
            "differ": of.cases - of.stuck - of.after,
        }
        for transport, of in DRAWN.items()
    ]
    return {**tables, "shown": pl.DataFrame(rows), "drawn": pl.DataFrame(of_drawn)}


def facts(tables: Tables) -> dict[str, object]:
    """The numbers that the prose names."""
    shown = tables["shown"]
    judged = shown["agrees"].to_list() + shown["max_agrees"].to_list()

    def longer(reading: str, value: str) -> float:
        """By how many percent a value of NDP's permutation in a reading is above the program's."""
        of = stats.over_seeds(tables["rows"], value, workload="permutation", transport="ndp", reading=reading)
        return float(100 * (of.mean / getattr(GOLDEN["permutation", "ndp"], value) - 1))

    short = stats.over_seeds(
        tables["rows"], "mean", workload="short all to all", transport="uec-rccc", reading="default"
    )
    nscc = stats.over_seeds(tables["rows"], "mean", workload="incast 8", transport="uec-nscc", reading="htsim")
    return {
        "drawn_judged": sum(of.cases - of.stuck for of in DRAWN.values()),
        "drawn_before": sum(of.before for of in DRAWN.values()),
        "drawn_agree": sum(of.after for of in DRAWN.values()),
        "drawn_stuck": sum(of.stuck for of in DRAWN.values()),
        "agree": judged.count("yes"),
        "judged": len(judged),
        "ndp_hashed": longer("hashed", "mean"),
        "ndp_hashed_maximum": longer("hashed", "maximum"),
        "ndp_values": longer("64 values", "mean"),
        "again_off": 100 * max(again_off(tables, *of) for of in GOLDEN if of[0] in SENT_AGAIN),
        "short_credits": 100 * (1 - short.mean / GOLDEN["short all to all", "uec-rccc"].mean),
        "nscc_incast": 100 * (nscc.mean / GOLDEN["incast 8", "uec-nscc"].mean - 1),
    }


def again_off(tables: Tables, workload: str, transport: str) -> float:
    """By which share the packets that are sent again differ from the program's."""
    golden = GOLDEN[workload, transport].again
    assert golden
    of = stats.over_seeds(tables["rows"], "again", workload=workload, transport=transport, reading="htsim")
    return abs(of.mean / golden - 1)


def draw(tables: Tables, look: Look) -> dict[str, Picture]:
    """The ratio of means and maxima here to those that the authors' programs printed."""
    picture, axes = grid(2, 1, width=8.6, height=5.6, sharex=True, sharey=True)
    names = [workload for workload in WORKLOADS if not workload.startswith("single")]
    for place, value in zip(axes, ("mean", "maximum"), strict=True):
        for number, transport in enumerate(TRANSPORTS):
            ratios = []
            for workload in names:
                golden = GOLDEN.get((workload, transport))
                if golden is None:
                    ratios.append(math.nan)
                    continue
                found = stats.over_seeds(tables["rows"], value, workload=workload, transport=transport, reading="htsim")
                ratios.append(found.mean / getattr(golden, value))
            spots = [spot + 0.12 * (number - 2) for spot in range(len(names))]
            place.plot(spots, ratios, "o", color=look.color(number), label=transport, markersize=4)
        place.axhline(1, color="0.5", linewidth=0.8)
        place.set(title=f"{value} completion time")
        place.set_ylabel("here over uet-htsim")
    axes[1].set_xticks(range(len(names)), names, rotation=40, ha="right")
    axes[0].legend(frameon=False, fontsize=8, ncols=len(TRANSPORTS), loc="upper right")
    return {"ratio": picture}


FIGURE = Figure(
    name="ours/heirs",
    title="NDP, EQDS and Ultra Ethernet beside their authors' simulators",
    doc=__doc__ or "",
    jobs=jobs,
    measure=measure,
    summarise=summarise,
    check=lambda _: [],
    facts=facts,
    draw=draw,
    shown={
        "shown": "Completion times in us with 95 % intervals, over 25 seeds in the profile `htsim` and over five by "
        "default, beside what uet-htsim printed. *agrees*: within 1 % and three standard errors of a difference, and "
        "0.01 % for single flows.",
        "drawn": f"Drawn cases, run on {DRAWN_ON} with six to 24 seeds of each program. *agree*: no mean is off by "
        "more than 5 % (incasts 2 %, single flows 0.01 %) and no maximum by more than 10 % (2 %, 0.01 %), beside two "
        "standard errors of the difference. In some cases of EQDS the program leaves flows that never end (EQDS-15), "
        "which are not judged.",
    },
    captions={"ratio": "Mean and maximum completion times in the profile `htsim` over those that uet-htsim printed"},
)
