"""Queues in the network of [Fig. 8](ec4-fig08.md) under Web Search at loads of 0.2, 0.4 and 0.6: average, and 99th
percentile (caption) or maximum (text; EC4-12).

Unstated, and chosen here:

* **The port**: "the bottleneck link switch" are the ToRs' ports up to the aggregation switches, where the load is
  set. Average and percentile are over all of them, from samples every 20 us, between the first and the last tenth of
  the time of arrivals; the maximum is of each packet of the run.
* **Flows**: 600 at quick scale, else 6,000.
* EC4 is also run with g = 1 instead of 1/16, so that its average of marks is the last period's share.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
from matplotlib.figure import Figure as Picture

from clearway.reproduce import judge, stats
from clearway.reproduce.claims import Finding, claim
from clearway.reproduce.ec4.common import EC4, SWITCH, mean, ratio
from clearway.reproduce.ec4.realistic import ABOUT, CASES, COLORS, scenario
from clearway.reproduce.figure import Figure, Job, Tables
from clearway.reproduce.look import Look, grid, legend
from clearway.reproduce.quantities import data_drops
from clearway.result import Run

LOADS = (0.2, 0.4, 0.6)
WORKLOAD = "web-search"
NAMES = {"average": "average", "p99": "99th percentile"}
#: EC4 as changed, to see what its tail depends on.
AT_ONCE = {"ec4, g 1": {**EC4, "g": 1.0}}
FLOWS = {"quick": 600, "paper": 6_000}


def jobs(scale: str) -> list[Job]:
    """Every load, case and seed."""
    sample = {"name": "queue", "what": "queue", "every": "20 us"}
    return [
        Job(
            {"load": load, "case": case, "seed": seed},
            {**scenario(made, WORKLOAD, load, FLOWS[scale], seed), "sample": [sample]},
        )
        for load in LOADS
        for case, made in {**CASES, **AT_ONCE}.items()
        for seed in stats.SEEDS
    ]


def measure(job: Job, run: Run) -> Tables:  # noqa: ARG001
    """Queues of the ToRs' uplinks while flows arrive, in KB; what the network is made of."""
    up = run.ports.filter(pl.col("tier") == "tor->agg")
    last = float(run.flows["start_s"].max())  # type: ignore[arg-type]
    samples = run.samples.filter(
        pl.col("entity").is_in(up["port"].to_list()) & pl.col("time_s").is_between(0.1 * last, 0.9 * last)
    )
    values = samples["value"].to_numpy() / 1e3
    row: dict[str, Any] = {
        "average": float(values.mean()),
        "p99": float(np.percentile(values, 99)),
        "maximum": float(up["queue_max_bytes"].max()) / 1e3,  # type: ignore[arg-type]
        "drops": data_drops(run),
        "timeouts": int(run.flows["timeouts"].sum()),
        **made_of(run.ports),
    }
    return {"rows": pl.DataFrame([row])}


def made_of(ports: pl.DataFrame) -> dict[str, int]:
    """Switches and hosts by tier, and ports of a ToR down and up."""
    first = pl.col("port").str.split("->").list.first()
    count = {tier: ports.filter(pl.col("tier") == tier).select(first).n_unique() for tier in ports["tier"].unique()}
    sizes = {tier: ports.filter(pl.col("tier") == tier).height for tier in ports["tier"].unique()}
    return {
        "core": count["core->agg"],
        "aggregator": count["agg->core"],
        "tor": count["tor->agg"],
        "nodes": count["host->tor"],
        "oversubscription": sizes["tor->host"] // sizes["tor->agg"],
    }


def summarise(tables: Tables) -> Tables:
    """Kilobytes, means over seeds, for reading."""
    shown = (
        tables["rows"]
        .group_by("load", "case", maintain_order=True)
        .agg(
            *(pl.col(name).mean().round(1).alias(f"{name}_KB") for name in ("average", "p99", "maximum")),
            pl.col("drops").mean().round(0),
            pl.col("timeouts").mean().round(1),
        )
    )
    return {**tables, "shown": shown}


def over(tables: Tables, name: str, load: float, other: str, made: str = "ec4") -> stats.Estimate:
    """EC4's over another's, paired by seed."""
    return ratio(tables, name, {"load": load, "case": made}, {"load": load, "case": other})


