"""The model of the pages for readers: counts of claims, claims by topic and by figure, headlines with their numbers.

Markdown, HTML and pictures are made from it, and nothing else computes what they show.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cached_property

from clearway.reproduce import scoreboard
from clearway.reproduce.causes import CauseKind
from clearway.reproduce.claims import VERDICTS, Claim, Verdict
from clearway.reproduce.readers.headlines import Frame, Headline, Topic, frame
from clearway.reproduce.rules import rule
from clearway.reproduce.scoreboard import GOOD, PAPERS, UNTESTED, Score

#: Verdicts on claims that a simulation tests, in the order of the bars.
TESTED: tuple[Verdict, ...] = tuple(one for one in VERDICTS if one not in UNTESTED)
#: Name of all papers together.
ALL = "all"


@dataclass(frozen=True)
class Value:
    """A measured number with the ends of its interval."""

    mean: float
    low: float
    high: float


@dataclass(frozen=True)
class Limits:
    """The range in which a number must lie for its claim to hold."""

    #: The number, or the one limit, that the paper prints; None where it prints two limits or nothing.
    paper: float | None
    #: The limits in words: those of the paper or, where it prints none, those of the claim's rule.
    says: str
    #: The least and the greatest number with which the claim holds, its tolerance included.
    least: float
    most: float


@dataclass(frozen=True)
class Mark:
    """One line of a headline's picture: measured numbers, and where they must lie."""

    label: str
    values: tuple[Value, ...]
    limits: Limits


@dataclass(frozen=True)
class Shown:
    """A headline with what became of its claim."""

    headline: Headline
    score: Score
    #: The lines of its picture; empty where the record has no numbers, which leaves the text.
    marks: tuple[Mark, ...]


@dataclass(frozen=True)
class Part:
    """A topic with the claims of it that a simulation tests, each counted once."""

    topic: Topic
    scores: tuple[Score, ...]

    @property
    def holding(self) -> int:
        """The number of its claims that hold."""
        return sum(one.finding is not None and one.finding.verdict in GOOD for one in self.scores)

    @property
    def share(self) -> float:
        """The share of its claims that hold, a table by its cells."""
        return sum(map(scoreboard.credit, self.scores)) / len(self.scores)


@dataclass(frozen=True)
class Counted:
    """Claims counted in the two ways that the pages show: those that a simulation tests, and the rest."""

    scores: tuple[Score, ...]

    @cached_property
    def once(self) -> list[Score]:
        """The claims without those that another one is the same as."""
        return scoreboard.once(self.scores)

    @cached_property
    def tested(self) -> list[Score]:
        """The claims that a simulation tests."""
        return scoreboard.tested(self.once)

    @cached_property
    def by_verdict(self) -> Counter[str]:
        """The number of claims by verdict, each claim once; `none` for those without."""
        return scoreboard.counts(self.once)

    @property
    def rest(self) -> dict[Verdict, int]:
        """The claims that no simulation tests, by verdict."""
        return {one: self.by_verdict[one] for one in VERDICTS if one in UNTESTED and self.by_verdict[one]}

    @property
    def bar(self) -> dict[Verdict, int]:
        """The claims that a simulation tests, by verdict, from good to bad."""
        return {one: self.by_verdict[one] for one in TESTED}

    @property
    def share(self) -> float:
        """The share that holds of the claims that a simulation tests; NaN without any."""
        return scoreboard.share(self.scores)

    @property
    def holding(self) -> int:
        """The number of claims that a simulation tests and that hold."""
        return sum(self.by_verdict[one] for one in GOOD)

    @property
    def causes(self) -> Counter[CauseKind]:
        """The claims that a simulation tests and that do not hold, by the kind of their cause."""
        return scoreboard.causes(self.scores)

    @property
    def scales(self) -> Counter[str]:
        """The claims that a simulation tests, by the size at which they were run, as a reader sees it."""
        return Counter(size_class(one) for one in self.tested)


#: The sizes of simulations by which the board counts claims.
SIZES = ("the paper's size", "below the paper's size, at the scale paper", "quick")


def size_class(of: Score) -> str:
    """The size at which a claim was run: one of `SIZES`."""
    if of.scale == "quick" and not 0.95 <= of.share <= 1.05:
        return SIZES[2]
    return SIZES[0] if of.share >= 0.95 else SIZES[1]


