"""What papers claim, as facts copied into `claims/<paper>.toml`, and what became of it here."""

from __future__ import annotations

import math
import tomllib
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any, Literal

from clearway._clearway import Error

#: `not decidable`: the paper leaves open what the answer depends on, or what it takes is not simulated.
Verdict = Literal["reproduced", "not reproduced", "not decidable"]


@dataclass(frozen=True)
class Claim:
    """A statement of a paper."""

    id: str
    source: str
    what: str
    kind: str
    metric: str
    unit: str
    #: A number, `{min, max}` for a bound, a number for each case, or nothing for a trend.
    value: Any
    #: Relative slack that is fair for an independent implementation.
    tolerance: float
    setup: dict[str, Any] = field(default_factory=dict)
    unstated: tuple[str, ...] = ()
    why_tol: str = ""
    mode: str = ""

    @property
    def text(self) -> str:
        """The claimed value as people read it."""
        if isinstance(self.value, dict) and any(isinstance(value, dict) for value in self.value.values()):
            return "(a table)"
        if isinstance(self.value, dict):
            shown = {"max": "at most ", "min": "at least "}
            parts = [
                f"{shown[key]}{value}{self._unit}"
                if key in shown
                else f"{key.replace('_', ' ')}: {value}{'' if '_' in key else self._unit}"
                for key, value in self.value.items()
            ]
            return ", ".join(parts) or f"({self.kind})"
        return f"{self.value}{self._unit}"

    @property
    def _unit(self) -> str:
        return "" if self.unit == "1" else f" {self.unit}"

    def number(self, case: str | None = None) -> float:
        """The claimed number, of a case if there are several."""
        return float(self.value if case is None else self.value[case])

    def holds(self, measured: float, case: str | None = None) -> bool:
        """Whether a measured number is the claimed one within tolerance, or within the claimed bound."""
        if math.isnan(measured):
            return False
        if self.kind == "bound":
            above = "min" not in self.value or measured >= self.value["min"] * (1 - self.tolerance)
            return above and ("max" not in self.value or measured <= self.value["max"] * (1 + self.tolerance))
        expected = self.number(case)
        return abs(measured - expected) <= self.tolerance * abs(expected)


@dataclass(frozen=True)
class Finding:
    """A claim and what was measured."""

    claim: Claim
    measured: str
    verdict: Verdict
    note: str = ""


@cache
def claims(paper: str) -> dict[str, Claim]:
    """The claims of a paper, by id."""
    text = (files("clearway.reproduce") / "claims" / f"{paper}.toml").read_text("utf-8")
    found = [Claim(**{**entry, "unstated": tuple(entry.get("unstated", ()))}) for entry in tomllib.loads(text)["claim"]]
    return {claim.id: claim for claim in found}


def claim(paper: str, name: str) -> Claim:
    """A claim by its id."""
    known = claims(paper)
    if name not in known:
        raise Error(f"{paper}: there is no claim {name!r}")
    return known[name]


def verdict(holds: bool) -> Verdict:
    """Reproduced or not."""
    return "reproduced" if holds else "not reproduced"
