"""The rows of a sweep as facts on runs, of which `clearway.caveats` makes warnings as it does for a comparison."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import polars as pl

from clearway.assumptions import NETWORK, transport_names
from clearway.caveats import Known

#: Axes of repetitions.
SEED = "seed"


def of_frames(runs: pl.DataFrame, traffic: pl.DataFrame, axes: Mapping[str, str]) -> list[Known]:
    """The facts on the runs of a sweep: by its rows of runs and of traffic entries, and its axes by key."""
    rows = list(runs.iter_rows(named=True))
    setups = [setup_of(row["assumptions"] or "{}") for row in rows]
    labels = [transport_names(setup) or str(row.get("transport", "")) for row, setup in zip(rows, setups, strict=True)]
    counts: dict[tuple[object, ...], dict[str, int]] = {}
    for row in traffic.iter_rows(named=True):
        counts.setdefault(values(row, axes.values()), {})[row["traffic"]] = row["flows"]
    place = [name for key, name in axes.items() if key != SEED and not is_of_transport(key, name, rows, labels)]
    elsewhere = [
        name for key, name in axes.items() if name in place and not key.startswith(tuple(f"{one}." for one in NETWORK))
    ]
    found = []
    for row, label, setup in zip(rows, labels, setups, strict=True):
        flows = counts.get(values(row, axes.values()), {})
        found.append(
            Known(
                transport=label,
                ended=row["ended"],
                completed=row["flows_completed"],
                unfinished=row["unfinished"] or 0,
                flows=flows if len(flows) > 1 else {"": row["flows_completed"]},
                setup=setup,
                place=values(row, place),
                elsewhere=values(row, elsewhere),
            )
        )
    return found


@lru_cache(maxsize=1024)
def setup_of(text: str) -> dict[str, Any]:
    """The assumptions of a run by their JSON, of which nothing is to be changed: runs of many seeds share them."""
    found: dict[str, Any] = json.loads(text)
    return found


def values(row: Mapping[str, Any], names: Any) -> tuple[object, ...]:
    """The values of a row in some columns."""
    return tuple(row[name] for name in names)


def is_of_transport(key: str, name: str, rows: list[dict[str, Any]], labels: list[str]) -> bool:
    """True for an axis that tells transports apart: one of them or of their keys, or one that goes together with them.

    Such are named cases, of which each sets one transport.
    """
    if key == "transport" or key.startswith("transport."):
        return True
    found: dict[object, set[str]] = {}
    for row, label in zip(rows, labels, strict=True):
        found.setdefault(row[name], set()).add(label)
    return len(found) > 1 and len({*labels}) > 1 and all(len(transports) == 1 for transports in found.values())


def of_older(runs: pl.DataFrame) -> list[str]:
    """A warning on tables of a version that kept less of each run."""
    missing = runs["assumptions"].null_count()
    if not missing:
        return []
    return [
        "The tables of this sweep were written by an earlier Clearway, which kept neither what the runs assume nor "
        "their traffic entries, so warnings on unequal networks and on flows that were not delivered are absent. Run "
        "the same sweep again to have them."
    ]
