"""Findings on runs, in sentences: who is ahead and by how much, where data waited, what was lost, what limits.

The sentences are made in Rust (`crates/findings`), so that the terminal, reports, data frames and the live page say the
same. Here the facts are taken from the tables of runs, of which they are made.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from clearway import _clearway, few, metrics, tables, units
from clearway.comparison import credit_counts
from clearway.few import Array, packed
from clearway.lazy import WhenUsed
from clearway.result import Run
from clearway.window import losses, numbers, places, rate, window

if TYPE_CHECKING:
    import numpy as np
    import polars as pl

    from clearway.groups import Variation
else:
    np = WhenUsed("numpy")
    pl = WhenUsed("polars")

#: The columns of flows that facts are made of.
COLUMNS = ("size_bytes", "start_s", "fct_s", "slowdown", "delivered_bytes")


#: The column of the longest queue of a port: of the whole run, and of a window of measurement that is set.
LONGEST = {False: "queue_max_bytes", True: "window_queue_max_bytes"}


def findings(runs: Mapping[str, Run] | Iterable[Run]) -> list[str]:
    """The findings on runs of one scenario: on a run alone, or on transports beside each other.

    A transport is called ahead where all flows completed and the 95 % interval of the ratio of mean completion times
    leaves out 1. Runs of one transport that differ in their seeds count together, and the interval is over seeds. A
    mapping names the transports.
    """
    if isinstance(runs, Mapping):
        named = [(run.label if name.startswith(f"{run.label}, seed ") else name, run) for name, run in runs.items()]
    else:
        named = [(run.label, run) for run in runs]
    return [text for _, text in _clearway.findings(json.dumps([facts(name, run) for name, run in named]))]


def variation_findings(variation: Variation) -> list[str]:
    """The findings on runs of one scenario over the values of one key."""
    points = [
        {"at": [(variation.key.rpartition(".")[2], units.value(x, variation.unit))], "facts": facts(label, run)}
        for x in variation.values
        for label, line in variation.lines.items()
        for at, run in line
        if at == x
    ]
    return [text for _, text in _clearway.sweep_findings(json.dumps(points))]


def facts(name: str, run: Run) -> dict[str, Any]:
    """The facts on a run, as `crates/findings` takes them: of the window of measurement where the scenario sets it."""
    ports = run.held("ports")
    longest = LONGEST[window(run).is_set]
    worst = metrics.worst_row(ports, longest)
    rows = dict(zip(COLUMNS, numbers(run, COLUMNS), strict=True))
    names = [str(line["traffic"]) for line in run.summary["measure"]["traffic"]]
    entries = places(run, "traffic", names)
    sized, endless, groups = json.loads(
        _clearway.flow_facts(
            **{column: packed(rows[column]) for column in COLUMNS},
            traffic=packed(entries),
            names=names,
            end_s=run.summary["simulated_s"],
        )
    )
    control = run.summary.get("flow_control")
    waste = credit_waste(run)
    return {
        "name": name,
        "seed": run.summary["seed"],
        "ended": run.summary["ended"],
        "flows": sized,
        "endless": endless,
        "groups": groups,
        "goodput_bps": goodput(run),
        "queue": queue(run, worst, longest) if worst is not None and tables.values(ports, longest)[worst] else None,
        "busiest": busiest(ports),
        "drops": drops(run),
        "timeouts": losses(run, "timeouts"),
        "pauses": control["pauses"] if control else None,
        "credit_waste": None if math.isnan(waste) else waste,
    }


def goodput(run: Run) -> float | None:
    """The payload that all receivers got by the time of measurement; None over no time."""
    found = rate(sum(line["delivered_bytes"] for line in run.summary["measure"]["traffic"]), window(run).length_s)
    return None if math.isnan(found) else found


def queue(run: Run, row: int, longest: str) -> dict[str, Any]:
    """The longest queue, at the port of a row, and how many flows were under way at once to the host behind it."""
    ports, at_once = run.held("ports"), None
    port, tier = (tables.texts_at(ports, name, [row])[0] for name in ("port", "tier"))
    if tier.endswith("->host"):
        at_once = _clearway.flows_at_once(*map(packed, to_host(run, port.partition("->")[2])))
    return {
        "port": port,
        "bytes": float(tables.values(ports, longest)[row]),
        "dropped": int(tables.values(ports, "drops_buffer")[row]),
        "flows_at_once": at_once,
    }


def to_host(run: Run, host: str) -> list[Array]:
    """The starts and completion times of all flows to a host."""
    wanted, stored = ("start_s", "fct_s"), run.stored("flows")
    if isinstance(stored, tables.Held):
        mask = few.looked_up(stored.values("dst"), [name == host for name in stored.texts("dst")])
        return [stored.values(name)[mask] for name in wanted]
    found = run.scan("flows").filter(pl.col("dst") == host).select(wanted).collect()
    return [found[name].to_numpy() for name in wanted]


def busiest(ports: tables.Table) -> dict[str, Any] | None:
    """The port whose link was busy for the largest share of the window of measurement."""
    used = tables.values(ports, "window_utilisation")  # Over no time it is NaN.
    among = few.true_places((used > 0) & (used <= 1))
    if not len(among):
        return None
    row = metrics.first_largest(ports, "window_utilisation", among)
    return {"port": tables.texts_at(ports, "port", [row])[0], "busy": float(used[row])}


def drops(run: Run) -> dict[str, int]:
    """The packets that were dropped, credits aside, by reason; in a window that is set their number alone."""
    if window(run).is_set:
        return {"all": metrics.total(run.held("ports"), "window_drops"), "full": 0, "random": 0, "down": 0, "sent": 0}
    by_reason = metrics.drops(run.held("ports"))
    by_reason.pop("credit", None)
    sent = run.summary["packets"]["sent"] - run.summary["credits"]["sent"]
    known = {
        name: by_reason.get(reason, 0) for name, reason in (("full", "buffer"), ("random", "loss"), ("down", "down"))
    }
    return {"all": sum(by_reason.values()), **known, "sent": sent}


def credit_waste(run: Run) -> float:
    """The credits that found nothing to send, as a share of those that arrived; NaN without credits."""
    if window(run).is_set:
        lines = run.summary["measure"]["traffic"]
        used, wasted = (sum(line[name] for line in lines) for name in ("credits_used", "credits_wasted"))
        return wasted / (used + wasted) if used + wasted else float("nan")
    found = credit_counts(run)
    return metrics.wasted_share(found["credits_used"], found["credits_wasted"])
