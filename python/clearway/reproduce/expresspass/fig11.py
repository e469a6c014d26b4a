"""Fairness over several bottlenecks. Flows 1 to N share link 1, then flow 0 joins them on link 2 (Fig. 11 a). The
paper shows flow 0's throughput beside the max-min share 1/(N+1): close up to four flows, then a small gap. And
sec. 3.4: with less than one credit per flow and round trip, use stays good and the queue bounded, but fairness
suffers.

Unstated, and chosen here:

* **Rate and delay**: 10 Gbps, 4 us a link (five links each way at most). N = 1 to 32 (full: to 256). Flows start at
  random within 2 ms; measured for 60 ms from 20 ms on, ten seeds.
* **Close** means within the claim's tolerance of the max-min share of what data can take.
* **Less than a credit a round trip** (sec. 3.4): 4 and 512 flows over a dumbbell of 10 Gbps and 100 us: 512 flows get
  0.15 credits a round trip each. Fairness over 10 ms; the queue is the largest at any switch port.
* **Smaller buffers** (sec. 3.1): the same network's 16 flows with host delays of 0.9 to 6.2 us and buffers of two
  full frames, far below Table 1's: data is lost and sent again, and every flow goes on.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import polars as pl
from matplotlib.figure import Figure as Picture

from clearway.report.style import OWN
from clearway.reproduce import judge, stats
from clearway.reproduce.claims import Finding, claim
from clearway.reproduce.expresspass.common import dumbbell
from clearway.reproduce.figure import Figure, Job, Tables
from clearway.reproduce.look import Look, grid, powers
from clearway.reproduce.quantities import CEILING, FRAME, PAYLOAD, binned, data_drops, fairness
from clearway.result import Run

COUNTS = {"quick": (1, 2, 4, 8, 32), "paper": (1, 2, 4, 8, 16, 32, 64, 128, 256)}
CLOSE_UP_TO = 4
#: Halfway from the max-min share (0) to what naive credits give (1), the limit of a small gap.
HALF_WAY = 0.5
FROM_MS, SPAN_MS = 20, 60
SEEDS = range(1, 11)
READINGS: dict[str, dict[str, Any]] = {
    "default": {"name": "expresspass"},
    "naive-credit": {"name": "naive-credit"},
}


def jobs(scale: str) -> list[Job]:
    """Flow 0 beside N, many flows, and small buffers."""
    found = [
        job("bottlenecks", reading, count, seed) for reading in READINGS for count in COUNTS[scale] for seed in SEEDS
    ]
    found += [job("many", "default", flows, seed) for flows in (4, 512) for seed in SEEDS]
    return found + [job("small buffers", "default", 16, seed) for seed in SEEDS]


def job(what: str, reading: str, flows: int, seed: int) -> Job:
    """The job of one run."""
    topology: dict[str, Any] = dumbbell(flows, "10 Gbps")
    more: dict[str, Any] = {}
    if what == "bottlenecks":
        topology = {"kind": "multi-bottleneck", "flows": flows, "rate": "10 Gbps", "delay": "4 us"}
    if what == "small buffers":
        more = {"switch": {"buffer": "3.1 KB"}, "host": {"processing_delay": {"uniform": ["0.9 us", "6.2 us"]}}}
    return Job(
        {"what": what, "reading": reading, "flows": flows, "seed": seed},
        {
            "name": "fig11",
            "seed": seed,
            "stop": f"{FROM_MS + SPAN_MS} ms",
            "topology": topology,
            "transport": READINGS[reading],
            "traffic": [{"name": "flows", "kind": "long", "spread": "2 ms"}],
            "sample": [{"name": "throughput", "what": "throughput", "every": "1 ms"}],
            **more,
        },
    )


def measure(_: Job, run: Run) -> Tables:
    """Flow 0's share, use, fairness, queue and losses."""
    names, rates = binned(run, "throughput", FROM_MS * 1e-3, 10e-3)
    shares = rates.mean(axis=1) * FRAME / PAYLOAD / (10e9 * CEILING)
    # Flows are numbered by their starts; the pair of flow 0 is the first.
    zero = run.flows.filter(pl.col("src").is_in(["sender0", "h0"]))["flow"][0]
    row = {
        "flow0": float(shares[names.index(f"flows/{zero}")]),
        "use": float(shares.sum()),
        "jain": fairness(rates),
        "least": float(shares.min()),
        "queue_max_KB": float(run.ports["queue_max_bytes"].max()) / 1e3,  # type: ignore[arg-type]
        "drops": data_drops(run),
    }
    return {"rows": pl.DataFrame([row])}


