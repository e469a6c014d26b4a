"""Table 3: average and maximum queues, as `fig19` measured them."""

from __future__ import annotations

from functools import partial

import numpy as np
import polars as pl

from clearway.reproduce import judge, stats
from clearway.reproduce.claims import Claim, Finding, claim
from clearway.reproduce.expresspass.fig19_cells import (
    LOADS,
    OTHERS,
    PAPER_NAMES,
    TRANSPORTS,
    case,
    mean,
    per_seed,
    span,
    with_windows,
)
from clearway.reproduce.expresspass.realistic import WORKLOADS
from clearway.reproduce.figure import Tables
from clearway.result import Run


def check_queues(tables: Tables) -> list[Finding]:
    """The verdicts on Table 3, queues."""
    found = [table_of(tables, claim("expresspass", f"table3-{name}-queue")) for name in ("average", "max")]
    found.append(check_largest(tables))
    here = claim("expresspass", "table3-max-queue-load-independent")
    text = "from 0.2 to 0.6: " + ", ".join(
        f"{PAPER_NAMES[name]} times {growth(tables, name).mean:.2f}" for name in TRANSPORTS
    )
    note = "geometric mean of the workloads"
    found.append(judge.judge(here, grown(tables), text=text, note=note, cause=with_windows(tables, grown)))
    here = claim("expresspass", "sec1-buffer-8x-less-than-dctcp")
    ratios = [queue_ratio(tables, "queue_max", workload, 0.6, "dctcp") for workload in WORKLOADS]
    least, most = (pick(ratios, key=lambda one: one.mean) for pick in (min, max))
    averages = [mean(tables, "queue_mean", workload, "expresspass").scaled(1e-3) for workload in WORKLOADS]
    average = max(averages, key=lambda one: one.mean)
    note = (
        f"maximum queues of Table 3 at 0.6, the largest of the workloads; the least: {least.mean:.1f}; ExpressPass's "
        f"average queue: at most {average.mean:.2f} KB"
    )
    found.append(judge.judge(here, {"value": most, "average queue, KB": average}, text=f"{most:.1f}", note=note))
    return found


def over_arrivals(run: Run) -> float:
    """The average queue of the switches in bytes as packets find it that come: each packet counts as much as any other.

    That is how scripts for ns-2 often average. A port that is busy counts more in it than in an average over time.
    """
    ports = run.ports.filter(~pl.col("tier").str.starts_with("host"))
    came = (ports["tx_packets"] - ports["tx_credits"] + ports["drops_buffer"]).to_numpy()
    return float(np.average(ports["queue_mean_arrivals_bytes"].to_numpy(), weights=came)) if came.sum() else 0.0


def grown(tables: Tables) -> dict[str, judge.Measured]:
    """The growth of the maximum queues with the load."""
    others: dict[str, judge.Measured] = {
        f"grows, {PAPER_NAMES[name]}": growth(tables, name) for name in ("dctcp", "dx", "hull")
    }
    return others | {"ExpressPass": growth(tables, "expresspass")}


def check_largest(tables: Tables) -> Finding:
    """The transports with the smallest and the largest average queue, in every row of Table 3."""
    quantities = largest(tables)
    smallest = {name: one for name, one in quantities.items() if name.startswith("over")}
    text = (
        f"others over ExpressPass {span(smallest)}; the paper's largest over the others "
        f"{span({name: one for name, one in quantities.items() if name not in smallest})}"
    )
    here = claim("expresspass", "table3-average-queue-ordering")
    return judge.judge(here, quantities, text=text, cause=with_windows(tables, largest))


def largest(tables: Tables) -> dict[str, judge.Measured]:
    """The average queues of others over ExpressPass's, and the paper's largest over the others."""
    found: dict[str, judge.Measured] = {}
    for workload, load in [(workload, load) for workload in WORKLOADS for load in LOADS]:
        row = f"{WORKLOADS[workload]} at {load}"
        for other in OTHERS:
            name = f"over ExpressPass, {PAPER_NAMES[other]}, {row}"
            found[name] = queue_ratio(tables, "queue_mean", workload, load, other)
        first = "dctcp" if workload == "data-mining" else "rcp"
        for other in OTHERS:
            if other != first:
                both = (per_seed(tables, "queue_mean", workload, one, load) for one in (first, other))
                found[f"largest over {PAPER_NAMES[other]}, {row}"] = stats.paired_ratio(*both)
    return found


def queue_ratio(tables: Tables, value: str, workload: str, load: float, other: str) -> stats.Estimate:
    """The other's queue over that of ExpressPass."""
    return stats.paired_ratio(*(per_seed(tables, value, workload, one, load) for one in (other, "expresspass")))


def table_of(tables: Tables, here: Claim) -> Finding:
    """Every cell of Table 3 against the paper's; the row says how many are within the tolerance."""
    value = "queue_mean" if "average" in here.id else "queue_max"
    of = partial(cells_of, value=value)
    values = of(tables)
    within = [
        name for name, one in estimates(values).items() if here.holds(one.low, name) and here.holds(one.high, name)
    ]
    by = ", ".join(f"{one} {sum(name.endswith(one) for name in within)}" for one in PAPER_NAMES.values())
    text = f"{len(within)} of {len(values)} cells within the tolerance"
    open_ = judge.Unstated(
        "The paper does not say of which ports the averages are, nor whether over time or over arrivals of packets."
    )
    if value == "queue_max":
        note = f"of 12 each: {by}; the ports are unstated"
        return judge.judge(here, values, text=text, note=note, cause=with_windows(tables, of))
    arriving = cells_of(tables, "queue_mean_arrivals")
    count = sum(all(here.holds(end, name) for end in (one.low, one.high)) for name, one in estimates(arriving).items())
    note = f"over time, of 12 each: {by}; over arrivals {count} of {len(arriving)} cells; the ports are unstated"
    return judge.judge(here, values, text=text, note=note, readings={"E17-29": arriving}, cause=open_)


def estimates(values: dict[str, judge.Measured]) -> dict[str, stats.Estimate]:
    """The cells as estimates."""
    return {name: judge.estimate_of(one) for name, one in values.items()}


def cells_of(tables: Tables, value: str) -> dict[str, judge.Measured]:
    """The cells of Table 3, in KB."""
    return {
        case(workload, load, name): mean(tables, value, workload, name, load).scaled(1e-3)
        for workload in WORKLOADS
        for load in LOADS
        for name in TRANSPORTS
    }


def growth(tables: Tables, transport: str) -> stats.Estimate:
    """The maximum queue at 0.6 over that at 0.2, geometric mean of the workloads."""
    logs = np.mean(
        [
            np.log(per_seed(tables, "queue_max", workload, transport, 0.6))
            - np.log(per_seed(tables, "queue_max", workload, transport, 0.2))
            for workload in WORKLOADS
        ],
        axis=0,
    )
    return stats.paired_ratio([float(np.exp(one)) for one in logs], [1.0] * len(logs))
