"""Section 7 says that the feedback assumes hosts of the same link capacity, and that flows of hosts with different
capacities do not share fairly. It shows no measurement.

Chosen here:

* **Hosts around one switch**, 2 us a link, endless flows, all from the start; the second half of 40 ms counts.
* **Lone flows** between hosts of different speeds: what a flow gets over what credits leave it of the slower link.
* **Shared**: four hosts of 10 Gbps and two of 40 Gbps send to one of 100 Gbps. Max-min gives the slow ones all of their
  links and the fast ones the rest. And two pairs over a link of 10 Gbps between two switches: both of hosts with
  10 Gbps, or one of these and one with 40 Gbps. Only in the last case do flows with different max_rate meet, which is
  what the claim speaks of.
* **Unfair**: Jain's index of rates over max-min shares nearer to that of rates in proportion to the hosts' links (0.735
  for 10 and 40 Gbps) than to 1, on a logarithmic scale. Five seeds.
* **ceiling**: max_rate of Algorithm 1 is that of the receiver's own link (the paper, `own-link`), or that of the path's
  slowest link (`path`, ours).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
from matplotlib.figure import Figure as Picture

from clearway import metrics
from clearway.metrics import jain_index
from clearway.reproduce import judge, stats
from clearway.reproduce.claims import Finding, claim
from clearway.reproduce.figure import Figure, Job, Tables
from clearway.reproduce.look import Look, grid, legend
from clearway.reproduce.quantities import CEILING, FRAME, PAYLOAD, binned, cost, data_drops
from clearway.result import Run

#: Name -> link rates of hosts in Gbps, pairs, the max-min fair rates of data in Gbps before credits take their part.
LONE: dict[str, tuple[tuple[int, ...], tuple[tuple[int, int], ...], tuple[float, ...]]] = {
    f"{slow} to {fast}": ((slow, fast), ((0, 1),), (min(slow, fast),))
    for slow, fast in ((10, 10), (10, 40), (10, 100), (40, 100), (40, 10), (100, 10))
}
SHARED = {
    "4 x 10 and 2 x 40 to 100": (
        (10, 10, 10, 10, 40, 40, 100),
        tuple((sender, 6) for sender in range(6)),
        (10.0, 10.0, 10.0, 10.0, 30.0, 30.0),
    ),
    "10 and 10 over 10": ((10, 10, 10, 10), ((0, 2), (1, 3)), (5.0, 5.0)),
    "10 and 40 over 10": ((10, 40, 10, 40), ((0, 2), (1, 3)), (5.0, 5.0)),
}
CASES = {**LONE, **SHARED}
CEILINGS = ("own-link", "path")
END_S = 0.04


def network(case: str) -> dict[str, Any]:
    """Topology and links that differ from it."""
    rates = CASES[case][0]
    if case.endswith("over 10"):
        shape = {"kind": "dumbbell", "pairs": 2, "rate": "10 Gbps", "bottleneck_rate": "10 Gbps"}
        delays = {"delay": "2 us", "bottleneck_delay": "2 us"}
        ends = [("h0", "s0"), ("h1", "s0"), ("h2", "s1"), ("h3", "s1")]
    else:
        shape = {"kind": "star", "hosts": len(rates), "rate": "10 Gbps"}
        delays = {"delay": "2 us"}
        ends = [(f"h{host}", "s0") for host in range(len(rates))]
    links = [{"link": list(end), "rate": f"{rate} Gbps"} for end, rate in zip(ends, rates, strict=True) if rate != 10]
    return {"topology": {**shape, **delays}, **({"link": links} if links else {})}


def jobs(scale: str) -> list[Job]:  # noqa: ARG001
    """Every case under both ceilings, with five seeds."""
    return [
        Job(
            {"case": case, "ceiling": ceiling, "seed": seed},
            {
                "name": "sec7speeds",
                "seed": seed,
                "stop": f"{END_S} s",
                **network(case),
                "transport": {"name": "expresspass", "ceiling": ceiling},
                "traffic": [
                    {"name": "flows", "kind": "long", "pairs": [[f"h{a}", f"h{b}"] for a, b in CASES[case][1]]}
                ],
                "sample": [{"name": "goodput", "what": "throughput", "every": f"{END_S / 40} s"}],
            },
        )
        for case in CASES
        for ceiling in CEILINGS
        for seed in stats.SEEDS
    ]


def measure(job: Job, run: Run) -> Tables:
    """The share that each flow got of its max-min share in the second half, and its credits."""
    names, rates = binned(run, "goodput", END_S / 2, END_S / 2)
    order = sorted(range(len(names)), key=lambda i: int("".join(c for c in names[i] if c.isdigit()) or 0))
    got = [float(rates[i, 0]) * FRAME / PAYLOAD / CEILING / 1e9 for i in order]
    fair = CASES[job.params["case"]][2]
    sent = float(run.flows["credits_sent"].sum())
    row = {
        **cost(run),
        "jain": jain_index([g / f for g, f in zip(got, fair, strict=True)]),
        "credits_dropped": float(run.ports["drops_credit"].sum()) / sent,
        "credit_waste": metrics.credit_waste(run.flows),
        "drops": data_drops(run),
    }
    flows = pl.DataFrame({"flow": list(range(len(got))), "got_gbps": got, "fair_gbps": [float(f) for f in fair]})
    return {"rows": pl.DataFrame([row]), "flows": flows}


def summarise(tables: Tables) -> Tables:
    """Means over the seeds."""
    share = pl.col("got_gbps") / pl.col("fair_gbps")
    flows = tables["flows"].group_by("case", "ceiling", "flow", maintain_order=True)
    means = flows.agg(share.mean().alias("share"), pl.col("fair_gbps").first())
    ends = means.group_by("case", "ceiling", maintain_order=True).agg(
        pl.col("share").min().round(3).alias("least_share"), pl.col("share").max().round(3).alias("largest_share")
    )
    rows = (
        tables["rows"]
        .group_by("case", "ceiling", maintain_order=True)
        .agg(
            pl.col("jain").mean().round(3),
            (100 * pl.col("credits_dropped").mean()).round(1).alias("credits_dropped_%"),
            (100 * pl.col("credit_waste").mean()).round(2).alias("wasted_credits_%"),
            pl.col("drops").sum(),
        )
    )
    return {**tables, "means": means, "shown": ends.join(rows, on=["case", "ceiling"], maintain_order="left")}


def jain(tables: Tables, case: str, ceiling: str = "own-link") -> stats.Estimate:
    """Jain's index of rates over max-min shares."""
    return stats.over_seeds(tables["rows"], "jain", case=case, ceiling=ceiling)


