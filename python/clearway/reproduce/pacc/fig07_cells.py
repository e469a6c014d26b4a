"""Cells of Fig. 7 and 8: the completion times of a size class at a load, of one transport or beside another's."""

from __future__ import annotations

import math
from collections.abc import Iterable

import polars as pl

from clearway.reproduce import stats
from clearway.reproduce.figure import Tables
from clearway.reproduce.pacc.setup import PAPER
from clearway.reproduce.stats import Estimate

#: Name in the paper -> built-in workload.
WORKLOADS = {"WebSearch": "web-search-hpcc", "FB_Hadoop": "hadoop-hpcc"}
MIDDLE = 0.5
#: Size classes.
SMALL, LARGE, HUGE, ALL = "up to 100 KB", "above 100 KB", "above 3 MB", "all"
CLASSES = (ALL, SMALL, LARGE, HUGE)
STATISTICS = {"average": "mean_s", "99th percentile": "p99_s"}


def of(tables: Tables, workload: str, load: float, name: str, bucket: str = ALL, column: str = "mean_s") -> list[float]:
    """A statistic of a transport, one value a seed."""
    part = tables["sizes"].filter(
        (pl.col("workload") == workload)
        & (pl.col("load") == load)
        & (pl.col("transport") == name)
        & (pl.col("bucket") == bucket)
    )
    return [float(value) for value in part.sort("seed")[column]]


def loads(tables: Tables, *names: str) -> list[float]:
    """The loads of these runs: those at which each of the transports ran, of all runs without names."""
    rows = tables["rows"]
    found = set(rows["load"])
    for name in names:
        found &= set(rows.filter(pl.col("transport") == name)["load"])
    return sorted(found)


def reduced(
    tables: Tables, workload: str, other: str, bucket: str = ALL, column: str = "mean_s", ours: str = "pacc"
) -> Estimate:
    """The percentage by which ours is below the other: the largest over loads."""
    found = [
        stats.reduction(
            of(tables, workload, load, ours, bucket, column), of(tables, workload, load, other, bucket, column)
        )
        for load in loads(tables, ours, other)
    ]
    return max(found, key=lambda one: one.mean).scaled(100)


def best_other(
    tables: Tables, workload: str, bucket: str, column: str, ours: str = "pacc", others: Iterable[str] = PAPER.values()
) -> Estimate:
    """The percentage by which ours is below the best of the others: the largest over loads."""
    found = []
    for load in loads(tables, ours, *others):
        rivals = {name: of(tables, workload, load, name, bucket, column) for name in others}
        best = min(rivals, key=lambda name: sum(rivals[name]))
        found.append(stats.reduction(of(tables, workload, load, ours, bucket, column), rivals[best]))
    return max(found, key=lambda one: one.mean).scaled(100)


def over(tables: Tables, cell: tuple[str, float, str, str], ours: str, other: str) -> Estimate:
    """Ours over the other in a cell, paired by seed: workload, load, class, statistic."""
    workload, load, bucket, column = cell
    return stats.paired_ratio(
        of(tables, workload, load, ours, bucket, column), of(tables, workload, load, other, bucket, column)
    )


def words(cell: tuple[str, float, str, str]) -> str:
    """A cell as the name of a quantity has it: `WebSearch, 0.5, all, average`."""
    workload, load, bucket, column = cell
    return f"{workload}, {load}, {bucket}, {'average' if column == 'mean_s' else 'tail'}"


def cells(tables: Tables, buckets: tuple[str, ...] = (ALL,), *names: str) -> list[tuple[str, float, str, str]]:
    """The cells of the figure in which each of the transports has a value: workload, load, class, statistic.

    A 99th percentile takes 1,000 flows, which a class of a small run may not have.
    """
    return [
        (workload, load, bucket, column)
        for column in STATISTICS.values()
        for workload in WORKLOADS
        for load in loads(tables, *names)
        for bucket in buckets
        if not any(math.isnan(value) for name in names for value in of(tables, workload, load, name, bucket, column))
    ]
