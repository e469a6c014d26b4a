"""The queue at the bottleneck with an unlimited buffer, half of the N flows DCTCP: its maximum (how bursts are met) and
its average, against N up to 256, for EC4 and ExpressPass.

Unstated, and chosen here:

* **Starts**: 7 us apart, ten segments to start with. Both decide the maximum, so DCTCP is also run with one segment to
  start with and at least ("one segment").
* **Average**: of samples every 100 us in the second 100 ms (full: from 100 ms to 600 ms). The frame being sent is not
  counted.
"""

from __future__ import annotations

from typing import Any

import polars as pl
from matplotlib.figure import Figure as Picture
from matplotlib.ticker import FuncFormatter

from clearway.reproduce import judge, stats
from clearway.reproduce.claims import Finding, claim
from clearway.reproduce.ec4.common import (
    ABOUT,
    COLORS,
    DCTCP,
    EC4,
    MIXED,
    PRINTED,
    SMALL_K,
    SWITCH,
    dumbbell,
    half,
    mean,
    ratio,
    span,
)
from clearway.reproduce.figure import Figure, Job, Tables
from clearway.reproduce.look import Look, grid, legend, powers
from clearway.reproduce.quantities import port
from clearway.result import Run

FLOWS = (2, 8, 32, 128, 256)
STOP_MS = {"quick": 200, "paper": 600}
WHAT = ("maximum", "average")
ONE: dict[str, Any] = {**DCTCP, "initial_window": 1, "min_cwnd": 1}
#: Name -> first half, second half, the switch, numbers of flows.
CASES: dict[str, tuple[dict[str, Any], dict[str, Any], dict[str, Any], tuple[int, ...]]] = {
    **{name: (made, DCTCP, SWITCH, FLOWS) for name, made in MIXED.items()},
    "dctcp": (DCTCP, DCTCP, SWITCH, FLOWS),
    "ec4, one segment": (EC4, ONE, SWITCH, FLOWS[-2:]),
    "ec4, one segment, K 25": (EC4, ONE, SMALL_K, FLOWS[-2:]),
    "ec4, printed": (PRINTED, DCTCP, SWITCH, FLOWS[-2:]),
}


def jobs(scale: str) -> list[Job]:
    """Every case, number of flows and seed."""
    return [
        Job(
            {"transport": name, "flows": flows, "seed": seed},
            {
                "name": "fig06",
                "seed": seed,
                "stop": f"{STOP_MS[scale]} ms",
                "topology": dumbbell(flows),
                "switch": {**switch, "buffer": "unlimited"},
                "traffic": [half("first", made), half("second", other, second=True)],
                "sample": [{"name": "queue", "what": "queue", "every": "100 us", "ports": ["s0->s1"]}],
            },
        )
        for name, (made, other, switch, counts) in CASES.items()
        for flows in counts
        for seed in stats.SEEDS
    ]


def measure(job: Job, run: Run) -> Tables:  # noqa: ARG001
    """Maximum and average, in KB."""
    later = run.samples.filter(pl.col("time_s") > 0.1)["value"].to_numpy() / 1e3
    row = {
        "maximum": float(port(run, "s0->s1")["queue_max_bytes"]) / 1e3,
        "later": float(later.max()),
        "average": float(later.mean()),
    }
    return {"rows": pl.DataFrame([row])}


def summarise(tables: Tables) -> Tables:
    """Means over seeds, for reading."""
    names = {"maximum": "maximum_KB", "later": "maximum_from_100_ms_on_KB", "average": "average_KB"}
    shown = (
        tables["rows"]
        .group_by("transport", "flows", maintain_order=True)
        .agg(*(pl.col(name).mean().round(1).alias(shown) for name, shown in names.items()))
    )
    return {**tables, "shown": shown}


def check(tables: Tables) -> list[Finding]:
    """The verdicts on the figure's claims."""
    most = mean(tables, "maximum", transport="ec4", flows=256)
    others = {name: mean(tables, "maximum", transport=name, flows=256).mean for name in CASES if name != "ec4"}
    orders = {f"{what}, {flows} flows": order(tables, what, flows) for what in WHAT for flows in FLOWS}
    text = "; ".join(f"{what}: {span([orders[f'{what}, {flows} flows'] for flows in FLOWS])}" for what in WHAT)
    return [
        judge.judge(
            claim("ec4", "fig06-max-queue-256-flows"),
            {"value": most, "over ExpressPass's": orders["maximum, 256 flows"]},
            form=",.0f",
            note="; ".join(f"{name}: {value:,.0f} KB" for name, value in others.items()),
        ),
        judge.judge(claim("ec4", "fig06-queue-ordering"), orders, text=f"EC4's over ExpressPass's: {text}"),
    ]


def order(tables: Tables, what: str, flows: int) -> stats.Estimate:
    """EC4's queue over ExpressPass's."""
    return ratio(tables, what, {"transport": "ec4", "flows": flows}, {"transport": "expresspass", "flows": flows})


def facts(tables: Tables) -> dict[str, object]:
    """Numbers of the prose, KB: `max_c0_256` of the first case with 256 flows."""
    return {
        f"{short}_c{index}_{flows}": mean(tables, what, transport=name, flows=flows).mean
        for short, what in (("max", "maximum"), ("mean", "average"), ("later", "later"))
        for index, (name, (*_, counts)) in enumerate(CASES.items())
        for flows in counts
    }


def draw(tables: Tables, look: Look) -> dict[str, Picture]:
    """Maximum and average against the number of flows."""
    picture, axes = grid(1, 2, width=9.2, height=3.0, sharey=True)
    for name in (*MIXED, "dctcp"):
        for place, what in zip(axes, ("maximum", "average"), strict=True):
            values = [mean(tables, what, transport=name, flows=flows).mean for flows in FLOWS]
            place.plot(FLOWS, values, label=name, lw=1.7, ms=4, **look.line(COLORS[name]))
    for place, title in zip(axes, ("Maximum queue", "Average queue"), strict=True):
        powers(place, list(FLOWS))
        place.set(title=title, xlabel="flows, half of them DCTCP", yscale="log")
        place.set_yticks([100, 200, 500, 1000, 2000, 4000])
        place.yaxis.set_major_formatter(FuncFormatter(lambda y, _: f"{y:,g} KB"))
        place.axhline(200, color=look.muted, lw=1.0)
        place.minorticks_off()
    legend(picture, axes[0], columns=4)
    return {"queue": picture}


FIGURE = Figure(
    name="ec4/fig06",
    title="EC4, Fig. 6: queues beside DCTCP with an unlimited buffer",
    doc=__doc__ + "\n" + ABOUT,
    jobs=jobs,
    measure=measure,
    summarise=summarise,
    check=check,
    facts=facts,
    draw=draw,
    shown={"shown": "By transport and number of flows; means over seeds."},
    captions={"queue": "Maximum of the whole run, and average from 100 ms on, on logarithmic axes"},
    claims=("fig06-max-queue-256-flows", "fig06-queue-ordering"),
)
