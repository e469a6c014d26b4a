"""One master on an 8-ary fat tree (128 hosts, 10 Gbps, 5 us a link) keeps asking 32 to 2,048 workers (requests of 200
B, responses of 1,000 B, open connections, several workers a host where they exceed the hosts). The paper shows
minimum, quartiles and maximum of the bottleneck's data queue: (b) under DCTCP, (c) under credits, with a red line
at the bound that path lengths and host processing (0.9 to 6.2 us) give.

Unstated, and chosen here:

* **Pacing of requests**: each worker is asked again as soon as its answer is there.
* **Duration and sampling**: 20 ms (quick: 4 ms), every 10 us, at the port of the master's ToR to the master, the
  first millisecond left out of the quartiles (not of the maximum, which the engine takes at every packet).
* **Feedback control**: both the naive scheme of section 2 and ExpressPass with its defaults.
* **DCTCP**: K = 65 packets, g = 0.0625, initial window of 10 segments, least timeout 10 ms, buffers of 250 full
  frames.
* **Host delay**: none, and uniform over 0.9 to 6.2 us for each packet (the paper states the range only).
* **The bound**: paths between hosts take 4 to 12 hops there and back, so 20 to 60 us of propagation; a credit's
  data may be late by the difference of 40 us, by the transmission of a credit and a frame on four links more, and by
  the hosts' 5.3 us, at the link's rate. Eq. (1) of the paper also counts the credit queues on the way and is larger
  (`clearway plan buffers`, which computes both).
* **Flat** means a maximum that grows by less than the square root of the fan-out, halfway between not at all and in
  proportion.
* **At quick scale** fan-outs of 32, 256 and 2,048, and host delays for ExpressPass only.
* The hypothetical ideal rate control of (a) has a figure of its own, `expresspass/fig01a`, which also compares DCTCP
  with it.
"""

from __future__ import annotations

import math

import numpy as np
import polars as pl
from matplotlib.figure import Figure as Picture

from clearway.plan.buffers import path_and_hosts
from clearway.reproduce import judge, stats
from clearway.reproduce.claims import Finding, claim
from clearway.reproduce.expresspass.common import COLORS, partition_aggregate
from clearway.reproduce.figure import Figure, Job, Tables
from clearway.reproduce.look import Look, grid, powers
from clearway.reproduce.quantities import data_drops, port
from clearway.result import Run
from clearway.runner import load_scenario

FAN_OUTS = {"quick": (32, 256, 2048), "paper": (32, 64, 128, 256, 512, 1024, 2048)}
TRANSPORTS: dict[str, dict[str, object]] = {
    "expresspass": {"name": "expresspass"},
    "naive": {"name": "naive-credit"},
    "dctcp": {"name": "dctcp", "g": 0.0625},
}
DELAYS: dict[str, object] = {"none": "0 s", "0.9-6.2 us": {"uniform": ["0.9 us", "6.2 us"]}}
DURATION_MS = {"quick": 4, "paper": 20}


def bounds() -> dict[str, float]:
    """The bounds on the queue by path lengths and host delays, in bytes, by host delay."""
    scenarios = {
        delay: partition_aggregate("fig01", 1, 1, TRANSPORTS["expresspass"], host={"processing_delay": value})
        for delay, value in DELAYS.items()
    }
    return {delay: path_and_hosts(load_scenario(of), "tor0->h0") for delay, of in scenarios.items()}


def jobs(scale: str) -> list[Job]:
    """Every transport, fan-out, host delay and seed."""
    return [
        Job(
            {"transport": name, "host_delay": delay, "fan_out": fan_out, "seed": seed},
            partition_aggregate(
                "fig01",
                DURATION_MS[scale],
                fan_out,
                transport,
                host={"processing_delay": DELAYS[delay]},
                seed=seed,
            ),
        )
        for name, transport in TRANSPORTS.items()
        for delay in DELAYS
        if scale == "paper" or delay == "none" or name == "expresspass"
        for fan_out in FAN_OUTS[scale]
        for seed in stats.SEEDS
    ]


