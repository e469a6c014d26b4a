"""Two statements of ExpressPass '17 about networks and ports that other transports can be asked as well.

* **Symmetric paths** (sec. 3.1): credits need paths that both directions share. The paper says that symmetric hashing
  costs nothing: DCTCP on a fat tree performs as well with it as with ordinary ECMP. Here: the 192-host tree, Web
  Search, load 0.6, DCTCP, 6,000 flows (quick: 600), as the paper names no number, five seeds; mean completion time,
  its 99th percentile where there are 1,000 flows, and what the ToRs' uplinks carried over the time of arrivals.
* **Priorities among credits** (sec. 7): credits of class A before those of class B, under one limit, give A's data
  strict priority; weights give weighted shares. Here: two flows over one link, for 20 ms, with priorities and with
  weights of 3 : 1.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import polars as pl
from matplotlib.figure import Figure as Picture

from clearway import metrics
from clearway.reproduce import judge, stats
from clearway.reproduce.claims import Finding, claim
from clearway.reproduce.expresspass.common import dumbbell
from clearway.reproduce.expresspass.realistic import scenario
from clearway.reproduce.figure import Figure, Job, Tables
from clearway.reproduce.look import Look, grid
from clearway.reproduce.quantities import steady
from clearway.result import Run

ROUTINGS = ("symmetric-ecmp", "ecmp")
FLOWS = {"quick": 600, "paper": 6_000}
CLASSES: dict[str, list[dict[str, Any]]] = {
    "priority": [{"name": "a", "priority": 0}, {"name": "b", "priority": 1}],
    "weights": [{"name": "a", "weight": 3}, {"name": "b", "weight": 1}],
}


def jobs(scale: str) -> list[Job]:
    """Both routings at each seed, and both orders of credits."""
    found = []
    for routing in ROUTINGS:
        for seed in stats.SEEDS:
            body = scenario("symmetric", {"name": "dctcp"}, "web-search", 0.6, FLOWS[scale])
            body = {**body, "seed": seed, "stacks": "equal", "network": {"routing": routing}}
            found.append(Job({"what": "routing", "case": routing, "seed": seed}, body))
    return found + [credit_order(case, seed) for case in CLASSES for seed in stats.SEEDS]


def credit_order(case: str, seed: int) -> Job:
    """Two flows whose credits stand in two classes."""
    traffic = [
        {"name": name, "kind": "long", "pairs": [[f"h{i}", f"h{2 + i}"]], "credit_class": name}
        for i, name in enumerate(("a", "b"))
    ]
    return Job(
        {"what": "credits", "case": case, "seed": seed},
        {
            "name": "credit-classes",
            "seed": seed,
            "stop": "20 ms",
            "topology": dumbbell(2, "10 Gbps"),
            "switch": {"credit_class": CLASSES[case]},
            "transport": {"name": "naive-credit"},
            "traffic": traffic,
        },
    )


def measure(job: Job, run: Run) -> Tables:
    """Completion times and use of uplinks, or the share of class A."""
    row = {"fct_mean": float("nan"), "fct_p99": float("nan"), "uplinks": float("nan"), "share_a": float("nan")}
    if job.params["what"] == "routing":
        fct = metrics.completed(steady(run.flows))["fct_s"].to_numpy()
        up = run.ports.filter(pl.col("tier") == "tor->agg")["utilisation"].to_numpy()
        busy = float(run.summary["simulated_s"]) / float(run.flows["start_s"].max())  # type: ignore[arg-type]
        uplinks = float(np.mean(up)) * busy
        row |= {"fct_mean": float(fct.mean()), "fct_p99": stats.percentile(fct, 99), "uplinks": uplinks}
    else:
        sent = run.flows.sort("traffic")["delivered_bytes"].to_numpy().astype(float)
        row["share_a"] = float(sent[0] / sent.sum())
    return {"rows": pl.DataFrame([row])}


def summarise(tables: Tables) -> Tables:
    """Means over the seeds."""
    routing = [
        {
            "routing": case,
            "mean_FCT_ms": stats.over_seeds(tables["rows"], 1e3 * pl.col("fct_mean"), case=case).mean,
            "use_of_uplinks_%": stats.over_seeds(tables["rows"], 100 * pl.col("uplinks"), case=case).mean,
        }
        for case in ROUTINGS
    ]
    order = [
        {"order_of_credits": case, "share_of_class_a": stats.over_seeds(tables["rows"], "share_a", case=case).mean}
        for case in CLASSES
    ]
    return {**tables, "routing": pl.DataFrame(routing), "order": pl.DataFrame(order)}


def ratio(tables: Tables, value: str) -> stats.Estimate:
    """Symmetric over ordinary ECMP, paired by seed."""
    ours, theirs = (stats.per_seed(tables["rows"], value, case=case) for case in ROUTINGS)
    return stats.paired_ratio(ours, theirs)


def check(tables: Tables) -> list[Finding]:
    """The verdicts on the figure's claims."""
    here = claim("expresspass", "sec31-path-symmetry-neutral")
    fct, use = ratio(tables, "fct_mean"), ratio(tables, "uplinks")
    tail = ratio(tables, "fct_p99")
    same = {"FCT, mean": fct, "use of uplinks": use} | ({} if math.isnan(tail.mean) else {"FCT, p99": tail})
    text = f"symmetric over ordinary: mean FCT {fct:.3f}, use of uplinks {use:.3f}"
    found = [judge.judge(here, same, text=text, reading="dctcp")]
    here = claim("expresspass", "sec7-credit-prioritisation")
    first, weighted = (stats.over_seeds(tables["rows"], "share_a", case=case) for case in CLASSES)
    shares = {"A's share by priority": first, "A's share by weights, over 3/4": weighted.scaled(4 / 3)}
    text = f"A's share: {first:.3f} by priority, {weighted:.3f} by weights of 3 : 1"
    return [*found, judge.judge(here, shares, text=text, reading="naive-credit")]


def facts(tables: Tables) -> dict[str, object]:
    """The numbers that the prose names."""
    first, weighted = (stats.over_seeds(tables["rows"], "share_a", case=case) for case in CLASSES)
    return {"fct": ratio(tables, "fct_mean"), "use": ratio(tables, "uplinks"), "first": first, "weighted": weighted}


def draw(tables: Tables, look: Look) -> dict[str, Picture]:
    """Mean completion times of each seed under both routings."""
    picture, (axes,) = grid(1, 1, width=5.6, height=2.6)
    for number, case in enumerate(ROUTINGS):
        values = stats.per_seed(tables["rows"], 1e3 * pl.col("fct_mean"), case=case)
        axes.plot(range(1, len(values) + 1), values, label=case, **look.line(number))
    axes.set(title="Mean completion time under DCTCP", xlabel="seed", ylabel="ms", ylim=(0, None))
    axes.legend(frameon=False)
    return {"routing": picture}


FIGURE = Figure(
    name="expresspass/symmetric",
    title="ExpressPass '17, sec. 3.1 and 7: the cost of symmetric paths; priorities among credits",
    doc=__doc__ or "",
    jobs=jobs,
    measure=measure,
    summarise=summarise,
    check=check,
    facts=facts,
    draw=draw,
    claims=("sec31-path-symmetry-neutral", "sec7-credit-prioritisation"),
    shown={"routing": "DCTCP on the 192-host tree, means over the seeds.", "order": "Two flows over one link."},
    captions={"routing": "Mean completion time of the same flows under symmetric and ordinary ECMP"},
)
