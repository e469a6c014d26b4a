"""The queue at the bottleneck with an unlimited buffer, half of the N flows DCTCP: its maximum (how bursts are met) and
its average, against N up to 256, for EC4 and ExpressPass.

Unstated, and chosen here:

* **Starts**: 7 us apart, ten segments to start with. Both decide the maximum, so DCTCP is also run with one segment to
  start with and at least ("one segment"), and under the law of INET (`profile = "inet"`), on which the paper ran and
  whose flows start with one segment and have no least window under a cut (DCTCP-4).
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
    INET,
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
    "ec4, INET": (EC4, INET, SWITCH, FLOWS),
    "ec4, INET, K 25": (EC4, INET, SMALL_K, FLOWS[-2:]),
    "expresspass, INET": (MIXED["expresspass"], INET, SWITCH, FLOWS),
}
#: The reading with INET's DCTCP, as rows name it.
BY_INET = "DCTCP is INET's (DCTCP-4)"


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
    others = {name: mean(tables, "maximum", transport=name, flows=256).mean for name in CASES if name != "ec4"}
    found = orders(tables)
    text = "; ".join(f"{what}: {span([found[f'{what}, {flows} flows'] for flows in FLOWS])}" for what in WHAT)
    return [
        judge.judge(
            claim("ec4", "fig06-max-queue-256-flows"),
            most(tables),
            form=",.0f",
            note="; ".join(f"{name}: {value:,.0f} KB" for name, value in others.items()),
            readings={BY_INET: most(tables, ", INET")},
        ),
        judge.judge(
            claim("ec4", "fig06-queue-ordering"),
            found,
            text=f"EC4's over ExpressPass's: {text}",
            readings={BY_INET: orders(tables, ", INET")},
        ),
    ]


def most(tables: Tables, kind: str = "") -> dict[str, judge.Measured]:
    """EC4's maximum with 256 flows, and what it is of ExpressPass's."""
    over = order(tables, "maximum", 256, kind)
    return {"value": mean(tables, "maximum", transport=f"ec4{kind}", flows=256), "over ExpressPass's": over}


def orders(tables: Tables, kind: str = "") -> dict[str, stats.Estimate]:
    """EC4's queues over ExpressPass's, by measure and number of flows."""
    return {f"{what}, {flows} flows": order(tables, what, flows, kind) for what in WHAT for flows in FLOWS}


def order(tables: Tables, what: str, flows: int, kind: str = "") -> stats.Estimate:
    """EC4's queue over ExpressPass's."""
    ours, theirs = ({"transport": f"{name}{kind}", "flows": flows} for name in ("ec4", "expresspass"))
    return ratio(tables, what, ours, theirs)


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
