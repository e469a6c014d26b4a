"""ExpressPass sec. 4: N flows with synchronised updates of Algorithm 1 over one bottleneck, as numbers.

Rates are shares of max_rate. Algorithm 1 is taken literally; the loss of a period is that of its rates and the same
for every flow, as sec. 4 assumes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from clearway.plan.choices import Start

Floats = npt.NDArray[np.float64]

#: Distance from the fair share, relative, within which a rate counts as settled.
BAND = 0.1
#: Periods after which the flows that a newcomer meets have settled.
ESTABLISHED = 200


@dataclass(frozen=True)
class Parameters:
    """Parameters of Algorithm 1 and of its network."""

    flows: int
    w_min: float = 0.01
    w_max: float = 0.5
    target_loss: float = 0.1
    alpha: float = 1 / 16
    w_init: float = 1 / 16

    @property
    def capacity(self) -> float:
        """C = max_rate (1 + target_loss), as a share of max_rate."""
        return 1 + self.target_loss

    @property
    def fair(self) -> float:
        """R* = C/N: what rates after a decrease tend to (5)."""
        return self.capacity / self.flows

    @property
    def odd(self) -> float:
        """(C/N)(1 + (N-1) w_min): what rates after an increase tend to (6)."""
        return self.fair * (1 + (self.flows - 1) * self.w_min)

    @property
    def d_star(self) -> float:
        """D* = C w_min (1 - 1/N)."""
        return self.capacity * self.w_min * (1 - 1 / self.flows)

    @property
    def needed(self) -> float:
        """The least (N-1) w at which an increase from C is seen as congestion: t^2 / (1 - t^2), t the target loss.

        The sum after it is C (1 + (N-1) w), and a decrease needs a loss above t: a sum above max_rate / (1 - t).
        """
        return self.target_loss**2 / (1 - self.target_loss**2)

    @property
    def alternates(self) -> bool:
        """True if increase and decrease alternate at w_min, as sec. 4 takes for granted (E17-4)."""
        return (self.flows - 1) * self.w_min > self.needed


@dataclass(frozen=True)
class Trajectory:
    """Rates and aggressiveness factors, a row per period from 0, a column per flow; rows of `increased` from 1."""

    parameters: Parameters
    rates: Floats
    w: Floats
    #: True where the step into a period was an increase; the first row says nothing.
    increased: npt.NDArray[np.bool_]

    @property
    def steps(self) -> Floats:
        """D(t) = |R_n(t) - R_n(t-1)|, a row per period from 1."""
        return np.abs(np.diff(self.rates, axis=0))

    @property
    def off(self) -> Floats:
        """The relative distance from C/N of the flow that is farthest from it, at each period."""
        return np.asarray(np.abs(self.rates / self.parameters.fair - 1).max(axis=1), dtype=np.float64)

    @property
    def first_within(self) -> int | None:
        """The first period with every flow within 10 % of C/N."""
        inside = np.flatnonzero(self.off <= BAND)
        return int(inside[0]) if inside.size else None

    @property
    def settled(self) -> int | None:
        """The first period from which on every decrease leaves every flow within 10 % of C/N, as (5) means it."""
        decreases = np.flatnonzero(~self.increased[1:]) + 1
        if not decreases.size:
            return None
        outside = np.flatnonzero(self.off[decreases] > BAND)
        after = int(outside[-1]) + 1 if outside.size else 0
        return int(decreases[after]) if after < decreases.size else None

    @property
    def jumps(self) -> list[int]:
        """The periods at which w grew: second increases in a row."""
        return [int(t) + 1 for t in np.flatnonzero((np.diff(self.w, axis=0) > 0).any(axis=1))]

    @property
    def repeats_every(self) -> int | None:
        """Periods between the last two jumps of w, if it still jumps in the last quarter."""
        late = [t for t in self.jumps if t > 0.75 * (len(self.rates) - 1)]
        return late[-1] - self.jumps[-2] if late and len(self.jumps) > 1 else None


def trajectory(parameters: Parameters, periods: int, start: Start = "together") -> Trajectory:
    """Runs Algorithm 1 for a number of periods.

    `together`: all flows start at alpha with w_init. `newcomer`: all but the last have settled without it.
    """
    p = parameters
    rates, w = np.full(p.flows, p.alpha), np.full(p.flows, p.w_init)
    increasing = np.zeros(p.flows, dtype=bool)
    if start == "newcomer":
        before = trajectory(replace(p, flows=p.flows - 1), ESTABLISHED)
        rates[:-1], w[:-1], increasing[:-1] = before.rates[-1], before.w[-1], before.increased[-1]
    all_rates, all_w, increased = [rates], [w], [False]
    for _ in range(periods):
        rates, w, up = update(p, rates, w, increasing)
        increasing = np.full(p.flows, up)
        all_rates.append(rates)
        all_w.append(w)
        increased.append(up)
    return Trajectory(p, np.array(all_rates), np.array(all_w), np.array(increased))


def update(p: Parameters, rates: Floats, w: Floats, increasing: npt.NDArray[np.bool_]) -> tuple[Floats, Floats, bool]:
    """One update of every flow (Algorithm 1); says whether it was an increase."""
    loss = max(0.0, 1 - 1 / float(rates.sum()))
    if loss <= p.target_loss:
        w = np.where(increasing, (w + p.w_max) / 2, w)
        return (1 - w) * rates + w * p.capacity, w, True
    return rates * (1 - loss) * p.capacity, np.maximum(w / 2, p.w_min), False
