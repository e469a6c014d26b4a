"""The one rule by which a claim gets its verdict; `docs/verdicts.md` states it for readers.

* A number is held against the claim's tolerance, which is that of the claims file and stands in the row.
* The rest of what a claim states is held against the conditions of its rule (`rules.py`), whose limits are declared and
  stand in no figure. A claim of which a condition is false is never reproduced, whatever its number.
* Where anything is drawn, the interval over seeds counts: a verdict falls only where all of it lies on one side.
* A claim of a number whose conditions hold, though the number does not, is a *trend reproduced*.
* The default reading of the transport counts. A claim that fails under it and holds under another one *holds under a
  reading*, which the row names.
* A claim that does not hold has a cause (`causes.py`), and what proves it is held against the same rule.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

from clearway.reproduce.causes import Calculation, Cause, Change, Evidence, Unstated, distance, effect, strongest
from clearway.reproduce.claims import HOLDING, Claim, Finding, Verdict
from clearway.reproduce.rules import Condition, Rule, rule
from clearway.reproduce.stats import Estimate, exact

# What figures use; the kinds of evidence for a cause are at hand here.
__all__ = [
    "Calculation", "Change", "Measured", "Unstated", "arithmetic", "contradiction", "given", "judge", "not_applicable",
    "undecidable",
]  # fmt: skip

#: A measured number, with an interval where something was drawn.
Measured = float | int | Estimate

#: Answer of a condition: it holds, it does not, or (None) the interval does not decide.
Holds = bool | None


def judge(
    claim: Claim,
    measured: Measured | Mapping[str, Measured],
    *,
    text: str = "",
    form: str = ".3g",
    note: str = "",
    reading: str = "default",
    readings: Mapping[str, Mapping[str, Measured]] | None = None,
    part: bool = False,
    cause: Evidence | Sequence[Evidence] = (),
) -> Finding:
    """A claim held against its number, if it has one, and against the conditions of its rule.

    `measured` has the quantities by name: `value` for a claim of one number (or that number alone), an entry for each
    case of a claim of several, and all that the conditions are about. `text` says in the row what was measured; without
    it the numbers stand there. `readings` has the quantities under other readings, by their names. `part` says that
    another figure measures what the rest of the conditions are about; the worse of the two verdicts counts. `cause` is
    the evidence why the claim does not hold; if there are several the strongest counts.
    """
    quantities = named(measured)
    found = judged(claim, quantities, text, form, note, reading, part)
    if found.verdict == "not reproduced":
        for name, others in (readings or {}).items():
            under = judged(claim, dict(others), "", form, "", name, part)
            if under.verdict in HOLDING:
                says = f"under `{name}`: {in_brief(claim, under, dict(others))}"
                return replace(found, verdict="holds under a reading", note=join(says, note), reading=name)
    if found.verdict in HOLDING:
        return found
    given = [cause] if isinstance(cause, Evidence) else list(cause)
    known = [cause_of(claim, quantities, one, part) for one in given]
    open_ = Cause("seeds" if found.verdict == "undecidable" else "not isolated")
    return replace(found, cause=strongest([*known, open_]))


def named(measured: Measured | Mapping[str, Measured]) -> dict[str, Measured]:
    """Quantities by their names; a number alone is the claim's value."""
    return dict(measured) if isinstance(measured, Mapping) else {"value": measured}


def cause_of(claim: Claim, quantities: Mapping[str, Measured], evidence: Evidence, part: bool) -> Cause:
    """The cause of a claim that does not hold, by what its evidence shows."""
    if isinstance(evidence, Calculation):
        return Cause("calculation", evidence.says)
    if isinstance(evidence, Unstated):
        return Cause("unstated", evidence.says)
    changed = named(evidence.measured)
    under = judged(claim, changed, "", ".3g", "", "default", part)
    before = distances(claim, quantities if evidence.before is None else named(evidence.before))
    kind = effect(before, distances(claim, changed), under.verdict in HOLDING)
    if kind == "not isolated":
        return Cause(kind)
    return Cause(kind, f"{evidence.says} With that change alone: {evidence.text or in_brief(claim, under, changed)}.")


#: The most numbers that a cause lists.
LISTED = 8


def in_brief(claim: Claim, under: Finding, measured: Mapping[str, Measured]) -> str:
    """The result of a change in the words of a card: its numbers, or how many of them fit and what still fails."""
    found = {name: estimate_of(value) for name, value in measured.items()}
    cells = cells_of(claim, found)
    if len(cells or found) <= LISTED:
        return under.measured
    fit = sum(inside(found[name], *claim.band(case)) is True for name, case in cells.items())
    counted = f"{fit} of {len(cells)} numbers lie within the tolerance" if cells else ""
    return join(counted, under.note) or under.verdict


def distances(claim: Claim, quantities: Mapping[str, Measured]) -> dict[str, float]:
    """The distance of each number of a claim from its tolerance, and of each quantity from a condition's limits."""
    by = rule(claim.paper, claim.id)
    found = {name: by_statistic(estimate_of(value), by).mean for name, value in quantities.items()}
    cells = cells_of(claim, {name: exact(value) for name, value in found.items()})
    far = {name: distance(found[name], *claim.band(case)) for name, case in cells.items()}
    for one in by.conditions:
        far |= {f"{one.says}: {name}": distance(found[name], one.least, one.most) for name in one.names(found)}
    return far


