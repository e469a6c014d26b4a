"""N pairs over one bottleneck, N = 4 to 1,024, long flows whose starts are not synchronised. The paper shows
utilisation, Jain's fairness index of the throughput in every 100 ms (averaged), and the maximum queue, for
ExpressPass, DCTCP and RCP.

Unstated, and chosen here:

* **Rate and RTT**: 10 Gbps, 100 us of propagation there and back as in Fig. 16. The paper says that with 64 flows the
  windows of two segments keep the queue above K: 128 frames are more than K and the path hold up to 76 us only. So
  DCTCP also runs with 60 us (E17-28).
* **Starts**: at random within 20 ms. Measured for 500 ms (quick: 100 ms) from 40 ms on. Fairness over intervals of
  100 ms, averaged.
* **Flows** at quick scale: 4, 16, 64, 256 and 1,024 for ExpressPass.
* **alpha and w_init**: the defaults, 1/2 and 1/16.
* **Maximum queue**: of the whole run, as the engine sees it at every packet, and of samples every 20 us after the
  start. That a claim of 1.34 KB, which is less than a frame, may be missed by one and a half times itself is the
  tolerance of the claims file.
* **DCTCP**: K = 65 packets, g = 0.0625, least window 2, initial window 10, least timeout 10 ms, buffer of 250 full
  frames.
* **Host delay**: none; as a stand-in for the testbed also uniform over 0.9 to 6.2 us, the range that the paper
  measured.
* **RCP** has a figure of its own, `expresspass/fig15rcp`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
import polars as pl
from matplotlib.figure import Figure as Picture
from matplotlib.ticker import FuncFormatter, PercentFormatter

from clearway.reproduce import judge, stats
from clearway.reproduce.claims import Finding, claim
from clearway.reproduce.expresspass import fluid
from clearway.reproduce.expresspass.common import ABOUT_READINGS, COLORS, READINGS, dumbbell
from clearway.reproduce.figure import Figure, Job, Tables
from clearway.reproduce.look import Look, grid, legend, powers
from clearway.reproduce.quantities import FRAME, binned, data_drops, fairness, port
from clearway.result import Run

FLOWS = (4, 8, 16, 32, 64, 128, 256, 512, 1024)
#: Numbers of flows at quick scale under ExpressPass.
FEW = (4, 16, 64, 256, 1024)
WITH_DELAY = "host delay"
NAMES = (*READINGS, WITH_DELAY, "dctcp")
#: DCTCP with a shorter round trip, and the delays of its links in us: four of pairs and two of the bottleneck.
SHORTER = "dctcp, 60 us"
SHORTER_US = (7.5, 15)
#: Start and length of the measurement, and intervals of fairness, in ms.
SPAN_MS = {"quick": (40, 100, 100), "paper": (40, 500, 100)}
#: DCTCP's marking threshold and the buffer.
K_BYTES, BUFFER_BYTES = 65 * FRAME, 250 * FRAME


def jobs(scale: str) -> list[Job]:
    """Every reading, number of flows and seed."""
    few = FEW if scale == "quick" else FLOWS
    delay = {"uniform": ["0.9 us", "6.2 us"]}
    found = []
    for seed in stats.SEEDS:
        for flows in few:
            found += [job(scale, flows, name, transport, "0 s", seed) for name, transport in READINGS.items()]
            found.append(job(scale, flows, WITH_DELAY, READINGS["expresspass"], delay, seed))
        for name in ("dctcp", SHORTER):
            found += [job(scale, flows, name, {"name": "dctcp", "g": 0.0625}, "0 s", seed) for flows in FLOWS]
    return found


def job(scale: str, flows: int, name: str, transport: dict[str, object], delay: object, seed: int) -> Job:
    """The job of one run."""
    start, span, interval = SPAN_MS[scale]
    topology = dumbbell(flows, "10 Gbps")
    if name == SHORTER:
        topology |= {"delay": f"{SHORTER_US[0]} us", "bottleneck_delay": f"{SHORTER_US[1]} us"}
    return Job(
        {"transport": name, "flows": flows, "seed": seed, "start_ms": start, "interval_ms": interval},
        {
            "name": "fig15",
            "seed": seed,
            "stop": f"{start + span} ms",
            "topology": topology,
            "host": {"processing_delay": delay},
            "transport": transport,
            "traffic": [{"name": "flows", "kind": "long", "spread": "20 ms"}],
            "sample": [
                {"name": "throughput", "what": "throughput", "every": "10 ms"},
                {"name": "rate", "what": "rate", "every": "10 ms", "ports": ["s0->s1"]},
                {"name": "queue", "what": "queue", "every": "20 us", "ports": ["s0->s1"]},
            ],
        },
    )


def measure(job: Job, run: Run) -> Tables:
    """The utilisation, the fairness and the queue of a run."""
    start_s = job.params["start_ms"] * 1e-3
    _, rates = binned(run, "throughput", start_s, job.params["interval_ms"] * 1e-3)
    used = run.samples.filter((pl.col("series") == "rate") & (pl.col("time_s") > start_s + 1e-3))
    queue = run.samples.filter((pl.col("series") == "queue") & (pl.col("time_s") > start_s))
    bottleneck = port(run, "s0->s1")
    row = {
        "utilisation": float(used["value"].to_numpy().mean()) / 10e9,
        "fairness": fairness(rates),
        "fairness_whole": fairness(rates.mean(axis=1, keepdims=True)),
        "queue_max": int(bottleneck["queue_max_bytes"]),
        "queue_max_later": float(queue["value"].to_numpy().max()),
        "queue_mean": float(bottleneck["queue_mean_bytes"]),
        "drops": data_drops(run),
        "timeouts": int(run.flows["timeouts"].sum()),
    }
    return {"rows": pl.DataFrame([row])}


def summarise(tables: Tables) -> Tables:
    """Means over the seeds, in kilobytes and per cent."""
    sizes = ("queue_max", "queue_max_later", "queue_mean")
    groups = tables["rows"].group_by("transport", "flows")
    means = groups.agg(
        pl.col("utilisation", "fairness", "fairness_whole", *sizes).mean(), pl.col("drops", "timeouts").sum()
    ).sort(pl.col("transport").replace_strict({name: i for i, name in enumerate((*NAMES, SHORTER))}), "flows")
    shown = means.select(
        "transport",
        "flows",
        (100 * pl.col("utilisation")).round(2).alias("utilisation_%"),
        pl.col("fairness").round(3),
        pl.col("fairness_whole").round(3).alias("fairness_of_the_whole_time"),
        (pl.col("queue_max") / 1e3).round(2).alias("maximum_queue_KB"),
        (pl.col("queue_max_later") / 1e3).round(2).alias("maximum_after_the_start_KB"),
        (pl.col("queue_mean") / 1e3).round(2).alias("mean_queue_KB"),
        "drops",
        "timeouts",
    )
    model = pl.DataFrame(
        {
            "flows": flows,
            "loss_known_at_once_%": round(100 * fluid.utilisation(flows, 0), 1),
            "a_period_late_%": round(100 * fluid.utilisation(flows, 1), 1),
        }
        for flows in FLOWS[:5]
    )
    return {**tables, "means": means, "shown": shown, "fluid": model}


def each(tables: Tables, transport: str, value: str | pl.Expr) -> dict[int, stats.Estimate]:
    """A measure by number of flows."""
    flows = tables["rows"].filter(pl.col("transport") == transport)["flows"].unique().sort()
    return {one: stats.over_seeds(tables["rows"], value, transport=transport, flows=one) for one in flows}


def ends(of: Mapping[int, stats.Estimate]) -> tuple[stats.Estimate, stats.Estimate]:
    """The least and the largest of several."""
    values = sorted(of.values(), key=lambda one: one.mean)
    return values[0], values[-1]


def span(of: Mapping[int, stats.Estimate], form: str = ".1f") -> str:
    """The least and the greatest mean as text, such as `94.7 to 94.8`."""
    return " to ".join(f"{one.mean:{form}}" for one in ends(of))


def over(tables: Tables, value: str, ours: tuple[str, int], other: tuple[str, int]) -> stats.Estimate:
    """A measure of a transport and number of flows over that of others, paired by seed."""
    return stats.paired_ratio(
        *(stats.per_seed(tables["rows"], value, transport=name, flows=flows) for name, flows in (ours, other))
    )


def check(tables: Tables) -> list[Finding]:
    """The verdicts on the figure's claims."""
    percent = 100 * pl.col("utilisation")
    used = {name: each(tables, name, percent) for name in NAMES}
    most = {name: ends(each(tables, name, pl.col("queue_max") / 1e3))[1] for name in NAMES}
    beside = "; ".join(f"{name}: {span(used[name])}" for name in NAMES[1:-1])
    text = f"least of all numbers of flows; most: {ends(used['expresspass'])[1].mean:.1f}, "
    more = {
        f"DCTCP over ExpressPass, {flows:,} flows": over(
            tables, "utilisation", ("dctcp", flows), ("expresspass", flows)
        )
        for flows in used["expresspass"]
    }
    found = [
        judge.judge(
            claim("expresspass", "fig15-utilization"),
            {"ExpressPass": ends(used["expresspass"])[0], "DCTCP": ends(used["dctcp"])[0], **more},
            form=".1f",
            note=f"{text}{ends(used['dctcp'])[1].mean:.1f}; {beside}",
        ),
        check_fairness(tables),
    ]
    beside = "; ".join(f"{name}: {most[name].mean:.1f}" for name in NAMES[1:-2])
    found.append(judge.judge(claim("expresspass", "fig15-max-queue-ns2"), most["expresspass"], note=beside))
    testbed = {flows: one for flows, one in each(tables, WITH_DELAY, pl.col("queue_max") / 1e3).items() if flows <= 256}
    note = "simulated, with the testbed's spread of host delays; 4 to 256 flows"
    found.append(judge.judge(claim("expresspass", "fig15-max-queue-testbed"), ends(testbed)[1], note=note))
    found.append(check_dctcp(tables))
    credit = tables["rows"].filter(~pl.col("transport").str.starts_with("dctcp"))["drops"]
    lost = claim("expresspass", "sec1-zero-data-loss")
    return [*found, judge.judge(lost, int(credit.sum()), note=f"in {credit.len()} runs")]


