"""Values of scenario keys as numbers in base units: `500 KB` is 500000 B, `10 us` is 1e-5 s."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

#: Unit of a text -> base unit, and its factor.
UNITS: dict[str, tuple[str, Fraction]] = {
    **{
        name: ("s", Fraction(10) ** power)
        for name, power in (("s", 0), ("ms", -3), ("us", -6), ("ns", -9), ("ps", -12))
    },
    **{f"{prefix}B": ("B", Fraction(1000) ** power) for power, prefix in enumerate(("", "K", "M", "G", "T"))},
    **{f"{prefix}iB": ("B", Fraction(1024) ** power) for power, prefix in enumerate(("K", "M", "G"), 1)},
    **{f"{prefix}bps": ("bit/s", Fraction(1000) ** power) for power, prefix in enumerate(("", "K", "M", "G", "T"))},
}
#: Base unit -> ending of the name of a column in this unit.
ENDINGS = {"": "", "s": "_s", "B": "_bytes", "bit/s": "_bps"}
AMOUNT = re.compile(r"\s*([+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,2})?)\s*([A-Za-z]*)\s*")
#: Most letters of a text that is an amount. With this and with two digits of exponent, exact numbers stay small.
LONGEST = 60
#: The end of plain numbers that are amounts.
LARGEST = 1e100


@dataclass(frozen=True)
class Amount:
    """An exact number with its base unit; without a unit for plain numbers."""

    number: Fraction
    unit: str

    @property
    def value(self) -> int | float:
        """The number as Python has it: whole if it is whole."""
        return int(self.number) if self.number.denominator == 1 else float(self.number)


def amount(value: object) -> Amount | None:
    """The amount that a value of a scenario says; None if it says none, as `"auto"`."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        number = value if isinstance(value, int) else str(value)
        return Amount(Fraction(number), "") if -LARGEST < value < LARGEST else None
    return of_text(value) if isinstance(value, str) and len(value) <= LONGEST else None


@lru_cache(maxsize=1024)
def of_text(text: str) -> Amount | None:
    """The amount that a text says."""
    match = AMOUNT.fullmatch(text)
    if match is None:
        return None
    if match[2] and match[2] not in UNITS:
        return None
    unit, factor = UNITS[match[2]] if match[2] else ("", Fraction(1))
    return Amount(Fraction(match[1]) * factor, unit)


def setting_text(value: object) -> str:
    """A value as `--set` takes it: TOML in one line, or a bare text."""
    if isinstance(value, str):
        # A text that TOML would read as something else keeps its meaning in quotes, as in `"1"`; amounts need none.
        return value
    return inline(value)


def inline(value: object) -> str:
    """A value as TOML in one line."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{json.dumps(key)} = {inline(part)}" for key, part in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(inline, value)) + "]"
    if isinstance(value, bool):
        return str(value).lower()
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str) else str(value)


def lookup(scenario: Mapping[str, Any], key: str) -> object:
    """The value of a key, as `--set` names it, in a scenario; None if it is absent."""
    node: Any = scenario
    for step in key.split("."):
        if isinstance(node, list):
            by_name = [one for one in node if isinstance(one, Mapping) and one.get("name") == step]
            at = int(step) if step.isdecimal() and int(step) < len(node) else None
            node = by_name[0] if by_name else node[at] if at is not None else None
        elif isinstance(node, Mapping):
            node = node.get(step)
        else:
            return None
    return node
