"""Three ways to send credits beside each other: ExpressPass of SIGCOMM 2017, its ancestor of HotNets 2016, and naive
credits, which nobody paces. No paper shows all three.

* **Long flows**: 2 to 64 over a link of 10 Gbps with 100 us there and back, joining 1 ms apart; use of what data can
  take and Jain's index over 10 ms, for 30 ms from 20 ms after the last has joined.
* **Incast**: 64 hosts send 64 KB each to one at a time, ten rounds; the last answer, the largest queue, credits
  wasted.
* **Web search**: 600 flows on the 192-host tree at a load of 0.6; mean completion times by size class of the flows in
  the middle of the run, and credits wasted.

Every transport has its defaults. Five seeds; all see the same traffic.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
from matplotlib.figure import Figure as Picture

from clearway import metrics
from clearway.report.style import OWN
from clearway.reproduce import stats
from clearway.reproduce.expresspass.common import dumbbell
from clearway.reproduce.expresspass.realistic import BUCKETS, scenario
from clearway.reproduce.figure import Figure, Job, Tables
from clearway.reproduce.look import Look, grid, powers
from clearway.reproduce.quantities import CEILING, FRAME, PAYLOAD, binned, data_drops, fairness, steady
from clearway.result import Run

TRANSPORTS = ("expresspass", "expresspass-hotnets16", "naive-credit")
FLOWS = (2, 4, 16, 64)
WEB = {"quick": 600, "paper": 20_000}
INCAST: dict[str, Any] = {
    "name": "incast",
    "topology": {"kind": "star", "hosts": 65, "rate": "10 Gbps", "delay": "4 us"},
    "traffic": [
        {
            "name": "burst",
            "kind": "incast",
            "receiver": "h0",
            "senders": 64,
            "size": "64 KB",
            "rounds": 10,
            "pause": "100 us",
        }
    ],
}


def jobs(scale: str) -> list[Job]:
    """Every part under every transport at every seed."""
    found = []
    for name in TRANSPORTS:
        for seed in stats.SEEDS:
            found += [long(name, flows, seed) for flows in FLOWS]
            found.append(job("incast", name, 64, seed, INCAST))
            found.append(
                job("web search", name, 0, seed, scenario("web", {"name": name}, "web-search", 0.6, WEB[scale]))
            )
    return found


def job(part: str, name: str, flows: int, seed: int, body: dict[str, Any]) -> Job:
    """The job of one run."""
    params = {"part": part, "transport": name, "flows": flows, "seed": seed}
    return Job(params, {**body, "seed": seed, "transport": {"name": name}})


def long(name: str, flows: int, seed: int) -> Job:
    """Long flows that join 1 ms apart."""
    pairs = [
        {"src": f"h{i}", "dst": f"h{flows + i}", "start": f"{1000 * i + 100 * (seed - 1) * (i % 3)} us"}
        for i in range(flows)
    ]
    body = {
        "name": "long",
        "stop": f"{flows + 50} ms",
        "topology": dumbbell(flows, "10 Gbps"),
        "traffic": [{"name": "flows", "kind": "flows", "list": pairs}],
        "sample": [{"name": "throughput", "what": "throughput", "every": "1 ms"}],
    }
    return job("long flows", name, flows, seed, body)


def measure(job: Job, run: Run) -> Tables:
    """The tables that each part of the page shows."""
    row = {name: float("nan") for name in ("use", "jain", "last_ms", *(f"fct_{size}_ms" for size in BUCKETS.values()))}
    row["queue_KB"] = float(metrics.switch_ports(run.ports)["queue_max_bytes"].max()) / 1e3  # type: ignore[arg-type]
    row["waste"] = metrics.credit_waste(run.flows)
    row["drops"] = float(data_drops(run))
    if job.params["part"] == "long flows":
        rates = binned(run, "throughput", (job.params["flows"] + 20) * 1e-3, 10e-3)[1]
        row |= {
            "use": float(rates.sum(axis=0).mean()) * FRAME / PAYLOAD / (10e9 * CEILING),
            "jain": fairness(rates),
        }
    elif job.params["part"] == "incast":
        row["last_ms"] = 1e3 * float(np.mean(metrics.rounds(run.flows, 64)["duration_s"].to_numpy()))
    else:
        flows = metrics.with_bucket(metrics.completed(steady(run.flows)))
        for bucket, size in BUCKETS.items():
            part = flows.filter(pl.col("bucket") == bucket)["fct_s"].to_numpy()
            row[f"fct_{size}_ms"] = 1e3 * metrics.mean(part)
    return {"rows": pl.DataFrame([row])}


def of(tables: Tables, value: str | pl.Expr, part: str, name: str, flows: int | None = None) -> stats.Estimate:
    """A measure over the seeds."""
    where: dict[str, object] = {"part": part, "transport": name}
    return stats.over_seeds(tables["rows"], value, **(where if flows is None else {**where, "flows": flows}))


def summarise(tables: Tables) -> Tables:
    """Means with their intervals."""
    long_ = [
        {
            "transport": name,
            "flows": flows,
            "use_%": of(tables, 100 * pl.col("use"), "long flows", name, flows).text(".1f"),
            "Jain_over_10_ms": of(tables, "jain", "long flows", name, flows).text(".3f"),
            "maximum_queue_KB": of(tables, "queue_KB", "long flows", name, flows).text(".1f"),
        }
        for name in TRANSPORTS
        for flows in FLOWS
    ]
    loads = [
        {
            "transport": name,
            "incast,_last_answer_ms": of(tables, "last_ms", "incast", name).text(".2f"),
            "incast,_queue_KB": of(tables, "queue_KB", "incast", name).text(".1f"),
            **{
                f"web_search_{size},_mean_ms": of(tables, f"fct_{size}_ms", "web search", name).text(".3g")
                for size in BUCKETS.values()
            },
            "web_search,_credits_wasted_%": of(tables, 100 * pl.col("waste"), "web search", name).text(".1f"),
        }
        for name in TRANSPORTS
    ]
    return {**tables, "long": pl.DataFrame(long_), "loads": pl.DataFrame(loads)}


def facts(tables: Tables) -> dict[str, object]:
    """The numbers that the prose names."""
    found: dict[str, object] = {}
    for name, short in zip(TRANSPORTS, ("ep", "hotnets", "naive"), strict=True):
        found[f"{short}_use"] = min(of(tables, 100 * pl.col("use"), "long flows", name, n).mean for n in FLOWS)
        found[f"{short}_jain"] = min(of(tables, "jain", "long flows", name, n).mean for n in FLOWS)
        found[f"{short}_S"] = of(tables, 1e3 * pl.col("fct_S_ms"), "web search", name)
        found[f"{short}_XL"] = of(tables, "fct_XL_ms", "web search", name)
        found[f"{short}_waste"] = of(tables, 100 * pl.col("waste"), "web search", name)
        found[f"{short}_last"] = of(tables, "last_ms", "incast", name)
    return found


def draw(tables: Tables, look: Look) -> dict[str, Picture]:
    """Use and fairness of long flows; completion times of web search."""
    picture, axes = grid(1, 3, width=11.0, height=2.8)
    sizes = list(BUCKETS.values())
    for number, name in enumerate(TRANSPORTS):
        line = look.line(OWN[name])
        axes[0].plot(FLOWS, [of(tables, "use", "long flows", name, n).mean for n in FLOWS], label=name, ms=4, **line)
        axes[1].plot(FLOWS, [of(tables, "jain", "long flows", name, n).mean for n in FLOWS], ms=4, **line)
        places = [spot + 0.25 * (number - 1) for spot in range(len(sizes))]
        values = [of(tables, f"fct_{size}_ms", "web search", name).mean for size in sizes]
        axes[2].bar(places, values, width=0.24, color=line["color"])
    for place, title in zip(
        axes, ("Use of what data can take", "Jain's index over 10 ms", "Web search, mean FCT in ms"), strict=True
    ):
        place.set(title=title)
    for place in axes[:2]:
        powers(place, list(FLOWS))
        place.set(xlabel="flows", ylim=(0, 1.04))
    axes[2].set_yscale("log")
    axes[2].set_xticks(range(len(sizes)), sizes)
    axes[0].legend(frameon=False, fontsize=10)
    return {"credits": picture}


FIGURE = Figure(
    name="ours/credits",
    title="ExpressPass '17, ExpressPass '16 and naive credits beside each other",
    doc=__doc__ or "",
    jobs=jobs,
    measure=measure,
    summarise=summarise,
    check=lambda _: [],
    facts=facts,
    draw=draw,
    shown={
        "long": "Long flows: means over five seeds with 95 % intervals.",
        "loads": "An incast of 64 to 1, and web search at a load of 0.6: means over five seeds with 95 % intervals.",
    },
    captions={"credits": "Long flows and web search under three ways to send credits"},
)
