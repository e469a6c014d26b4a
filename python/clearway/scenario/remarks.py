"""Remarks on a scenario that runs but may not do what its writer means: what has no effect, and what is overloaded.

Clearway refuses keys that mean nothing in a scenario. The remarks are about the rest: what is well formed and harmless,
but changes nothing or costs more than it should.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from clearway import _clearway

TIMES = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9, "ps": 1e-12}


def seconds_of(text: str) -> float:
    """A time of a resolved scenario in seconds, such as that of `"4 us"`."""
    found = re.fullmatch(r"([0-9.]+) (s|ms|us|ns|ps)", text)
    assert found, text
    return float(found[1]) * TIMES[found[2]]


def remarks(resolved: dict[str, Any], expected: _clearway._Estimate) -> list[str]:
    """The remarks on a resolved scenario of which this is expected."""
    simulated_s = expected["simulated_s"]
    return [
        *class_remarks(resolved),
        *traffic_remarks(resolved),
        *load_remarks(resolved, expected),
        *link_remarks(resolved, simulated_s),
        *sample_remarks(resolved, simulated_s),
    ]


def class_remarks(resolved: dict[str, Any]) -> Iterator[str]:
    """Classes that nothing uses, and weights that divide nothing."""
    traffic = resolved.get("traffic", [])
    switch = resolved.get("switch", {})
    for table, keys in (("class", ("class", "notice_class", "ack_class")), ("credit_class", ("credit_class",))):
        classes = switch.get(table, [])
        names = [one["name"] for one in classes]
        used = {part.get(key) for part in traffic for key in keys} | {one.get("at_switches") for one in classes}
        # Traffic that names no class is in the first.
        first = names[:1] if any(part.get(keys[0]) is None for part in traffic) else []
        for name in names:
            if name not in used and name not in first:
                yield f"switch.{table}.{name}: no traffic uses this class"
        alone = {priority for priority, count in Counter(one["priority"] for one in classes).items() if count == 1}
        for one in classes:
            if one["weight"] != 1 and one["priority"] in alone:
                yield (
                    f"switch.{table}.{one['name']}.weight = {one['weight']}: has no effect, since no other class has "
                    f"priority {one['priority']}"
                )


def traffic_remarks(resolved: dict[str, Any]) -> Iterator[str]:
    """Keys of traffic that have no effect."""
    for part in resolved.get("traffic", []):
        at = f"traffic.{part['name']}"
        if part.get("rounds") == 1 and seconds_of(part.get("pause", "0 s")) > 0:
            yield f"{at}.pause = {part['pause']}: has no effect, since there is one round"
        if part["kind"] == "long" and seconds_of(part.get("stagger", "0 s")) > 0 and part.get("count") == 1:
            yield f"{at}.stagger = {part['stagger']}: has no effect, since there is one flow"


def load_remarks(resolved: dict[str, Any], expected: _clearway._Estimate) -> Iterator[str]:
    """Loads that the links of a tier can't carry."""
    most = expected["payload_share_max"]
    busiest = max(expected["tiers"], key=lambda row: row["asked"], default=None)
    # A load of exactly what the links carry may come out a rounding below.
    if busiest is None or busiest["asked"] < most * (1 - 1e-9):
        return
    loads = [f"traffic.{part['name']}.load = {part['load']:g}" for part in resolved["traffic"] if "load" in part]
    yield (
        f"{', '.join(loads)}: {'asks' if len(loads) == 1 else 'ask'} for {100 * busiest['asked']:.1f} % of the links "
        f"{busiest['tier']} in payload, of which full frames can carry {100 * most:.1f} %, so that the number of flows "
        "under way grows for as long as they arrive"
    )


def link_remarks(resolved: dict[str, Any], simulated_s: float) -> Iterator[str]:
    """Losses of nothing, and failures after the end."""
    for number, one in enumerate(resolved.get("loss", [])):
        if one["probability"] == 0 and number == 0:
            yield f"loss.{number}.probability = 0: has no effect"
    for number, one in enumerate(resolved.get("fault", [])):
        if seconds_of(one["down"]) > simulated_s:
            yield (
                f"fault.{number}.down = {one['down']}: may come after the end, since the traffic is expected to take "
                f"{simulated_s:.3g} s"
            )


def sample_remarks(resolved: dict[str, Any], simulated_s: float) -> Iterator[str]:
    """Series with hardly a sample."""
    for one in resolved.get("sample", []):
        if "every" in one and seconds_of(one["every"]) > simulated_s:
            yield (
                f"sample.{one['name']}.every = {one['every']}: may give no sample but the first, since the traffic is "
                f"expected to take {simulated_s:.3g} s"
            )