def check(tables: Tables) -> list[Finding]:
    """The verdict on the claim that flows of different speeds are not fair."""
    found = {case: jain(tables, case) for case in SHARED}
    text = ", ".join(f"{case}: {index:.3f}" for case, index in found.items())
    lost = tables["rows"]["drops"]
    return [
        judge.judge(
            claim("expresspass", "sec7-unequal-host-links-unfair"),
            {f"Jain, {case}": found[case] for case in ("10 and 40 over 10", "10 and 10 over 10")},
            text=f"Jain's index of rates over max-min shares: {text}",
        ),
        judge.judge(claim("expresspass", "sec1-zero-data-loss"), int(lost.sum()), note=f"in {lost.len()} runs"),
    ]


def facts(tables: Tables) -> dict[str, object]:
    """The numbers that the prose names."""
    rows = {(row["case"], row["ceiling"]): row for row in tables["shown"].iter_rows(named=True)}
    means = tables["means"].filter((pl.col("case") == "10 and 40 over 10") & (pl.col("ceiling") == "own-link"))
    slow, fast = means.sort("flow")["share"]
    return {
        "lone_100": 100 * rows["10 to 100", "own-link"]["least_share"],
        "lone_40": 100 * rows["10 to 40", "own-link"]["least_share"],
        "lone_10": 100 * rows["10 to 10", "own-link"]["least_share"],
        "back": 100 * rows["100 to 10", "own-link"]["least_share"],
        "dropped_100": rows["10 to 100", "own-link"]["credits_dropped_%"],
        "dropped_path": rows["10 to 100", "path"]["credits_dropped_%"],
        "times": fast / slow,
        "unequal": jain(tables, "10 and 40 over 10"),
        "equal": jain(tables, "10 and 10 over 10"),
        "unequal_path": jain(tables, "10 and 40 over 10", "path"),
        "six": jain(tables, "4 x 10 and 2 x 40 to 100"),
        "six_path": jain(tables, "4 x 10 and 2 x 40 to 100", "path"),
    }


def draw(tables: Tables, look: Look) -> dict[str, Picture]:
    """The goodput of flows over their max-min share."""
    picture, axes = grid(1, 2, width=10.0, height=3.2)
    flows = tables["means"]
    for i, ceiling in enumerate(CEILINGS):
        color = look.color((0, 2)[i])
        for place, cases in zip(axes, (LONE, SHARED), strict=True):
            chosen = flows.filter((pl.col("ceiling") == ceiling) & pl.col("case").is_in(list(cases)))
            shares = chosen["share"].to_numpy()
            x = np.arange(len(shares)) + (i - 0.5) * 0.4
            place.bar(x, shares, 0.36, color=color, lw=0, label=f'ceiling "{ceiling}"')
    axes[0].set_xticks(range(len(LONE)), [name.replace(" to ", "\nto ") for name in LONE])
    axes[0].set(title="Lone flow, by sender's and receiver's Gbps", ylabel="rate over max-min share")
    names = [f"{rate}" for case in SHARED.values() for rate in [case[0][pair[0]] for pair in case[1]]]
    axes[1].set_xticks(range(len(names)), names)
    for border in (5.5, 7.5):
        axes[1].axvline(border, color=look.muted, lw=0.8)
    axes[1].set(title="Six flows to 100 Gbps; twice two over 10 Gbps", xlabel="sender's Gbps")
    for place in axes:
        place.axhline(1, color=look.muted, lw=0.8, ls=":")
        place.grid(visible=False, axis="x")
    legend(picture, axes[0], columns=2)
    return {"shares": picture}


FIGURE = Figure(
    name="expresspass/sec7speeds",
    title="ExpressPass '17, section 7: hosts of different link speeds",
    doc=__doc__ or "",
    jobs=jobs,
    measure=measure,
    summarise=summarise,
    check=check,
    facts=facts,
    draw=draw,
    claims=("sec7-unequal-host-links-unfair",),
    shown={"shown": "Rates over max-min shares, and what became of credits; means over the seeds."},
    captions={"shares": "Rates of flows over their max-min shares, with hosts of different speeds"},
)
