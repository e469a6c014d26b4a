"""The ways in which a run ends before its end, so that its results are of a part of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from clearway import units

#: Ctrl-C, or a callback that answered `False`.
INTERRUPTED = "interrupted"
#: The process had more memory than it may have.
OUT_OF_MEMORY = "out of memory"
#: Events followed each other at one instant without end.
LIVELOCKED = "livelocked"
#: The ways in which a run is cut off, as in the summary's `ended`.
CUT_OFF = frozenset({INTERRUPTED, OUT_OF_MEMORY, LIVELOCKED})
#: The ends after which a run goes on from its checkpoint.
GOES_ON = frozenset({INTERRUPTED, OUT_OF_MEMORY})


def covered(summary: Mapping[str, Any]) -> str:
    """Says of which part the results of a run that was cut off are."""
    return f"the results are of the first {summary['simulated_s']:g} s of simulated time"


def reason(summary: Mapping[str, Any]) -> str | None:
    """Says why a run was ended that can't go on, and what to do; `None` of any other run."""
    if summary["ended"] == OUT_OF_MEMORY:
        limit = summary["memory_limit_bytes"]
        return (
            f"OUT OF MEMORY. The run was ended when this process had more than {units.size(limit)} of memory; "
            f"{covered(summary)}. Allow more (CLEARWAY_MEMORY), or simulate less: fewer flows or samples, or an "
            "earlier stop."
        )
    if livelock := summary.get("livelock"):
        return (
            f"LIVELOCK. Simulated time stood still at {units.seconds(livelock['at_s'])}, where events followed each "
            f"other without end, last of all {livelock['what']}; {covered(summary)}. No scenario should bring that "
            "about: please report it with the scenario and its seed."
        )
    return None
