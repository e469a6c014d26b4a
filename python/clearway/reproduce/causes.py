"""Causes: the reasons why claims do not hold, and how each is known.

A figure says what it believes to be the cause and hands over the evidence; this module decides what the evidence shows.

| kind | when |
|---|---|
| one change | with one change of the set-up, all else equal, the claim holds |
| in part | with it a part that fails holds, or at most half of the distance to the claim is left |
| calculation | a closed calculation shows that no run of the stated set-up can give the claimed value |
| unstated | the paper leaves open what decides |
| seeds | the intervals over seeds decide nothing |
| not isolated | nothing of that is shown |
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from clearway.reproduce.stats import Estimate

#: The ways in which a cause is known, from the strongest evidence to none.
CauseKind = Literal["one change", "calculation", "unstated", "in part", "seeds", "not isolated"]
#: All kinds, in that order.
KINDS: tuple[CauseKind, ...] = get_args(CauseKind)

#: Distances of what a claim is decided by from where it would hold, by name: 0 within, infinite if not a number.
Distances = Mapping[str, float]


@dataclass(frozen=True)
class Cause:
    """The reason why a claim does not hold, as its row says it."""

    kind: CauseKind
    #: The cause in a sentence that can be read alone; empty where none is known.
    says: str = ""

    @property
    def text(self) -> str:
        """The cause as a remark."""
        return f"cause ({self.kind}): {self.says}" if self.says else f"cause: {self.kind}"


@dataclass(frozen=True)
class Change:
    """The quantities of a claim, measured with one change of the set-up and the same seeds."""

    #: The cause in a sentence, which names the change.
    says: str
    measured: Mapping[str, Estimate | float | int] | Estimate | float
    #: The measured numbers in words, where they are many; without it all of them stand in the row.
    text: str = ""
    #: The quantities of the same runs without the change, where the claim is judged by more runs than have it.
    before: Mapping[str, Estimate | float | int] | None = None


@dataclass(frozen=True)
class Calculation:
    """A closed calculation which shows that the stated set-up can't give what the claim states."""

    says: str


@dataclass(frozen=True)
class Unstated:
    """Something that the paper leaves open, on which the answer depends."""

    says: str


#: The evidence for a cause that a figure may hand over.
Evidence = Change | Calculation | Unstated


def strongest(causes: Sequence[Cause]) -> Cause:
    """The cause with the strongest evidence; of two alike the one that was named first."""
    return min(causes, key=lambda one: KINDS.index(one.kind))


def effect(before: Distances, after: Distances, holds: bool) -> CauseKind:
    """The kind of cause that a change is: the claim's distances without and with it, and whether it then `holds`."""
    if holds:
        return "one change"
    failing = {name: far for name, far in before.items() if far > 0}
    mended = any(after.get(name, math.inf) <= far / 2 for name, far in failing.items() if math.isfinite(far))
    mended = mended or any(math.isfinite(after.get(name, math.inf)) for name, far in failing.items() if far == math.inf)
    return "in part" if mended else "not isolated"


def distance(value: float, low: float, high: float) -> float:
    """The distance of a number from a band: 0 within; in powers of e where the number and the edge are positive.

    Elsewhere the distance is relative to the edge, or the number itself where the edge is 0.
    """
    if math.isnan(value):
        return math.inf
    edge = low if value < low else high
    if low <= value <= high:
        return 0.0
    if value > 0 and edge > 0:
        return abs(math.log(value / edge))
    return abs(value - edge) / (abs(edge) or 1.0)
