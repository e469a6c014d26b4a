"""Flows of two workloads, WebSearch and FB_Hadoop, arrive at random between random pairs of the 320 hosts, at several
loads. Fig. 7 and 8 show the average and the 99th percentile of their completion times under DCQCN, TIMELY, HPCC and
PACC, Fig. 9 and 10 the same by size.

Unstated, and chosen here:

* **Loads**: half of the host links, which are the bottleneck (the tree is not oversubscribed); at the whole size also
  0.3 and 0.7, with as many flows. Headers count, telemetry does not, so under HPCC links carry 4 % more for the same
  flows.
* **Length**: at the whole size flows arrive for 30 ms in WebSearch and 15 ms in FB_Hadoop at half load; a run ends when
  all are delivered. What counts are the flows that start between the first sixth of that time and the last, so that
  the network is neither filling nor draining. From about half of that size on they are enough for a 99th percentile of
  each class of sizes in WebSearch; below it a class may have none, and what needs it does not hold.
* **Seeds**: five, the same flows for every transport; reductions are paired by seed.
* **Workloads**: the distributions in the files of HPCC's code, with straight lines between their points.
* **Completion time** as HPCC's code has it: until the last acknowledgement is back at the sender.
* **Sizes**: the two classes of the text, up to 100 KB and above; flows above 3 MB as "extremely large" ones.

Beside the four transports, at the middle load, with one thing changed at a time:

* **pacc, window**: HPCC's variable window, and nothing else (PACC-29);
* **rocev2, window**: the control: line rate and a fixed window of 40.5 KB, and nothing that marks, notifies or cuts;
* at the whole size, which decides, the transports of all readings, such as DCQCN and TIMELY with a window (PACC-23, all
  four have one then).
"""

from __future__ import annotations

import math
from typing import Any

import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Picture
from matplotlib.ticker import LogLocator

from clearway.reproduce import stats
from clearway.reproduce.claims import Finding
from clearway.reproduce.figure import Figure, Tables
from clearway.reproduce.look import Look, grid, legend
from clearway.reproduce.pacc.fig07_cells import (
    ALL,
    CLASSES,
    HUGE,
    LARGE,
    MIDDLE,
    SMALL,
    STATISTICS,
    WORKLOADS,
    loads,
    of,
    reduced,
)
from clearway.reproduce.pacc.fig07_claims import (
    check_averages,
    check_breakdown,
    check_classes,
    check_order,
    check_similar,
    check_trends,
)
from clearway.reproduce.pacc.fig07_runs import CONTROL, SIZES, WINDOWED, at, jobs, measure
from clearway.reproduce.pacc.setup import ABOUT_SETUP, COLORS, PAPER, TRANSPORTS


def summarise(tables: Tables) -> Tables:
    """Completion times and reductions by workload, load and class; what the runs met and took."""
    names = list(dict.fromkeys(tables["rows"]["transport"]))
    shown, reductions = [], []
    for workload in WORKLOADS:
        for load in loads(tables):
            for bucket in CLASSES:
                row: dict[str, Any] = {"workload": workload, "load": load, "class": bucket}
                for name in names:
                    mean, late = (
                        [1e6 * value for value in of(tables, workload, load, name, bucket, column)]
                        for column in STATISTICS.values()
                    )
                    tail = stats.estimate(late).mean
                    row[name] = (
                        f"{stats.estimate(mean):,.0f} / {'-' if tail != tail else f'{tail:,.0f}'}" if mean else "-"
                    )
                shown.append(row)
            for ours in [name for name in names if name not in PAPER.values()]:
                if not of(tables, workload, load, ours):
                    continue
                row = {"workload": workload, "load": load, "transport": ours}
                for title, column in STATISTICS.items():
                    for paper, other in PAPER.items():
                        pair = (of(tables, workload, load, one, ALL, column) for one in (ours, other))
                        row[f"{title}: less than {paper} (%)"] = stats.reduction(*pair).scaled(100).text(".1f")
                reductions.append(row)
    means = ("flows", "pauses", "queue_max_KB", "notices", "drops", "M_link_tx", "cpu_s")
    costs = tables["rows"].group_by("workload", "load", "transport", maintain_order=True).agg(pl.col(means).mean())
    return {
        **tables,
        "shown": pl.DataFrame(shown),
        "reductions": pl.DataFrame(reductions),
        "cost": costs.with_columns(pl.col("flows", "pauses", "queue_max_KB", "notices", "drops").round(0)),
    }


def check(tables: Tables) -> list[Finding]:
    """The verdicts on the figure's claims."""
    return [
        *check_averages(tables),
        check_order(tables),
        check_similar(tables),
        *check_classes(tables),
        check_breakdown(tables),
        check_trends(tables),
    ]


def facts(tables: Tables) -> dict[str, object]:
    """Numbers that the prose names."""
    named: dict[str, object] = {}
    for workload, short in (("WebSearch", "web"), ("FB_Hadoop", "hadoop")):
        for who, ours in (("pacc", "pacc"), ("window", WINDOWED), ("control", CONTROL)):
            for paper, other in PAPER.items():
                named[f"{short}_{who}_{paper.lower()}"] = reduced(tables, workload, other, ours=ours).mean
        for bucket, size in ((SMALL, "small"), (LARGE, "large"), (HUGE, "huge")):
            for paper, name in PAPER.items():
                ratio = stats.paired_ratio(
                    of(tables, workload, MIDDLE, "pacc", bucket), of(tables, workload, MIDDLE, name, bucket)
                )
                named[f"{short}_{size}_{paper.lower()}"] = 100 * (ratio.mean - 1)
        both = (of(tables, workload, MIDDLE, name) for name in (WINDOWED, CONTROL))
        named[f"{short}_apart"] = 100 * abs(stats.paired_ratio(*both).mean - 1)
    rows = tables["rows"]
    named["pauses"], named["drops"] = int(rows["pauses"].sum()), int(rows["drops"].sum())
    for who, name in (("pacc", "pacc"), ("window", WINDOWED)):
        part = rows.filter((pl.col("transport") == name) & (pl.col("load") == MIDDLE))
        named[f"notices_{who}"] = float(part["notices"].to_numpy().mean())
    return named


