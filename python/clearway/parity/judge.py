"""The verdict on a number that both simulators measured: whether the intervals of its means overlap."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import stdtrit

#: The share of all intervals that hold the mean.
CONFIDENCE = 0.95
#: Flows that a bucket needs before its 99th percentile is printed and judged.
P99_FLOWS = 500
#: A difference of at most this share of theirs, at both ends of what the intervals allow, fails nothing, though it is
#: shown: with draws enough, any two programs are told apart.
SMALL = 0.005


@dataclass(frozen=True)
class Interval:
    """The mean of one value a draw, and the 95 % interval in which the mean of all draws lies."""

    mean: float
    low: float
    high: float
    draws: int

    def overlaps(self, other: Interval) -> bool:
        """True if a value lies in both intervals."""
        return self.low <= other.high and other.low <= self.high


@dataclass(frozen=True)
class Compared:
    """A number on both sides."""

    ours: Interval
    theirs: Interval

    @property
    def ratio(self) -> float:
        """Our mean as a multiple of theirs."""
        return self.ours.mean / self.theirs.mean

    @property
    def agrees(self) -> bool | None:
        """True if the intervals overlap; `None` if neither side has a second draw, so that there are none."""
        if math.isnan(self.ours.low) or math.isnan(self.theirs.low):
            return None
        return self.ours.overlaps(self.theirs)

    @property
    def apart(self) -> tuple[float, float]:
        """The least and the largest difference that the intervals allow, as shares of theirs, the lower one first."""
        return self.ours.low / self.theirs.high - 1, self.ours.high / self.theirs.low - 1

    @property
    def is_small(self) -> bool:
        """True if the difference, at least and at most, lies within `SMALL`."""
        return all(abs(share) <= SMALL for share in self.apart)


def spread(draws: Sequence[float]) -> float:
    """The standard deviation over the draws; NaN of fewer than two."""
    return float(np.std(draws, ddof=1)) if len(draws) > 1 else math.nan


def interval(draws: Sequence[float], deviation: float, freedom: int) -> Interval:
    """The mean of the draws with its interval by Student's t, for draws that scatter by this standard deviation.

    The deviation has so many degrees of freedom.
    """
    mean = float(np.mean(draws))
    if math.isnan(deviation):
        return Interval(mean, math.nan, math.nan, len(draws))
    half = float(stdtrit(freedom, 0.5 + CONFIDENCE / 2)) * deviation / math.sqrt(len(draws))
    return Interval(mean, mean - half, mean + half, len(draws))


def compared(ours: Sequence[float], theirs: Sequence[float]) -> Compared:
    """Both sides with their intervals.

    A side with one draw alone does not show how it scatters. It is taken to scatter as the other side does.
    """
    known = {len(side) - 1: spread(side) for side in (ours, theirs) if len(side) > 1}
    freedom, other = next(iter(known.items()), (0, math.nan))
    sides = []
    for draws in (ours, theirs):
        own = (spread(draws), len(draws) - 1) if len(draws) > 1 else (other, freedom)
        sides.append(interval(draws, *own))
    return Compared(sides[0], sides[1])
