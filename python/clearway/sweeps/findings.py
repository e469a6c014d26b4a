"""Findings on a sweep, in sentences: where who is ahead, how the longest queue grows, where packets are lost."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from clearway import _clearway
from clearway.assumptions import transport_names
from clearway.sweeps.known import SEED, is_of_transport, setup_of
from clearway.sweeps.layout import amount_text, without_unit
from clearway.sweeps.result import Sweep


def findings(sweep: Sweep) -> list[str]:
    """The findings on a sweep. At a point one is called ahead where three seeds or more tell it from all others."""
    rows = list(sweep.frame.iter_rows(named=True))
    if not rows:
        return []
    setups = [setup_of(row["assumptions"] or "{}") for row in rows]
    labels = [transport_names(setup) or str(row.get("transport", "")) for row, setup in zip(rows, setups, strict=True)]
    varied = {key: name for key, name in sweep.axes.items() if key != SEED and varies(rows, name)}
    cases = compared(rows, varied, labels)
    places = [name for name in varied.values() if not goes_with(rows, name, cases)]
    shown = next((name for name in varied.values() if name not in places and isinstance(rows[0][name], str)), None)
    cases = [shown] if shown else cases
    units = {name: sweep.described["runs"][name].unit for name in places}
    for name in reversed(places):
        if sweep.frame[name].dtype.is_numeric():
            order = sorted(range(len(rows)), key=lambda at, name=name: rows[at][name])  # type: ignore[misc]
            rows, labels = [rows[at] for at in order], [labels[at] for at in order]
    points = [
        {
            "at": [(without_unit(name, units[name]), amount_text(row[name], units[name])) for name in places],
            "facts": facts(row, ", ".join(str(row[name]) for name in cases) or label, sweep.axes.get(SEED)),
        }
        for row, label in zip(rows, labels, strict=True)
    ]
    return [text for _, text in _clearway.sweep_findings(json.dumps(points))]


def compared(rows: list[dict[str, Any]], varied: Mapping[str, str], labels: list[str]) -> list[str]:
    """The columns of the axes that tell what is compared: transports and their keys, else the first of names."""
    found = [name for key, name in varied.items() if is_of_transport(key, name, rows, labels)]
    return found or [name for name in varied.values() if isinstance(rows[0][name], str)][:1]


def goes_with(rows: list[dict[str, Any]], name: str, cases: list[str]) -> bool:
    """True if an axis and those that are compared have one value for each other's, as the names of cases do."""
    pairs = {(str(row[name]), tuple(str(row[case]) for case in cases)) for row in rows}
    return bool(cases) and len(pairs) == len({one for one, _ in pairs}) == len({other for _, other in pairs})


def varies(rows: list[dict[str, Any]], name: str) -> bool:
    """True if an axis has more than one value."""
    return len({str(row[name]) for row in rows}) > 1


def facts(row: Mapping[str, Any], name: str, seed: str | None) -> dict[str, Any]:
    """The facts on a run, as `crates/findings` takes them, from its row of the frame."""
    known = {key: None if row[key] != row[key] else row[key] for key in ("fct_mean_s", "fct_p99_s")}
    # Endless flows count as completed nowhere, and flows of a fixed size alone have completion times.
    completed = row["flows_completed"]
    parts = [{"flows": completed, "sum_s": known["fct_mean_s"] * completed}] if known["fct_mean_s"] else []
    queue = {"port": row["queue_max_port"], "bytes": float(row["queue_max_bytes"]), "dropped": 0, "flows_at_once": None}
    return {
        "name": name,
        "seed": row[seed] if seed else 0,
        "ended": row["ended"],
        "flows": {
            "completed": completed,
            "unfinished": row["unfinished"] or 0,
            "mean_s": known["fct_mean_s"],
            "p99_s": known["fct_p99_s"],
            "parts": parts,
        },
        "groups": [],
        "goodput_bps": None if row["goodput_bps"] != row["goodput_bps"] else row["goodput_bps"],
        "queue": queue if row["queue_max_bytes"] else None,
        "drops": {"all": row["drops"]},
        "timeouts": row["timeouts"],
    }
