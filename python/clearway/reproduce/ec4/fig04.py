"""Half of N long flows are EC4 (or ExpressPass), half DCTCP, through one queue. The paper shows Jain's index over all
flows, each averaged over 100 ms, and the ratio of the two protocols' bandwidth, against N; and says that the network
is used to 95 % in mixes and to 100 % by DCTCP alone (sec. IV-A).

Unstated, and chosen here:

* **N** from 2 to 256, half of each; starts 7 us apart.
* **The interval**: the 100 ms after the first 50 ms; at full scale five of them, averaged. Queues are sampled in it,
  every 200 us.
* **Utilisation**: bytes of frames on the bottleneck, in the direction of the data; credits go the other way. 8 flows.
* Beside the default reading of EC4 others are run, each with one thing changed, and K of 25 frames: eq. (1) asks for 20
  packets at 10 Gbps.
* What the causes of claims that fail rest on is run at every N: K of 35 frames, with which [Fig. 5](ec4-fig05.md) comes
  out as the paper has it; an unlimited buffer (as sec. IV-A has it for its queues); and K of 35 with windows of DCTCP
  that may fall to one segment.
* **INET**: DCTCP's half as in INET (`profile = "inet"`), the library on which the paper ran (DCTCP-4). Flows that lose
  a packet at the start may then be silent for the rest, since its first timeout is 3 s. So INET's law of the window
  also runs alone, with all else as by default (`law = "inet"`).
* **Split** (EC4-19): in mixes the middle link has 95 % of the rate (1,538 of 1,622 B), so that the 5 % of credits stay
  free of data.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl
from matplotlib.figure import Figure as Picture

from clearway import metrics
from clearway.report.style import own
from clearway.reproduce import judge, stats
from clearway.reproduce.claims import Finding, claim
from clearway.reproduce.ec4.common import (
    ABOUT,
    COLORS,
    DCTCP,
    EC4,
    FAIR_K,
    FLOWS,
    INET,
    K_BYTES,
    MIXED,
    NO_HIGH,
    PRINTED,
    READINGS,
    SMALL_K,
    SWITCH,
    dumbbell,
    half,
    mean,
    of_seeds,
    ratio,
    span,
    throughput,
)
from clearway.reproduce.figure import Figure, Job, Tables
from clearway.reproduce.look import Look, grid, legend, powers
from clearway.reproduce.quantities import CREDIT, FRAME, data_drops
from clearway.reproduce.stats import Estimate
from clearway.result import Run

INTERVALS = {"quick": 1, "paper": 5}
START_MS = 50
#: Numbers of flows at which readings are compared.
FEW = (2, 8, 32)
#: Transports alone, for the utilisation.
ALONE = {"dctcp alone": DCTCP, **{f"{name} alone": made for name, made in MIXED.items()}}
#: With a K of 25 frames.
SMALL: dict[str, dict[str, object]] = {
    "ec4": EC4,
    "no HIGH mode": {**EC4, **NO_HIGH},
    "printed": PRINTED,
    **{name: made for name, made in MIXED.items() if name != "ec4"},
}
#: Sets of runs at every number of flows, each with one thing changed: DCTCP's half, the switch.
CHANGES: dict[str, tuple[dict[str, object], dict[str, object]]] = {
    "K 35": (DCTCP, FAIR_K),
    "unlimited buffer": (DCTCP, {**SWITCH, "buffer": "unlimited"}),
    "K 35, one segment": ({**DCTCP, "min_cwnd": 1}, FAIR_K),
    "inet": (INET, SWITCH),
    "law": ({**DCTCP, "law": "inet"}, SWITCH),
}
#: The reading with INET's DCTCP, as rows name it.
BY_INET = "DCTCP is INET's (DCTCP-4)"
COMPARED = ("ec4", "expresspass")
#: The middle link where the share of credits stays free of data.
SPLIT: dict[str, Any] = {"bottleneck_rate": f"{1e4 * FRAME / (CREDIT + FRAME):.0f} Mbps"}


def variants(scale: str) -> list[Job]:
    """Everything, by kind, and seed."""
    return [
        one
        for seed in stats.SEEDS
        for one in (
            *(job(scale, seed, "mix", name, made, flows) for name, made in MIXED.items() for flows in FLOWS),
            *(job(scale, seed, "reading", name, made, flows) for name, made in READINGS.items() for flows in FEW),
            *(job(scale, seed, "K 25", name, made, flows, k=SMALL_K) for name, made in SMALL.items() for flows in FEW),
            *changes(scale, seed),
            *(job(scale, seed, "split", name, MIXED[name], 8, link=SPLIT) for name in COMPARED),
            *(job(scale, seed, "alone", name, made, 8, made) for name, made in ALONE.items()),
        )
    ]


def changes(scale: str, seed: int) -> list[Job]:
    """The runs of a seed with one thing changed."""
    return [
        job(scale, seed, kind, name, MIXED[name], flows, other, k)
        for kind, (other, k) in CHANGES.items()
        for name in COMPARED
        for flows in FLOWS
    ]


def job(
    scale: str,
    seed: int,
    kind: str,
    name: str,
    transport: dict[str, object],
    flows: int,
    other: dict[str, object] = DCTCP,
    k: dict[str, object] = SWITCH,
    link: Mapping[str, object] | None = None,
) -> Job:
    """The job of one run."""
    return Job(
        {"kind": kind, "transport": name, "flows": flows, "seed": seed},
        {
            "name": "fig04",
            "seed": seed,
            "stop": f"{START_MS + 100 * INTERVALS[scale]} ms",
            "topology": {**dumbbell(flows), **(link or {})},
            "switch": k,
            "traffic": [half("first", transport), half("second", other, second=True)],
            "sample": [
                *throughput("first", "second", every=f"{START_MS} ms"),
                {"name": "link", "what": "rate", "every": f"{START_MS} ms", "ports": ["s0->s1"]},
                {"name": "queue", "what": "queue", "every": "200 us", "ports": ["s0->s1"]},
            ],
        },
    )


def measure(job: Job, run: Run) -> Tables:  # noqa: ARG001
    """Goodput of both halves, fairness, use of the link, queue: in intervals of 100 ms, averaged; losses of the run."""
    after = run.samples.filter(pl.col("time_s") > START_MS * 1.01e-3)
    flows = after.filter(pl.col("series").is_in(["first", "second"]))
    # Two samples of 50 ms make an interval.
    flows = flows.with_columns(((pl.col("time_s") * 1e3 / START_MS).round() / 2).floor().alias("interval"))
    rows = []
    for _, part in flows.group_by("interval"):
        each = part.group_by("series", "entity").agg(pl.col("value").mean())
        halves = [each.filter(pl.col("series") == name)["value"].to_numpy() for name in ("first", "second")]
        rows.append(
            {
                "first_bps": float(halves[0].sum()),
                "second_bps": float(halves[1].sum()),
                "jain": metrics.jain_index(np.concatenate(halves)),
                "jain_first": metrics.jain_index(halves[0]),
            }
        )
    row = {name: float(np.mean([row[name] for row in rows])) for name in rows[0]}
    row["ratio"] = row["first_bps"] / max(row["second_bps"], 1.0)
    for name, series in (("used", "link"), ("queue", "queue")):
        row[name] = float(after.filter(pl.col("series") == series)["value"].to_numpy().mean())
    row["used"] *= 100 / 10e9
    row["drops"] = float(data_drops(run))
    return {"rows": pl.DataFrame([row])}


def summarise(tables: Tables) -> Tables:
    """Ratios side by side, means over seeds."""
    rows = (
        tables["rows"]
        .group_by("kind", "transport", "flows", maintain_order=True)
        .agg(pl.col("first_bps", "second_bps", "ratio", "jain", "jain_first", "used", "queue", "drops").mean())
    )
    shown = rows.filter(pl.col("kind") == "mix").select(
        "transport",
        "flows",
        (pl.col("first_bps") / 1e9).round(2).alias("its_goodput_Gbps"),
        (pl.col("second_bps") / 1e9).round(2).alias("DCTCP's_goodput_Gbps"),
        pl.col("ratio").round(2),
        pl.col("jain").round(3).alias("Jain"),
        pl.col("jain_first").round(3).alias("Jain_among_its_own"),
        pl.col("used").round(1).alias("link_used_%"),
        (pl.col("queue") / 1e3).round(0).alias("mean_queue_KB"),
        pl.col("drops").round(0).cast(pl.Int64),
    )
    alone = rows.filter(pl.col("kind") == "alone").select(
        "transport", "flows", pl.col("used").round(1).alias("link_used_%")
    )
    return {**tables, "shown": shown, "alone": alone, "readings": wide(rows, "reading"), "small": wide(rows, "K 25")}


def wide(rows: pl.DataFrame, kind: str) -> pl.DataFrame:
    """Ratio and Jain's index, a row for each transport and a column for each number of flows."""
    both = pl.format("{} ({})", pl.col("ratio").round(2), pl.col("jain").round(2)).alias("text")
    part = rows.filter(pl.col("kind") == kind).with_columns(both)
    table = part.pivot(on="flows", index="transport", values="text")
    return table.rename({name: f"{name}_flows" for name in table.columns[1:]})


