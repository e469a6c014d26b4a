"""Axes of a sweep, and the points that they span."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from fractions import Fraction
from typing import Any

from clearway._clearway import Error
from clearway.sweeps.amounts import Amount, amount, inline

#: Most points of a sweep; more are a slip of the pen.
POINTS_MAX = 1_000_000
#: Significant digits of the inner values of a logarithmic range.
LOG_DIGITS = 6
RANGE_KEYS = ("from", "to", "step", "steps", "scale")
RANGE_EXAMPLES = (
    "{from = 1, to = 5}, {from = 0.1, to = 0.7, step = 0.1} or {from = '1 KB', to = '1 MB', steps = 4, scale = 'log'}"
)

#: Settings of a scenario: key -> value.
Settings = dict[str, Any]


@dataclass(frozen=True)
class Choice:
    """A value of an axis: what it sets, and how the axis calls it."""

    settings: Settings
    #: Columns that are not keys of the scenario: name of the axis -> name of the choice.
    names: dict[str, str] = field(default_factory=dict)

    @property
    def identity(self) -> Settings:
        """The words by which people tell this choice from others: its name if it has one, else what it sets."""
        return dict(self.names) if self.names else self.settings


@dataclass(frozen=True)
class Axis:
    """A list of choices, of which every point takes one."""

    choices: tuple[Choice, ...]


def grid(axes: Sequence[Axis]) -> Iterator[Choice]:
    """Every combination of the choices of the axes, the last axis fastest."""
    for chosen in itertools.product(*(axis.choices for axis in axes)):
        yield together(chosen)


def together(choices: Sequence[Choice]) -> Choice:
    """Several choices as one."""
    settings = {key: value for choice in choices for key, value in choice.settings.items()}
    return Choice(settings, {key: value for choice in choices for key, value in choice.names.items()})


def plain(key: str, values: object, where: str) -> Axis:
    """An axis over the values of one key: a list, or a range."""
    return Axis(tuple(Choice({key: value}) for value in values_of(key, values, where)))


def zipped(columns: Mapping[str, object], where: str) -> Axis:
    """An axis over the values of several keys that go together."""
    lists = {key: values_of(key, values, where) for key, values in columns.items()}
    if not lists:
        raise Error(f"{where}: is empty; write lists of values of keys that go together, all of one length")
    lengths = {key: len(values) for key, values in lists.items()}
    if len(set(lengths.values())) > 1:
        told = ", ".join(f"{key} has {count}" for key, count in lengths.items())
        raise Error(f"{where}: {told} values; lists that go together must be of one length")
    return Axis(tuple(Choice(dict(zip(lists, row, strict=True))) for row in zip(*lists.values(), strict=True)))


def cases(name: str, table: Mapping[str, object], where: str) -> Axis:
    """An axis over named cases, each of which sets some keys."""
    choices = []
    for label, settings in table.items():
        if not isinstance(settings, Mapping):
            raise Error(
                f'{where}.{label} = {inline(settings)}: write the keys that it sets, such as {{transport = "dctcp"}}'
            )
        choices.append(Choice(flat(settings), {name: label}))
    if not choices:
        raise Error(f'{where}: has no cases; write one a line, such as small = {{"switch.buffer" = "100 KB"}}')
    return Axis(tuple(choices))


def flat(table: Mapping[str, object], above: str = "") -> Settings:
    """A nested table as one with dotted keys; lists, ranges and tables in lists stay as they are."""
    found: Settings = {}
    for key, value in table.items():
        if isinstance(value, Mapping) and value and not is_range(value):
            found.update(flat(value, f"{above}{key}."))
        else:
            found[above + key] = value
    return found


def is_range(value: object) -> bool:
    """True if a table is a range of values, not a table of keys below this one."""
    ends = [value.get(end) for end in ("from", "to")] if isinstance(value, Mapping) else [None]
    return all(amount(end) is not None for end in ends)


def values_of(key: str, values: object, where: str) -> list[Any]:
    """The values of a key: those of a list, or of a range."""
    here = f"{where}.{key}" if where else key
    if isinstance(values, Mapping):
        return span(values, here)
    if not isinstance(values, Sequence | range) or isinstance(values, str):
        raise Error(f"{here} = {inline(values)}: write a list of values, or a range such as {RANGE_EXAMPLES}")
    if not values:
        raise Error(f"{here} = []: write at least one value")
    seen: list[object] = []
    for value in values:
        if (known := same(value)) in seen:
            raise Error(f"{here} = {inline(list(values))}: {inline(value)} is there twice; write it once")
        seen.append(known)
    return list(values)


def same(value: object) -> object:
    """A form of a value that is equal for equal amounts: that of `500 KB` and `0.5 MB` is the same."""
    return found if (found := amount(value)) is not None else inline(value)


def span(table: Mapping[str, object], here: str) -> list[Any]:
    """The values of a range, both ends among them."""

    def refuse(problem: str) -> Error:
        return Error(f"{here} = {inline(table)}: {problem}")

    for key in table:
        if key not in RANGE_KEYS:
            hint = f"; did you mean {close[0]}?" if (close := get_close_matches(key, RANGE_KEYS, 1)) else ""
            raise refuse(f"{key} is no key of a range{hint} (known: {', '.join(RANGE_KEYS)})")
    low, high = amount(table.get("from")), amount(table.get("to"))
    if low is None or high is None:
        raise refuse(f"a range needs from and to; write one such as {RANGE_EXAMPLES}")
    if low.unit != high.unit:
        raise refuse("from and to must have the same kind of unit")
    if low.number > high.number:
        raise refuse("from must not be above to")
    if "step" in table and "steps" in table:
        raise refuse("write step (the distance) or steps (the number of values), not both")
    scale = table.get("scale", "linear")
    if scale not in ("linear", "log"):
        raise refuse("scale is linear or log")
    if scale == "log":
        if "steps" not in table or low.number <= 0:
            raise refuse("a logarithmic range needs steps, the number of its values, and a from above 0")
        numbers = log_range(low, high, count_of(table["steps"], refuse))
    elif "steps" in table:
        count = count_of(table["steps"], refuse)
        numbers = [low.number + (high.number - low.number) * at / max(1, count - 1) for at in range(count)]
    else:
        step = amount(table["step"]) if "step" in table else Amount(Fraction(1), "")
        if step is None or step.number <= 0 or step.unit != low.unit:
            raise refuse(
                "write step or steps" if "step" not in table else "step must be above 0, in the unit of from and to"
            )
        count, rest = divmod((high.number - low.number), step.number)
        if rest or count > POINTS_MAX:
            raise refuse(
                f"steps of {step.value:g} from {low.value:g} do not meet {high.value:g}"
                if rest
                else "has too many values"
            )
        numbers = [low.number + step.number * at for at in range(int(count) + 1)]
    if len(set(numbers)) < len(numbers):
        raise refuse("has a value twice; write fewer steps")
    return [written(Amount(number, low.unit)) for number in numbers]


def count_of(value: object, refuse: Any) -> int:
    """The number of values of a range."""
    if not isinstance(value, int) or isinstance(value, bool) or not 2 <= value <= POINTS_MAX:
        raise refuse(f"steps = {inline(value)}: write a whole number of values, 2 or more")
    return value


def log_range(low: Amount, high: Amount, count: int) -> list[Fraction]:
    """Numbers at equal ratios; the inner ones have few digits, and are whole bytes and bits where that is the unit."""
    ratio = float(high.number / low.number)
    numbers = [low.number]
    for at in range(1, count - 1):
        number = float(low.number) * math.exp(math.log(ratio) * at / (count - 1))
        exact = Fraction(f"{number:.{LOG_DIGITS - 1}e}")
        whole = low.unit in ("B", "bit/s") or (low.number.denominator == 1 == high.number.denominator and number >= 1e3)
        numbers.append(Fraction(round(exact)) if whole else exact)
    return [*numbers, high.number]


def written(of: Amount) -> int | float | str:
    """An amount as a scenario has it."""
    if not of.unit:
        return of.value
    unit = {"bit/s": "bps"}.get(of.unit, of.unit)
    if of.unit == "s" and of.number.denominator != 1:
        return (
            f"{of.number * 10**12} ps" if (of.number * 10**12).denominator == 1 else f"{round(of.number * 10**12)} ps"
        )
    return f"{of.value} {unit}"
