"""Means of repeated runs with their confidence intervals."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache

#: Share of intervals that hold the true mean, if what is measured is spread normally over seeds.
CONFIDENCE = 0.95


def interval(values: Sequence[float], confidence: float = CONFIDENCE) -> tuple[float, float, float]:
    """The mean of independent values and the ends of its confidence interval, by Student's t.

    NaN (nothing to measure) in any value makes all NaN. One value has no interval: its ends are NaN.
    """
    n = len(values)
    if n == 0:
        return math.nan, math.nan, math.nan
    mean = math.fsum(values) / n
    if n == 1:
        return mean, math.nan, math.nan
    if min(values) == max(values):  # Without the error of rounding, which would give an interval.
        return values[0], values[0], values[0]
    deviation = math.sqrt(math.fsum((value - mean) ** 2 for value in values) / (n - 1))
    half = t_quantile(0.5 + confidence / 2, n - 1) * deviation / math.sqrt(n)
    return mean, mean - half, mean + half


@cache
def t_quantile(probability: float, freedom: int) -> float:
    """The quantile of Student's t distribution for a probability from 0.5 to 1."""
    low, high = 0.0, math.pi / 2
    for _ in range(80):
        middle = (low + high) / 2
        below = (1 + within(middle, freedom)) / 2 < probability
        low, high = (middle, high) if below else (low, middle)
    return math.sqrt(freedom) * math.tan(low)


def within(theta: float, freedom: int) -> float:
    """The probability that |t| is below sqrt(freedom) tan(theta): Abramowitz and Stegun, 26.7.3 and 26.7.4."""
    sine, cosine = math.sin(theta), math.cos(theta)
    odd = freedom % 2
    term, total = (cosine, 0.0) if odd else (1.0, 0.0)
    for step in range(freedom // 2):
        total += term
        term *= cosine**2 * (2 * step + 1 + odd) / (2 * step + 2 + odd)
    return 2 / math.pi * (theta + sine * total) if odd else sine * total