def further(tables: Tables, flows: int, kind: str) -> Estimate:
    """The distance by which ExpressPass's ratio is further from 1 than EC4's, as logarithms, paired by seed."""
    both = [
        np.abs(np.log(of_seeds(tables, "ratio", kind=kind, transport=name, flows=flows)))
        for name in ("expresspass", "ec4")
    ]
    return stats.estimate([float(value) for value in both[0] - both[1]])


def mixed(tables: Tables, what: str, kind: str = "mix") -> dict[str, list[Estimate]]:
    """A value of each mix with DCTCP, by number of flows."""
    names = MIXED if kind == "mix" else COMPARED
    return {name: [mean(tables, what, kind=kind, transport=name, flows=flows) for flows in FLOWS] for name in names}


def over_expresspass(tables: Tables, what: str, flows: int, kind: str = "mix") -> Estimate:
    """A value of EC4 beside DCTCP over that of ExpressPass beside it."""
    ours, theirs = ({"kind": kind, "transport": name, "flows": flows} for name in ("ec4", "expresspass"))
    return ratio(tables, what, ours, theirs)


def check(tables: Tables) -> list[Finding]:
    """The verdicts on the figure's claims."""
    return [check_fairness(tables), check_ratio(tables), check_used(tables), *check_queue(tables)]


