"""What the figures of section 6.3 share: the tree of 192 hosts, its workloads, connections as ns-2 opens them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

#: Workload -> its name in the paper.
WORKLOADS = {
    "web-server": "Web Server",
    "cache-follower": "Cache Follower",
    "web-search": "Web Search",
    "data-mining": "Data Mining",
}
#: Flows of a run at quick scale: about as many packets in each.
FLOWS = {"web-server": 20_000, "cache-follower": 4_000, "web-search": 2_000, "data-mining": 500}
FULL = 100_000
#: A new connection for each flow, windows from two segments.
COLD = {"handshake": True, "initial_window": 2}
#: Colours (`Look.color`).
COLORS = {"expresspass": 0, "dctcp": 1, "rcp": 2, "dx": 3, "hull": 6}
BUCKETS = {"S (< 10 KB)": "S", "M (10-100 KB)": "M", "L (100 KB-1 MB)": "L", "XL (> 1 MB)": "XL"}


def expresspass(alpha: float) -> dict[str, Any]:
    """The paper's ExpressPass with alpha = w_init, credits of random size (E17-8: several switches)."""
    return {"name": "expresspass", "alpha": alpha, "w_init": alpha}


def scenario(
    name: str, transport: Mapping[str, Any], workload: str, load: float, flows: int, rate_gbps: int = 10
) -> dict[str, Any]:
    """Poisson arrivals between random pairs of the 192 hosts, at a load of the ToRs' uplinks."""
    return {
        "name": name,
        "topology": {"kind": "oversubscribed-fat-tree", "rate": f"{rate_gbps} Gbps", "delay": "4 us"},
        "host": {"processing_delay": "1 us"},
        "switch": {"buffer": f"{384.5 * rate_gbps / 10} KB"},
        "transport": dict(transport),
        "traffic": [{"name": "flows", "kind": "poisson", "workload": workload, "load": load, "flows": flows}],
    }
