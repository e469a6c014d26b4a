"""RDMA transports beside the ns-3 code of HPCC's authors, on their network of 320 hosts."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import polars as pl

from clearway.parity.case import Case, FlowList
from clearway.parity.flowlists import Cdf, poisson
from clearway.result import Run

HOSTS = 320
FLOWS = 800

#: `traffic_gen/WebSearch_distribution.txt` of that code: straight lines between these points.
WEB_SEARCH: Cdf = (
    (0, 0), (1e4, 0.15), (2e4, 0.2), (3e4, 0.3), (5e4, 0.4), (8e4, 0.53), (2e5, 0.6), (1e6, 0.7), (2e6, 0.8),
    (5e6, 0.9), (1e7, 0.97), (3e7, 1),
)  # fmt: skip
MEAN_BYTES = sum((low + high) / 2 * (above - below) for (low, below), (high, above) in pairwise(WEB_SEARCH))

#: Round-trip time of the longest path as that code's script computes it: 12 us of delays and the payload of a packet
#: sent over each link once.
BASE_RTT = {"base_rtt": "12.24 us"}

#: Each transport of its script, as its word for it names it, and what is set here besides the profile.
TRANSPORTS: dict[str, tuple[str, dict[str, Any]]] = {
    "hpcc": ("hp", {"name": "hpcc", **BASE_RTT}),
    "dcqcn": ("dcqcn", {"name": "dcqcn"}),
    "timely": ("timely", {"name": "timely"}),
    "dctcp": ("dctcp", {"name": "rdma-dctcp", **BASE_RTT}),
}


def flow_list(load: float, seed: int) -> FlowList:
    """A list as its generator of traffic draws it: a load of the hosts' links in payload, from 2 s on."""
    interval_s = MEAN_BYTES * 8 / (100e9 * load * HOSTS)
    return FlowList(
        f"web-search-{round(load * 100)}-{seed}",
        lambda: poisson(WEB_SEARCH, flows=FLOWS, hosts=HOSTS, interval_s=interval_s, first_s=2.0, seed=seed),
    )


LISTS = (flow_list(0.5, 1), flow_list(0.7, 2))


def scenario(settings: dict[str, Any]) -> Callable[[Path], dict[str, Any]]:
    """The network of `mix/fat.txt`, with that code's frames, times in whole nanoseconds and memory of switches."""
    return lambda flows: {
        "name": "parity-hpcc-ns3",
        "topology": {"kind": "pacc-320"},
        "network": {"payload": "1000 B", "overhead": "48 B", "wire_min": "60 B", "whole_ns": True},
        "switch": {"shared_buffer": "33554432 B"},
        "transport": {"profile": "hpcc-ns3", **settings},
        "traffic": [{"name": "flows", "kind": "file", "path": str(flows)}],
    }


def acked_s(run: Run) -> pl.Series:
    """Completion times from the start of a flow to its last acknowledgement at the sender, in seconds."""
    return run.flows["acked_s"]


CASES = tuple(
    Case(
        name=f"hpcc-ns3-{name}",
        title=f"{settings['name']} beside `--cc {word}` of the ns-3 code of HPCC's authors",
        simulator="alibaba-edu/High-Precision-Congestion-Control, commit 9f4be2a",
        counted="from the start of a flow to the arrival of its last acknowledgement at the sender",
        lists=LISTS,
        scenario=scenario(settings),
        seeds=12,
        fct=acked_s,
    )
    for name, (word, settings) in TRANSPORTS.items()
)