def check_fairness(tables: Tables) -> Finding:
    """Jain's index of ExpressPass and DCTCP; that of RCP is the other figure's part of the claim."""
    fair = {name: each(tables, name, "fairness") for name in NAMES}
    drops = {
        "DCTCP, 1,024 flows over 4": over(tables, "fairness", ("dctcp", 1024), ("dctcp", 4)),
        "DCTCP over ExpressPass, 1,024 flows": over(tables, "fairness", ("dctcp", 1024), ("expresspass", 1024)),
    }

    def under(name: str) -> dict[str, judge.Measured]:
        return {"ExpressPass, least of all": ends(fair[name])[0], **drops}

    beside = "; ".join(f"{name}: {ends(fair[name])[0].mean:.3f}" for name in NAMES[1:-1])
    ours, theirs = ends(fair["expresspass"])[0], ends(fair["dctcp"])[0]
    return judge.judge(
        claim("expresspass", "fig15-fairness"),
        under("expresspass"),
        text=f"least: ExpressPass {ours:.3f}, DCTCP {theirs:.2f}",
        note=f"{beside}; RCP: fig15rcp; the paper prints no numbers",
        readings={"sigcomm17-printed": under("printed"), "ns2": under("ns2 profile")},
        part=True,
    )


def broken(tables: Tables, name: str = "dctcp") -> list[float]:
    """The most flows with which DCTCP's mean queue is nearer to K than to the buffer, in proportion; one a seed."""
    near = math.sqrt(K_BYTES * BUFFER_BYTES)
    held = tables["rows"].filter((pl.col("transport") == name) & (pl.col("queue_mean") <= near))
    return [float(one) for one in held.group_by("seed").agg(pl.col("flows").max()).sort("seed")["flows"]]


