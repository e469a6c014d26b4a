"""Fig. 1 (a): one master on an 8-ary fat tree (128 hosts, 10 Gbps, 5 us a link) keeps asking 32 to 2,048 workers for
1,000 B each (requests of 200 B, open connections). Every worker sends at its exact share of the moment and paces its
packets perfectly: *ideal*. The paper shows minimum, quartiles and maximum of the queue at the master, and draws the
worst case (red): all packets of a round at once, one from each flow.

The settings are those of Fig. 1 (b) and (c) on their page. Unstated, and chosen here:

* **Pacing of requests**: each worker is asked again as soon as its answer is there.
* **Duration and sampling**: 20 ms (quick: 4 ms), every 10 us, at the port of the master's ToR to the master, the
  first millisecond left out of the quartiles (not of the maximum, which the engine takes at every packet).
* **ideal**: the max-min share of all flows that have something to send, at the instant at which one starts or ends
  (`docs/protocols/ideal.md`).
* **DCTCP** (K = 65 frames, g = 0.0625, initial window of ten segments) and **ExpressPass** beside it. No host delay,
  and no limit of buffers, as the figure is about what the rates alone give.
* **Fan-outs** at quick scale: 32, 256 and 2,048.
* **About linear** means a power of the fan-out that is nearer to 1 than to 0 (no growth) or 2 (quadratic growth).
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import polars as pl
from matplotlib.figure import Figure as Picture

from clearway.report.style import own
from clearway.reproduce import judge, stats
from clearway.reproduce.claims import Finding, claim
from clearway.reproduce.expresspass.common import partition_aggregate
from clearway.reproduce.figure import Figure, Job, Tables
from clearway.reproduce.look import Look, grid, powers
from clearway.reproduce.quantities import data_drops, port
from clearway.result import Run

FAN_OUTS = {"quick": (32, 256, 2048), "paper": (32, 64, 128, 256, 512, 1024, 2048)}
#: Name -> transport, buffer of a port.
TRANSPORTS: dict[str, tuple[dict[str, object], str]] = {
    "ideal": ({"name": "ideal"}, "unlimited"),
    "dctcp": ({"name": "dctcp", "g": 0.0625}, "unlimited"),
    "expresspass": ({"name": "expresspass"}, "384.5 KB"),
}
COLORS = own("ideal", "dctcp", "expresspass")
DURATION_MS = {"quick": 4, "paper": 20}
#: An answer on the wire.
ANSWER = 1078


def jobs(scale: str) -> list[Job]:
    """Every transport, fan-out and seed."""
    return [
        Job(
            {"transport": name, "fan_out": fan_out, "seed": seed},
            partition_aggregate("fig01a", DURATION_MS[scale], fan_out, transport, switch={"buffer": buffer}, seed=seed),
        )
        for name, (transport, buffer) in TRANSPORTS.items()
        for fan_out in FAN_OUTS[scale]
        for seed in stats.SEEDS
    ]


def measure(job: Job, run: Run) -> Tables:  # noqa: ARG001
    """Quartiles of the queue at the master, in bytes."""
    queue = run.samples.filter(pl.col("time_s") > 1e-3)["value"].to_numpy()
    master = port(run, "tor0->h0")
    row = {
        **{f"p{percent}": float(np.percentile(queue, percent)) for percent in (0, 25, 50, 75)},
        "max": float(master["queue_max_bytes"]),
        "mean": float(master["queue_mean_bytes"]),
        "utilisation": float(master["utilisation"]),
        "answers": int(run.summary["flows_completed"]),
        "drops": data_drops(run),
    }
    return {"rows": pl.DataFrame([row])}


def summarise(tables: Tables) -> Tables:
    """Means over the seeds, in packets."""
    sizes = ("p0", "p25", "p50", "p75", "max", "mean")
    groups = tables["rows"].group_by("transport", "fan_out", maintain_order=True)
    means = groups.agg(pl.col(*sizes, "utilisation", "answers").mean(), pl.col("drops").sum())
    columns = [(pl.col(name) / ANSWER).round(1).alias(f"{name}_packets") for name in sizes]
    shown = means.select(
        "transport",
        "fan_out",
        *columns,
        pl.col("utilisation").round(3),
        pl.col("answers").round(0).cast(pl.Int64),
        "drops",
    )
    return {**tables, "means": means, "shown": shown}


def exponent(fan_outs: list[float], queues: list[float]) -> float:
    """The slope of the queue against the fan-out on logarithmic axes, by least squares: 1 if they are proportional."""
    return float(np.polyfit(np.log(fan_outs), np.log(np.maximum(queues, 1.0)), 1)[0])


def of(tables: Tables, transport: str, fan_out: int, name: str) -> list[float]:
    """A measure of the queue in packets, one a seed."""
    return stats.per_seed(tables["rows"], pl.col(name) / ANSWER, transport=transport, fan_out=fan_out)


def slopes(tables: Tables, transport: str) -> stats.Estimate:
    """The power of the fan-out with which the maximum grows, over the seeds."""
    fan_outs = tables["rows"]["fan_out"].unique().sort().to_list()
    maxima = [of(tables, transport, fan_out, "max") for fan_out in fan_outs]
    return stats.estimate([exponent([float(x) for x in fan_outs], list(one)) for one in zip(*maxima, strict=True)])


def over_ideal(tables: Tables, fan_out: int, name: str) -> stats.Estimate:
    """DCTCP's queue over that of the ideal rates."""
    return stats.paired_ratio(of(tables, "dctcp", fan_out, name), of(tables, "ideal", fan_out, name))


