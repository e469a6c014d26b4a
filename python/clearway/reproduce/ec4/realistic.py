"""The common ground of Fig. 8 and 9: the tree of 192 hosts at 40 Gbps, half of whose hosts speak DCTCP."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from clearway.report.style import own
from clearway.reproduce.ec4.common import DCTCP, EC4, SWITCH

NAMES = {"web-search": "Web Search", "cache-follower": "Cache Follower", "data-mining": "Data Mining"}

#: DCTCP that opens a connection for each flow. A lost SYN costs no more than a lost segment.
COLD: dict[str, Any] = {**DCTCP, "handshake": True, "rto_initial": "10 ms"}
#: alpha = w_init = 1/16, as E17 6.3 has it for such networks.
EXPRESSPASS: dict[str, Any] = {"name": "expresspass", "alpha": 0.0625, "w_init": 0.0625}
#: Transports of the half of the hosts that does not speak DCTCP.
CASES: dict[str, dict[str, Any]] = {"ec4": EC4, "expresspass": EXPRESSPASS, "dctcp": COLD}
COLORS = own("ec4", "dctcp", "expresspass")

ABOUT = """\
Shared with the other figure of this network, unstated in the paper:

* **Pairs** are inside a protocol (EC4-15): half of the hosts, drawn by the seed, speak DCTCP with each other, the
  others what is compared; all cross the same ToRs, aggregation switches and cores. Each half has the stated load of
  its hosts.
* **K** is 100 frames as at 10 Gbps (EC4-8), the buffer 250 frames at 40 Gbps, as stated.
* **Connections** are opened for each flow, in DCTCP by a handshake, with ten segments to start with; least timeout 10
  ms, that of a SYN included (1 s, the standard's, would let one lost SYN decide an average).
* **ExpressPass**: the default law with alpha = w_init = 1/16, as its paper has it there.
* **Window**: flows that start in the first and the last tenth of the time of arrivals are left out.
"""


def scenario(
    made: Mapping[str, Any],
    workload: str,
    load: float,
    flows: int,
    seed: int,
    other: Mapping[str, Any] = COLD,
    switch: Mapping[str, Any] = SWITCH,
) -> dict[str, Any]:
    """Both halves of the hosts, each with half of the flows."""
    return {
        "name": "ec4-tree",
        "seed": seed,
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
                "load_of": "ns2",
                "flows": flows // 2,
            }
            for name, transport, start in (("compared", dict(made), 0.0), ("windows", dict(other), 0.5))
        ],
    }


def steady(flows: pl.DataFrame) -> pl.DataFrame:
    """The flows that start neither while the network fills nor while it drains."""
    last = float(flows["start_s"].max())  # type: ignore[arg-type]
    return flows.filter(pl.col("start_s").is_between(0.1 * last, 0.9 * last))
