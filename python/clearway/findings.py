"""Findings on runs, in sentences: who is ahead and by how much, where data waited, what was lost, what limits.

The sentences are made in Rust (`crates/findings`), so that the terminal, reports, data frames and the live page say the
same. Here the facts are taken from the tables of runs, of which they are made.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import polars as pl

from clearway import _clearway, metrics, units
from clearway.groups import Variation
from clearway.result import Run
from clearway.window import flows, losses, rate, window

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
    ports = metrics.switch_ports(run.ports)
    longest = LONGEST[window(run).is_set]
    worst = ports.sort(longest, "port", descending=[True, False]).head(1).to_dicts()
    rows = flows(run, COLUMNS)
    names = [str(line["traffic"]) for line in run.summary["measure"]["traffic"]]
    entries = flows(run, ["traffic"])["traffic"].cast(pl.Enum(names)).to_physical().to_numpy()
    sized, endless, groups = json.loads(
        _clearway.flow_facts(
            **{column: packed(rows[column].to_numpy()) for column in COLUMNS},
            traffic=packed(entries.astype(np.uint64)),
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
        "queue": queue(run, worst[0], longest) if worst and worst[0][longest] else None,
        "busiest": busiest(run.ports),
        "drops": drops(run),
        "timeouts": losses(run, "timeouts"),
        "pauses": control["pauses"] if control else None,
        "credit_waste": None if np.isnan(waste) else waste,
    }


def goodput(run: Run) -> float | None:
    """The payload that all receivers got by the time of measurement; None over no time."""
    found = rate(sum(line["delivered_bytes"] for line in run.summary["measure"]["traffic"]), window(run).length_s)
    return None if np.isnan(found) else found


def packed(values: np.ndarray) -> bytes:
    """A column as little-endian bytes, eight a value."""
    return bytes(np.ascontiguousarray(values, dtype=values.dtype.newbyteorder("<")).tobytes())


def queue(run: Run, port: Mapping[str, Any], longest: str) -> dict[str, Any]:
    """The longest queue, and how many flows were under way at once to the host behind its port."""
    at_once = None
    if str(port["tier"]).endswith("->host"):
        host = str(port["port"]).partition("->")[2]
        to_host = run.scan("flows").filter(pl.col("dst") == host).select("start_s", "fct_s").collect()
        at_once = _clearway.flows_at_once(*(packed(to_host[column].to_numpy()) for column in ("start_s", "fct_s")))
    return {
        "port": port["port"],
        "bytes": float(port[longest]),
        "dropped": int(port["drops_buffer"]),
        "flows_at_once": at_once,
    }


def busiest(ports: pl.DataFrame) -> dict[str, Any] | None:
    """The port whose link was busy for the largest share of the window of measurement."""
    # Over no time it is NaN, which Polars takes for the greatest number.
    rows = ports.filter(pl.col("window_utilisation").is_between(0, 1, closed="right"))
    found = rows.sort("window_utilisation", "port", descending=[True, False]).head(1).to_dicts()
    return {"port": found[0]["port"], "busy": float(found[0]["window_utilisation"])} if found else None


def drops(run: Run) -> dict[str, int]:
    """The packets that were dropped, credits aside, by reason; in a window that is set their number alone."""
    if window(run).is_set:
        return {"all": int(run.ports["window_drops"].sum()), "full": 0, "random": 0, "down": 0, "sent": 0}
    by_reason = metrics.drops(run.ports)
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
    return metrics.credit_waste(run.scan("flows").select("credits_used", "credits_wasted").collect())