def check(tables: Tables) -> list[Finding]:
    """The claims: proportional growth of the maximum, and DCTCP above it."""
    fan_outs = tables["rows"]["fan_out"].unique().sort().to_list()
    slope = slopes(tables, "ideal")
    larger = {
        f"maximum at {after:,} over that at {before:,}": stats.paired_ratio(
            of(tables, "ideal", after, "max"), of(tables, "ideal", before, "max")
        )
        for before, after in pairwise(fan_outs)
    }
    built = {f"packets at {fan_out:,}": stats.estimate(of(tables, "ideal", fan_out, "max")) for fan_out in fan_outs}
    ends = list(built.values())
    ratios = {
        f"{what} at {fan_out:,}": over_ideal(tables, fan_out, name)
        for what, name in (("mean", "mean"), ("maximum", "max"))
        for fan_out in fan_outs
    }
    return [
        judge.judge(
            claim("expresspass", "fig01a-ideal-rate-queue"),
            {**built, **larger, "power of the fan-out": slope},
            text=f"maximum {ends[0]:.0f} packets at 32, {ends[-1]:.0f} at 2,048: "
            f"as the fan-out to the power {slope:.2f}",
        ),
        judge.judge(
            claim("expresspass", "fig01b-dctcp-queue"),
            ratios,
            text="DCTCP over ideal: " + ", ".join(f"{name} {one.mean:.2f}" for name, one in ratios.items()),
            note="buffers without limit for both; how requests are paced is unstated",
            cause=judge.Calculation(
                "An answer of 1,000 B is one packet, which leaves at once under both. No window and no rate acts on "
                "it, and the most that waits is a packet of each worker."
            ),
        ),
    ]


def facts(tables: Tables) -> dict[str, object]:
    """The numbers that the prose names."""
    means = {
        (name, fan_out): tables["means"].row(
            by_predicate=(pl.col("transport") == name) & (pl.col("fan_out") == fan_out), named=True
        )
        for name in TRANSPORTS
        for fan_out in (32, 256, 2048)
    }
    return {
        "slope": slopes(tables, "ideal"),
        "least": means["ideal", 32]["max"] / ANSWER,
        "most": means["ideal", 2048]["max"] / ANSWER,
        "busy": 100 * means["ideal", 32]["utilisation"],
        "credit": tables["means"].filter(pl.col("transport") == "expresspass")["max"].to_numpy().max() / ANSWER,
        "answers": int(means["expresspass", 2048]["answers"]),
        "answers_ideal": int(means["ideal", 2048]["answers"]),
        "few": over_ideal(tables, 256, "max").mean,
        "many": over_ideal(tables, 2048, "max").mean,
        "mean_few": over_ideal(tables, 256, "mean").mean,
        "mean_many": over_ideal(tables, 2048, "mean").mean,
    }


def draw(tables: Tables, look: Look) -> dict[str, Picture]:
    """Boxes from quartile to quartile, whiskers from least to most, and a packet a flow as a line."""
    picture, axes = grid(1, len(TRANSPORTS), width=10.4, height=3.0, sharey=True)
    for place, name in zip(axes, TRANSPORTS, strict=True):
        color = look.color(COLORS[name])
        part = tables["means"].filter(pl.col("transport") == name).sort("fan_out")
        for row in part.iter_rows(named=True):
            x, packets = row["fan_out"], {key: row[key] / ANSWER for key in ("p0", "p25", "p50", "p75", "max")}
            place.plot([x, x], [packets["p0"], packets["max"]], color=color, lw=1.2)
            box = [x / 1.22, x * 1.22]
            place.fill_between(box, packets["p25"], packets["p75"], color=color, alpha=0.35, lw=0)
            place.plot(box, [packets["p50"]] * 2, color=color, lw=2)
            place.plot([x], [packets["max"]], color=color, marker="v", ms=5)
        fan_outs = part["fan_out"].to_list()
        place.plot(fan_outs, fan_outs, color=look.color(4), lw=1.2, ls=(0, (5, 2)))
        powers(place, fan_outs)
        place.tick_params(axis="x", labelrotation=45)
        place.set_yscale("symlog", linthresh=1, linscale=0.4)
        place.set_ylim(0, 5000)
        place.set_yticks([0, 1, 10, 100, 1000], ["0", "1", "10", "100", "1,000"])
        place.minorticks_off()
        place.set(title=name, xlabel="fan-out")
    axes[0].set_ylabel("queue (packets)")
    return {"queue": picture}


FIGURE = Figure(
    name="expresspass/fig01a",
    title="ExpressPass '17, Fig. 1 (a): the queue under an ideal rate control",
    doc=__doc__ or "",
    jobs=jobs,
    measure=measure,
    summarise=summarise,
    check=check,
    facts=facts,
    draw=draw,
    claims=("fig01a-ideal-rate-queue", "fig01b-dctcp-queue"),
    shown={"shown": "The queue at the master, in answers of 1,078 B on the wire; means over the seeds."},
    captions={
        "queue": "Queue at the port to the master: quartiles (box), least to most (whisker, triangle), and a packet "
        "from each flow (dashed)"
    },
)