@dataclass(frozen=True)
class Paper:
    """A paper, as its page shows it."""

    name: str
    called: str
    counted: Counted
    frame: Frame

    @property
    def scores(self) -> tuple[Score, ...]:
        """The rows of all its claims."""
        return self.counted.scores

    @property
    def reproduced(self) -> bool:
        """True if any of its claims has a verdict."""
        return any(one.finding for one in self.scores)

    @property
    def parts(self) -> list[Part]:
        """The topics with the claims that a simulation tests, from the one that holds most to the one that fails."""
        tested = {one.claim.id: one for one in self.counted.tested}
        found = [Part(one, tuple(tested[name] for name in one.claims if name in tested)) for one in self.frame.topics]
        return sorted((one for one in found if one.scores), key=lambda one: -one.share)

    @property
    def headlines(self) -> list[Shown]:
        """The headlines, in the order of their file."""
        known = {one.claim.id: one for one in self.scores}
        return [Shown(one, known[one.id], marks(one, known[one.id])) for one in self.frame.headlines]

    @property
    def figures(self) -> dict[str, list[Score]]:
        """The claims by the figure that gave their verdict, in the order of the figures; each claim once."""
        found: dict[str, list[Score]] = {}
        for one in sorted(self.scores, key=lambda one: (not one.figure, one.figure.endswith("/text"), one.figure)):
            found.setdefault(one.figure, []).append(one)
        return found


def papers(scores: Sequence[Score]) -> list[Paper]:
    """The papers, in the order of the scoreboard."""
    return [
        Paper(name, called, Counted(tuple(one for one in scores if one.paper == name)), frame(name))
        for name, called in PAPERS.items()
    ]


def marks(headline: Headline, score: Score) -> tuple[Mark, ...]:
    """The lines of a headline's picture, from the numbers of its record; empty where the record has none of them."""
    numbers = score.finding.numbers if score.finding else {}
    shown = headline.quantities or dict.fromkeys(default_names(score, numbers), "")
    found = [mark(score.claim, name, label, numbers) for name, label in shown.items()]
    return tuple(one for one in found if one is not None)


def default_names(score: Score, numbers: Mapping[str, object]) -> list[str]:
    """The quantities that a picture shows if its headline names none: the claim's numbers, or else its conditions'."""
    cells = [name for name in numbers if name == "value" or (score.claim.cases and score.claim.has(name))]
    return cells or [one.quantity for one in rule(score.paper, score.claim.id).conditions]


def mark(claim: Claim, name: str, label: str, numbers: Mapping[str, tuple[float, float, float]]) -> Mark | None:
    """One line of a picture: the quantity of this name, or all that match it as a pattern; None if there is none."""
    names = [name] if name in numbers else [one for one in numbers if fnmatchcase(one, name)]
    if not names:
        return None
    return Mark(label, tuple(Value(*numbers[one]) for one in names), limits(claim, names[0]))


def limits(claim: Claim, name: str) -> Limits:
    """The range in which a quantity must lie: by the claim, or by the conditions of its rule."""
    case = None if name == "value" and not claim.cases else name
    if claim.states_number and (case is None or claim.has(case)):
        stated = claim.at(case)
        if isinstance(stated, dict):
            says = between(stated.get("min", -math.inf), stated.get("max", math.inf))
            (first, *second) = stated.values()
            return Limits(None if second else float(first), f"paper: {says}", *claim.band(case))
        return Limits(float(stated), f"paper: {stated:,g}", *claim.band(case))
    conditions = [one for one in rule(claim.paper, claim.id).conditions if one.names({name: 0})]
    least = max((one.least for one in conditions), default=-math.inf)
    most = min((one.most for one in conditions), default=math.inf)
    return Limits(None, f"holds with {between(least, most)}", least, most)


def between(least: float, most: float) -> str:
    """Limits in words."""
    if math.isfinite(least) and math.isfinite(most):
        return f"{least:,.4g}" if least == most else f"{least:,.4g} to {most:,.4g}"
    if math.isfinite(least):
        return f"at least {least:,.4g}"
    return f"at most {most:,.4g}" if math.isfinite(most) else "any number"


def number(value: float) -> str:
    """A number as people read it, with three digits that count."""
    if math.isinf(value):
        return "never" if value > 0 else "-"
    if math.isnan(value):
        return "none"
    if value and abs(value) < 0.001:
        return f"{value:.1e}".replace("e-0", "e-")
    rounded = float(f"{value:.3g}")
    return f"{rounded:,.0f}" if abs(rounded) >= 100 else f"{rounded:g}"
