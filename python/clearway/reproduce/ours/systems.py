"""The four systems and their best rivals on one incast and one web-search load, at 10, 100 and 400 Gbps. No paper
compares them, and none goes beyond 100 Gbps.

* **Systems**: ExpressPass, EC4, PAC (over DCTCP) and PACC. **Rivals**: DCTCP and HPCC. All with their defaults,
  connections that open with a handshake and first windows of two segments where a transport has them (`stacks =
  "equal"`); RDMA transports stand on connections that are open, and on priority flow control.
* **Incast**: 64 hosts send to one at a time over a star, 2 us a link; each as much as the link carries in 50 us, at
  least 64 KB. Ten rounds; the time until the last answer over the least that the link allows, and the largest queue.
* **Web search**: 300 flows (full: 20,000) on the tree of 192 hosts, 3:1 oversubscribed, load 0.6, 1 us a link; mean
  slowdown by size class of the flows in the middle of the run, and the largest queue. Slowdown is against an idle
  network.
* **Seeds**: five; all transports see the same flows.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
from matplotlib.figure import Figure as Picture

from clearway import metrics
from clearway.report.style import own
from clearway.reproduce import stats
from clearway.reproduce.expresspass.realistic import BUCKETS
from clearway.reproduce.figure import Figure, Job, Tables
from clearway.reproduce.look import Look, grid, legend
from clearway.reproduce.quantities import data_drops, steady
from clearway.result import Run

TRANSPORTS: dict[str, dict[str, Any]] = {
    "expresspass": {"name": "expresspass"},
    "ec4": {"name": "ec4"},
    "pac": {"name": "pac", "under": "dctcp"},
    "pacc": {"name": "pacc"},
    "dctcp": {"name": "dctcp"},
    "hpcc": {"name": "hpcc"},
}
COLORS = own("expresspass", "ec4", "pac", "pacc", "dctcp", "hpcc")
RATES = (10, 100, 400)
SENDERS = 64
FLOWS = {"quick": 300, "paper": 20_000}


def answer_bytes(rate: int) -> int:
    """Bytes of an answer of the incast: 50 us of the link, at least 64 KB."""
    return max(64_000, rate * 1_000_000_000 // 8 * 50 // 1_000_000)


def jobs(scale: str) -> list[Job]:
    """Both loads at every rate under every transport."""
    found = []
    for rate in RATES:
        for name in TRANSPORTS:
            for seed in stats.SEEDS:
                found.append(job("incast", rate, name, seed, incast(rate)))
                found.append(job("web search", rate, name, seed, web(rate, FLOWS[scale])))
    return found


def job(part: str, rate: int, name: str, seed: int, body: dict[str, Any]) -> Job:
    """The job of one run."""
    params = {"part": part, "Gbps": rate, "transport": name, "seed": seed}
    return Job(params, {**body, "seed": seed, "stacks": "equal", "transport": TRANSPORTS[name]})


def incast(rate: int) -> dict[str, Any]:
    """The scenario of an incast of 64 to 1."""
    traffic = {
        "name": "burst",
        "kind": "incast",
        "receiver": "h0",
        "senders": SENDERS,
        "size": f"{answer_bytes(rate)} B",
        "rounds": 10,
        "pause": "50 us",
        "spread": "2 us",
        # PAC controls first windows where connections open.
        "connections": "per-round",
    }
    topology = {"kind": "star", "hosts": SENDERS + 1, "rate": f"{rate} Gbps", "delay": "2 us"}
    return {"name": "incast", "topology": topology, "traffic": [traffic]}


def web(rate: int, flows: int) -> dict[str, Any]:
    """Web search on 192 hosts."""
    topology = {"kind": "oversubscribed-fat-tree", "rate": f"{rate} Gbps", "delay": "1 us"}
    traffic = {
        "name": "web",
        "kind": "poisson",
        "workload": "web-search",
        "load": 0.6,
        "load_of": "ns2",
        "flows": flows,
    }
    return {"name": "web", "topology": topology, "traffic": [traffic]}


def measure(job: Job, run: Run) -> Tables:
    """The last answer, slowdowns by size, the largest queue, what was dropped and paused."""
    row = {name: float("nan") for name in ("last", *(f"slowdown_{size}" for size in BUCKETS.values()))}
    row["queue_KB"] = float(metrics.switch_ports(run.ports)["queue_max_bytes"].max()) / 1e3  # type: ignore[arg-type]
    row["drops"] = float(data_drops(run))
    control = run.summary.get("flow_control")
    row["pauses"] = float(control["pauses"]) if control else 0.0
    if job.params["part"] == "incast":
        rate = job.params["Gbps"]
        least_s = SENDERS * answer_bytes(rate) * 8 / (rate * 1e9)
        row["last"] = float(np.mean(metrics.rounds(run.flows, SENDERS)["duration_s"].to_numpy())) / least_s
    else:
        flows = metrics.with_bucket(metrics.completed(steady(run.flows)))
        for bucket, size in BUCKETS.items():
            row[f"slowdown_{size}"] = metrics.mean(flows.filter(pl.col("bucket") == bucket)["slowdown"].to_numpy())
    return {"rows": pl.DataFrame([row])}


def of(tables: Tables, value: str, part: str, rate: int, name: str) -> stats.Estimate:
    """A measure over the seeds."""
    return stats.over_seeds(tables["rows"], value, part=part, Gbps=rate, transport=name)


def summarise(tables: Tables) -> Tables:
    """Means with their intervals."""
    incast_ = [
        {
            "Gbps": rate,
            "transport": name,
            "last_answer_/_least": of(tables, "last", "incast", rate, name).text(".2f"),
            "maximum_queue_KB": of(tables, "queue_KB", "incast", rate, name).text(".0f"),
            "frames_dropped": of(tables, "drops", "incast", rate, name).text(".0f"),
            "pauses": of(tables, "pauses", "incast", rate, name).text(".0f"),
        }
        for rate in RATES
        for name in TRANSPORTS
    ]
    web_ = [
        {
            "Gbps": rate,
            "transport": name,
            **{
                f"slowdown_{size}": of(tables, f"slowdown_{size}", "web search", rate, name).text(".3g")
                for size in BUCKETS.values()
            },
            "maximum_queue_KB": of(tables, "queue_KB", "web search", rate, name).text(".0f"),
            "frames_dropped": of(tables, "drops", "web search", rate, name).text(".0f"),
        }
        for rate in RATES
        for name in TRANSPORTS
    ]
    return {**tables, "incast": pl.DataFrame(incast_), "web": pl.DataFrame(web_)}


def facts(tables: Tables) -> dict[str, object]:
    """The numbers that the prose names."""
    found: dict[str, object] = {}
    for name in TRANSPORTS:
        for rate in RATES:
            found[f"{name}_last_{rate}"] = of(tables, "last", "incast", rate, name)
            found[f"{name}_queue_{rate}"] = of(tables, "queue_KB", "incast", rate, name)
            for size in BUCKETS.values():
                found[f"{name}_{size}_{rate}"] = of(tables, f"slowdown_{size}", "web search", rate, name)
    return found


def draw(tables: Tables, look: Look) -> dict[str, Picture]:
    """Slowdowns of web search by rate, and both sides of an incast: how long, and how large a queue."""
    picture, axes = grid(1, 3, width=11.0, height=2.9, sharey=True)
    sizes = list(BUCKETS.values())
    for place, rate in zip(axes, RATES, strict=True):
        for number, name in enumerate(TRANSPORTS):
            places = [spot + 0.13 * (number - 2.5) for spot in range(len(sizes))]
            values = [of(tables, f"slowdown_{size}", "web search", rate, name).mean for size in sizes]
            place.bar(places, values, width=0.12, color=look.color(COLORS[name]), label=name)
        place.set_xticks(range(len(sizes)), sizes)
        place.set_yscale("log")
        place.set(title=f"{rate} Gbps")
    axes[0].set_ylabel("mean slowdown, web search")
    legend(picture, axes[0], columns=6)
    trade, (one, *_) = grid(1, 1, width=6.4, height=3.2)
    for rate, marker in zip(RATES, "os^", strict=True):
        for name in TRANSPORTS:
            x = of(tables, "last", "incast", rate, name).mean
            y = max(1.0, of(tables, "queue_KB", "incast", rate, name).mean)
            label = name if rate == RATES[0] else None
            one.plot([x], [y], marker, color=look.color(COLORS[name]), ms=7, label=label)
    one.set_yscale("log")
    one.set(title="Incast of 64: circles 10, squares 100, triangles 400 Gbps", ylabel="largest queue, KB")
    one.set_xlabel("time until the last answer / least possible")
    one.legend(frameon=False, fontsize=10)
    return {"web-search": picture, "incast": trade}


FIGURE = Figure(
    name="ours/systems",
    title="Four systems and their rivals at 10, 100 and 400 Gbps",
    doc=__doc__ or "",
    jobs=jobs,
    measure=measure,
    summarise=summarise,
    check=lambda _: [],
    facts=facts,
    draw=draw,
    shown={
        "incast": "Incast of 64: means over five seeds with 95 % intervals.",
        "web": "Web search: mean slowdown by size class, means over five seeds with 95 % intervals.",
    },
    captions={
        "incast": "Incast: the time until the last answer against the largest queue; down and to the left is better",
        "web-search": "Web search: mean slowdown by size class and link rate",
    },
)
