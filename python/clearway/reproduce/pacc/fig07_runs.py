"""The runs of Fig. 7 to 10, at every size, and what is measured of each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import polars as pl

from clearway import metrics
from clearway.reproduce import stats
from clearway.reproduce.figure import Job, Tables
from clearway.reproduce.pacc.fig07_cells import ALL, HUGE, LARGE, MIDDLE, SMALL, WORKLOADS
from clearway.reproduce.pacc.setup import READINGS, TRANSPORTS, VARIANTS, WINDOW, scenario
from clearway.reproduce.quantities import cost, data_drops
from clearway.reproduce.stats import SEEDS
from clearway.result import Run

#: The whole, which decides, and two sizes below it, by the time in which flows arrive.
SIZES = (0.1, 0.3, 1)
LOADS = (0.3, MIDDLE, 0.7)
#: The size of quick runs.
QUICK = 0.2
#: Milliseconds in which flows arrive at the middle load and the paper's size.
ARRIVALS_MS = {"WebSearch": 30.0, "FB_Hadoop": 15.0}
#: The share of the arrivals at either end whose flows do not count.
ENDS = 1 / 6
SPLIT, HUGE_FROM = 100_000, 3_000_000

WINDOWED, CONTROL = "pacc, window", "rocev2, window"
#: Middle load: PACC alone with a window, and the control.
BESIDE: dict[str, dict[str, Any]] = {WINDOWED: VARIANTS[WINDOWED], CONTROL: {"name": "rocev2", "window": WINDOW}}


def jobs(scale: str) -> list[Job]:
    """Every workload, load, transport and seed; what isolates causes at the middle load."""
    return at(1 if scale == "paper" else QUICK)


def at(size: float) -> list[Job]:
    """The runs at a share of the whole size: below it at the middle load alone.

    As many flows arrive at each load: the lower it is, the longer they do.
    """
    return [
        job(workload, load, name, transport, seed, size * full * MIDDLE / load)
        for load, name, transport in compared(size)
        for workload, full in ARRIVALS_MS.items()
        for seed in SEEDS
    ]


def compared(size: float) -> Iterator[tuple[float, str, Mapping[str, Any]]]:
    """The loads and transports of a size."""
    for load in LOADS if size == 1 else (MIDDLE,):
        beside = BESIDE | (others() if size == 1 else {}) if load == MIDDLE else {}
        for name, transport in (TRANSPORTS | beside).items():
            yield load, name, transport


def others() -> dict[str, dict[str, Any]]:
    """The transports of the readings, which are run at the whole size."""
    return {name: VARIANTS[name] for names in READINGS.values() for name in names.values() if name in VARIANTS}


def job(workload: str, load: float, name: str, transport: Mapping[str, Any], seed: int, span_ms: float) -> Job:
    """A run in which flows arrive for a time."""
    ends = round(span_ms * ENDS, 4)
    params = {"workload": workload, "load": load, "transport": name, "seed": seed, "ends_ms": ends}
    return Job(params, made(workload, load, transport, span_ms, seed))


def made(workload: str, load: float, transport: Mapping[str, Any], arrivals_ms: float, seed: int) -> dict[str, Any]:
    """Poisson arrivals for a time."""
    traffic = {
        "name": "flows",
        "kind": "poisson",
        "workload": WORKLOADS[workload],
        "load": load,
        "load_of": "ns2",
        "flows": 100_000_000,
        "stop": f"{arrivals_ms:.6g} ms",
    }
    return scenario(transport, [traffic], name="fig07", seed=seed)


def measure(job: Job, run: Run) -> Tables:
    """Completion times of all and by class, of the flows that count; pauses and notifications; cost."""
    start, ends = pl.col("start_s"), job.params["ends_ms"] * 1e-3
    flows = run.flows.filter((start >= ends) & (start < start.max() - ends))
    size = pl.col("size_bytes")
    parts = {ALL: size > 0, SMALL: size <= SPLIT, LARGE: size > SPLIT, HUGE: size > HUGE_FROM}
    sizes = []
    for name, part in parts.items():
        times = flows.filter(part)["acked_s"].to_numpy()
        sizes.append(
            {
                "bucket": name,
                "flows": len(times),
                "mean_s": metrics.mean(times),
                "p99_s": stats.percentile(times, 99),
            }
        )
    row = {
        **cost(run),
        "pauses": run.summary["flow_control"]["pauses"],
        "queue_max_KB": float(run.ports["queue_max_bytes"].to_numpy().max()) / 1e3,
        "notices": run.summary["notices"],
        "drops": data_drops(run),
    }
    return {"rows": pl.DataFrame([row]), "sizes": pl.DataFrame(sizes)}