def fairness(tables: Tables, kind: str = "mix") -> dict[str, judge.Measured]:
    """The quantities that decide the claim on Jain's index."""
    found = {f"EC4 over ExpressPass, {flows} flows": over_expresspass(tables, "jain", flows, kind) for flows in FLOWS}
    few, many = ({"kind": kind, "transport": "expresspass", "flows": flows} for flows in (FLOWS[0], FLOWS[-1]))
    return {**found, "ExpressPass, most flows over fewest": ratio(tables, "jain", many, few)}


def check_fairness(tables: Tables) -> Finding:
    """The verdict on the claim that EC4 beside DCTCP is fairer than ExpressPass beside it."""
    here = claim("ec4", "fig04a-jain-fairness")
    jain = mixed(tables, "jain")
    ends = [jain["expresspass"][at].mean for at in (0, -1)]
    note = f"ExpressPass: {ends[0]:.2f} with {FLOWS[0]} flows, {ends[1]:.2f} with {FLOWS[-1]}"
    text = "; ".join(f"{name}: {span(jain[name])}" for name in MIXED)
    few, many = (mixed(tables, "jain", "unlimited buffer")["expresspass"][at].mean for at in (0, -1))
    cause = judge.Change(
        "The buffer is limited to 250 frames, where sec. IV-A has an infinite one for its queues; in that one "
        "ExpressPass's round trips grow with the flows, and its flows get unlike shares: its index falls from "
        f"{few:.3f} to {many:.3f}.",
        fairness(tables, "unlimited buffer"),
    )
    return judge.judge(here, fairness(tables), text=text, note=note, cause=cause)


def ratios_by_flows(tables: Tables, kind: str = "mix") -> dict[str, judge.Measured]:
    """The quantities that decide the claim on the ratio of both protocols."""
    ratios = mixed(tables, "ratio", kind)
    found: dict[str, judge.Measured] = {}
    for flows, ours, theirs in zip(FLOWS, ratios["ec4"], ratios["expresspass"], strict=True):
        found |= {
            f"EC4, {flows} flows": ours,
            f"ExpressPass, {flows} flows": theirs,
            f"further, {flows} flows": further(tables, flows, kind),
        }
    return found


def check_ratio(tables: Tables) -> Finding:
    """The verdict on the claim that EC4's goodput is near DCTCP's and ExpressPass's is not."""
    here = claim("ec4", "fig04-protocol-ratio")
    ratios = mixed(tables, "ratio")
    each = ", ".join(f"{value.mean:.2f} with {flows}" for flows, value in zip(FLOWS, ratios["ec4"], strict=True))
    text = "; ".join(f"{name}: {span(ratios[name])}" for name in MIXED)
    few = mixed(tables, "ratio", "K 35")["ec4"][:4]
    cause = judge.Change(
        f"K is 100 packets, as stated; an omega_mid of 0.05 goes with a K of 35, with which EC4's ratio is {span(few)} "
        f"with up to {FLOWS[3]} flows.",
        ratios_by_flows(tables, "K 35"),
    )
    return judge.judge(here, ratios_by_flows(tables), text=text, note=f"EC4: {each} flows", cause=cause)