def draw(tables: Tables, look: Look) -> dict[str, Picture]:
    """Reductions against each rival, by class of sizes."""
    picture, axes = grid(2, 2, width=9.6, height=2.9, sharex=True)
    shown = {"pacc": look.color(COLORS["pacc"]), WINDOWED: look.color(0), CONTROL: look.muted}
    groups = [(bucket, paper) for bucket in (ALL, SMALL, LARGE) for paper in PAPER]
    for i, (title, column) in enumerate(STATISTICS.items()):
        for place, workload in zip(axes[2 * i : 2 * i + 2], WORKLOADS, strict=True):
            for index, (name, color) in enumerate(shown.items()):
                values = [reduced(tables, workload, PAPER[paper], bucket, column, name) for bucket, paper in groups]
                at = [place_ + 0.26 * (index - 1) for place_ in range(len(groups))]
                ends = [[one.mean - one.low for one in values], [one.high - one.mean for one in values]]
                place.bar(at, [one.mean for one in values], 0.24, color=color, label=name)
                place.errorbar(at, [one.mean for one in values], ends, ls="", ecolor=look.ink, elinewidth=0.8)
            bars(place, look, groups)
            place.set(title=f"{workload}, {title}")
            if workload == "WebSearch":
                place.set_ylabel("less than the rival (%)")
    legend(picture, axes[0], 3)
    return {"reductions": picture, "times": draw_times(tables, look)}


def bars(place: Axes, look: Look, groups: list[tuple[str, str]]) -> None:
    """The names of workloads and classes below the bars."""
    place.axhline(0, color=look.ink, lw=0.8)
    place.set_xticks(range(len(groups)), [paper for _, paper in groups], fontsize=9, rotation=30)
    for index, bucket in enumerate((ALL, SMALL, LARGE)):
        place.annotate(
            bucket, (3 * index + 1, 1), xycoords=("data", "axes fraction"), ha="center", va="top", fontsize=10
        )
    place.grid(visible=False, axis="x")


def draw_times(tables: Tables, look: Look) -> Picture:
    """The paper's bars: averages and percentiles by load."""
    picture, axes = grid(1, 2, width=9.6, height=2.9)
    shown = {**{name: look.color(COLORS[name]) for name in TRANSPORTS}, WINDOWED: look.color(0), CONTROL: look.muted}
    at = [(load, title) for load in loads(tables) for title in STATISTICS]
    for place, workload in zip(axes, WORKLOADS, strict=True):
        for index, (name, color) in enumerate(shown.items()):
            values = [
                stats.estimate(of(tables, workload, load, name, ALL, STATISTICS[title]) or [math.nan]).scaled(1e3)
                for load, title in at
            ]
            ends = [[one.mean - one.low for one in values], [one.high - one.mean for one in values]]
            where = [place_ + 0.14 * (index - 2.5) for place_ in range(len(at))]
            place.bar(where, [one.mean for one in values], 0.13, color=color, label=name)
            place.errorbar(where, [one.mean for one in values], ends, ls="", ecolor=look.ink, elinewidth=0.8)
        place.set_yscale("log")
        place.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        place.yaxis.set_major_formatter(lambda y, _: f"{y:g}")
        place.minorticks_off()
        place.set_xticks(range(len(at)), [f"load {load}\n{title}" for load, title in at], fontsize=10)
        place.set(title=workload, ylabel="FCT (ms)")
        place.grid(visible=False, axis="x")
    legend(picture, axes[0], 3)
    return picture


FIGURE = Figure(
    name="pacc/fig07",
    title="PACC, Fig. 7 to 10: WebSearch and FB_Hadoop on 320 hosts at 25 Gbps",
    doc=f"{__doc__}\n{ABOUT_SETUP}",
    jobs=jobs,
    at=at,
    sizes=SIZES,
    measure=measure,
    summarise=summarise,
    check=check,
    facts=facts,
    draw=draw,
    claims=(
        "abstract-average-fct-reduction-range",
        "fig07-websearch-average-fct",
        "fig08-hadoop-average-fct",
        "fig07-fig08-ordering",
        "fig07-fig08-p99-similar",
        "fig09-websearch-short-flows",
        "fig09-websearch-long-flows",
        "fig09-fig10-breakdown-ordering",
        "fig09-fig10-baseline-trends",
    ),
    shown={
        "shown": "Completion times in us: average with its interval / 99th percentile, means over seeds.",
        "reductions": "By how much the average and the 99th percentile are below those of the others, paired by seed.",
        "cost": "What the runs met and took, means over seeds.",
    },
    captions={
        "reductions": "How much shorter flows are than under each rival, by size: PACC, PACC with a window, and the "
        "control without congestion control",
        "times": "Average and 99th percentile of completion times",
    },
)
