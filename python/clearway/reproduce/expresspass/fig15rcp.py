"""Fig. 15 for RCP: 4 to 1,024 long flows over one bottleneck, whose starts are not synchronised. Utilisation, Jain's
index in every 100 ms (averaged) and the maximum queue. The other transports are on the page of Fig. 15.

Unstated, and chosen here:

* **Rate and RTT**: 10 Gbps, 100 us of propagation there and back, buffers of 384.5 KB, as on that page.
* **Starts**: at random within 20 ms (as on that page), and within 1 ms and 100 us: how many flows start in one
  control interval of RCP, which is a round trip, decides what it drops.
* **alpha 0.1**: the gain of the rate on spare capacity, which is unstated and 0.4 in RCP's code; starts in 20 ms.
* **Measured** for 500 ms (quick: 200 ms) from 40 ms on. Fairness over intervals of 100 ms. Five seeds.
* **RCP**: alpha = 0.4, beta = 0.4, rates of ports updated once per round trip, a `SYN` asks for the first rate
  (`docs/protocols/rcp.md`).
* **Fully used**: within the 3 % by which the claim on DCTCP's full use may be missed.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import takewhile
from typing import Any

import polars as pl
from matplotlib.figure import Figure as Picture
from matplotlib.ticker import FuncFormatter, PercentFormatter

from clearway.report.style import own
from clearway.reproduce import judge, stats
from clearway.reproduce.claims import Finding, claim
from clearway.reproduce.expresspass.common import dumbbell
from clearway.reproduce.figure import Figure, Job, Tables
from clearway.reproduce.look import Look, grid, legend, powers
from clearway.reproduce.quantities import binned, data_drops, fairness, port
from clearway.result import Run

FLOWS = {"quick": (4, 32, 64, 256, 512, 1024), "paper": (4, 8, 16, 32, 64, 128, 256, 512, 1024)}
#: Number of flows that stands for no drops at any number: twice the most.
NEVER = 2048.0
#: Beyond so many RCP is under-utilised, by the paper.
MANY = 256
#: Variant -> transport, when flows start.
GENTLE = "alpha 0.1"
VARIANTS: dict[str, tuple[dict[str, Any], str]] = {
    "rcp": ({"name": "rcp"}, "20 ms"),
    "starts in 1 ms": ({"name": "rcp"}, "1 ms"),
    "starts in 100 us": ({"name": "rcp"}, "100 us"),
    GENTLE: ({"name": "rcp", "alpha": 0.1}, "20 ms"),
}
COLORS = {**own("rcp"), "starts in 1 ms": 8, "starts in 100 us": 4, GENTLE: 6}
SPAN_MS = {"quick": (200, 100), "paper": (500, 100)}
WARM_UP_MS = 40


def jobs(scale: str) -> list[Job]:
    """Every variant, number of flows and seed."""
    span, interval = SPAN_MS[scale]
    return [
        Job(
            {"variant": name, "flows": flows, "seed": seed, "interval_ms": interval},
            {
                "name": "fig15rcp",
                "seed": seed,
                "stop": f"{WARM_UP_MS + span} ms",
                "topology": dumbbell(flows, "10 Gbps"),
                "switch": {"buffer": "384.5 KB"},
                "transport": transport,
                "traffic": [{"name": "flows", "kind": "long", "spread": spread}],
                "sample": [
                    {"name": "throughput", "what": "throughput", "every": "20 ms"},
                    {"name": "rate", "what": "rate", "every": "20 ms", "ports": ["s0->s1"]},
                ],
            },
        )
        for name, (transport, spread) in VARIANTS.items()
        for flows in FLOWS[scale]
        for seed in stats.SEEDS
    ]


def measure(job: Job, run: Run) -> Tables:
    """The utilisation, the fairness and the queue of a run."""
    start_s = WARM_UP_MS * 1e-3
    _, rates = binned(run, "throughput", start_s, job.params["interval_ms"] * 1e-3)
    used = run.samples.filter((pl.col("series") == "rate") & (pl.col("time_s") > start_s + 1e-3))
    bottleneck = port(run, "s0->s1")
    row = {
        "utilisation": float(used["value"].to_numpy().mean()) / 10e9,
        "goodput": float(rates.sum(axis=0).mean()) / 10e9 * 1538 / 1460,
        "fairness": fairness(rates),
        "queue_max": int(bottleneck["queue_max_bytes"]),
        "queue_mean": float(bottleneck["queue_mean_bytes"]),
        "drops": data_drops(run),
        "timeouts": int(run.flows["timeouts"].sum()),
    }
    return {"rows": pl.DataFrame([row])}


def summarise(tables: Tables) -> Tables:
    """Means over the seeds, in kilobytes and per cent."""
    groups = tables["rows"].group_by("variant", "flows", maintain_order=True)
    measured = ("utilisation", "goodput", "fairness", "queue_max", "queue_mean")
    means = groups.agg(pl.col(measured).mean(), pl.col("drops", "timeouts").sum())
    shown = means.select(
        "variant",
        "flows",
        (100 * pl.col("utilisation")).round(2).alias("utilisation_%"),
        (100 * pl.col("goodput")).round(2).alias("without_retransmissions_%"),
        pl.col("fairness").round(4),
        (pl.col("queue_max") / 1e3).round(1).alias("maximum_queue_KB"),
        (pl.col("queue_mean") / 1e3).round(1).alias("mean_queue_KB"),
        "drops",
        "timeouts",
    )
    return {**tables, "means": means, "shown": shown}


def each(tables: Tables, variant: str, value: str | pl.Expr) -> dict[int, stats.Estimate]:
    """A measure by number of flows."""
    found = tables["rows"]["flows"].unique().sort()
    return {flows: stats.over_seeds(tables["rows"], value, variant=variant, flows=flows) for flows in found}


def first_drops(tables: Tables, variant: str) -> list[int | None]:
    """The least number of flows at which packets are dropped, one a seed."""
    of_variant = tables["rows"].filter(pl.col("variant") == variant).sort("seed", "flows")
    parts = of_variant.partition_by("seed", maintain_order=True)
    return [next((int(row["flows"]) for row in part.iter_rows(named=True) if row["drops"]), None) for part in parts]


def drops_text(first: list[int | None]) -> str:
    """`from 64 to 128 flows on`."""
    known = sorted({one for one in first if one is not None})
    if not known:
        return "none"
    ends = f"{known[0]:,}" if len(known) == 1 else f"{known[0]:,} to {known[-1]:,}"
    return f"from {ends} flows on" + ("" if None not in first else " or none")


def less(tables: Tables, flows: int, other: int) -> stats.Estimate:
    """RCP's utilisation with so many flows over that with others."""
    return stats.paired_ratio(
        *(stats.per_seed(tables["rows"], "utilisation", variant="rcp", flows=one) for one in (flows, other))
    )