def against(tables: Tables, made: str = "ec4") -> dict[str, judge.Measured]:
    """EC4's queues over those of DCTCP alone and beside ExpressPass, at every load."""
    return {
        f"{words} over {other}'s at {load}": over(tables, name, load, other, made)
        for name, words in NAMES.items()
        for other in ("dctcp", "expresspass")
        for load in LOADS
    }


def check(tables: Tables) -> list[Finding]:
    """The verdicts on the figure's claims."""
    most: dict[str, judge.Measured] = {
        str(load): mean(tables, "maximum", load=load, case="expresspass") for load in LOADS
    }
    first, *more = ({"load": load, "case": "expresspass"} for load in LOADS)
    alike = {f"{at['load']} over {LOADS[0]}": ratio(tables, "maximum", at, first) for at in more}
    others = {case: [mean(tables, "maximum", load=load, case=case).mean for load in LOADS] for case in CASES}
    rest = "; ".join(
        f"{case}: {', '.join(f'{value:.0f}' for value in values)}"
        for case, values in others.items()
        if case != "expresspass"
    )
    texts = [
        f"{words} over {other}'s: {', '.join(over(tables, name, load, other).text('.2f') for load in LOADS)}"
        for name, words in NAMES.items()
        for other in ("dctcp", "expresspass")
    ]
    cause = judge.Change(
        "EC4's average of marks starts at 0 and moves by g = 1/16, so that its first marked round trips cut its rate "
        "by 3 and 6 %; here g is 1.",
        against(tables, "ec4, g 1"),
    )
    counted = ("core", "aggregator", "tor", "nodes", "oversubscription")
    network = ", ".join(f"{name}: {tables['rows'][name][0]}" for name in counted)
    return [
        judge.judge(claim("ec4", "fig09-expresspass-max-queue"), {**most, **alike}, form=".1f", note=rest),
        judge.judge(claim("ec4", "fig09-ec4-queue-like-dctcp"), against(tables), text="; ".join(texts), cause=cause),
        judge.given(
            claim("ec4", "sec4c-evaluation-topology"),
            "the network that the scenarios are given, counted from its ports, and its buffer",
            measured=f"{network}, queue: {SWITCH['buffer']}",
        ),
    ]


def facts(tables: Tables) -> dict[str, object]:
    """Numbers of the prose: EC4's queues over those of others, maxima in KB."""
    loads = {load: str(load).replace(".", "") for load in LOADS}
    found: dict[str, object] = {
        f"{name}_{other}_{short}": over(tables, name, load, other).mean
        for name in ("average", "p99")
        for other in ("dctcp", "expresspass")
        for load, short in loads.items()
    }
    for load, short in loads.items():
        found[f"p99_g1_{short}"] = over(tables, "p99", load, "dctcp", "ec4, g 1").mean
    for case in CASES:
        for load, short in loads.items():
            found[f"max_{case}_{short}"] = mean(tables, "maximum", load=load, case=case).mean
    return found


def draw(tables: Tables, look: Look) -> dict[str, Picture]:
    """Average, percentile and maximum against the load."""
    picture, axes = grid(1, 3, width=10.5, height=2.8)
    titles = {"average": "Average", "p99": "99th percentile", "maximum": "Maximum"}
    for place, (name, title) in zip(axes, titles.items(), strict=True):
        for case in CASES:
            label = case if case == "dctcp" else f"{case} + dctcp"
            values = [mean(tables, name, load=load, case=case).mean for load in LOADS]
            place.plot(LOADS, values, label=label, lw=1.7, ms=4, **look.line(COLORS[case]))
        place.set_xticks(LOADS)
        place.set(title=f"{title}, ToR uplinks", xlabel="load")
        place.set_ylim(0, None)
    axes[0].set_ylabel("queue (KB)")
    legend(picture, axes[0], columns=4)
    return {"queues": picture}


FIGURE = Figure(
    name="ec4/fig09",
    title="EC4, Fig. 9: queues under Web Search at 40 Gbps",
    doc=__doc__ + "\n" + ABOUT,
    jobs=jobs,
    measure=measure,
    summarise=summarise,
    check=check,
    facts=facts,
    draw=draw,
    shown={"shown": "By load and what half of the hosts speak (the others: DCTCP); means over seeds."},
    captions={"queues": "Queues at the ToRs' ports towards the aggregation switches"},
    claims=("fig09-expresspass-max-queue", "fig09-ec4-queue-like-dctcp", "sec4c-evaluation-topology"),
)
