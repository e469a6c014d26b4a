"""NDP, EQDS and Ultra Ethernet beside uet-htsim, the simulator of the Ultra Ethernet consortium, on the same flows.

The authors' programs (revision 40ccb05) were run once on these workloads, those of EQDS and Ultra Ethernet at 25 seeds
and that of NDP at five; only what they printed is kept here. Each runs here at 25 seeds under the profile `htsim`,
which does as the program does, and at five under the defaults, which follow the specification where it is known. No two
simulators draw the same random numbers, so means are compared. Senders of NDP know their paths there and in the profile
`htsim` here; by default, switches hash an entropy value.

* **single**: one flow of 1 MB between two pods, at 100 Gbps; 10 MB at 400 Gbps.
* **incast 8**, **incast 32**: so many hosts send 1 MB each to one, at 100 Gbps.
* **permutation**: each of 128 hosts sends 1 MB to another one, at 400 Gbps, over 64 entropy values.
* **all to all**: each of 16 hosts sends 1 MB to each other one, at 100 Gbps.
* **shift**: host i of 128 sends 1 MB to host i + 64, at 100 Gbps, oblivious of what its paths say.

The networks are fat trees of three tiers with links of 1 us. A frame is 4150 bytes on the wire, of which 64 are
headers, and an acknowledgement 64. A flow is complete when its sender knows that all has arrived.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
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


WORKLOADS = {
    "single, 1 MB": Workload(8, 100, "1 MB", ((0, 127),)),
    "single, 10 MB": Workload(8, 400, "10 MB", ((0, 127),)),
    "incast 8": Workload(8, 100, "1 MB", tuple((4 * i + 3, 0) for i in range(8))),
    "incast 32": Workload(8, 100, "1 MB", tuple((3 * i + 4, 0) for i in range(32))),
    "permutation": Workload(8, 400, "1 MB", tuple(enumerate(PERMUTATION))),
    "all to all": Workload(4, 100, "1 MB", tuple((i, (i + d) % 16) for i in range(16) for d in range(1, 16))),
    "shift": Workload(8, 100, "1 MB", tuple((i, (i + 64) % 128) for i in range(128)), "oblivious"),
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
}


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
    flows = [{"src": f"h{src}", "dst": f"h{dst}", "size": of.size} for src, dst in of.pairs]
    body = {
        "name": "heirs",
        "seed": seed,
        "stop": "20 ms",
        "network": network,
        "topology": {"kind": "fat-tree", "k": of.k, "rate": f"{of.gbps} Gbps", "delay": "1 us"},
        "transport": transport,
        "traffic": [{"name": "flows", "kind": "flows", "list": flows}],
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
    return {**tables, "shown": pl.DataFrame(rows)}


def facts(tables: Tables) -> dict[str, object]:
    """The numbers that the prose names."""
    shown = tables["shown"]
    judged = shown["agrees"].to_list() + shown["max_agrees"].to_list()

    def longer(reading: str, value: str) -> float:
        """By how many percent a value of NDP's permutation in a reading is above the program's."""
        of = stats.over_seeds(tables["rows"], value, workload="permutation", transport="ndp", reading=reading)
        return float(100 * (of.mean / getattr(GOLDEN["permutation", "ndp"], value) - 1))

    nscc = stats.over_seeds(tables["rows"], "mean", workload="incast 8", transport="uec-nscc", reading="htsim")
    return {
        "agree": judged.count("yes"),
        "judged": len(judged),
        "ndp_hashed": longer("hashed", "mean"),
        "ndp_hashed_maximum": longer("hashed", "maximum"),
        "ndp_values": longer("64 values", "mean"),
        "nscc_incast": 100 * (nscc.mean / GOLDEN["incast 8", "uec-nscc"].mean - 1),
    }


def draw(tables: Tables, look: Look) -> dict[str, Picture]:
    """The ratio of means and maxima here to those that the authors' programs printed."""
    picture, axes = grid(1, 2, width=8.6, height=2.9, sharey=True)
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
        place.set_xticks(range(len(names)), names, rotation=20)
        place.set(title=f"{value} completion time")
    axes[0].set_ylabel("here over uet-htsim")
    axes[1].legend(frameon=False, fontsize=7)
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
        "0.01 % for single flows."
    },
    captions={"ratio": "Mean and maximum completion times in the profile `htsim` over those that uet-htsim printed"},
)
