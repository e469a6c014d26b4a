"""Claims of papers, as facts copied into `claims/<paper>.toml`, and the findings on them."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.resources import files
from typing import Any, Literal, get_args

from clearway._clearway import Error
from clearway.reproduce.causes import Cause

#: Verdicts on a claim; `docs/verdicts.md` says when each is given.
Verdict = Literal[
    "reproduced",
    "trend reproduced",
    "holds under a reading",
    "not reproduced",
    "undecidable",
    "contradicts itself",
    "arithmetic",
    "input",
    "not applicable",
]
#: All verdicts, in the order of the scoreboard's columns.
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)
#: Verdicts of a claim that holds as it is measured.
HOLDING: tuple[Verdict, ...] = ("reproduced", "trend reproduced")


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
    #: The paper, by the name of its file.
    paper: str = ""

    @property
    def text(self) -> str:
        """The claimed value as people read it."""
        if isinstance(self.value, dict) and any(isinstance(value, dict) for value in self.value.values()):
            return self._table_text
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
    def _table_text(self) -> str:
        """A nested value as people read it: numbers and bounds one after the other, or that it is a table."""
        if any(isinstance(one, dict) and not is_band(one) for one in self.value.values()):
            return "(a table)"
        texts = {name: replace(self, value=one).text for name, one in self.value.items()}
        return ", ".join(f"{name.replace('_', ' ')}: {text}" for name, text in texts.items())

    @property
    def _unit(self) -> str:
        return "" if self.unit == "1" else f" {self.unit}"

    @property
    def cases(self) -> tuple[str, ...]:
        """The names of its cases if it claims a number for each, `40 Gbps/DCTCP` where they are nested; else none."""
        return () if not isinstance(self.value, dict) or is_band(self.value) else tuple(leaves(self.value))

    @property
    def states_number(self) -> bool:
        """True if the claim has a number or a limit."""
        return self.value not in ({}, None)

    def has(self, case: str) -> bool:
        """True if the claim has a number of this case."""
        try:
            self.at(case)
        except Error:
            return False
        return True

    def at(self, case: str | None = None) -> Any:
        """The claimed value, of a case if there are several: a number or `{min, max}`."""
        value, left = self.value, case
        while left is not None:
            # A name may have a slash of its own, such as "10/40 Gbps", so the longest that fits is meant.
            names = value if isinstance(value, dict) else ()
            name = max((one for one in names if left == one or left.startswith(f"{one}/")), key=len, default="")
            if not name:
                raise Error(f"{self.id}: the claim has no case {case!r}; it has {', '.join(self.cases)}")
            value, left = value[name], left[len(name) + 1 :] or None
        return value

    def number(self, case: str | None = None) -> float:
        """The claimed number, of a case if there are several."""
        return float(self.at(case))

    def band(self, case: str | None = None) -> tuple[float, float]:
        """The least and the greatest number that agree with the claim: its value or bound, widened by its tolerance."""
        value = self.at(case)
        least, most = (value.get("min"), value.get("max")) if isinstance(value, dict) else (value, value)
        low = -math.inf if least is None else least - self.tolerance * abs(least)
        return low, math.inf if most is None else most + self.tolerance * abs(most)

    def holds(self, measured: float, case: str | None = None) -> bool:
        """True if a measured number is the claimed one within tolerance, or within the claimed bound."""
        low, high = self.band(case)
        return not math.isnan(measured) and low <= measured <= high

    @property
    def tolerance_text(self) -> str:
        """`10 %`; `exact` for zero."""
        return f"{100 * self.tolerance:g} %" if self.tolerance else "exact"


def is_band(value: dict[str, Any]) -> bool:
    """True if a claimed value is a lower and an upper limit."""
    return bool(value) and set(value) <= {"min", "max"} and not any(isinstance(one, dict) for one in value.values())


def leaves(value: dict[str, Any], before: str = "") -> Iterator[str]:
    """The names of the numbers and limits in a nested table."""
    for name, one in value.items():
        if isinstance(one, dict) and not is_band(one):
            yield from leaves(one, f"{before}{name}/")
        else:
            yield before + name


@dataclass(frozen=True)
class Finding:
    """A claim and what was measured."""

    claim: Claim
    measured: str
    verdict: Verdict
    note: str = ""
    #: The reading of the transports that was run; other readings stand in the note and decide nothing.
    reading: str = "default"
    #: Seeds behind the measured value; 1 where nothing is drawn.
    seeds: int = 1
    #: The numbers of the claim that were measured within their tolerance, and how many it has.
    cells: tuple[int, int] = (0, 0)
    #: The reason why the claim does not hold; None where it does, and where no simulation tests it.
    cause: Cause | None = None

    @property
    def remark(self) -> str:
        """The text that a page has beside the verdict."""
        return "; ".join(text for text in (self.note, self.cause.text if self.cause else "") if text)


@cache
def claims(paper: str) -> dict[str, Claim]:
    """The claims of a paper, by id."""
    entries = tomllib.loads(claims_text(paper)).get("claim", [])
    found = [Claim(**{**entry, "unstated": tuple(entry.get("unstated", ())), "paper": paper}) for entry in entries]
    return {claim.id: claim for claim in found}


def claims_text(paper: str) -> str:
    """The file of a paper's claims; empty if there is none, as for figures that are no paper's."""
    file = files("clearway.reproduce") / "claims" / f"{paper}.toml"
    return file.read_text("utf-8") if file.is_file() else ""


def claim(paper: str, name: str) -> Claim:
    """A claim by its id."""
    known = claims(paper)
    if name not in known:
        raise Error(f"{paper}: there is no claim {name!r}")
    return known[name]


def verdict(holds: bool) -> Verdict:
    """The verdict on a claim that holds or not."""
    return "reproduced" if holds else "not reproduced"
