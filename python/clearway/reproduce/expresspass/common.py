"""The common ground of several figures of the paper: networks, and the compared readings of its credit control."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from clearway.report.style import OWN, own

#: The setting that sections 3 to 6.2 must have used if Fig. 8 and Fig. 16 agree (E17-2): both are unstated.
HALF = {"alpha": 0.5, "w_init": 0.5}

#: Readings of ExpressPass: the default, which decides verdicts, first; each other changes what it says.
READINGS: dict[str, dict[str, Any]] = {
    "expresspass": {"name": "expresspass"},
    "printed": {"name": "expresspass", "feedback": "sigcomm17-printed"},
    "ns2 profile": {"name": "expresspass", "profile": "ns2"},
}

#: Colours of the readings and baselines (`Look.color`).
COLORS = {
    **own("expresspass", "dctcp"),
    "naive": OWN["naive-credit"],
    "hotnets16": OWN["expresspass-hotnets16"],
    "ns2 profile": 6,
    "printed": 7,
    "fixed sizes": 8,
}

ABOUT_READINGS = """\
Readings of ExpressPass that are run beside each other:

* **expresspass**, the default, which decides verdicts: a decrease sets the rate to what passed and counts each loss
  once; credits of 76 to 92 B, alpha = 1/2, w_init = 1/16, jitter 0.01.
* **printed**: the same with line 12 of Algorithm 1 as it is printed (`feedback = "sigcomm17-printed"`).
* **ns2 profile**: the feedback and constants of the authors' published ns-2 code.
"""


def dumbbell(pairs: int, rate: str) -> dict[str, Any]:
    """Pairs over one bottleneck as fast as their own links; light takes 100 us there and back."""
    return {
        "kind": "dumbbell",
        "pairs": pairs,
        "rate": rate,
        "delay": "12.5 us",
        "bottleneck_rate": rate,
        "bottleneck_delay": "25 us",
    }


def partition_aggregate(
    name: str, duration_ms: int, fan_out: int, transport: Mapping[str, Any], **more: Any
) -> dict[str, Any]:
    """Fig. 1: a master that asks so many workers of a fat tree again and again; the queue in front of it."""
    return {
        "name": name,
        "stop": f"{duration_ms} ms",
        "topology": {"kind": "fat-tree", "k": 8, "rate": "10 Gbps", "delay": "5 us"},
        "transport": transport,
        "traffic": [
            {
                "kind": "partition-aggregate",
                "fan_out": fan_out,
                "request": "200 B",
                "response": "1000 B",
                "rounds": 400_000,
            }
        ],
        "sample": [{"name": "queue", "what": "queue", "every": "10 us", "ports": ["tor0->h0"]}],
        **more,
    }