def shape(tables: Tables, name: str) -> dict[str, judge.Measured]:
    """The shape of DCTCP's queue."""
    return {
        "breaks_around_flows": stats.estimate(broken(tables, name)),
        **{
            f"maximum, {flows:,} flows over {few}": over(tables, "queue_max_later", (name, flows), (name, few))
            for flows, few in ((1024, 4), (16, 64), (32, 64))
        },
        "frames dropped, 1,024 flows": each(tables, name, "drops")[1024],
    }


def check_dctcp(tables: Tables) -> Finding:
    """The verdict on the shape of DCTCP's queue."""
    at = each(tables, "dctcp", "queue_max_later")
    shown = ", ".join(f"{at[flows].mean / 1e3:.0f} KB at {flows}" for flows in (4, 16, 32, 64, 128, 1024))
    breaks = stats.estimate(broken(tables))
    return judge.judge(
        claim("expresspass", "fig15-dctcp-queue-shape"),
        shape(tables, "dctcp"),
        text=f"the queue stays around K up to {breaks.mean:.0f} flows; maximum {shown}",
        readings={"E17-28": shape(tables, SHORTER)},
    )


def facts(tables: Tables) -> dict[str, object]:
    """The numbers that the prose names."""
    percent = 100 * pl.col("utilisation")
    used = {name: ends(each(tables, name, percent)) for name in NAMES}
    fair = {name: each(tables, name, "fairness") for name in NAMES}
    queue = {name: ends(each(tables, name, pl.col("queue_max") / 1e3))[1].mean for name in NAMES}
    return {
        "used": used["expresspass"][0].mean,
        "used_most": used["expresspass"][1].mean,
        "printed": used["printed"][0].mean,
        "ns2": used["ns2 profile"][0].mean,
        "fluid": 100 * fluid.utilisation(4, 1),
        "fair": ends(fair["expresspass"])[0].mean,
        "fair_many": fair["expresspass"][1024].mean,
        "fair_printed": ends(fair["printed"])[0].mean,
        "fair_ns2": ends(fair["ns2 profile"])[0].mean,
        "fair_hosts": fair[WITH_DELAY][1024].mean,
        "fair_dctcp": ends(fair["dctcp"])[0].mean,
        "queue": queue["expresspass"],
        "queue_ns2": queue["ns2 profile"],
        "queue_hosts": queue[WITH_DELAY],
        "broken": round(float(np.median(broken(tables)))),
        **{
            f"{short}_{flows}": one.mean
            for short, name in (("dctcp", "dctcp"), ("shorter", SHORTER))
            for flows, one in each(tables, name, pl.col("queue_max_later") / 1e3).items()
        },
    }