def full_until(tables: Tables) -> list[float]:
    """The most flows up to which RCP uses the link fully, within the slack of the claim on DCTCP's use; one a seed."""
    full = claim("expresspass", "fig15-utilization").band("DCTCP")[0] / 100
    of_rcp = tables["rows"].filter(pl.col("variant") == "rcp").sort("seed", "flows")
    found = []
    for part in of_rcp.partition_by("seed", maintain_order=True):
        kept = takewhile(lambda row: row["utilisation"] >= full, part.iter_rows(named=True))
        found.append(max((float(row["flows"]) for row in kept), default=0.0))
    return found


def check(tables: Tables) -> list[Finding]:
    """The verdicts on the figure's claims."""
    used = {name: each(tables, name, 100 * pl.col("utilisation")) for name in VARIANTS}
    texts = {}
    for name, of in used.items():
        few = [one.mean for flows, one in of.items() if flows <= MANY]
        texts[name] = (
            f"{min(few):.1f} to {max(few):.1f} % up to 256, {of[512].mean:.1f} and {of[1024].mean:.1f} % beyond"
        )
    until = stats.estimate(full_until(tables))
    lower = {
        f"use with {flows:,} over that with {few:,} flows": less(tables, flows, few)
        for flows in (512, 1024)
        for few in used["rcp"]
        if few <= MANY
    }
    beside = "; ".join(f"{name}: {text}" for name, text in texts.items() if name != "rcp")
    found = [
        judge.judge(
            claim("expresspass", "fig15-rcp-underutilization"),
            {"from_flows_beyond": until, **lower},
            text=f"full up to {until.mean:.0f} flows; {texts['rcp']}",
            note=f"full: within 3 % of the link; {beside}",
        )
    ]

    first = {name: first_drops(tables, name) for name in VARIANTS}
    beside = "; ".join(f"{name}: {drops_text(of)}" for name, of in first.items())
    found.append(
        judge.judge(
            claim("expresspass", "fig15-rcp-queue-overflow"),
            {
                "value": stats.geometric([float(one) if one else NEVER for one in first["rcp"]]),
                "frames dropped, 32 flows": each(tables, "rcp", "drops")[32],
            },
            form=".0f",
            note=f"geometric mean; {beside}",
            cause=judge.Unstated(
                "When the flows start: how many start in one control interval of RCP decides what it drops."
            ),
        )
    )

    fair = {name: each(tables, name, "fairness") for name in VARIANTS}
    least = {name: min(of.values(), key=lambda one: one.mean) for name, of in fair.items()}
    beside = "; ".join(f"{name}: {one.mean:.3f}" for name, one in least.items() if name != "rcp")
    says = "With 1,024 flows, each below a frame in ten round trips, RCP's rates oscillate; here its gain alpha is 0.1."
    found.append(
        judge.judge(
            claim("expresspass", "fig15-fairness"),
            indices(fair["rcp"]),
            text=f"RCP at least {least['rcp']:.3f}",
            note=f"RCP's part of the claim; {beside}",
            part=True,
            cause=judge.Change(says, indices(fair[GENTLE])),
        )
    )
    return found


