"""The one rule by which a claim gets its verdict; `docs/verdicts.md` states it for readers.

* The default reading of the transport counts. Other readings stand beside it and decide nothing.
* A number is held against the claim's tolerance, which is that of the claims file and stands in the row.
* Where anything is drawn, the interval over seeds counts: a verdict falls only where all of it lies on one side.
* A claim of a number whose trend holds, though the number does not, is a *trend reproduced*.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from clearway.reproduce.claims import Claim, Finding
from clearway.reproduce.stats import Estimate, exact

#: A measured number, with an interval where something was drawn.
Measured = float | int | Estimate

#: Answer of a condition: it holds, it does not, or (None) the interval does not decide.
Holds = bool | None


def number(
    claim: Claim,
    measured: Measured | Mapping[str, Measured],
    *,
    trend: Holds = None,
    form: str = ".3g",
    note: str = "",
    reading: str = "default",
) -> Finding:
    """A claim with a number, a number a case, or a bound, held against its tolerance.

    `measured` has an entry for each case of `claim.value`. `trend` says whether the claim's statement holds apart from
    its number (the order of two transports, the direction of a change); None if the claim is the number alone.
    """
    found: dict[str | None, Estimate] = (
        {case: estimate_of(value) for case, value in measured.items()}
        if isinstance(measured, Mapping)
        else {None: estimate_of(measured)}
    )
    given = [case for case in found if case is not None]
    missing = [case for case in claim.cases if not any(case == one or case.startswith(f"{one}/") for one in given)]
    if missing:
        raise ValueError(f"{claim.id}: no measured value for {', '.join(missing)}")
    within = [inside(value, *claim.band(case)) for case, value in found.items()]
    unit = "" if claim.unit == "1" or claim.unit.startswith("mixed") else claim.unit
    text = ", ".join(
        f"{case}: {value.text(form)}" if case is not None else value.text(form) for case, value in found.items()
    )
    text = f"{text} {unit}".strip()
    seeds = min((value.seeds for value in found.values() if value.seeds > 1), default=1)
    if all(one is True for one in within):
        return Finding(claim, text, "reproduced", note, reading, seeds)
    if trend:
        return Finding(claim, text, "trend reproduced", note, reading, seeds)
    if all(one is not False for one in within):
        why = f"the interval of {seeds} seeds crosses the edge of the tolerance"
        return Finding(claim, text, "undecidable", join(why, note), reading, seeds)
    return Finding(claim, text, "not reproduced", note, reading, seeds)


def statement(
    claim: Claim,
    measured: str,
    conditions: Mapping[str, Holds],
    *,
    seeds: int = 1,
    note: str = "",
    reading: str = "default",
) -> Finding:
    """A claim without a number: a trend or an ordering. `conditions` are the parts of its statement, by their words.

    All must hold for *reproduced*. A part that the intervals don't decide leaves the claim undecidable, unless another
    part fails. The remark names the parts that fail.
    """
    failing = [words for words, holds in conditions.items() if holds is False]
    open_ = [words for words, holds in conditions.items() if holds is None]
    if failing:
        return Finding(claim, measured, "not reproduced", join("fails: " + "; ".join(failing), note), reading, seeds)
    if open_:
        why = "the intervals don't decide: " + "; ".join(open_)
        return Finding(claim, measured, "undecidable", join(why, note), reading, seeds)
    return Finding(claim, measured, "reproduced", note, reading, seeds)


def arithmetic(
    claim: Claim, computed: Measured | Mapping[str, Measured], *, form: str = ".4g", note: str = ""
) -> Finding:
    """A claim that follows from the paper's own text by calculation: computed here and held against its tolerance."""
    found = number(claim, computed, form=form, note=note, reading="by calculation")
    if found.verdict != "reproduced":
        return found
    return Finding(claim, found.measured, "arithmetic", note, "by calculation", 1)


def undecidable(claim: Claim, unstated: str, *, measured: str = "-", note: str = "") -> Finding:
    """A claim whose answer depends on what the paper leaves unstated: `unstated` names it."""
    return Finding(claim, measured, "undecidable", join(f"unstated: {unstated}", note), "-", 1)


def not_applicable(claim: Claim, reason: str) -> Finding:
    """A claim about hardware or an implementation that a simulator has no counterpart of."""
    return Finding(claim, "-", "not applicable", reason, "-", 1)


def estimate_of(value: Measured) -> Estimate:
    """A plain number is exact."""
    return value if isinstance(value, Estimate) else exact(value)


def inside(value: Estimate, low: float, high: float) -> Holds:
    """True if the whole interval lies within the band; False if the mean's whole interval lies outside."""
    if math.isnan(value.mean):
        return False
    if low <= value.low and value.high <= high:
        return True
    if value.high < low or value.low > high:
        return False
    return None


def above(value: Estimate, limit: float, slack: float = 0.0) -> Holds:
    """True if a value exceeds a limit; a near-tie within `slack` of it is not counted as a violation."""
    if math.isnan(value.mean):
        return False
    if value.low >= limit * (1 - slack):
        return True
    return False if value.high < limit * (1 - slack) else None


def below(value: Estimate, limit: float, slack: float = 0.0) -> Holds:
    """True if a value stays under a limit; a near-tie within `slack` of it is not counted as a violation."""
    if math.isnan(value.mean):
        return False
    if value.high <= limit * (1 + slack):
        return True
    return False if value.low > limit * (1 + slack) else None


def both(*conditions: Holds) -> Holds:
    """True if all hold, False if one fails, None if none fails and one is open."""
    if any(one is False for one in conditions):
        return False
    return None if any(one is None for one in conditions) else True


def join(*texts: str) -> str:
    """Remarks one after the other."""
    return "; ".join(text for text in texts if text)
