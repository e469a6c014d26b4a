"""Numbers as people read them."""

from __future__ import annotations

import math
import re

#: Text that is printed where there is no number.
NONE = "-"
#: Base unit -> units with their size in it, falling.
SCALES: dict[str, tuple[tuple[float, str], ...]] = {
    "s": ((1, "s"), (1e-3, "ms"), (1e-6, "us"), (1e-9, "ns")),
    "B": ((1e9, "GB"), (1e6, "MB"), (1e3, "KB"), (1, "B")),
    "bit/s": ((1e9, "Gbps"), (1e6, "Mbps"), (1e3, "Kbps"), (1, "bps")),
}

#: Microseconds behind a number, as files and programs have them: with a letter that every encoding has.
MICROSECONDS = re.compile(r"(?<=\d) us\b")


def for_people(text: str) -> str:
    """A text whose microseconds are written as people write them, `12.3 µs`; scenarios are read with either."""
    return MICROSECONDS.sub(" µs", text)


def seconds(value: float) -> str:
    """A time as text, such as `12.3 us`."""
    return scaled(value, ((1, "s"), (1e-3, "ms"), (1e-6, "us"), (1e-9, "ns")))


def size(value: float) -> str:
    """A size in decimal units: `1.54 KB`."""
    return scaled(value, ((1e9, "GB"), (1e6, "MB"), (1e3, "KB"), (1, "B")))


def rate(value: float) -> str:
    """A rate as text, such as `9.48 Gbps`."""
    return scaled(value, ((1e9, "Gbps"), (1e6, "Mbps"), (1e3, "Kbps"), (1, "bps")))


def scaled(value: float, units: tuple[tuple[float, str], ...]) -> str:
    """Three digits, in the largest unit that is not larger than the value."""
    if math.isnan(value):
        return NONE
    if value == 0:
        return f"0 {units[-1][1]}" if units[0][0] > 1 else "0 s"
    # The small excess: 999.9 KB is not 1e+03 KB.
    scale, name = next(((s, n) for s, n in units if abs(value) * 1.0005 >= s), units[-1])
    return f"{digits(value / scale)} {name}"


def value(of: float, unit: str) -> str:
    """A number that somebody chose, with all of its digits and its unit: `384.5 KB`, `10 us`, `0.001`."""
    scales = SCALES.get(unit)
    if scales is None or of == 0:
        return f"{of:,.10g} {unit}".strip()
    scale, name = next(((s, n) for s, n in scales if abs(of) * (1 + 1e-9) >= s), scales[-1])
    return f"{of / scale:,.10g} {name}"


def digits(value: float) -> str:
    """Three digits, never in scientific notation."""
    if math.isnan(value):
        return NONE
    magnitude = abs(value)
    places = 0 if magnitude >= 99.95 else 1 if magnitude >= 9.995 else 2
    return f"{value:,.{places}f}"


def share(value: float) -> str:
    """A share as a percentage: `94.82 %`."""
    return NONE if math.isnan(value) else f"{100 * value:.2f} %"


def count(value: float) -> str:
    """A count as text, such as `12,345`."""
    return NONE if math.isnan(value) else f"{int(value):,}"
