"""ExpressPass joins running DCTCP flows (a), DCTCP joins running ExpressPass flows (b). The paper shows that
ExpressPass takes most of the bottleneck in both, and that DCTCP can send only once ExpressPass is done.

Unstated, and chosen here:

* **Flows**: two of each. **Time t**: 20 ms. ExpressPass stops at 120 ms, the run at 160 ms.
* The default of ExpressPass is judged, its authors' code stands beside, and EC4 in its place.
* **Share**: DCTCP's part of what is delivered from 40 ms to 120 ms, in which all flows are active. "Near zero" is below
  10 % (half of the flows are DCTCP's).
* CUBIC and TIMELY (with our defaults) in DCTCP's place besides, for what sec. I says of others.
"""

from __future__ import annotations

from typing import Any

import polars as pl
from matplotlib.figure import Figure as Picture

from clearway.reproduce import judge, stats
from clearway.reproduce.claims import Finding, claim
from clearway.reproduce.ec4.common import ABOUT, COLORS, DCTCP, MIXED, SWITCH, dumbbell, half, mean, throughput
from clearway.reproduce.figure import Figure, Job, Tables
from clearway.reproduce.look import Look, grid, legend
from clearway.reproduce.quantities import FRAME, PAYLOAD
from clearway.result import Run

CASES = {"joins": ("20 ms", "0 s"), "is joined": ("0 s", "20 ms")}
OTHERS = {"dctcp": DCTCP, "cubic": {"name": "cubic"}, "timely": {"name": "timely"}}
#: The payload that a full link of 10 Gbps delivers.
PAYLOAD_BPS = 10e9 * PAYLOAD / FRAME


def jobs(scale: str) -> list[Job]:  # noqa: ARG001
    """Every transport, joining and joined, and seed."""
    return [
        Job(
            {"transport": name, "other": other, "case": case, "seed": seed},
            {
                "name": "fig03",
                "seed": seed,
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
        for seed in stats.SEEDS
    ]


def measure(job: Job, run: Run) -> Tables:
    """Throughput of each protocol in time (of the first seed beside DCTCP), and shares while both are active."""
    total = run.samples.group_by("series", "time_s").agg(pl.col("value").sum()).sort("series", "time_s")
    after = total.filter(pl.col("time_s") > 20.1e-3)
    both = after.filter((pl.col("time_s") > 40e-3) & (pl.col("time_s") < 119.9e-3))
    rate = {name: both.filter(pl.col("series") == name)["value"].to_numpy().mean() for name in ("credits", "windows")}
    late = after.filter((pl.col("time_s") > 130e-3) & (pl.col("series") == "windows"))["value"].to_numpy()
    row = {
        "share": 100 * float(rate["windows"] / (rate["credits"] + rate["windows"])),
        "credits_bps": float(rate["credits"]),
        "windows_bps": float(rate["windows"]),
        "afterwards_bps": float(late.mean()),
    }
    drawn = job.params["seed"] == stats.SEEDS[0] and job.params["other"] == "dctcp"
    return {"rows": pl.DataFrame([row]), "points": total if drawn else total.clear()}


def summarise(tables: Tables) -> Tables:
    """Gigabits, for reading."""
    rates = {"credits": "with_credits", "windows": "the_other", "afterwards": "the_other_from_130_ms"}
    shown = (
        tables["rows"]
        .group_by("transport", "case", "other", maintain_order=True)
        .agg(
            *((pl.col(f"{name}_bps").mean() / 1e9).round(2).alias(f"{text}_Gbps") for name, text in rates.items()),
            pl.col("share").mean().round(1).alias("share_of_the_other_%"),
        )
    )
    return {**tables, "shown": shown}


def check(tables: Tables) -> list[Finding]:
    """The verdicts on the figure's claims."""
    share = {
        (name, other, case): mean(tables, "share", transport=name, other=other, case=case)
        for name in MIXED
        for other in OTHERS
        for case in CASES
    }
    starved: dict[str, judge.Measured] = {f"share, {case}": share["expresspass", "dctcp", case] for case in CASES}
    for case in CASES:
        back = mean(tables, "afterwards_bps", transport="expresspass", other="dctcp", case=case)
        starved[f"afterwards, {case}"] = back.scaled(1 / PAYLOAD_BPS)
    text = "; ".join(f"{case} {share['expresspass', 'dctcp', case]:.1f} %" for case in CASES)
    beside = "; ".join(
        f"{name} {max(share[name, 'dctcp', case].mean for case in CASES):.1f} %"
        for name in MIXED
        if name != "expresspass"
    )
    taken = {f"{other}, {case}": share["expresspass", other, case] for other in OTHERS for case in CASES}
    most = {other: max(share["expresspass", other, case].mean for case in CASES) for other in OTHERS}
    return [
        judge.judge(
            claim("ec4", "fig03-expresspass-starves-dctcp"),
            starved,
            text=f"DCTCP's share: {text}",
            note=f"at most, beside {beside}",
        ),
        judge.judge(
            claim("ec4", "sec1-expresspass-unfriendly-to-others"),
            taken,
            text="share of the other: " + "; ".join(f"{other} at most {value:.1f} %" for other, value in most.items()),
            note="two flows of each",
        ),
    ]


def facts(tables: Tables) -> dict[str, object]:
    """Numbers of the prose: the most that the other has beside each transport, in per cent."""
    short = {"ec4": "ec4", "expresspass": "ep", "expresspass, ns2": "ns2"}
    return {
        f"{short[name]}_{other}": max(
            mean(tables, "share", transport=name, other=other, case=case).mean for case in CASES
        )
        for name in MIXED
        for other in OTHERS
    }


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


FIGURE = Figure(
    name="ec4/fig03",
    title="EC4, Fig. 3: ExpressPass and DCTCP join each other",
    doc=__doc__ + "\n" + ABOUT,
    jobs=jobs,
    measure=measure,
    summarise=summarise,
    check=check,
    facts=facts,
    draw=draw,
    shown={"shown": "Goodput from 40 to 120 ms, in which all flows are active; means over seeds."},
    captions={"shares": "Goodput of two flows with credits and two DCTCP flows; the former stop at 120 ms"},
    claims=("fig03-expresspass-starves-dctcp", "sec1-expresspass-unfriendly-to-others"),
)