def judged(
    claim: Claim, quantities: Mapping[str, Measured], text: str, form: str, note: str, reading: str, part: bool
) -> Finding:
    """A claim under one reading."""
    by = rule(claim.paper, claim.id)
    found = {name: by_statistic(estimate_of(value), by) for name, value in quantities.items()}
    if part:
        by = replace(by, conditions=tuple(one for one in by.conditions if one.names(found)))
    cells = cells_of(claim, found)
    check_names(claim, by, found, cells)
    within = [inside(found[name], *claim.band(case)) for name, case in cells.items()]
    parts = {one.says: holds(one, found) for one in by.conditions}
    if not cells and not parts:
        raise ValueError(f"{claim.id}: a claim without a number needs conditions in {claim.paper}.rules.toml")
    verdict, why = decide(within, parts)
    shown = {name: found[name] for name in cells or found}
    seeds = min((one.seeds for one in found.values() if one.seeds > 1), default=1)
    # A table of which a condition is false counts nothing, however many of its numbers fit.
    is_table = bool(claim.cases) and not any(one is False for one in parts.values())
    counted = (sum(one is True for one in within), len(within)) if is_table else (0, 0)
    numbers = {name: (value.mean, value.low, value.high) for name, value in found.items()}
    return Finding(
        claim, text or texts(claim, shown, form), verdict, join(why, note), reading, seeds, counted, numbers=numbers
    )


def cells_of(claim: Claim, found: Mapping[str, Estimate]) -> dict[str, str | None]:
    """The measured numbers that the claim states, with the case of each; none for a trend or an ordering."""
    if not claim.states_number:
        return {}
    if "value" in found and not claim.cases:
        return {"value": None}
    return {name: name for name in found if claim.has(name)}


def check_names(claim: Claim, by: Rule, found: Mapping[str, Estimate], cells: Mapping[str, str | None]) -> None:
    """Each number of the claim and each quantity of a condition was measured, and nothing that decides nothing."""
    missing = [case for case in claim.cases if not any(case == one or case.startswith(f"{one}/") for one in cells)]
    if missing or (claim.states_number and not cells):
        raise ValueError(f"{claim.id}: no measured value for {', '.join(missing) or 'its number'}")
    unmet = [one.quantity for one in by.conditions if not one.names(found)]
    if unmet:
        raise ValueError(f"{claim.id}: its rule needs the quantity {unmet[0]!r}; measured are {', '.join(found)}")
    used = {*cells, *(name for one in by.conditions for name in one.names(found))}
    unused = [name for name in found if name not in used]
    if unused:
        raise ValueError(f"{claim.id}: {unused[0]!r} is neither a number of the claim nor in a condition of its rule")


def decide(within: Sequence[Holds], parts: Mapping[str, Holds]) -> tuple[Verdict, str]:
    """The verdict on a claim, with its reason: `within` says of each number whether it is the claimed one, `parts` of
    each condition whether it holds.
    """
    failing = [words for words, one in parts.items() if one is False]
    if failing:
        return "not reproduced", "fails: " + "; ".join(failing)
    if open_ := [words for words, one in parts.items() if one is None]:
        outside = any(one is False for one in within)
        return ("not reproduced" if outside else "undecidable"), "the intervals don't decide: " + "; ".join(open_)
    if all(one is True for one in within):
        return "reproduced", ""
    if parts:
        return "trend reproduced", ""
    if all(one is not False for one in within):
        return "undecidable", "the interval over seeds crosses the edge of the tolerance"
    return "not reproduced", ""


def holds(condition: Condition, found: Mapping[str, Estimate]) -> Holds:
    """True if all quantities of a condition lie within its limits, False if one lies outside."""
    return both(*(inside(found[name], condition.least, condition.most) for name in condition.names(found)))


def by_statistic(value: Estimate, by: Rule) -> Estimate:
    """An estimate by the statistic that the claim's rule declares."""
    return value.median() if by.statistic == "median" else value


def texts(claim: Claim, shown: Mapping[str, Estimate], form: str) -> str:
    """The measured numbers, in words."""
    unit = "" if claim.unit == "1" or claim.unit.startswith("mixed") or not claim.states_number else f" {claim.unit}"
    parts = [value.text(form) if name == "value" else f"{name}: {value.text(form)}" for name, value in shown.items()]
    return ", ".join(parts) + unit


def arithmetic(
    claim: Claim, computed: Measured | Mapping[str, Measured], *, form: str = ".4g", note: str = ""
) -> Finding:
    """A claim that follows from the paper's own text by calculation: computed here and held against its tolerance."""
    found = judge(claim, computed, form=form, note=note, reading="by calculation")
    return replace(found, verdict="arithmetic") if found.verdict == "reproduced" else found


def given(claim: Claim, what: str, *, measured: str = "-") -> Finding:
    """A claim about a parameter that our runs are given, so that comparing it would compare it with itself."""
    return Finding(claim, measured, "input", what, "-", 1)


def contradiction(claim: Claim, proof: str, *, measured: str = "-") -> Finding:
    """A claim that cannot hold together with another sentence of its paper: `proof` says why."""
    return Finding(claim, measured, "contradicts itself", proof, "by calculation", 1)


def undecidable(claim: Claim, unstated: str, *, measured: str = "-", note: str = "") -> Finding:
    """A claim whose answer depends on what the paper leaves unstated: `unstated` names it."""
    cause = Cause("unstated", unstated)
    return Finding(claim, measured, "undecidable", join(f"unstated: {unstated}", note), "-", 1, cause=cause)


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


def both(*conditions: Holds) -> Holds:
    """True if all hold, False if one fails, None if none fails and one is open."""
    if any(one is False for one in conditions):
        return False
    return None if any(one is None for one in conditions) else True


def join(*texts: str) -> str:
    """Remarks one after the other."""
    return "; ".join(text for text in texts if text)
