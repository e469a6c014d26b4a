"""The jitter of credits that fairness needs (Fig. 6 a), and the purpose of random credit sizes (sec. 3.1). The paper
varies the number of flows over one bottleneck and the jitter, and shows Jain's index of the throughput in
each millisecond; and it says that host jitter alone is not enough where credits of several switches compete.

Unstated, and chosen here:

* **Rate and round trip**: 10 Gbps, 100 us. Flows start at random within 2 ms; measured for 20 ms from 20 ms on.
* **Feedback**: on. **Sizes of credits**: the figure is about jitter, so credits have 84 B there; each jitter also
  with the default, sizes of 76 to 92 B.
* **Flows**: 2, 8, 64 (full: also 256 and 1,024). Many flows have less than a credit in a millisecond at 1,024, so an
  index over 1 ms says little there.
* **Several switches**: 8 senders at each of four switches send to 32 receivers over one link; each receiver's credits
  come by one of four other switches. Fairness of credit drops is Jain's index of the share of each flow's credits
  that passed.
"""

from __future__ import annotations

from typing import Any

import polars as pl
from matplotlib.figure import Figure as Picture

from clearway.metrics import jain_index
from clearway.reproduce import judge, stats
from clearway.reproduce.claims import Finding, claim
from clearway.reproduce.expresspass.common import dumbbell
from clearway.reproduce.figure import Figure, Job, Tables
from clearway.reproduce.look import Look, grid, powers
from clearway.reproduce.quantities import binned, fairness
from clearway.result import Run

JITTERS = (0.0, 0.01, 0.02, 0.04, 0.08)
FLOWS = {"quick": (2, 8, 64), "paper": (2, 8, 64, 256, 1024)}
SIZES = {"84 B": False, "76 to 92 B": True}
FROM_MS, SPAN_MS = 20, 20
TREE = {
    "kind": "leaf-spine",
    "leaves": 8,
    "spines": 1,
    "hosts_per_leaf": 8,
    "rate": "10 Gbps",
    "delay": "4 us",
    "uplink_rate": "10 Gbps",
    "uplink_delay": "4 us",
}


def jobs(scale: str) -> list[Job]:
    """The sweep over jitter, and several switches with either size."""
    found = [
        job("one link", flows, jitter, size, seed)
        for flows in FLOWS[scale]
        for jitter in JITTERS
        for size in SIZES
        for seed in stats.SEEDS
    ]
    return found + [job("several switches", 32, 0.01, size, seed) for size in SIZES for seed in stats.SEEDS]


def job(network: str, flows: int, jitter: float, size: str, seed: int) -> Job:
    """The job of one run."""
    transport: dict[str, Any] = {"name": "expresspass", "jitter": jitter, "randomize_size": SIZES[size]}
    traffic: dict[str, Any] = {"name": "flows", "kind": "long", "spread": "2 ms"}
    if network == "several switches":
        # Hosts 0 to 31 stand at four leaves, 56 to 63 at another, whose link to the spine all flows share.
        traffic["pairs"] = [[f"h{i}", f"h{63 - (i % 8)}"] for i in range(32)]
    return Job(
        {"network": network, "flows": flows, "jitter": jitter, "size": size, "seed": seed},
        {
            "name": "fig06",
            "seed": seed,
            "stop": f"{FROM_MS + SPAN_MS} ms",
            "topology": dumbbell(flows, "10 Gbps") if network == "one link" else TREE,
            "transport": transport,
            "traffic": [traffic],
            "sample": [{"name": "throughput", "what": "throughput", "every": "1 ms"}],
        },
    )


def measure(_: Job, run: Run) -> Tables:
    """Fairness over 1 ms and over the whole time, and of the share of credits that passed."""
    rates = binned(run, "throughput", FROM_MS * 1e-3, 1e-3)[1]
    flows = run.flows.filter(pl.col("credits_sent") > 0)
    passed = ((flows["credits_used"] + flows["credits_wasted"]) / flows["credits_sent"]).to_list()
    row = {
        "jain_1ms": fairness(rates),
        "jain_whole": fairness(rates.mean(axis=1, keepdims=True)),
        "jain_passed": jain_index(passed),
        "least_passed": min(passed),
    }
    return {"rows": pl.DataFrame([row])}


def summarise(tables: Tables) -> Tables:
    """Means over the seeds."""
    keys = ["network", "flows", "jitter", "size"]
    columns = ["jain_1ms", "jain_whole", "jain_passed", "least_passed"]
    shown = tables["rows"].group_by(keys, maintain_order=True).agg(pl.col(columns).mean().round(3))
    return {**tables, "shown": shown}


