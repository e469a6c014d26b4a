"""The scenario that this process read last, whose network points of other seeds share."""

from __future__ import annotations

from clearway import _clearway
from clearway.scenario.named import split

#: The text of the scenario without its seed -> the scenario; one at most.
KEPT: dict[str, _clearway.Scenario] = {}


def scenario_of(resolved: str) -> _clearway.Scenario:
    """The scenario of a point by its resolved text.

    A worker gets points that differ in their seeds alone one after the other. To read such a scenario and to build its
    network takes as long as half of a small run, so both are done once for them.
    """
    text, seed = split(resolved)
    kept = KEPT.get(text)
    if kept is not None and seed is not None and (found := kept.with_seed(seed)) is not None:
        return found
    KEPT.clear()  # Before the next is read, since networks may be large.
    KEPT[text] = _clearway.Scenario.parse(resolved, "<point>", ".")
    return KEPT[text]
