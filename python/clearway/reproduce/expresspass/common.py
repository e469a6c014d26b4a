"""What several figures of the paper share: networks, and the readings of its credit control that are compared."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from clearway.reproduce.measures import CEILING, CEILING_RANDOM

#: The setting that sections 3 to 6.2 must have used if Fig. 8 and Fig. 16 agree (E17-2): both are unstated.
HALF = {"alpha": 0.5, "w_init": 0.5}

#: Readings of ExpressPass, and the share of a link that data can take under each.
READINGS: dict[str, tuple[dict[str, Any], float]] = {
    "expresspass": ({"name": "expresspass", **HALF}, CEILING),
    "random sizes": ({"name": "expresspass", **HALF, "randomize_size": True}, CEILING_RANDOM),
    "loss matched": ({"name": "expresspass", **HALF, "feedback": "sigcomm17-matched"}, CEILING),
    "ns2 profile": ({"name": "expresspass", "profile": "ns2"}, CEILING),
    "hotnets16": ({"name": "expresspass-hotnets16"}, CEILING),
}

#: Colours of the readings and baselines (`Look.color`).
COLORS = {
    "expresspass": 0,
    "dctcp": 1,
    "naive": 2,
    "hotnets16": 3,
    "ns2 profile": 6,
    "loss matched": 7,
    "random sizes": 8,
}

ABOUT_READINGS = """\
Readings of ExpressPass that are run beside each other:

* **expresspass**: the paper's text, Algorithm 1 as in its section 3.2, credits of 84 B, jitter 0.01.
* **random sizes**: the same with credits of 84 to 92 B (section 3.1: "randomize the credit packet sizes"). The limiter
  counts bytes, so data can take 90.5 % of a link instead of 94.8 %.
* **loss matched**: the same as the first, but a decrease applies to the rate at which the lost credits were sent, as
  the recursions of section 4 have it, and not to the rate in force when the loss becomes known a round trip later.
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