def used(tables: Tables, kind: str = "mix") -> dict[str, judge.Measured]:
    """The use of the link by mixes, by DCTCP alone, and the one over the other."""
    alone = {"kind": "alone", "transport": "dctcp alone", "flows": 8}
    mixes = {
        name: {"kind": kind, "transport": made, "flows": 8}
        for name, made in (("EC4 + DCTCP", "ec4"), ("ExpressPass + DCTCP", "expresspass"))
    }
    of_link = {name: mean(tables, "used", **at) for name, at in {**mixes, "DCTCP": alone}.items()}
    return {**of_link, **{f"{name} over DCTCP alone": ratio(tables, "used", at, alone) for name, at in mixes.items()}}


def check_used(tables: Tables) -> Finding:
    """The verdict on what mixes use of the link, and DCTCP alone."""
    here = claim("ec4", "sec4a-utilization")
    ep = ", ".join(f"{name} {mean(tables, 'used', kind='alone', transport=name).mean:.1f} %" for name in ALONE)
    readings = {"the 5 % of credits stay free of data (EC4-19)": used(tables, "split")}
    return judge.judge(here, used(tables), form=".1f", note=f"8 flows; {ep}", readings=readings)


def queues(tables: Tables, kind: str = "mix") -> dict[int, Estimate]:
    """The average queue of EC4 beside DCTCP in KB, by number of flows."""
    return {flows: value.scaled(1e-3) for flows, value in zip(FLOWS, mixed(tables, "queue", kind)["ec4"], strict=True)}


def over_k(tables: Tables, kind: str = "mix") -> dict[str, judge.Measured]:
    """The average queue over K, by number of flows."""
    return {f"{flows} flows": value.scaled(1e3 / K_BYTES) for flows, value in queues(tables, kind).items()}


def longest(tables: Tables, kind: str = "mix") -> Estimate:
    """The average queue in KB with the number of flows that queues most."""
    return max(queues(tables, kind).values(), key=lambda value: value.mean)


def check_queue(tables: Tables) -> list[Finding]:
    """The verdicts on the average queue of EC4 beside DCTCP: around K, and below 100 KB."""
    text = ", ".join(f"{value.mean:.0f} KB at {flows}" for flows, value in queues(tables).items())
    inet = ", ".join(f"{value.mean:.0f} at {flows}" for flows, value in queues(tables, "inet").items())
    held = judge.Calculation(
        "The least windows of 128 DCTCP flows, two segments each, are 394 KB, and the path holds at most 42 KB of it: "
        "with 256 flows at least 350 KB wait, whatever EC4 does."
    )
    floor = "DCTCP holds two segments a flow; by the law of INET, on which the paper ran, no least window limits a cut."
    return [
        judge.judge(
            claim("ec4", "sec3c-average-queue-around-k"),
            over_k(tables),
            text=text,
            note=f"K is {K_BYTES / 1e3:.1f} KB; the paper states no number of flows; under INET's DCTCP {inet} KB",
            readings={BY_INET: over_k(tables, "inet")},
            cause=[judge.Change(floor, over_k(tables, "law")), held],
        ),
        judge.judge(
            claim("ec4", "sec1-average-buffer-below-100kb"),
            longest(tables),
            note=f"with the number of flows that queues most; {text}; the same paper has it around K, 154 KB (EC4-9)",
            readings={BY_INET: {"value": longest(tables, "inet")}},
            cause=[judge.Change(floor, longest(tables, "law")), held],
        ),
    ]


