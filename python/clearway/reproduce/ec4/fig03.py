"""ExpressPass joins running DCTCP flows (a), DCTCP joins running ExpressPass flows (b). The paper shows that
ExpressPass takes most of the bottleneck in both, and that DCTCP can send only once ExpressPass is done.

Unstated, and chosen here:

* **Flows**: two of each. **Time t**: 20 ms. ExpressPass stops at 120 ms, the run at 160 ms.
* Both readings of ExpressPass, and EC4 in its place.
* **Share**: DCTCP's part of what is delivered from 40 ms to 120 ms, in which all flows are active.
* CUBIC and TIMELY (with our defaults) in DCTCP's place besides, for what sec. I says of others.
"""

from __future__ import annotations

from typing import Any

import polars as pl
from matplotlib.figure import Figure as Picture

from clearway.reproduce.claims import Finding, claim, verdict
from clearway.reproduce.ec4.common import ABOUT, COLORS, DCTCP, MIXED, SWITCH, column, dumbbell, half, throughput
from clearway.reproduce.figure import Figure, Job, Tables
from clearway.reproduce.look import Look, grid, legend
from clearway.result import Run

CASES = {"joins": ("20 ms", "0 s"), "is joined": ("0 s", "20 ms")}
OTHERS = {"dctcp": DCTCP, "cubic": {"name": "cubic"}, "timely": {"name": "timely"}}


def jobs(scale: str) -> list[Job]:  # noqa: ARG001
    """Every transport, joining and joined."""
    return [
        Job(
            {"transport": name, "other": other, "case": case},
            {
                "name": "fig03",
                "stop": "160 ms",
                "topology": dumbbell(4),
                "switch": SWITCH,
                "traffic": [
                    half("credits", made, start=first, stop="120 ms"),
                    half("windows", OTHERS[other], second=True, start=second),
                ],
                "sample": throughput("credits", "windows", every="1 ms"),
            },
        )
        for other in OTHERS
        for name, made in MIXED.items()
        for case, (first, second) in CASES.items()
    ]


def measure(job: Job, run: Run) -> Tables:  # noqa: ARG001
    """Throughput of each protocol in time, and shares while both are active."""
    total = run.samples.group_by("series", "time_s").agg(pl.col("value").sum()).sort("series", "time_s")
    after = total.filter(pl.col("time_s") > 20.1e-3)
    both = after.filter((pl.col("time_s") > 40e-3) & (pl.col("time_s") < 119.9e-3))
    mean = {name: both.filter(pl.col("series") == name)["value"].to_numpy().mean() for name in ("credits", "windows")}
    late = after.filter((pl.col("time_s") > 130e-3) & (pl.col("series") == "windows"))["value"].to_numpy()
    row = {
        "share": float(mean["windows"] / (mean["credits"] + mean["windows"])),
        "credits_bps": float(mean["credits"]),
        "windows_bps": float(mean["windows"]),
        "afterwards_bps": float(late.mean()),
    }
    return {"rows": pl.DataFrame([row]), "points": total}


def summarise(tables: Tables) -> Tables:
    """Gigabits, for reading."""
    rate = [
        (pl.col(f"{name}_bps") / 1e9).round(2).alias(f"{shown}_Gbps")
        for name, shown in (
            ("credits", "with_credits"),
            ("windows", "the_other"),
            ("afterwards", "the_other_from_130_ms"),
        )
    ]
    shown = tables["rows"].select(
        "transport", "case", "other", *rate, (100 * pl.col("share")).round(1).alias("share_of_the_other_%")
    )
    return {**tables, "shown": shown}


def check(tables: Tables) -> list[Finding]:
    """The claims."""
    share = {
        (name, other): [100 * value for value in column(tables, "share", transport=name, other=other)]
        for name in MIXED
        for other in OTHERS
    }
    here = claim("ec4", "fig03-expresspass-starves-dctcp")
    text = "; ".join(
        f"beside {name} {min(share[name, 'dctcp']):.1f} to {max(share[name, 'dctcp']):.1f} %" for name in MIXED
    )
    back = min(column(tables, "afterwards_bps", transport="expresspass, ns2", other="dctcp")) / 1e9
    holds = max(share["expresspass, ns2", "dctcp"]) < 10 and back > 9
    note = f"judged on the authors' code; when it is done DCTCP has {back:.1f} Gbps again"
    found = [Finding(here, "DCTCP's share: " + text, verdict(holds), note)]
    here = claim("ec4", "sec1-expresspass-unfriendly-to-others")
    names = ("expresspass", "expresspass, ns2")
    text = "; ".join(
        f"{other} beside {name} at most {max(share[name, other]):.1f} %" for other in OTHERS for name in names
    )
    holds = all(max(share["expresspass, ns2", other]) < 50 for other in OTHERS)
    found.append(Finding(here, text, verdict(holds), "the share of the other; two flows of each"))
    return found


def draw(tables: Tables, look: Look) -> dict[str, Picture]:
    """Throughput of both protocols, each transport in a panel."""
    picture, axes = grid(2, 3, width=10.5, height=2.3, sharex=True, sharey=True)
    for index, (case, _) in enumerate(CASES.items()):
        for place, name in zip(axes[3 * index : 3 * index + 3], MIXED, strict=True):
            part = tables["points"].filter(
                (pl.col("transport") == name) & (pl.col("case") == case) & (pl.col("other") == "dctcp")
            )
            for series, color in (("credits", COLORS[name]), ("windows", COLORS["dctcp"])):
                rows = part.filter(pl.col("series") == series)
                line: dict[str, Any] = {"color": look.color(color), "ls": "-" if series == "credits" else "--"}
                label = "with credits" if series == "credits" else "DCTCP"
                place.plot(rows["time_s"] * 1e3, rows["value"] / 1e9, lw=1.5, label=label, **line)
            place.set(title=f"{name} {case}", ylim=(0, 10.2), xlim=(0, 160))
            if index:
                place.set_xlabel("time (ms)")
    for place in axes[::3]:
        place.set_ylabel("goodput (Gbps)")
    legend(picture, axes[0])
    return {"shares": picture}


READING = """\
**Agrees.** The authors' ExpressPass leaves two DCTCP flows 5 % whoever came first: their least windows of two frames.
Once it is done they have the whole link within milliseconds. CUBIC gets 14 %, and the full buffer costs both losses;
TIMELY gets 5 %.

**In part.** Algorithm 1 as printed leaves DCTCP 20 %: it does not use all that credits may (see [Fig.
4](ec4-fig04.md)).

**EC4 in its place** leaves DCTCP 36 %, whoever came first. Beside CUBIC, which no mark slows down, EC4 gets 18 %: it
makes room for marks that CUBIC ignores. Beside TIMELY it takes 86 to 91 %, as much as Algorithm 1; we take it that
TIMELY keeps the queue below K, so that no mark tells EC4 of it. The paper claims nothing of either.
"""

FIGURE = Figure(
    name="ec4/fig03",
    title="EC4, Fig. 3: ExpressPass and DCTCP join each other",
    doc=__doc__ + "\n" + ABOUT,
    jobs=jobs,
    measure=measure,
    summarise=summarise,
    check=check,
    draw=draw,
    shown={"shown": "Goodput from 40 to 120 ms, in which all flows are active."},
    captions={"shares": "Goodput of two flows with credits and two DCTCP flows; the former stop at 120 ms"},
    reading=READING,
)