def summarise(tables: Tables) -> Tables:
    """Means over the seeds."""
    columns = ["flow0", "use", "jain", "queue_max_KB", "drops"]
    means = (
        tables["rows"].group_by("what", "reading", "flows", maintain_order=True).agg(pl.col(columns).mean().round(3))
    )
    several = means.filter(pl.col("what") == "bottlenecks").with_columns(
        (1 / (pl.col("flows") + 1)).round(3).alias("max-min")
    )
    shown = several.select("reading", "flows", "flow0", "max-min")
    return {**tables, "shown": shown, "others": means.filter(pl.col("what") != "bottlenecks")}


def of(tables: Tables, value: str | pl.Expr, what: str, flows: int, reading: str = "default") -> stats.Estimate:
    """A measure over the seeds."""
    return stats.over_seeds(tables["rows"], value, what=what, flows=flows, reading=reading)


def check(tables: Tables) -> list[Finding]:
    """The verdicts on the figure's claims."""
    several = tables["rows"].filter((pl.col("what") == "bottlenecks") & (pl.col("reading") == "default"))
    counts = sorted(several["flows"].unique().to_list())
    here = claim("expresspass", "fig11-multibottleneck-fairness")
    ratio = {n: of(tables, pl.col("flow0") * (n + 1), "bottlenecks", n) for n in counts}
    beyond = [n for n in counts if n > CLOSE_UP_TO]
    close = [n for n in counts if all(here.tolerance >= abs(ratio[m].mean - 1) for m in counts if m <= n)]
    found: dict[str, judge.Measured] = {
        "close_up_to_flows": max(close, default=0),
        **{f"up to four, {n} flows": ratio[n] for n in counts if n <= CLOSE_UP_TO},
        **{f"beyond four, {n} flows": ratio[n] for n in beyond},
        **{f"gap over naive's, {n} flows": gap(tables, n) for n in beyond},
    }
    most = counts[-1]
    naive = of(tables, pl.col("flow0") * (most + 1), "bottlenecks", most, "naive-credit")
    text = "flow 0 over 1/(N+1): " + ", ".join(f"{n}: {one:.2f}" for n, one in ratio.items())
    small = max((n for n in beyond if gap(tables, n).high <= HALF_WAY), default=0)
    cause = judge.Unstated(
        f"the range of N. Up to {small} flows the gap stays small beside that of naive credits; beyond, each flow gets "
        "less than a credit a round trip, which the paper names as a reason for a gap"
    )
    note = f"naive at {most}: {naive:.1f}"
    return [judge.judge(here, found, text=text, note=note, cause=cause), *many(tables), loss(tables)]


def gap(tables: Tables, flows: int) -> stats.Estimate:
    """The gap between flow 0's share and the max-min share over that of naive credits, both as logarithms of ratios."""
    ours, naive = (
        np.log(
            stats.per_seed(
                tables["rows"], pl.col("flow0") * (flows + 1), what="bottlenecks", flows=flows, reading=reading
            )
        )
        for reading in READINGS
    )
    return stats.estimate(list(ours / naive))


