"""What Fig. 8 and 9 share: the tree of 192 hosts at 40 Gbps, half of whose hosts speak DCTCP."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from clearway.reproduce.ec4.common import DCTCP, EC4, NS2, SWITCH

#: Flows of a run at quick scale; at full scale ten times as many.
FLOWS = {"web-search": 2_000, "cache-follower": 3_000, "data-mining": 300}
NAMES = {"web-search": "Web Search", "cache-follower": "Cache Follower", "data-mining": "Data Mining"}

COLD: dict[str, Any] = {**DCTCP, "handshake": True}
#: alpha = w_init = 1/16, as E17 6.3 has it for such networks.
EXPRESSPASS: dict[str, Any] = {"name": "expresspass", "alpha": 0.0625, "w_init": 0.0625}
#: What half of the hosts speak.
CASES: dict[str, dict[str, Any]] = {"ec4": EC4, "expresspass": EXPRESSPASS, "expresspass, ns2": NS2, "dctcp": COLD}
#: EC4 that does not start at the link's rate, to see what the start costs.
SLOW: dict[str, Any] = {**EC4, "initial_rate": 0.0625}
COLORS = {"ec4": 0, "dctcp": 1, "expresspass": 3, "expresspass, ns2": 6}

ABOUT = """\
Shared with the other figure of this network, unstated in the paper:

* **Pairs** are inside a protocol (EC4-15): half of the hosts, drawn by the seed, speak DCTCP with each other, the
  others what is compared; all cross the same ToRs, aggregation switches and cores. Each half has the stated load of
  its hosts.
* **K** is 100 frames as at 10 Gbps (EC4-8), the buffer 250 frames at 40 Gbps, as stated.
* **Connections** are opened for each flow, in DCTCP by a handshake, with ten segments to start with; least timeout 10
  ms.
* **ExpressPass**: alpha = w_init = 1/16, as its paper has it there; and its authors' code, in which alpha is 1/2.
* **Flows**: 2,000 (Web Search), 3,000 (Cache Follower), 300 (Data Mining); at full scale ten times as many. One seed.
"""


def scenario(
    made: Mapping[str, Any],
    workload: str,
    load: float,
    scale: str,
    other: Mapping[str, Any] = COLD,
    switch: Mapping[str, Any] = SWITCH,
) -> dict[str, Any]:
    """Both halves of the hosts."""
    flows = FLOWS[workload] * (10 if scale == "full" else 1) // 2
    return {
        "name": "ec4-tree",
        "topology": {"kind": "oversubscribed-fat-tree", "rate": "40 Gbps", "delay": "1 us"},
        "host": {"processing_delay": "1 us"},
        "switch": dict(switch),
        "traffic": [
            {
                "name": name,
                "kind": "poisson",
                "transport": transport,
                "hosts": {"share": 0.5, "from": start},
                "workload": workload,
                "load": load,
                "flows": flows,
            }
            for name, transport, start in (("compared", dict(made), 0.0), ("windows", dict(other), 0.5))
        ],
    }