def draw(tables: Tables, look: Look) -> dict[str, Picture]:
    """Utilisation, fairness and maximum queue against the number of flows."""
    picture, axes = grid(1, 3, width=11.0, height=3.3)
    for name in NAMES:
        part = tables["means"].filter(pl.col("transport") == name).sort("flows")
        line = look.line(COLORS.get(name, 5))
        for place, measure_ in zip(axes, ("utilisation", "fairness", "queue_max"), strict=True):
            place.plot(part["flows"], part[measure_], ms=4, lw=1.6, label=name, **line)
    for place, title in zip(axes, ("Utilisation of the bottleneck", "Jain's index", "Maximum queue"), strict=True):
        powers(place, list(FLOWS))
        place.tick_params(axis="x", labelrotation=45)
        place.set(title=title, xlabel="flows")
    axes[0].set_ylim(0.6, 1.02)
    axes[0].yaxis.set_major_formatter(PercentFormatter(1.0))
    axes[1].set_ylim(0, 1.03)
    axes[2].set_yscale("log")
    axes[2].yaxis.set_major_formatter(FuncFormatter(lambda y, _: f"{y / 1e3:g} KB"))
    axes[2].minorticks_off()
    legend(picture, axes[0], columns=6)
    return {"flows": picture}


FIGURE = Figure(
    name="expresspass/fig15",
    title="ExpressPass '17, Fig. 15: utilisation, fairness and queue with 4 to 1,024 flows",
    doc=(__doc__ or "") + "\n" + ABOUT_READINGS + "* **host delay**: the default with a host delay of 0.9 to 6.2 us.\n",
    jobs=jobs,
    measure=measure,
    summarise=summarise,
    check=check,
    facts=facts,
    draw=draw,
    claims=(
        "fig15-utilization",
        "fig15-fairness",
        "fig15-max-queue-ns2",
        "fig15-max-queue-testbed",
        "fig15-dctcp-queue-shape",
    ),
    shown={
        "shown": "By transport and number of flows, means over the seeds.",
        "fluid": "The printed law in a model without packets (`fluid.py`): use of what credits may use, by the age of "
        "the loss.",
    },
    captions={
        "flows": "Utilisation, fairness (Jain's index of each interval, averaged) and maximum queue of the bottleneck"
    },
)
