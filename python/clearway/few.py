"""Columns of few numbers, for runs that are over before NumPy would be imported.

A `Few` does what the numbers of a run ask of a NumPy array, and the functions take either. They give the same, to the
last bit.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from clearway.lazy import WhenUsed

if TYPE_CHECKING:
    import numpy as np
else:
    np = WhenUsed("numpy")

#: A column: a NumPy array or a `Few`, which have the same operators.
Array: TypeAlias = Any
#: NumPy name of a type -> the letter that `struct` has for it.
LETTERS = {"<u8": "Q", "<f8": "d", "<u4": "I"}
#: Numbers of which NumPy takes a sum in eight parts, and fewest of which it takes halves.
PARTS, BLOCK = 8, 128


class Few:
    """A column of few numbers, or of what is true of each."""

    __slots__ = ("items",)
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, items: list[Any]) -> None:
        self.items = items

    @classmethod
    def read(cls, content: bytes, dtype: str) -> Few:
        """The numbers of a type in little-endian bytes."""
        return cls([*struct.unpack(f"<{len(content) // int(dtype[-1])}{LETTERS[dtype]}", content)])

    def __len__(self) -> int:
        return len(self.items)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.items)

    def __getitem__(self, chosen: Any) -> Any:
        """A number by its place, those of a slice, or those for which another column is true."""
        if isinstance(chosen, int):
            return self.items[chosen]
        if isinstance(chosen, slice):
            return Few(self.items[chosen])
        return Few([one for one, is_in in zip(self.items, chosen, strict=True) if is_in])

    def _each(self, test: Callable[[Any], bool]) -> Few:
        return Few([test(one) for one in self.items])

    def __eq__(self, other: Any) -> Few:  # type: ignore[override]
        return self._each(lambda one: one == other)

    def __lt__(self, other: Any) -> Few:
        return self._each(lambda one: one < other)

    def __le__(self, other: Any) -> Few:
        return self._each(lambda one: one <= other)

    def __gt__(self, other: Any) -> Few:
        return self._each(lambda one: one > other)

    def __ge__(self, other: Any) -> Few:
        return self._each(lambda one: one >= other)

    def __invert__(self) -> Few:
        return self._each(lambda one: not one)

    def __and__(self, other: Few) -> Few:
        return Few([one and two for one, two in zip(self.items, other.items, strict=True)])

    def take(self, places: Sequence[int] | Few) -> Few:
        """The numbers at some places."""
        return Few([self.items[at] for at in places])

    def tolist(self) -> list[Any]:
        """The numbers as a list."""
        return self.items

    def sum(self) -> Any:
        """The sum of whole numbers."""
        return sum(self.items)

    def max(self) -> Any:
        """The largest number."""
        return max(self.items)

    def any(self) -> bool:
        """True if any of it is true."""
        return any(self.items)


def are_nan(values: Array) -> Array:
    """For each number whether it is NaN."""
    return Few([one != one for one in values]) if isinstance(values, Few) else np.isnan(values)


def true_places(mask: Array) -> Array:
    """The places at which a column is true."""
    return Few([at for at, one in enumerate(mask) if one]) if isinstance(mask, Few) else np.flatnonzero(mask)


def looked_up(places: Array, known: Sequence[Any]) -> Array:
    """For each place what a list has there: whole numbers, or what is true."""
    return Few([known[at] for at in places]) if isinstance(places, Few) else np.array(known).take(places)


def largest(values: Array) -> float:
    """The largest number that is not NaN; NaN of nothing."""
    if isinstance(values, Few):
        return float(max((one for one in values if one == one), default=float("nan")))
    return float(np.fmax.reduce(values)) if len(values) else float("nan")


def mean(values: Array) -> float:
    """The mean; NaN of nothing."""
    if not len(values):
        return float("nan")
    return total(values.items) / len(values) if isinstance(values, Few) else float(np.mean(values))


def total(values: list[float]) -> float:
    """The sum in the order in which NumPy adds."""
    count = len(values)
    if count > BLOCK:
        half = count // 2
        half -= half % PARTS
        return total(values[:half]) + total(values[half:])
    if count < PARTS:
        found = -0.0
        for one in values:
            found += one
        return found
    parts, rest = values[:PARTS], count - count % PARTS
    for at in range(PARTS, rest):
        parts[at % PARTS] += values[at]
    found = ((parts[0] + parts[1]) + (parts[2] + parts[3])) + ((parts[4] + parts[5]) + (parts[6] + parts[7]))
    for one in values[rest:]:
        found += one
    return found


def packed(values: Array) -> bytes:
    """A column as little-endian bytes, eight a number."""
    if isinstance(values, Few):
        letter = "d" if any(isinstance(one, float) for one in values) else "Q"
        return struct.pack(f"<{len(values)}{letter}", *values)
    return bytes(np.ascontiguousarray(values, dtype=values.dtype.newbyteorder("<")).tobytes())
