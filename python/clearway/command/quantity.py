"""Quantities with units on the command line: `"25 Gbps"`, `"80 us"`."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from pathlib import Path

import click

RATES = {"bps": 1.0, "kbps": 1e3, "mbps": 1e6, "gbps": 1e9, "tbps": 1e12}
TIMES = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}


#: Range of quantities in the unit whose factor is 1, s or bit/s: wide enough for any network, and formulas stay finite.
LEAST, MOST = 1e-12, 1e18


class Quantity(click.ParamType[float]):
    """A number above 0 with its unit, as scenario files write it."""

    def __init__(self, name: str, units: Mapping[str, float], example: str) -> None:
        self.name = name
        self.units = units
        self.example = example

    def convert(self, value: str | float, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Reads it in the unit whose factor is 1."""
        if isinstance(value, float):
            return value
        plain = re.sub("[\u00b5\u03bc]s", "us", value)
        found = re.fullmatch(r"\s*([0-9.]+(?:e[+-]?[0-9]+)?)\s*([a-z]+)\s*", plain, flags=re.IGNORECASE)
        try:
            number = float(found[1]) * self.units[found[2].lower()] if found else math.nan
        except (KeyError, ValueError):
            number = math.nan
        if not (0 < number < math.inf):
            self.fail(f"{value!r}: write a {self.name} above 0 with its unit, such as {self.example!r}", param, ctx)
        if not LEAST <= number <= MOST:
            size = "small" if number < LEAST else "large"
            self.fail(f"{value!r}: is too {size}; write a {self.name} such as {self.example!r}", param, ctx)
        return number


class Number(click.ParamType[float]):
    """A number between two bounds; the lower one is in it or not."""

    name = "number"

    def __init__(self, low: float, high: float, *, open_low: bool = False, open_high: bool = False) -> None:
        self.low, self.high, self.open_low, self.open_high = low, high, open_low, open_high

    def convert(self, value: str | float, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Reads it; no NaN, no infinity."""
        try:
            number = float(value)
        except ValueError:
            number = math.nan
        above = number > self.low if self.open_low else number >= self.low
        below = number < self.high if self.open_high else number <= self.high
        if not (above and below):
            least = f"above {self.low:g}" if self.open_low else f"from {self.low:g}"
            most = f"below {self.high:g}" if self.open_high else f"to {self.high:g}"
            self.fail(f"{value!r}: write a number {least} {most}", param, ctx)
        return number


class Picture(click.ParamType[Path]):
    """The file of a picture."""

    name = "file"

    def convert(self, value: str | Path, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        """Takes .svg and .png, in a folder that is there."""
        path = Path(value)
        if path.suffix not in (".svg", ".png"):
            self.fail(f"{str(value)!r}: write a name that ends in .svg or .png", param, ctx)
        if not path.parent.is_dir():
            self.fail(f"{str(value)!r}: there is no folder {path.parent}; make it first", param, ctx)
        if path.is_dir():
            self.fail(f"{str(value)!r}: this is a folder; name a file", param, ctx)
        return path
