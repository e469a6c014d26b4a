"""The rules that decide claims: conditions with their thresholds, and the statistic, in `claims/<paper>.rules.toml`.

A figure measures quantities and gives them names. Which of them must be how large for a claim to hold stands in these
files alone, beside the claims and their tolerances.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from importlib.resources import files
from typing import Any, Literal, get_args

from clearway._clearway import Error
from clearway.reproduce.claims import claims

#: The statistic that is taken of the draws of a quantity, one a seed. A ratio paired by seed has the geometric mean.
Statistic = Literal["mean", "median"]
#: The limits of a condition that a rule may name: `least` and `most` may be met, `above` and `below` may not.
LIMITS = ("least", "most", "above", "below")
#: The limit of a condition that follows from the claim: the square root of the claimed ratio, which is halfway between
#: it and no difference on a logarithmic scale.
HALFWAY = "halfway"


@dataclass(frozen=True)
class Condition:
    """A part of what a claim states: one quantity, or all that a pattern such as `gain over *` names, within limits."""

    #: The condition in words, as the row names it where it fails.
    says: str
    quantity: str
    least: float = -math.inf
    most: float = math.inf

    def names(self, quantities: Mapping[str, object]) -> list[str]:
        """The quantities that it is about: the one of its name or, failing that, those that match it as a pattern."""
        if self.quantity in quantities:
            return [self.quantity]
        return [name for name in quantities if fnmatchcase(name, self.quantity)]


@dataclass(frozen=True)
class Rule:
    """The part of a claim's verdict that its number and tolerance do not decide."""

    conditions: tuple[Condition, ...] = ()
    statistic: Statistic = "mean"
    #: A claim, in this paper or another one, that states the same, `paper/claim`; both are counted once.
    same_as: str = ""


def rule(paper: str, claim: str) -> Rule:
    """The rule of a claim; one without an entry is decided by its number alone."""
    return rules(paper).get(claim, Rule())


@cache
def rules(paper: str) -> dict[str, Rule]:
    """The rules of a paper's claims, by their ids."""
    known = claims(paper)
    found = {}
    for name, entry in tomllib.loads(rules_text(paper)).items():
        where = f"{paper}.rules.toml: [{name}]"
        if name not in known:
            raise Error(f"{where}: {paper} has no such claim")
        found[name] = parsed(where, entry, known[name].value)
    return found


def rules_text(paper: str) -> str:
    """The file of a paper's rules; empty if there is none."""
    file = files("clearway.reproduce") / "claims" / f"{paper}.rules.toml"
    return file.read_text("utf-8") if file.is_file() else ""


def parsed(where: str, entry: Mapping[str, Any], value: Any) -> Rule:
    """The rule in an entry of the file, about a claim with this value."""
    unknown = set(entry) - {"conditions", "statistic", "same_as"}
    if unknown:
        raise Error(f"{where}: unknown key {min(unknown)!r}; a rule has conditions, statistic, same_as")
    statistic = entry.get("statistic", "mean")
    if statistic not in get_args(Statistic):
        raise Error(f"{where}: statistic = {statistic!r}: write {' or '.join(get_args(Statistic))}")
    conditions = tuple(condition(where, one, value) for one in entry.get("conditions", ()))
    return Rule(conditions, statistic, entry.get("same_as", ""))


def condition(where: str, entry: Mapping[str, Any], value: Any) -> Condition:
    """A condition of a rule."""
    given = dict(entry)
    for side in LIMITS:
        if given.get(side) == HALFWAY:
            given[side] = halfway(where, value)
    unknown = set(given) - {"says", "quantity", *LIMITS}
    missing = [key for key in ("says", "quantity") if not given.get(key)]
    if unknown or missing or not set(given) & set(LIMITS):
        raise Error(
            f"{where}: a condition has says, quantity, and least or above, most or below, or both; this one has "
            f"{sorted(entry)}"
        )
    return Condition(**closed(where, given))


def closed(where: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """A condition whose limits may be met: instead of one that may not, the next number beyond it."""
    found = dict(given)
    for side, beyond, way in (("least", "above", math.inf), ("most", "below", -math.inf)):
        if side in given and beyond in given:
            raise Error(f"{where}: a condition has {side} or {beyond}, not both")
        if beyond in given:
            found[side] = math.nextafter(found.pop(beyond), way)
    return found


def halfway(where: str, value: Any) -> float:
    """The limit of a condition that lies halfway between a claimed ratio, or bound of one, and no difference."""
    ratios = list(value.values()) if isinstance(value, dict) else [value]
    if len(ratios) != 1 or not isinstance(ratios[0], int | float) or ratios[0] <= 0:
        raise Error(f"{where}: {HALFWAY!r} needs a claim of one positive ratio or one bound of it")
    return math.sqrt(ratios[0])