def measure(job: Job, run: Run) -> Tables:  # noqa: ARG001
    """Quartiles of the queue at the master."""
    queue = run.samples.filter(pl.col("time_s") > 1e-3)["value"].to_numpy()
    master = port(run, "tor0->h0")
    low, lower, middle, upper = (float(np.percentile(queue, percent)) for percent in (0, 25, 50, 75))
    row = {
        "queue_min": low,
        "queue_p25": lower,
        "queue_p50": middle,
        "queue_p75": upper,
        "queue_max": int(master["queue_max_bytes"]),
        "queue_mean": float(master["queue_mean_bytes"]),
        "utilisation": float(master["utilisation"]),
        "answers": run.summary["flows_completed"],
        "drops": data_drops(run),
    }
    return {"rows": pl.DataFrame([row])}


def summarise(tables: Tables) -> Tables:
    """Means over the seeds, in kilobytes."""
    sizes = ["min", "p25", "p50", "p75", "max", "mean"]
    measured = [*(f"queue_{size}" for size in sizes), "utilisation", "answers"]
    groups = tables["rows"].group_by("transport", "host_delay", "fan_out", maintain_order=True)
    means = groups.agg(pl.col(measured).mean(), pl.col("drops").sum())
    columns = [(pl.col(f"queue_{name}") / 1e3).round(2).alias(f"{name}_KB") for name in sizes]
    shown = means.select(
        "transport",
        "host_delay",
        "fan_out",
        *columns,
        (100 * pl.col("utilisation")).round(1).alias("utilisation_%"),
        pl.col("answers").round(0).cast(pl.Int64),
        "drops",
    )
    return {**tables, "means": means, "shown": shown}


def most(tables: Tables, transport: str, delay: str, fan_out: int) -> stats.Estimate:
    """The maximum queue in bytes."""
    return stats.over_seeds(tables["rows"], "queue_max", transport=transport, host_delay=delay, fan_out=fan_out)


def growth(tables: Tables, transport: str, delay: str) -> stats.Estimate:
    """The maximum queue at the largest fan-out over that at the least."""
    fan_outs = tables["rows"]["fan_out"]
    ends = (fan_outs.max(), fan_outs.min())
    last, first = (
        stats.per_seed(tables["rows"], "queue_max", transport=transport, host_delay=delay, fan_out=end) for end in ends
    )
    return stats.paired_ratio(last, first)


def power(tables: Tables, transport: str, delay: str) -> stats.Estimate:
    """The power of the fan-out with which the maximum queue grows: 0 if not at all, 1 if in proportion."""
    fan_outs = tables["rows"]["fan_out"].to_numpy()
    wider = math.log(fan_outs.max() / fan_outs.min())
    return stats.estimate([math.log(one) / wider for one in growth(tables, transport, delay).draws])


def largest(tables: Tables, transport: str) -> float:
    """The largest queue of all runs of a transport."""
    return float(tables["rows"].filter(pl.col("transport") == transport)["queue_max"].to_numpy().max())


def check(tables: Tables) -> list[Finding]:
    """The verdicts on the figure's claims."""
    limits = bounds()
    queues: dict[str, judge.Measured] = {}
    for delay in DELAYS:
        rows = tables["rows"].filter((pl.col("transport") == "expresspass") & (pl.col("host_delay") == delay))
        highest = float(rows["queue_max"].to_numpy().max())
        queues[f"maximum over the bound, host delay {delay}"] = highest / limits[delay]
        queues[f"power of the fan-out, host delay {delay}"] = power(tables, "expresspass", delay)
    grown = growth(tables, "expresspass", "none")
    lost = tables["rows"].filter(pl.col("transport") != "dctcp")["drops"]
    return [
        judge.judge(
            claim("expresspass", "fig01c-expresspass-queue-bounded"),
            queues,
            text=f"at most {largest(tables, 'expresspass') / 1e3:.1f} KB "
            f"({largest(tables, 'naive') / 1e3:.1f} KB naive); from 32 to 2,048 workers times {grown:.2f}",
            note=f"bound {limits['none'] / 1e3:.1f} KB, {limits['0.9-6.2 us'] / 1e3:.1f} KB with host delay",
        ),
        judge.judge(claim("expresspass", "sec1-zero-data-loss"), int(lost.sum()), note=f"in {lost.len()} runs"),
    ]


