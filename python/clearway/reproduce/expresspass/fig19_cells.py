"""Cells of Fig. 19 and Table 3: the transports, what was measured of each, and changes that stand in for some."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import polars as pl

from clearway.reproduce import judge, stats
from clearway.reproduce.expresspass.realistic import BUCKETS, WORKLOADS, Times, expresspass
from clearway.reproduce.figure import Tables

LOADS = (0.2, 0.4, 0.6)
TRANSPORTS: dict[str, dict[str, Any]] = {
    "expresspass": expresspass(1 / 16),
    "rcp": {"name": "rcp"},
    "dctcp": {"name": "dctcp", "g": 0.0625},
    "dx": {"name": "dx"},
    "hull": {"name": "hull"},
}
OTHERS = ("rcp", "dctcp", "dx", "hull")
#: Transports that are run beside them at the highest load: name -> transport, stacks.
HALF, OWN = "expresspass, 1/2", "dctcp, own stack"
BESIDE: dict[str, tuple[dict[str, Any], str]] = {
    HALF: (expresspass(1 / 2), "equal"),
    OWN: ({"name": "dctcp", "g": 0.0625}, "own"),
}
#: The largest window of ns-2's TCP where a script sets none: 20 segments of 1,460 B.
WINDOW = "29200 B"
SMALL = {"dctcp": "dctcp, 20 segments", "hull": "hull, 20 segments"}
SMALL_RUNS = {SMALL[name]: ({**TRANSPORTS[name], "receive_window": WINDOW}, "equal") for name in SMALL}
BESIDE |= SMALL_RUNS
PAPER_NAMES = {"expresspass": "ExpressPass", "rcp": "RCP", "dctcp": "DCTCP", "dx": "DX", "hull": "HULL"}
#: Flows of a class that every run must have for its mean to count.
ENOUGH = 10


def mean(tables: Tables, value: str, workload: str, transport: str, load: float = LOADS[-1]) -> stats.Estimate:
    """A measure over the seeds."""
    return stats.over_seeds(tables["rows"], value, workload=workload, transport=transport, load=load)


def per_seed(tables: Tables, value: str, workload: str, transport: str, load: float = LOADS[-1]) -> list[float]:
    """A measure, one a seed."""
    return stats.per_seed(tables["rows"], value, workload=workload, transport=transport, load=load)


def classes(tables: Tables, workload: str, among: Sequence[str] = tuple(BUCKETS.values())) -> list[str]:
    """The size classes of which every run has enough flows."""
    part = tables["rows"].filter((pl.col("workload") == workload) & (pl.col("load") == LOADS[-1]))
    return [size for size in among if part[f"flows_{size}"].to_numpy().min() >= ENOUGH]


def cells(tables: Tables, among: Sequence[str]) -> list[tuple[str, str]]:
    """Workloads and classes that count."""
    return [(workload, size) for workload in WORKLOADS for size in classes(tables, workload, among)]


def slower(tables: Tables, cell: tuple[str, str], other: str) -> stats.Estimate:
    """The other's mean time over that of ExpressPass."""
    workload, size = cell
    return stats.paired_ratio(*(per_seed(tables, f"fct_{size}", workload, one) for one in (other, "expresspass")))


def late(tables: Tables, cell: tuple[str, str], transport: str) -> list[Times]:
    """Completion times of a class at the highest load, an array for each seed."""
    workload, size = cell
    chosen = (pl.col("workload") == workload) & (pl.col("transport") == transport) & (pl.col("size") == size)
    part = tables["flows"].filter(chosen).sort("seed")
    return [one["fct_s"].to_numpy() for one in part.partition_by("seed", maintain_order=True)]


def named(cell: tuple[str, str]) -> str:
    """A cell as text, such as `Web Server S`."""
    return f"{WORKLOADS[cell[0]]} {cell[1]}"


def instead(tables: Tables, names: Mapping[str, str]) -> Tables:
    """The tables as they are where other runs stand in for those of some transports, at the loads they have."""

    def swapped(table: pl.DataFrame) -> pl.DataFrame:
        loads = table.filter(pl.col("transport").is_in(list(names.values())))["load"].unique().to_list()
        kept = table.filter(~pl.col("transport").is_in(list(names)) | ~pl.col("load").is_in(loads))
        return kept.with_columns(pl.col("transport").replace({other: name for name, other in names.items()}))

    return {**tables, "rows": swapped(tables["rows"]), "flows": swapped(tables["flows"])}


def with_windows(tables: Tables, of: Callable[[Tables], dict[str, judge.Measured]]) -> judge.Change:
    """The change of the largest window of DCTCP and HULL."""
    says = (
        "Windows of DCTCP and HULL have no limit here, and slow start fills buffers at every load; ns-2's TCP has a "
        "limit of 20 segments where a script sets none."
    )
    return judge.Change(says, of(instead(tables, SMALL)))


def span(of: Mapping[str, judge.Measured]) -> str:
    """The least and the greatest of several, as text."""
    means = [judge.estimate_of(one).mean for one in of.values()]
    return f"{min(means):.2f} to {max(means):.2f}"


def case(workload: str, load: float, transport: str) -> str:
    """The name of a cell of Table 3."""
    return f"{WORKLOADS[workload]}/{load}/{PAPER_NAMES[transport]}"
