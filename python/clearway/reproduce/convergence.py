"""The one criterion of convergence, by which every figure says when flows share a link; `docs/verdicts.md` states it.

Flows have converged at the end of the first window over which each of them, the new one and the old ones, has its fair
share on average, within a tenth, if the same is true of every later window for as long again as it took, and for three
windows at least. So a flow that only crosses its share on the way elsewhere has not converged, however slowly it does.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from clearway.reproduce import stats
from clearway.reproduce.quantities import FRAME, PAYLOAD, Floats, binned
from clearway.result import Run

#: Distance from the fair share, relative, up to which a flow has it (E16 3.1: "within 10% of the fair-share").
TOLERANCE = 0.1
#: Packets of each flow that a window holds at least: the standard error of a count of so many independent packets is
#: the tolerance.
PACKETS = round(1 / TOLERANCE**2)
#: Windows for which flows must at least keep their share.
WINDOWS = 3


@dataclass(frozen=True)
class Joining:
    """Throughput of flows around the moment, time 0, from which convergence counts: the last of them asks for its
    connection, or whatever else the figure names.
    """

    #: A row for each flow, in multiples of its fair share, and a column for each interval of `every_s`.
    rates: Floats
    every_s: float
    #: Time before time 0 at which the series begins.
    before_s: float
    #: Packets that a flow sends in a second at its share; of all runs together where this is their mean.
    packets_per_s: float

    def held(self, window_s: float) -> float:
        """The time at which the flows have converged, in averages over `window_s`; NaN if that is never seen."""
        holds = self.packets_per_s * window_s
        if holds < PACKETS * (1 - 1e-9):
            raise ValueError(
                f"a window of {1e6 * window_s:g} us holds {holds:.0f} packets of a flow at its share; to tell "
                f"{100 * TOLERANCE:.0f} % it must hold {PACKETS}"
            )
        inside = self.inside(window_s)
        ends = np.arange(1, len(inside) + 1)
        # From each window on, itself included, the number of those that are inside without a break.
        breaks = np.flatnonzero(np.append(~inside, True))
        unbroken = breaks[np.searchsorted(breaks, ends - 1)] - (ends - 1)
        return self.earliest(unbroken > np.maximum(ends, WINDOWS * self.count(window_s)))

    def first(self, window_s: float) -> float:
        """The end of the first window in which all flows have their share, kept or not; windows stand side by side."""
        count = self.count(window_s)
        return count * self.earliest(self.inside(window_s)[count - 1 :: count])

    def ramp_up(self, window_s: float, flow: int = -1) -> float:
        """The end of the first window in which the new flow has its share or more, whatever the others have and
        whatever comes after; windows stand side by side.
        """
        count = self.count(window_s)
        return count * self.earliest(self.averages(window_s)[flow, count - 1 :: count] >= 1 - TOLERANCE)

    def inside(self, window_s: float) -> NDArray[np.bool_]:
        """An answer for each window that ends after time 0: whether all flows have their share in it."""
        found: NDArray[np.bool_] = np.all(np.abs(self.averages(window_s) - 1) <= TOLERANCE + 1e-12, axis=0)
        return found

    def averages(self, window_s: float) -> Floats:
        """The mean of each flow over the windows that end 1, 2, 3 and so on intervals after time 0."""
        count, before = self.count(window_s), round(self.before_s / self.every_s)
        if count > before + 1:
            raise ValueError(f"the series must begin {1e6 * (window_s - self.every_s):g} us before time 0")
        sums = np.cumsum(np.pad(self.rates, ((0, 0), (1, 0))), axis=1)
        means: Floats = (sums[:, count:] - sums[:, :-count]) / count
        return means[:, before + 1 - count :]

    def count(self, window_s: float) -> int:
        """Intervals in a window."""
        return round(window_s / self.every_s)

    def earliest(self, true: NDArray[np.bool_]) -> float:
        """The end of the first interval of which something is true; NaN if there is none."""
        return (int(np.argmax(true)) + 1) * self.every_s if true.any() else math.nan


def joining(run: Run, at_s: float, share_bps: float, *, every_s: float, before_s: float) -> Joining:
    """The throughput of a run's flows, each with this share of payload, around the time `at_s`."""
    _, rates = binned(run, "throughput", at_s - before_s, every_s)
    return Joining(rates / share_bps, every_s, before_s, share_bps / (8 * PAYLOAD))


def together(runs: Sequence[Joining]) -> Joining:
    """The mean over runs, which holds more packets in the same time, and so tells what one run is too coarse for."""
    length = min(one.rates.shape[1] for one in runs)
    rates = np.mean([one.rates[:, :length] for one in runs], axis=0)
    return replace(runs[0], rates=rates, packets_per_s=sum(one.packets_per_s for one in runs))


def window_rtts(packets_a_rtt: float, least: float = 1.0) -> int:
    """The window in whole round trips: the shortest that holds enough packets of a flow, and at least `least`."""
    return math.ceil(max(least, PACKETS / packets_a_rtt) - 1e-9)


def saw_tooth_s(rate_bps: float, rtt_s: float, marking: int, flows: int = 2) -> float:
    """The period of DCTCP's saw tooth, by the fluid model of its paper (SIGCOMM 2010, sec. 3.3).

    `1/2 sqrt(2 N (C RTT + K))` round trips, each of which takes the time of the `marking` (K) frames that wait besides.
    """
    frame_s = 8 * FRAME / rate_bps
    return 0.5 * math.sqrt(2 * flows * (rtt_s / frame_s + marking)) * (rtt_s + marking * frame_s)


def times(values: Sequence[float]) -> stats.Estimate:
    """Times over seeds; infinite where they are never reached, which leaves them a median."""
    return stats.estimate([math.inf if math.isnan(one) else one for one in values])


def quotient(ones: Sequence[float], others: Sequence[float]) -> stats.Estimate:
    """One time over another, paired by seed; 0, which meets no claim, where one of a pair is never reached."""
    pairs = zip(ones, others, strict=True)
    return stats.estimate([one / other if math.isfinite(one / other) else 0.0 for one, other in pairs])


def words(value: stats.Estimate) -> str:
    """A median time as prose has it, or `never`."""
    middle = value.median().mean
    if not math.isfinite(middle):
        return "never"
    return f"{middle:,.0f}" if middle >= 10 else f"{middle:.2g}"


def never(values: Sequence[float]) -> str:
    """The number of runs that never get there, in words: `3 of 20`."""
    return f"{sum(math.isnan(one) for one in values)} of {len(values)}"
