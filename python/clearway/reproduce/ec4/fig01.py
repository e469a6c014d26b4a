"""Credits have a queue of their own, so that ExpressPass does not see DCTCP's data, and DCTCP does not touch credits
(Fig. 1, a drawing). The networks of the paper's tests are a dumbbell whose middle link is the bottleneck, and an
incast whose receiver is (Fig. 2).

Unstated, and chosen here:

* **Fig. 1**: two ExpressPass flows beside 0, 2 and 8 DCTCP flows on the dumbbell. Credit loss: credits dropped at the
  bottleneck over those that came there, from 20 ms to 60 ms.
* **Fig. 2**: two flows of EC4 and two of DCTCP in both networks. The bottleneck is the port with the longest mean
  queue.
"""

from __future__ import annotations

from typing import Any

import polars as pl
from matplotlib.figure import Figure as Picture

from clearway.reproduce import judge, stats
from clearway.reproduce.claims import Finding, claim
from clearway.reproduce.ec4.common import ABOUT, COLORS, DCTCP, EC4, EXPRESSPASS, SWITCH, dumbbell, half, mean, of_seeds
from clearway.reproduce.figure import Figure, Job, Tables
from clearway.reproduce.look import Look, grid
from clearway.reproduce.quantities import port
from clearway.result import Run

LOADS = (0, 2, 8)
OF_CREDITS = 2


def jobs(scale: str) -> list[Job]:  # noqa: ARG001
    """ExpressPass beside more and more DCTCP; both networks of Fig. 2."""
    return [
        *(
            Job({"case": "fig01", "dctcp": load, "seed": seed}, isolation(load, seed))
            for load in LOADS
            for seed in stats.SEEDS
        ),
        *(
            Job(
                {"case": case, "dctcp": 2, "seed": seed},
                {**made, "name": "fig02", "seed": seed, "stop": "40 ms", "switch": SWITCH},
            )
            for case, made in networks().items()
            for seed in stats.SEEDS
        ),
    ]


def isolation(load: int, seed: int) -> dict[str, Any]:
    """Two ExpressPass flows and `load` DCTCP flows."""
    pairs = OF_CREDITS + load
    traffic = [
        {
            "name": name,
            "kind": "long",
            "transport": made,
            "pairs": [[f"h{i}", f"h{pairs + i}"] for i in numbers],
            "stagger": "7 us",
        }
        for name, made, numbers in (
            ("credits", EXPRESSPASS, range(OF_CREDITS)),
            ("windows", DCTCP, range(OF_CREDITS, pairs)),
        )
        if numbers
    ]
    return {
        "name": "fig01",
        "seed": seed,
        "stop": "60 ms",
        "topology": dumbbell(pairs),
        "switch": SWITCH,
        "traffic": traffic,
    }


def networks() -> dict[str, dict[str, Any]]:
    """Fig. 2: four flows each."""
    ends = {"credits": (EC4, (1, 2)), "windows": (DCTCP, (3, 4))}
    return {
        "dumbbell": {
            "topology": dumbbell(4),
            "traffic": [half("credits", EC4), half("windows", DCTCP, second=True)],
        },
        "incast": {
            "topology": {"kind": "star", "hosts": 5, "rate": "10 Gbps", "delay": "5 us"},
            "traffic": [
                {
                    "name": name,
                    "kind": "long",
                    "transport": made,
                    "pairs": [[f"h{i}", "h0"] for i in hosts],
                    "stagger": "7 us",
                }
                for name, (made, hosts) in ends.items()
            ],
        },
    }


def measure(job: Job, run: Run) -> Tables:
    """Credit loss at the bottleneck; the port that queues most."""
    most = run.ports.sort("queue_mean_bytes", descending=True).row(0, named=True)
    row: dict[str, Any] = {
        "longest": str(most["port"]),
        "queue_mean": float(most["queue_mean_bytes"]),
        "credit_loss": 0.0,
    }
    if job.params["case"] == "fig01":
        at = port(run, "s1->s0")
        row["credit_loss"] = at["drops_credit"] / max(at["drops_credit"] + at["tx_credits"], 1)
    return {"rows": pl.DataFrame([row])}


def summarise(tables: Tables) -> Tables:
    """Losses and bottlenecks, for reading."""
    losses = (
        tables["rows"]
        .filter(pl.col("case") == "fig01")
        .group_by("dctcp", maintain_order=True)
        .agg(
            (100 * pl.col("credit_loss").mean()).round(2).alias("credits_lost_%"),
            (pl.col("queue_mean").mean() / 1e3).round(1).alias("mean_data_queue_KB"),
        )
        .rename({"dctcp": "DCTCP_flows"})
    )
    return {**tables, "losses": losses}


def check(tables: Tables) -> list[Finding]:
    """The verdicts on the figure's claims."""
    loss = {load: of_seeds(tables, "credit_loss", case="fig01", dctcp=load) for load in LOADS}
    gaps = {
        f"loss beside {load} less that beside none": stats.estimate(
            [a - b for a, b in zip(loss[load], loss[0], strict=True)]
        )
        for load in LOADS
        if load
    }
    text = ", ".join(f"{100 * stats.estimate(values).mean:.1f} % beside {load}" for load, values in loss.items())
    where = {case: set(tables["rows"].filter(pl.col("case") == case)["longest"]) for case in networks()}
    longest = "; ".join(f"{case}: {', '.join(sorted(ports))}" for case, ports in where.items())
    return [
        judge.judge(
            claim("ec4", "fig01-congestion-information-isolation"), gaps, text=f"credits lost: {text} DCTCP flows"
        ),
        judge.given(
            claim("ec4", "fig02-topologies"),
            "the networks that the scenarios are given; their longest queues are where the paper draws the bottleneck",
            measured=f"longest queue at {longest}",
        ),
    ]


def facts(tables: Tables) -> dict[str, object]:
    """The numbers that the prose names."""
    return {
        f"{name}_{load}": mean(tables, column, case="fig01", dctcp=load).mean * factor
        for name, column, factor in (("loss", "credit_loss", 100.0), ("queue", "queue_mean", 1e-3))
        for load in LOADS
    }


def draw(tables: Tables, look: Look) -> dict[str, Picture]:
    """Credit loss and data queue against DCTCP's load."""
    picture, axes = grid(1, 2, width=8.0, height=2.6)
    for place, (name, title, factor) in zip(
        axes, (("loss", "Credits lost (%)", 1.0), ("queue", "Mean data queue (KB)", 1.0)), strict=True
    ):
        values = [float(facts(tables)[f"{name}_{load}"]) * factor for load in LOADS]  # type: ignore[arg-type]
        place.plot(LOADS, values, lw=1.7, ms=4, **look.line(COLORS["expresspass"]))
        place.set(title=title, xlabel="DCTCP flows beside two of ExpressPass", ylim=(0, None))
        place.set_xticks(LOADS)
    return {"isolation": picture}


FIGURE = Figure(
    name="ec4/fig01",
    title="EC4, Fig. 1 and 2: what credits see of DCTCP, and the networks of the tests",
    doc=__doc__ + "\n" + ABOUT,
    jobs=jobs,
    measure=measure,
    summarise=summarise,
    check=check,
    facts=facts,
    draw=draw,
    shown={
        "losses": "Two ExpressPass flows beside DCTCP: credits lost at the bottleneck, and the queue of data there."
    },
    captions={"isolation": "Loss of ExpressPass's credits, and the queue of data at the same link"},
    claims=("fig01-congestion-information-isolation", "fig02-topologies"),
)
