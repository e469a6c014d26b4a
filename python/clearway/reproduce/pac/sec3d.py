"""A test of the claim that PAC's feedback queue prefers short flows without knowing sizes (sec. III-D), for which the
paper shows no experiment: long flows and short ones to one host on the testbed of Table I, simulated, with the
paper's two levels and with one.

Chosen here:

* **Long flows**: 100, the paper's number of connections, from 37 hosts, from the start to the end. (With 20, all that
  they send fits below the threshold, so that no ACK waits and levels do nothing.)
* **Short flows**: 200 of 10 KB (full: 1,000), half of the size at which a flow sinks, from any of 37 hosts, at random
  times from 20 ms on, one a ms on average, over new connections.
* **Disciplines**: first come, first served within a level, as the authors' module has it, and turns of flows, as the
  paper says.
* Five seeds, which draw times, hosts and random delays; both numbers of levels see the same flows.
"""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import polars as pl
from matplotlib.figure import Figure as Picture

from clearway.reproduce import judge
from clearway.reproduce.claims import Finding, claim
from clearway.reproduce.figure import Figure, Job, Tables
from clearway.reproduce.look import Look, grid, legend
from clearway.reproduce.pac import common
from clearway.reproduce.stats import SEEDS, Estimate, estimate, reduction
from clearway.result import Run

LONG, BYTES = 100, 10_000
COUNT = {"quick": 200, "paper": 1000}
#: Readings by name: levels and discipline.
TRANSPORTS: dict[str, dict[str, Any]] = {
    f"{words}, {short}": {"name": "pac", "profile": "testbed", "levels": levels, "discipline": discipline}
    for discipline, short in (("fifo", "in order"), ("round-robin", "turns"))
    for levels, words in ((2, "two levels"), (1, "one level"))
}
TWO, ONE = "two levels, in order", "one level, in order"


def jobs(scale: str) -> list[Job]:
    """Every reading and seed."""
    return [
        Job({"transport": name, "seed": seed}, scenario(COUNT[scale], transport, seed))
        for name, transport in TRANSPORTS.items()
        for seed in SEEDS
    ]


def scenario(count: int, transport: dict[str, Any], seed: int) -> dict[str, Any]:
    """Long and short flows, in one traffic entry, so that they share PAC's queue."""
    draw = random.Random(seed)
    end = 20 + count + 30
    flows = [{"src": f"h{1 + index % 37}", "dst": "h0", "start": "0 s", "stop": f"{end} ms"} for index in range(LONG)]
    flows += [
        {
            "src": f"h{draw.randint(1, 37)}",
            "dst": "h0",
            "size": f"{BYTES} B",
            "start": f"{20_000 + draw.randrange(1000 * count)} us",
        }
        for _ in range(count)
    ]
    return {
        "name": "sec3d",
        "topology": common.star(38),
        "switch": {"buffer": "150 KB", "marking": "10 packets"},
        "host": {"processing_delay": common.DELAY},
        "transport": dict(transport),
        "traffic": [{"name": "flows", "kind": "flows", "list": flows}],
        "network": common.TESTBED_FRAMES,
        "seed": seed,
    }


def measure(_: Job, run: Run) -> Tables:
    """Completion times of the short flows, and what the long ones sent."""
    short = run.flows.filter(pl.col("size_bytes") == BYTES)["fct_s"].drop_nans().to_numpy()
    long = run.flows.filter(pl.col("size_bytes") != BYTES)
    row = {
        "short": len(short),
        "mean_ms": float(1e3 * short.mean()),
        "median_ms": float(1e3 * np.median(short)),
        "long_bytes": int(long["size_bytes"].sum()),
        "timeouts": int(run.flows["timeouts"].sum()),
    }
    return {"rows": pl.DataFrame([row])}


def values(tables: Tables, name: str, column: str) -> list[float]:
    """A measure of each seed."""
    return [float(value) for value in tables["rows"].filter(pl.col("transport") == name).sort("seed")[column]]


def summarise(tables: Tables) -> Tables:
    """Means over the seeds."""
    shown = (
        tables["rows"]
        .group_by("transport", maintain_order=True)
        .agg(
            pl.col("mean_ms", "median_ms").mean().round(3),
            (pl.col("long_bytes").mean() / 1e6).round(1).alias("long_MB"),
            pl.col("timeouts").sum(),
        )
    )
    return {**tables, "shown": shown}


def saved(tables: Tables, discipline: str, column: str = "mean_ms") -> Estimate:
    """The share by which two levels shorten the short flows' time, paired by seed."""
    return reduction(
        values(tables, f"two levels, {discipline}", column), values(tables, f"one level, {discipline}", column)
    )


def check(tables: Tables) -> list[Finding]:
    """The verdict on the figure's claim."""
    less, turns = saved(tables, "in order"), saved(tables, "turns")
    two, one = (estimate(values(tables, name, "mean_ms")) for name in (TWO, ONE))
    lost = reduction(values(tables, TWO, "long_bytes"), values(tables, ONE, "long_bytes"))
    text = f"short flows take {two:.2f} ms with two levels, {one:.2f} with one"
    measured = {
        "time saved, in order": less,
        "time saved, turns": turns,
        "long flows, bytes lost": lost,
    }
    note = f"{100 * less.mean:.0f} % less time, {100 * turns.mean:.0f} % with turns"
    return [judge.judge(claim("pac", "sec3d-mlfq-prefers-short-flows"), measured, text=text, note=note)]


def facts(tables: Tables) -> dict[str, object]:
    """The numbers that the prose names."""
    return {
        "two": estimate(values(tables, TWO, "mean_ms")),
        "one": estimate(values(tables, ONE, "mean_ms")),
        "less": saved(tables, "in order").scaled(100),
        "less_turns": saved(tables, "turns").scaled(100),
        "lost": reduction(values(tables, TWO, "long_bytes"), values(tables, ONE, "long_bytes")).scaled(100),
    }


def draw(tables: Tables, look: Look) -> dict[str, Picture]:
    """Mean time of the short flows, each seed."""
    picture, axes = grid(1, 1, width=6.4, height=3.0)
    for index, name in enumerate(TRANSPORTS):
        style = look.line(index + 1) | {"ls": ""}
        axes[0].plot(SEEDS, values(tables, name, "mean_ms"), label=name, ms=6, **style)
    axes[0].set(xlabel="seed", ylabel="mean time of a short flow in ms")
    axes[0].set_ylim(bottom=0)
    legend(picture, axes[0], 2)
    return {"short": picture}


FIGURE = Figure(
    name="pac/sec3d",
    title="PAC, sec. III-D: what the levels of priority do for short flows",
    doc=__doc__,
    jobs=jobs,
    measure=measure,
    summarise=summarise,
    check=check,
    draw=draw,
    claims=("sec3d-mlfq-prefers-short-flows",),
    facts=facts,
    shown={"shown": "Short flows of 10 KB beside 100 long ones; means over the seeds."},
    captions={"short": "Mean completion time of the short flows, by seed"},
)
