"""Scales of the readers' pictures: which part of the line of numbers is shown, with which ticks, in which words."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from clearway.reproduce.readers.model import Mark, Value, number

#: The part of a picture's width that is left free at each end of its scale.
FREE = 0.08
#: The least share of the largest number at which a linear scale still begins at zero.
FROM_ZERO = 0.4


@dataclass(frozen=True)
class Scale:
    """A part of the line of numbers, laid between two places of a picture."""

    low: float
    high: float
    log: bool
    left: float
    right: float

    def at(self, value: float) -> float:
        """The place of a number; one that lies beyond an end is at that end."""
        if math.isnan(value):
            return (self.left + self.right) / 2
        if self.log:
            part = 0.0 if value <= 0 else math.log(value / self.low) / math.log(self.high / self.low)
        else:
            part = (value - self.low) / (self.high - self.low)
        return self.left + min(max(part, 0.0), 1.0) * (self.right - self.left)

    def middle(self, mark: Mark) -> float:
        """The place of the words on where a claim holds: the paper's number, a limit, or between the two limits."""
        ends = [one for one in (mark.limits.least, mark.limits.most) if math.isfinite(one)]
        if mark.limits.paper is not None:
            return self.at(mark.limits.paper)
        return sum(map(self.at, ends)) / len(ends) if ends else (self.left + self.right) / 2

    def ticks(self) -> list[float]:
        """Three to six numbers that are easy to read, from one end to the other."""
        return log_ticks(self.low, self.high) if self.log else linear_ticks(self.low, self.high)


def scale_of(marks: Sequence[Mark], log: bool, left: float, right: float) -> Scale:
    """The scale of a picture, which holds all measured numbers, those of the paper, and the limits near them."""
    lows = [value.low for mark in marks for value in mark.values]
    points = [one for mark in marks for value in mark.values for one in (value.mean, value.high)]
    points += [mark.limits.paper for mark in marks if mark.limits.paper is not None]
    points += [one for mark in marks if mark.limits.paper is None for one in (mark.limits.least, mark.limits.most)]
    log = log and all(one > 0 for one in points if math.isfinite(one))
    found = [one for one in [*points, *lows] if math.isfinite(one) and (one > 0 or not log)]
    low, high = min(found, default=1.0), max(found, default=1.0)
    if low == high == 0:
        return Scale(0.0, 4.0, False, left, right)
    if log:
        room = max(math.log(high / low), math.log(2.0)) * FREE
        return Scale(low / math.exp(room), high * math.exp(room), True, left, right)
    if 0 < low < FROM_ZERO * high or (low > 0 and any(bounded_above(mark) for mark in marks)):
        low = 0.0
    room = ((high - low) or abs(high) or 1.0) * FREE
    return Scale(low if low == 0 else low - room, high + room, False, left, right)


def bounded_above(mark: Mark) -> bool:
    """True if a claim holds with whatever is small enough, so that zero belongs to its scale."""
    return mark.limits.least == -math.inf and math.isfinite(mark.limits.most)


def linear_ticks(low: float, high: float) -> list[float]:
    """Multiples of 1, 2 or 5 times a power of ten."""
    step = 10 ** math.floor(math.log10((high - low) / 3))
    for times in (1, 2, 5, 10):
        if (high - low) / (step * times) <= 5:
            step *= times
            break
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [float(f"{place * step:.6g}") for place in range(first, last + 1)]


def log_ticks(low: float, high: float) -> list[float]:
    """Powers of ten and, where these are few, numbers between them."""
    for digits in ((1,), (1, 3), (1, 2, 5), (1, 1.5, 2, 3, 5, 7), (1, 1.2, 1.4, 1.6, 1.8, 2, 2.5, 3, 4, 5, 6, 7, 8, 9)):
        powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
        found = [float(f"{digit * 10.0**power:.6g}") for power in powers for digit in digits]
        found = [one for one in found if low <= one <= high]
        if len(found) >= 3:
            break
    return found[:: math.ceil(len(found) / 6)]


def value_text(values: Sequence[Value]) -> str:
    """Measured numbers in words: one with its interval, or the least and the greatest of several."""
    if len(values) > 1:
        means = [one.mean for one in values]
        return f"{number(min(means))} to {number(max(means))}"
    one = values[0]
    if one.low == one.high or math.isnan(one.mean):
        return number(one.mean)
    low, high = number(one.low), number(one.high)
    return number(one.mean) if low == high == number(one.mean) else f"{number(one.mean)} ({low} to {high})"
