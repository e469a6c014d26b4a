"""The common ground of section 6.3's figures: the tree of 192 hosts, its workloads, connections as ns-2 opens them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clearway.report.style import own
from clearway.reproduce import stats

#: Completion times of the flows of one seed.
Times = NDArray[np.float64]

#: Workload -> its name in the paper.
WORKLOADS = {
    "web-server": "Web Server",
    "cache-follower": "Cache Follower",
    "web-search": "Web Search",
    "data-mining": "Data Mining",
}
#: The paper's flows of each run, and the bytes of those of Data Mining, the largest.
FULL = 100_000
FULL_BYTES = 749e9
#: Mean bytes of a flow.
MEAN_BYTES = {"web-server": 64e3, "cache-follower": 701e3, "web-search": 1.65e6, "data-mining": 7.41e6}
#: The load of `ns2`: that of the authors' script, which counts headers and flows inside a rack too.
SCRIPT = "ns2"
#: Colours of the transports, as numbers of `Look.color`.
COLORS = own("expresspass", "dctcp", "rcp", "dx", "hull")
BUCKETS = {"S (< 10 KB)": "S", "M (10-100 KB)": "M", "L (100 KB-1 MB)": "L", "XL (> 1 MB)": "XL"}


def expresspass(first: float) -> dict[str, Any]:
    """The paper's ExpressPass with alpha = w_init = `first`, as section 6.3 states it."""
    return {"name": "expresspass", "alpha": first, "w_init": first}


#: Seeds of runs that are larger than quick ones: the fewest that give an interval worth the name.
FEW = stats.SEEDS[:3]


def flows_at(workload: str, size: float) -> int:
    """The flows of a run that sends that share of the bytes of the paper's largest run, and at most the paper's flows.

    So Web Server has all of its 100,000 flows where Data Mining has a share of them.
    """
    return min(FULL, round(size * FULL_BYTES / MEAN_BYTES[workload]))


def all_flows_at(size: float) -> dict[str, int]:
    """The flows of each workload at a size; Web Server, whose flows are the smallest, has twice the bytes of others."""
    return {workload: flows_at(workload, 2 * size if workload == "web-server" else size) for workload in WORKLOADS}


def pooled_p99(of_seeds: Sequence[Times]) -> float:
    """The 99th percentile of all seeds' flows together; NaN of too few."""
    return stats.percentile(np.concatenate(of_seeds), 99) if of_seeds else math.nan


def p99_ratio(numerators: Sequence[Times], denominators: Sequence[Times]) -> stats.Estimate:
    """The ratio of two 99th percentiles of all seeds' flows; its interval by the jackknife that leaves out a seed."""
    return jackknife(lambda a, b: p99(a) / p99(b), [numerators, denominators])


def tail_ratio(numerators: Sequence[Times], denominators: Sequence[Times]) -> stats.Estimate:
    """The ratio of two 99th percentiles over the ratio of the means, of all seeds' flows; an interval as above."""
    return jackknife(lambda a, b: p99(a) / p99(b) * float(b.mean() / a.mean()), [numerators, denominators])


def p99(times: Times) -> float:
    """The 99th percentile of flows of which there are enough."""
    return float(np.percentile(times, 99))


def jackknife(of: Callable[..., float], cases: Sequence[Sequence[Times]]) -> stats.Estimate:
    """A positive number from the pooled times of several cases, with the interval of the jackknife that leaves out a
    seed; NaN where a case has too few flows for a 99th percentile.
    """
    seeds = len(cases[0])
    if any(math.isnan(pooled_p99(parts)) for parts in cases):
        return stats.exact(math.nan)
    whole = math.log(of(*map(np.concatenate, cases)))
    if seeds <= 1:
        return stats.exact(math.exp(whole))
    without = [
        math.log(of(*(np.concatenate([part for seed, part in enumerate(parts) if seed != out]) for parts in cases)))
        for out in range(seeds)
    ]
    found = stats.estimate([seeds * whole - (seeds - 1) * one for one in without])
    return stats.Estimate(math.exp(whole), math.exp(found.low), math.exp(found.high), seeds)


def scenario(
    name: str,
    transport: Mapping[str, Any],
    workload: str,
    load: float,
    flows: int,
    rate_gbps: int = 10,
    load_of: str = "uplinks",
) -> dict[str, Any]:
    """Poisson arrivals between random pairs of the 192 hosts.

    The load is that of the ToRs' uplinks: "we set the target load for ToR up-links" (section 6.3).
    """
    return {
        "name": name,
        "topology": {"kind": "oversubscribed-fat-tree", "rate": f"{rate_gbps} Gbps", "delay": "4 us"},
        "host": {"processing_delay": "1 us"},
        "switch": {"buffer": f"{384.5 * rate_gbps / 10} KB"},
        "transport": dict(transport),
        "traffic": [
            {
                "name": "flows",
                "kind": "poisson",
                "load_of": load_of,
                "workload": workload,
                "load": load,
                "flows": flows,
            }
        ],
    }