def check(tables: Tables) -> list[Finding]:
    """The verdicts on the figure's claims."""
    rows = tables["rows"]
    counts = sorted(rows.filter(pl.col("network") == "one link")["flows"].unique().to_list())

    def index(flows: int, jitter: float, size: str = "84 B") -> list[float]:
        return stats.per_seed(rows, "jain_1ms", network="one link", flows=flows, jitter=jitter, size=size)

    here = claim("expresspass", "fig06a-jitter-fairness")
    near = {
        f"index, {n} flows, jitter {jitter:g}": stats.estimate(index(n, jitter))
        for n in counts
        for jitter in JITTERS[1:]
    }
    # Two flows alternate, whatever the pacing.
    fairer = {
        f"with over without a jitter, {n} flows": stats.paired_ratio(index(n, 0.01), index(n, 0.0))
        for n in counts
        if n > 2
    }
    without, little = ({n: stats.estimate(index(n, jitter)) for n in counts} for jitter in (0.0, 0.01))
    text = "; ".join(f"{n} flows: {without[n]:.2f} without, {little[n]:.2f} with a jitter of 0.01" for n in counts)
    beside = ", ".join(f"{n}: {stats.estimate(index(n, 0.01, '76 to 92 B')):.2f}" for n in counts)
    note = f"sizes of 76 to 92 B: {beside}"
    found = [judge.judge(here, {**near, **fairer}, text=text, reading="84 B", note=note)]

    def several(size: str, what: str) -> list[float]:
        return stats.per_seed(rows, what, network="several switches", size=size)

    here = claim("expresspass", "sec31-credit-size-randomisation")
    random = {
        f"{name}, random over fixed sizes": stats.paired_ratio(several("76 to 92 B", what), several("84 B", what))
        for name, what in (("fairness of drops", "jain_passed"), ("credits of the worst flow", "least_passed"))
    }
    least = {size: stats.estimate(several(size, "least_passed")).scaled(100) for size in SIZES}
    text = ", ".join(f"{size}: the worst flow keeps {one:.1f} % of its credits" for size, one in least.items())
    return [*found, judge.judge(here, random, text=text)]


def facts(tables: Tables) -> dict[str, object]:
    """The numbers that the prose names."""
    rows = tables["rows"]
    found: dict[str, object] = {}
    for name, jitter, size in (("none", 0.0, "84 B"), ("little", 0.01, "84 B"), ("random", 0.01, "76 to 92 B")):
        for flows in (8, 64):
            found[f"{name}_{flows}"] = stats.over_seeds(
                rows, "jain_1ms", network="one link", flows=flows, jitter=jitter, size=size
            )
    for name, size in (("worst_fixed", "84 B"), ("worst_random", "76 to 92 B")):
        found[name] = stats.over_seeds(rows, "least_passed", network="several switches", size=size).scaled(100)
    return found


def draw(tables: Tables, look: Look) -> dict[str, Picture]:
    """Fairness against the number of flows, by jitter."""
    picture, axes = grid(1, 2, width=9.2, height=2.9, sharey=True)
    for place, size in zip(axes, SIZES, strict=True):
        for number, jitter in enumerate(JITTERS):
            part = tables["shown"].filter(
                (pl.col("network") == "one link") & (pl.col("jitter") == jitter) & (pl.col("size") == size)
            )
            place.plot(part["flows"], part["jain_1ms"], label=f"jitter {jitter:g}", ms=4, **look.line(number))
        powers(place, part["flows"].to_list())
        place.set(title=f"Credits of {size}", xlabel="flows", ylim=(0, 1.03))
    axes[0].set_ylabel("Jain's index over 1 ms")
    axes[1].legend(frameon=False, fontsize=10)
    return {"fairness": picture}


FIGURE = Figure(
    name="expresspass/fig06",
    title="ExpressPass '17, Fig. 6 (a): jitter and sizes of credits against unfairness",
    doc=__doc__ or "",
    jobs=jobs,
    measure=measure,
    summarise=summarise,
    check=check,
    facts=facts,
    draw=draw,
    claims=("fig06a-jitter-fairness", "sec31-credit-size-randomisation"),
    shown={"shown": "Jain's index of throughput, and of the share of credits that passed, means over the seeds."},
    captions={"fairness": "Fairness over 1 ms against the number of flows, by jitter and size of credits"},
)
