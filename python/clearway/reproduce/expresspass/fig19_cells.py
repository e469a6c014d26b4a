"""Cells of Fig. 19: the completion times of a workload's size class, of one transport or beside another's."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from clearway.reproduce import stats
from clearway.reproduce.expresspass.realistic import BUCKETS, WORKLOADS, Times
from clearway.reproduce.figure import Tables

LOADS = (0.2, 0.4, 0.6)
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
