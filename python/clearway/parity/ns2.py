"""ExpressPass beside the ns-2 code of its authors (ns2-xpass), on the tree of 192 hosts of their script."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from clearway.parity.case import Case, FlowList
from clearway.parity.flowlists import Cdf, poisson

HOSTS = 192
FLOWS = 5_000
LOAD = 0.6
#: Three hosts to an uplink at each ToR.
OVERSUBSCRIPTION = 3

#: Number of lists of each workload that were measured with ns-2.
LISTS = {"web-search": 2, "cache-follower": 2, "web-server": 3}

#: Distributions of sizes in the files `workloads/*.tcl` of ns2-xpass, and the means that its script states for them.
WORKLOADS: dict[str, tuple[Cdf, float]] = {
    "web-search": (
        (
            (9e3, 0.15), (18582, 0.2), (28140, 0.3), (38913, 0.4), (77468, 0.53), (2e5, 0.6), (1e6, 0.7), (2e6, 0.8),
            (5e6, 0.9), (1e7, 0.97), (3e7, 1),
        ),
        1_654_275,
    ),
    "cache-follower": (
        (
            (70, 0.01), (150, 0.015), (150, 0.04), (300, 0.08), (350, 0.1), (350, 0.19), (450, 0.2), (500, 0.28),
            (600, 0.3), (700, 0.35), (1100, 0.4), (2000, 0.42), (1e4, 0.48), (3e4, 0.5), (1e5, 0.52), (2e5, 0.6),
            (4e5, 0.68), (6e5, 0.7), (1.5e6, 0.701), (2e6, 0.8), (2.4e6, 0.9), (3e6, 1),
        ),
        701_490,
    ),
    "web-server": (
        (
            (150, 0), (300, 0.12), (300, 0.2), (600, 0.2), (1000, 0.3), (2000, 0.4), (3100, 0.5), (6000, 0.6),
            (2e4, 0.71), (6e4, 0.8), (1.5e5, 0.82), (3e5, 0.9), (5e5, 1),
        ),
        63_735,
    ),
}  # fmt: skip


def flow_list(workload: str, seed: int) -> FlowList:
    """A list as the authors' script draws it: the arrival rate by its constants, from 0.1 s on."""
    cdf, mean_bytes = WORKLOADS[workload]
    per_second = HOSTS * 10e9 * LOAD / (mean_bytes * 8 / 1460 * 1538) / OVERSUBSCRIPTION
    return FlowList(
        f"{workload}-{seed}",
        lambda: poisson(cdf, flows=FLOWS, hosts=HOSTS, interval_s=1 / per_second, first_s=0.1, seed=seed),
    )


def scenario(flows: Path) -> dict[str, Any]:
    """The script's network, with its 1 us between a host's NIC and its software."""
    return {
        "name": "parity-ns2",
        "topology": {"kind": "oversubscribed-fat-tree", "rate": "10 Gbps", "delay": "4 us"},
        "network": {"routing": "ns2-xpass"},
        "host": {"processing_delay": "1 us"},
        "transport": {"name": "expresspass", "profile": ["ns2", "ns2-fat-tree"]},
        "traffic": [{"name": "flows", "kind": "file", "path": str(flows)}],
    }


CASE = Case(
    name="ns2",
    title="ExpressPass beside its authors' ns-2 code",
    simulator="ns2-xpass, commit f4e38bc",
    counted="from the start of a flow to the arrival of its last byte at the receiver",
    lists=tuple(flow_list(workload, seed) for workload, count in LISTS.items() for seed in range(1, count + 1)),
    scenario=scenario,
)
