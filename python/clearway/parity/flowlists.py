"""Lists of flows by Poisson arrivals, from a generator whose numbers are the same on every machine."""

from __future__ import annotations

import bisect
import math
import random

import polars as pl

#: A distribution of sizes: points of size in bytes and cumulative probability, straight lines between.
Cdf = tuple[tuple[float, float], ...]


def draw_size(cdf: Cdf, share: float) -> int:
    """The size at that share of the distribution, rounded up to a whole number of bytes."""
    at = bisect.bisect_left(cdf, share, key=lambda point: point[1])
    if at == 0:
        return max(1, math.ceil(cdf[0][0]))
    (low, below), (high, above) = cdf[at - 1], cdf[at]
    return max(1, math.ceil(low + (high - low) * (share - below) / (above - below)))


def poisson(cdf: Cdf, *, flows: int, hosts: int, interval_s: float, first_s: float, seed: int) -> pl.DataFrame:
    """Flows between two different hosts of so many, both uniform, `interval_s` apart on average.

    Starts are whole nanoseconds.
    """
    draw = random.Random(seed).random
    rows, start_s = [], first_s
    for _ in range(flows):
        src = int(draw() * hosts)
        dst = int(draw() * (hosts - 1))
        rows.append((round(start_s * 1e9), src, dst + (dst >= src), draw_size(cdf, draw())))
        start_s -= interval_s * math.log(1.0 - draw())
    return pl.DataFrame(rows, schema=["start_ns", "src", "dst", "size_bytes"], orient="row")
