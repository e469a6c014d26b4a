"""Estimates over seeds: a mean with its interval, paired ratios, and percentiles that have enough values.

Where anything is drawn at random a figure runs several seeds (`SEEDS` or more) and judges the interval, not the mean.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from clearway.lazy import lazily
from clearway.metrics import BEYOND

if TYPE_CHECKING:
    from scipy import stats
else:
    # A second to import, and processes that only run simulations need no interval.
    stats = lazily("scipy.stats")

#: Seeds of a figure in which anything is drawn; the least that a verdict may stand on.
SEEDS = (1, 2, 3, 4, 5)
#: Share of intervals that hold the true mean.
CONFIDENCE = 0.95


@dataclass(frozen=True)
class Estimate:
    """A mean over seeds with its 95 % interval (Student's t); without seeds, a number that is exact."""

    mean: float
    low: float
    high: float
    #: Seeds behind it; 1 for a run in which nothing is drawn.
    seeds: int = 1
    #: The values that it is of, one a seed; empty where it has none, or was computed from other estimates.
    draws: tuple[float, ...] = field(default=(), compare=False, repr=False)

    def text(self, form: str = ".3g", unit: str = "") -> str:
        """`94.6 (94.1 to 95.2) %`; the mean alone where nothing is drawn."""
        after = f" {unit}" if unit else ""
        if self.seeds == 1:
            return f"{self.mean:{form}}{after}"
        return f"{self.mean:{form}} ({self.low:{form}} to {self.high:{form}}){after}"

    def scaled(self, factor: float) -> Estimate:
        """The estimate in another unit: all of it times a factor."""
        ends = sorted((self.low * factor, self.high * factor))
        draws = tuple(value * factor for value in self.draws)
        return Estimate(self.mean * factor, ends[0], ends[1], self.seeds, draws)

    def minus(self, value: float) -> Estimate:
        """The estimate less an exact number."""
        draws = tuple(one - value for one in self.draws)
        return Estimate(self.mean - value, self.low - value, self.high - value, self.seeds, draws)

    def median(self) -> Estimate:
        """The median of its draws with an interval by order statistics, which assumes nothing of how they are
        distributed.

        The interval lies between the two draws that enclose the true median in `CONFIDENCE` of all cases. With fewer
        than six draws no two do, and the extremes stand for it: with five they enclose it in 93.75 % of all cases.
        """
        if self.seeds == 1:
            return self
        x = sorted(self.draws)
        if len(x) != self.seeds:
            raise ValueError("a median needs the values of the seeds; this estimate was computed from other ones")
        outside = max(0, int(stats.binom.ppf((1 - CONFIDENCE) / 2, len(x), 0.5)) - 1)
        return Estimate(float(np.median(x)), x[outside], x[-1 - outside], self.seeds, self.draws)

    def __format__(self, form: str) -> str:
        return self.text(form or ".3g")


def exact(value: float) -> Estimate:
    """A number that no random draw stands behind."""
    return Estimate(float(value), float(value), float(value))


def estimate(values: Sequence[float]) -> Estimate:
    """The mean of one value a seed, with its interval. NaN if a value is; one value alone has no interval."""
    x = np.asarray(list(values), dtype=float)
    if len(x) == 0 or np.isnan(x).any():
        return Estimate(math.nan, math.nan, math.nan, max(len(x), 1))
    mean = float(x.mean())
    if len(x) == 1:
        return exact(mean)
    if math.isinf(mean):
        return Estimate(mean, float(x.min()), float(x.max()), len(x), tuple(map(float, x)))
    half = float(stats.t.ppf(0.5 + CONFIDENCE / 2, len(x) - 1)) * float(x.std(ddof=1)) / math.sqrt(len(x))
    return Estimate(mean, mean - half, mean + half, len(x), tuple(map(float, x)))


def per_seed(table: pl.DataFrame, value: str | pl.Expr, **where: object) -> list[float]:
    """A measure of the rows that have these values in these columns, one a seed, in the order of column `seed`."""
    part = table.filter(*(pl.col(name) == pl.lit(one) for name, one in where.items())).sort("seed")
    expression = pl.col(value) if isinstance(value, str) else value
    return [float(one) for one in part.select(expression.alias("value"))["value"]]


def over_seeds(table: pl.DataFrame, value: str | pl.Expr, **where: object) -> Estimate:
    """The estimate of a measure from the rows that have these values in these columns, one a seed."""
    return estimate(per_seed(table, value, **where))


def paired_ratio(numerators: Sequence[float], denominators: Sequence[float]) -> Estimate:
    """The ratio of two measures of the same seeds: the geometric mean of each seed's ratio, with its interval.

    Pairing by seed takes away what the seeds have in common, such as their traffic.
    """
    if len(numerators) != len(denominators):
        raise ValueError("a paired ratio needs one numerator and one denominator for each seed")
    a, b = np.asarray(list(numerators), dtype=float), np.asarray(list(denominators), dtype=float)
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.log(a / b)
    if not np.isfinite(logs).all():
        return Estimate(math.nan, math.nan, math.nan, max(len(logs), 1))
    found = estimate([float(value) for value in logs])
    draws = tuple(map(math.exp, found.draws))
    return Estimate(math.exp(found.mean), math.exp(found.low), math.exp(found.high), found.seeds, draws)


def geometric(values: Sequence[float]) -> Estimate:
    """The geometric mean of one positive value a seed, with its interval."""
    return paired_ratio(values, [1.0] * len(values))


def reduction(ours: Sequence[float], theirs: Sequence[float]) -> Estimate:
    """The share by which ours is lower than theirs, paired by seed: 1 - ours / theirs."""
    ratio = paired_ratio(ours, theirs)
    draws = tuple(1 - value for value in ratio.draws)
    return Estimate(1 - ratio.mean, 1 - ratio.high, 1 - ratio.low, ratio.seeds, draws)


def enough(count: int, percent: float) -> bool:
    """True if so many values support the percentile: `BEYOND` of them lie beyond it."""
    return count * (1 - percent / 100) >= BEYOND - 1e-9


def percentile(values: Sequence[float] | np.ndarray, percent: float) -> float:
    """A percentile; NaN where too few values lie beyond it."""
    x = np.asarray(values, dtype=float)
    return float(np.percentile(x, percent)) if enough(len(x), percent) else math.nan