def facts(tables: Tables) -> dict[str, object]:
    """Numbers of the prose: `ec4_8` the ratio with 8 flows, `jain_ec4_8` the index; `r3_8`, `k0_8`: of readings."""
    short = {"ec4": "ec4", "expresspass": "ep", "expresspass, ns2": "ns2"}
    found: dict[str, object] = {}
    for name in MIXED:
        for flows in FLOWS:
            at = {"kind": "mix", "transport": name, "flows": flows}
            found[f"{short[name]}_{flows}"] = mean(tables, "ratio", **at).mean
            found[f"jain_{short[name]}_{flows}"] = mean(tables, "jain", **at).mean
            found[f"queue_{short[name]}_{flows}"] = mean(tables, "queue", **at).mean / 1e3
    short |= {"unlimited buffer": "u", "K 35": "fair"}
    for kind, what in (("unlimited buffer", "jain"), ("K 35", "ratio")):
        for name in COMPARED:
            for flows in FLOWS:
                value = mean(tables, what, kind=kind, transport=name, flows=flows).mean
                found[f"{'jain_' * (what == 'jain')}{short[kind]}_{short[name]}_{flows}"] = value
    one = [value.mean for value in mixed(tables, "ratio", "K 35, one segment")["ec4"]]
    found |= {"one_least": min(one), "one_most": max(one)}
    found["split_dctcp"] = mean(tables, "used", kind="alone", transport="dctcp alone").mean
    for name in COMPARED:
        found[f"split_{short[name]}"] = mean(tables, "used", kind="split", transport=name).mean
    for kind, letter in (("inet", "inet"), ("law", "law"), ("K 35", "queue_small")):
        values = [value.mean for value in queues(tables, kind).values()]
        found |= {f"{letter}_least": min(values), f"{letter}_most": max(values)}
    for kind, names, letter in (("reading", READINGS, "r"), ("K 25", SMALL, "k")):
        for index, name in enumerate(names):
            for flows in FEW:
                at = {"kind": kind, "transport": name, "flows": flows}
                found[f"{letter}{index}_{flows}"] = mean(tables, "ratio", **at).mean
                found[f"jain_{letter}{index}_{flows}"] = mean(tables, "jain", **at).mean
                found[f"queue_{letter}{index}_{flows}"] = mean(tables, "queue", **at).mean / 1e3
    return found


def draw(tables: Tables, look: Look) -> dict[str, Picture]:
    """Jain's index and ratio against the number of flows, of transports and of readings."""
    readings = {name: (6, 2, 3, 8)[index] for index, name in enumerate(list(READINGS)[1:5])}
    return {
        "fairness": lines(tables, look, "mix", COLORS, list(MIXED), FLOWS),
        "readings": lines(tables, look, "reading", {**own("ec4"), **readings}, ["ec4", *readings], FEW),
    }


def lines(
    tables: Tables, look: Look, kind: str, colors: dict[str, int], names: list[str], flows: tuple[int, ...]
) -> Picture:
    """Jain's index and ratio, means over seeds."""
    picture, axes = grid(1, 2, width=9.2, height=3.0)
    for name in names:
        for place, what in zip(axes, ("jain", "ratio"), strict=True):
            values = [mean(tables, what, kind=kind, transport=name, flows=count).mean for count in flows]
            place.plot(flows, values, label=name, lw=1.7, ms=4, **look.line(colors[name]))
    for place, title in zip(axes, ("Jain's index over flows", "Its goodput over DCTCP's"), strict=True):
        powers(place, list(flows))
        place.set(title=title, xlabel="flows, half of them DCTCP")
    axes[0].set_ylim(0, 1.03)
    axes[1].set_yscale("log")
    axes[1].set_yticks([0.5, 1, 2, 5, 10, 20], ["1/2", "1", "2", "5", "10", "20"])
    axes[1].minorticks_off()
    axes[1].axhline(1, color=look.muted, lw=0.8)
    legend(picture, axes[0], columns=2)
    return picture


FIGURE = Figure(
    name="ec4/fig04",
    title="EC4, Fig. 4 and sec. IV-A: fairness and utilisation beside DCTCP",
    doc=__doc__ + "\n" + ABOUT,
    jobs=variants,
    measure=measure,
    summarise=summarise,
    check=check,
    facts=facts,
    draw=draw,
    shown={
        "shown": "By transport and number of flows; means over seeds.",
        "alone": "Transports alone.",
        "readings": "Ratio of EC4's goodput to DCTCP's, in brackets Jain's index over all flows, under other readings: "
        "the default with one thing changed, and Algorithm 1 to the letter.",
        "small": "The same with K = 25 frames.",
    },
    captions={
        "fairness": "Fairness over flows, ratio between protocols (logarithmic)",
        "readings": "The same under the readings that matter most",
    },
    claims=(
        "fig04a-jain-fairness",
        "fig04-protocol-ratio",
        "sec4a-utilization",
        "sec3c-average-queue-around-k",
        "sec1-average-buffer-below-100kb",
    ),
)
