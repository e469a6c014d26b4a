"""The common ground of Fig. 1, 2 and 3: bursts of nine hosts into one port, and how their end is measured."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import polars as pl

from clearway.reproduce import judge, stats
from clearway.reproduce.pacc.setup import HOSTS_PER_TOR, PRINT, READINGS, TRANSPORTS, VARIANTS, WINDOW, scenario
from clearway.reproduce.quantities import Floats
from clearway.reproduce.stats import Estimate
from clearway.result import Run

#: Long flows go from hosts of tor1 to hosts of tor0; h0's port is the bottleneck.
SOURCES, RECEIVERS = (16, 17), (0, 1)
BOTTLENECK = "tor0->h0"
LINE_GBPS = 25.0
BURST_US = 600
TORS = 20
DRAWS = {"quick": 10, "paper": 50}

#: Share of the throughput before the bursts at which a recovery counts as done. The paper states none.
BACK = 90

ALPHA = {"alpha_from": "start"}
PACC = TRANSPORTS["pacc"]
#: A tenth of the period with the same queue wanted.
SHORT = {"period": "8 us", "q_th": "125 KB"}

#: Readings, and what isolates causes: the transports of the paper with one thing changed, by what is changed.
MEASURED: dict[str, dict[str, Any]] = {
    **TRANSPORTS,
    **VARIANTS,
    "hpcc, 80 B": {"name": "hpcc", "max_stage": 5, "base_rtt": TRANSPORTS["hpcc"]["base_rtt"]},
    "dcqcn, target kept": TRANSPORTS["dcqcn"] | {"clamp_target": False},
    "pacc, print": PRINT,
    "rocev2, window": {"name": "rocev2", "window": WINDOW},
    "pacc, alpha from start": PACC | ALPHA,
    "pacc, print, alpha from start": PRINT | ALPHA,
    "pacc, incremental": PACC | {"form": "incremental"},
    "pacc, T 8 us": PACC | SHORT,
    "pacc, T 8 us, alpha from start": PACC | SHORT | ALPHA,
}


def senders(draw: int) -> list[int]:
    """Nine hosts, three in each of three ToRs that the long flows do not touch, drawn at random."""
    chance = random.Random(f"pacc bursts {draw}")
    return [
        tor * HOSTS_PER_TOR + host
        for tor in sorted(chance.sample(range(2, TORS), 3))
        for host in sorted(chance.sample(range(HOSTS_PER_TOR), 3))
    ]


def bursts(
    transport: Mapping[str, Any],
    draw: int,
    *,
    size: str,
    receivers: tuple[int, int] = RECEIVERS,
    at_us: int = BURST_US,
    **top: Any,
) -> dict[str, Any]:
    """Two long flows, and the bursts of nine hosts to the receiver of the first."""
    long = [{"src": src, "dst": dst} for src, dst in zip(SOURCES, receivers, strict=True)]
    burst = [{"src": src, "dst": receivers[0], "size": size, "start": f"{at_us} us"} for src in senders(draw)]
    traffic = [{"name": "long", "kind": "flows", "list": long}, {"name": "burst", "kind": "flows", "list": burst}]
    return scenario(transport, traffic, seed=draw + 1, **top)


def sampled(run: Run, series: str, entity: str | None = None) -> tuple[Floats, Floats]:
    """Times in us and values of a series: of one entity, or the sum of all."""
    samples = run.samples.filter(pl.col("series") == series)
    if entity is not None:
        samples = samples.filter(pl.col("entity") == entity)
    table = samples.group_by("time_s").agg(pl.col("value").fill_nan(0).sum()).sort("time_s")
    return table["time_s"].to_numpy() * 1e6, table["value"].to_numpy()


def recovery(times: Floats, values: Floats, start: float, level: float) -> float:
    """The time after `start` at which the values are at `level` or above for good; infinite if the last of them is not.

    A sample is the mean of the interval that it ends.
    """
    below = np.flatnonzero((times > start) & (values < level))
    if not below.size:
        return 0.0
    return math.inf if below[-1] == len(values) - 1 else float(times[below[-1]]) - start


def suppression(times: Floats, values: Floats, start: float, level: float, *, within: float, hold: int) -> float:
    """The time after `start` at which a suppression ends: `hold` values in a row are at `level` or above.

    It is the first that begins `within` so long after `start`: 0 if none does, infinite if it does not end.
    """
    below = np.flatnonzero((times > start) & (times <= start + within) & (values < level))
    if not below.size:
        return 0.0
    good = values >= level
    for index in range(int(below[0]), len(values) - hold + 1):
        if good[index : index + hold].all():
            return float(times[index - 1]) - start
    return math.inf


def under(quantities: Callable[[dict[str, str]], dict[str, judge.Measured]]) -> dict[str, dict[str, judge.Measured]]:
    """The quantities of a claim under each named reading, by its name."""
    return {name: quantities(names) for name, names in READINGS.items()}


def over_draws(values: pl.Series) -> Estimate:
    """The mean over draws with its interval; without an upper end if it never happened in a draw."""
    x = values.fill_nan(math.inf).to_numpy()
    if np.isfinite(x).all():
        return stats.estimate(x.tolist())
    return Estimate(math.inf, float(x.min()), math.inf, len(x))


def median(values: pl.Series) -> float:
    """The middle of the draws; what never happened counts as infinite."""
    return float(np.median(values.fill_nan(math.inf).to_numpy()))


def spread(values: pl.Series, digits: int = 0, unit: str = "") -> str:
    """`604 (600 to 608) KB`: the middle and the ends of the draws; `never` for what did not happen."""
    low, high = float(values.min()), float(values.max())  # type: ignore[arg-type]
    tail = f" {unit}" if unit else ""

    def text(value: float) -> str:
        return f"{value:,.{digits}f}" if math.isfinite(value) else "never"

    middle = median(values)
    if text(low) == text(high):
        return text(middle) + (tail if math.isfinite(middle) else "")
    return f"{text(middle)} ({text(low)} to {text(high)}){tail}"