def facts(tables: Tables) -> dict[str, object]:
    """The numbers that the prose names."""
    limits = bounds()

    def busy(transport: str, fan_out: int) -> stats.Estimate:
        used = pl.col("utilisation") * 100
        return stats.over_seeds(tables["rows"], used, transport=transport, host_delay="none", fan_out=fan_out)

    return {
        "most": largest(tables, "expresspass") / 1e3,
        "naive": largest(tables, "naive") / 1e3,
        "bound": limits["none"] / 1e3,
        "bound_hosts": limits["0.9-6.2 us"] / 1e3,
        "grown": growth(tables, "expresspass", "none"),
        "dctcp_few": most(tables, "dctcp", "none", 32).scaled(1e-3),
        "dctcp_many": most(tables, "dctcp", "none", 2048).scaled(1e-3),
        "dctcp_lost": int(tables["rows"].filter(pl.col("transport") == "dctcp")["drops"].sum()),
        "busy": busy("expresspass", 2048).mean,
        "busy_naive": busy("naive", 2048).mean,
        "busy_dctcp": busy("dctcp", 2048).mean,
    }


def draw(tables: Tables, look: Look) -> dict[str, Picture]:
    """Boxes from quartile to quartile, whiskers from least to most."""
    limits = bounds()
    run = set(tables["means"].select("host_delay", "transport").iter_rows())
    cells = [(delay, name) for delay in DELAYS for name in TRANSPORTS if (delay, name) in run]
    picture, axes = grid(2, -(-len(cells) // 2), height=2.6, sharey=True)
    for place, (delay, name) in zip(axes, cells, strict=True):
        chosen = (pl.col("transport") == name) & (pl.col("host_delay") == delay)
        part = tables["means"].filter(chosen).sort("fan_out")
        color = look.color(COLORS[name])
        for row in part.iter_rows(named=True):
            x = row["fan_out"]
            place.plot([x, x], [row["queue_min"], row["queue_max"]], color=color, lw=1.2)
            box = [x / 1.22, x * 1.22]
            top = max(row["queue_p75"], row["queue_p25"] + 1)
            place.fill_between(box, row["queue_p25"], top, color=color, alpha=0.35, lw=0)
            place.plot(box, [row["queue_p50"]] * 2, color=color, lw=2)
            place.plot([x], [row["queue_max"]], color=color, marker="v", ms=5)
        if name != "dctcp":
            place.axhline(limits[delay], color=look.color(4), lw=1.2, ls=(0, (5, 2)))
        powers(place, part["fan_out"].to_list())
        place.tick_params(axis="x", labelrotation=45)
        place.set_yscale("symlog", linthresh=1000, linscale=0.5)
        place.set_ylim(0, 1e6)
        place.set_yticks([0, 1e3, 1e4, 1e5, 1e6], ["0", "1 KB", "10 KB", "100 KB", "1 MB"])
        place.minorticks_off()
        place.set_title(f"{name},\n{'no host delay' if delay == 'none' else f'host delay {delay}'}", fontsize=11.5)
    for place in axes[len(axes) // 2 :]:
        place.set_xlabel("fan-out")
    return {"queue": picture}


FIGURE = Figure(
    name="expresspass/fig01",
    title="ExpressPass '17, Fig. 1 (b) and (c): the queue at a master against the fan-out",
    doc=__doc__ or "",
    jobs=jobs,
    measure=measure,
    summarise=summarise,
    check=check,
    facts=facts,
    draw=draw,
    claims=("fig01c-expresspass-queue-bounded",),
    shown={"shown": "The queue of the port to the master, means over the seeds."},
    captions={
        "queue": "Queue at the port to the master: quartiles (box), least to most (whisker, triangle), bound (dashed)"
    },
)