def indices(fair: Mapping[int, stats.Estimate]) -> dict[str, judge.Measured]:
    """Jain's index by number of flows, as the claim's rule names it."""
    return {f"RCP, {flows:,} flows": one for flows, one in fair.items()}


def facts(tables: Tables) -> dict[str, object]:
    """The numbers that the prose names."""
    used, fair = each(tables, "rcp", 100 * pl.col("utilisation")), each(tables, "rcp", "fairness")
    return {
        **{f"used_{flows}": one.mean for flows, one in used.items()},
        **{f"fair_{flows}": one.mean for flows, one in fair.items()},
        "fair_gentle": each(tables, GENTLE, "fairness")[1024].mean,
        "late": drops_text(first_drops(tables, "rcp")),
        "one_ms": drops_text(first_drops(tables, "starts in 1 ms")),
        "sudden": drops_text(first_drops(tables, "starts in 100 us")),
        "most_32": each(tables, "starts in 100 us", pl.col("queue_max") / 1e3)[32].mean,
    }


def draw(tables: Tables, look: Look) -> dict[str, Picture]:
    """Utilisation, fairness and maximum queue against the number of flows."""
    picture, axes = grid(1, 3, width=11.0, height=3.2)
    for name in VARIANTS:
        part = tables["means"].filter(pl.col("variant") == name).sort("flows")
        for place, measured in zip(axes, ("utilisation", "fairness", "queue_max"), strict=True):
            place.plot(part["flows"], part[measured], ms=4, lw=1.6, label=name, **look.line(COLORS[name]))
    axes[2].axhline(384_500, color=look.muted, lw=1, ls=(0, (2, 2)))
    for place, title in zip(axes, ("Utilisation of the bottleneck", "Jain's index", "Maximum queue"), strict=True):
        powers(place, part["flows"].to_list())
        place.tick_params(axis="x", labelrotation=45)
        place.set(title=title, xlabel="flows")
    axes[0].set_ylim(0.6, 1.02)
    axes[0].yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
    axes[1].set_ylim(0, 1.03)
    axes[2].set_yscale("log")
    axes[2].yaxis.set_major_formatter(FuncFormatter(lambda y, _: f"{y / 1e3:g} KB"))
    axes[2].minorticks_off()
    legend(picture, axes[0], columns=4)
    return {"flows": picture}


FIGURE = Figure(
    name="expresspass/fig15rcp",
    title="ExpressPass '17, Fig. 15: RCP with 4 to 1,024 flows",
    doc=__doc__ or "",
    jobs=jobs,
    measure=measure,
    summarise=summarise,
    check=check,
    facts=facts,
    draw=draw,
    claims=("fig15-rcp-underutilization", "fig15-rcp-queue-overflow"),
    shown={"shown": "By variant and number of flows, means over the seeds."},
    captions={"flows": "Utilisation, fairness and maximum queue of the bottleneck; dots: the buffer"},
)
