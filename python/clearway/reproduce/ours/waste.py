"""The gain from telling the end of a flow in advance, as ExpressPass '17, sec. 7 proposes: credits that reach a sender
with nothing left to send, against the first rate of credits, with and without it. The paper shows neither.

* **Load**: 2,000 flows of Web Server (64 KB on average) and 300 of Web Search (1.6 MB) on the 192-host tree, load
  0.6.
* **First rates**: 1, 1/2 and 1/16 of the link's; `w_init` 1/16.
* **Waste** is wasted / (used + wasted). Completion times are of flows in the middle of the run. Five seeds.
"""

from __future__ import annotations

import polars as pl
from matplotlib.figure import Figure as Picture
from matplotlib.ticker import PercentFormatter

from clearway import metrics
from clearway.reproduce import stats
from clearway.reproduce.expresspass.realistic import scenario
from clearway.reproduce.figure import Figure, Job, Tables
from clearway.reproduce.look import Look, grid
from clearway.reproduce.quantities import steady
from clearway.result import Run

ALPHAS = {"1": 1.0, "1/2": 0.5, "1/16": 0.0625}
FLOWS = {"web-server": 2_000, "web-search": 300}
TELL = {"not told": False, "told": True}


def jobs(scale: str) -> list[Job]:
    """Every workload, first rate and way to end."""
    more = 1 if scale == "quick" else 20
    return [
        Job(
            {"workload": workload, "alpha": alpha, "end": end, "seed": seed},
            {
                **scenario(
                    "waste",
                    {"name": "expresspass", "alpha": ALPHAS[alpha], "tell_end": TELL[end]},
                    workload,
                    0.6,
                    flows * more,
                ),
                "seed": seed,
            },
        )
        for workload, flows in FLOWS.items()
        for alpha in ALPHAS
        for end in TELL
        for seed in stats.SEEDS
    ]


def measure(_: Job, run: Run) -> Tables:
    """Waste and mean completion time."""
    fct = metrics.completed(steady(run.flows))["fct_s"].to_numpy()
    row = {"waste": metrics.credit_waste(run.flows), "fct_ms": 1e3 * metrics.mean(fct)}
    return {"rows": pl.DataFrame([row])}


def of(tables: Tables, value: str | pl.Expr, workload: str, alpha: str, end: str) -> stats.Estimate:
    """A measure over the seeds."""
    return stats.over_seeds(tables["rows"], value, workload=workload, alpha=alpha, end=end)


def saved(tables: Tables, workload: str, alpha: str) -> stats.Estimate:
    """The mean completion time with the end told over that without, paired by seed."""
    told, not_told = (
        stats.per_seed(tables["rows"], "fct_ms", workload=workload, alpha=alpha, end=end)
        for end in ("told", "not told")
    )
    return stats.paired_ratio(told, not_told)


def summarise(tables: Tables) -> Tables:
    """Means with their intervals."""
    rows = [
        {
            "workload": workload,
            "first_rate": alpha,
            **{f"wasted,_{end}_%": of(tables, 100 * pl.col("waste"), workload, alpha, end).text(".1f") for end in TELL},
            "mean_FCT,_told_/_not_told": saved(tables, workload, alpha).text(".3f"),
        }
        for workload in FLOWS
        for alpha in ALPHAS
    ]
    return {**tables, "shown": pl.DataFrame(rows)}


def facts(tables: Tables) -> dict[str, object]:
    """The numbers that the prose names."""
    found: dict[str, object] = {}
    for workload in FLOWS:
        short = workload.replace("-", "_")
        found[f"{short}_not_told"] = of(tables, 100 * pl.col("waste"), workload, "1/2", "not told")
        found[f"{short}_told"] = of(tables, 100 * pl.col("waste"), workload, "1/2", "told")
        found[f"{short}_low"] = of(tables, 100 * pl.col("waste"), workload, "1/16", "not told")
        found[f"{short}_fct"] = saved(tables, workload, "1/2")
    return found


def draw(tables: Tables, look: Look) -> dict[str, Picture]:
    """Waste against the first rate."""
    picture, axes = grid(1, 2, width=8.6, height=2.7, sharey=True)
    for place, workload in zip(axes, FLOWS, strict=True):
        for number, end in enumerate(TELL):
            values = [of(tables, "waste", workload, alpha, end).mean for alpha in ALPHAS]
            places = [spot + 0.36 * (number - 0.5) for spot in range(len(ALPHAS))]
            place.bar(places, values, width=0.34, color=look.color(3 * number), label=f"end {end}")
        place.set_xticks(range(len(ALPHAS)), list(ALPHAS))
        place.yaxis.set_major_formatter(PercentFormatter(1.0))
        place.set(title=workload, xlabel="first rate of credits")
    axes[0].set_ylabel("credits wasted")
    axes[0].legend(frameon=False)
    return {"waste": picture}


FIGURE = Figure(
    name="ours/waste",
    title="Credit waste, and what telling the end in advance saves",
    doc=__doc__ or "",
    jobs=jobs,
    measure=measure,
    summarise=summarise,
    check=lambda _: [],
    facts=facts,
    draw=draw,
    shown={"shown": "Means over five seeds with 95 % intervals; the ratio of completion times is paired by seed."},
    captions={"waste": "Credits wasted against the first rate, with the end told in advance and without"},
)