def many(tables: Tables) -> list[Finding]:
    """The verdict on flows of which each has less than a credit a round trip."""
    here = claim("expresspass", "sec34-fairness-below-one-credit-per-rtt")
    use, queue = of(tables, "use", "many", 512), of(tables, "queue_max_KB", "many", 512)
    few, fair = (of(tables, "jain", "many", flows) for flows in (4, 512))

    def grown(what: str) -> stats.Estimate:
        return stats.paired_ratio(
            *(stats.per_seed(tables["rows"], what, what="many", flows=flows, reading="default") for flows in (512, 4))
        )

    found = {
        "use, %": use.scaled(100),
        "power of the flows, queue": stats.estimate([math.log(one, 512 / 4) for one in grown("queue_max_KB").draws]),
        "Jain, many over few": grown("jain"),
    }
    text = f"512 flows: use {100 * use.mean:.1f} %, queue {queue.mean:.1f} KB, Jain {fair:.3f}; 4 flows: Jain {few:.3f}"
    return [judge.judge(here, found, text=text)]


def loss(tables: Tables) -> Finding:
    """The verdict on buffers that are too small to hold all data."""
    here = claim("expresspass", "sec31-loss-not-fatal")
    lost, least = of(tables, "drops", "small buffers", 16), of(tables, pl.col("least") * 16, "small buffers", 16)
    used = of(tables, "use", "small buffers", 16)
    text = f"{lost.mean:.0f} frames lost; use {100 * used.mean:.1f} %; the slowest flow has {least:.2f} of its share"
    return judge.judge(here, {"frames lost": lost, "least share": least}, text=text, note="buffers of two full frames")


def facts(tables: Tables) -> dict[str, object]:
    """The numbers that the prose names."""
    several = tables["rows"].filter(pl.col("what") == "bottlenecks")
    most = max(several["flows"].to_list())
    return {
        "four": of(tables, pl.col("flow0") * 5, "bottlenecks", 4),
        "most": most,
        "at_most": of(tables, pl.col("flow0") * (most + 1), "bottlenecks", most),
        "naive": of(tables, pl.col("flow0") * (most + 1), "bottlenecks", most, "naive-credit"),
        "jain_few": of(tables, "jain", "many", 4),
        "jain_many": of(tables, "jain", "many", 512),
        "use_many": of(tables, 100 * pl.col("use"), "many", 512),
        "lost": of(tables, "drops", "small buffers", 16),
        "used": of(tables, 100 * pl.col("use"), "small buffers", 16),
    }


def draw(tables: Tables, look: Look) -> dict[str, Picture]:
    """Flow 0's share against N."""
    picture, (axes,) = grid(1, 1, width=6.4, height=3.0)
    for reading, transport in READINGS.items():
        part = tables["shown"].filter(pl.col("reading") == reading).sort("flows")
        axes.plot(part["flows"], part["flow0"], label=reading, ms=4, **look.line(OWN[transport["name"]]))
    axes.plot(part["flows"], part["max-min"], ":", color=look.ink, label="max-min share")
    powers(axes, part["flows"].to_list())
    axes.set_yscale("log")
    axes.set(title="Flow 0's share of what data can take", xlabel="N")
    axes.legend(frameon=False)
    return {"flow0": picture}


FIGURE = Figure(
    name="expresspass/fig11",
    title="ExpressPass '17, Fig. 11 and sec. 3.4: fairness over several bottlenecks and with many flows",
    doc=__doc__ or "",
    jobs=jobs,
    measure=measure,
    summarise=summarise,
    check=check,
    facts=facts,
    draw=draw,
    claims=(
        "fig11-multibottleneck-fairness",
        "sec34-fairness-below-one-credit-per-rtt",
        "sec31-loss-not-fatal",
    ),
    shown={
        "shown": "Flow 0's share of what data can take of link 2, beside the max-min share; means over the seeds.",
        "others": "Many flows, and small buffers.",
    },
    captions={"flow0": "Flow 0's share against the number of flows that it meets"},
)
