"""Runs lists of flows and compares completion times by size with the reference."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from clearway._clearway import Error
from clearway.bars import ProgressCallback
from clearway.metrics import mean, percentile
from clearway.parity.case import Case, FlowList, csv, digest
from clearway.result import Run
from clearway.runner import load_scenario, simulate

#: Seeds of a list's runs: 1 and so many after it. What is compared is the median over them.
SEEDS = 3

#: Limits of the difference from the reference, as a share of it, of mean and 99th percentile.
BUCKET_LIMITS = {"mean_s": 0.10, "p99_s": 0.20}

#: Makes the callback of a run from its label.
Progress = Callable[[str], ProgressCallback | None]


def no_progress(_: str) -> None:
    """A callback that shows no progress."""


@dataclass(frozen=True)
class Row:
    """A size bucket of a list."""

    flow_list: str
    bucket: str
    flows: int
    unfinished: int
    #: Medians over the seeds.
    mean_s: float
    p99_s: float
    #: Mean and 99th percentile of each seed.
    seeds: list[tuple[float, float]] = field(default_factory=list)
    #: Numbers of the authors' simulator; NaN if nobody measured them.
    reference_mean_s: float = float("nan")
    reference_p99_s: float = float("nan")

    @property
    def mean_ratio(self) -> float:
        """Ours as a multiple of theirs."""
        return self.mean_s / self.reference_mean_s

    @property
    def p99_ratio(self) -> float:
        """Ours as a multiple of theirs."""
        return self.p99_s / self.reference_p99_s

    @property
    def agrees(self) -> bool | None:
        """True if mean and percentile are within their limits and every flow ended; `None` without a reference."""
        if np.isnan(self.reference_mean_s):
            return None
        near = abs(self.mean_ratio - 1) <= BUCKET_LIMITS["mean_s"] and abs(self.p99_ratio - 1) <= BUCKET_LIMITS["p99_s"]
        return bool(near) and self.unfinished == 0

    def as_dict(self) -> dict[str, object]:
        """All columns, ratios and verdict included."""
        return {**vars(self), "mean_ratio": self.mean_ratio, "p99_ratio": self.p99_ratio, "agrees": self.agrees}


def run_list(case: Case, path: Path, *, seed: int | None = None, progress: ProgressCallback | None = None) -> Run:
    """Simulates the list of flows in a file, of any format that scenarios read, in the case's scenario."""
    return simulate(load_scenario(case.scenario(path.absolute()), seed=seed), progress=progress)


def measure(case: Case, run: Run, name: str) -> list[Row]:
    """Completion times of a run by size."""
    sizes, fct = run.flows["size_bytes"].to_numpy(), case.fct(run).to_numpy()
    rows = []
    for bucket, low, high in [*case.buckets, ("all", 0, float("inf"))]:
        part = fct[(sizes >= low) & (sizes < high)]
        done = part[~np.isnan(part)]
        if len(part):
            rows.append(Row(name, bucket, len(part), len(part) - len(done), mean(done), percentile(done, 99)))
    return rows


def medians(runs: list[list[Row]]) -> list[Row]:
    """The rows of a list that was run with several seeds, as one."""
    rows = []
    for same in zip(*runs, strict=True):
        seeds = [(row.mean_s, row.p99_s) for row in same]
        mean_s, p99_s = (float(np.median(values)) for values in zip(*seeds, strict=True))
        unfinished = max(row.unfinished for row in same)
        rows.append(replace(same[0], unfinished=unfinished, mean_s=mean_s, p99_s=p99_s, seeds=seeds))
    return rows


def run_seeds(case: Case, path: Path, name: str, seeds: int, progress: Progress) -> list[Row]:
    """Runs a list with so many seeds."""
    runs = []
    for seed in range(1, seeds + 1):
        run = run_list(case, path, seed=seed, progress=progress(f"{name}, seed {seed}"))
        runs.append(measure(case, run, name))
        run.check_whole()
    return medians(runs)


def compare(case: Case, flows: FlowList, *, seeds: int = SEEDS, progress: Progress = no_progress) -> list[Row]:
    """Runs one of the case's lists, beside its reference numbers if there are any."""
    text = csv(flows.make())
    reference = case.reference(flows)
    if reference is not None and digest(text) != reference.sha256:
        raise Error(f"list {flows.name}: it is not the one that was measured (SHA-256 {digest(text)})")
    with tempfile.TemporaryDirectory(prefix="clearway-parity-") as folder:
        path = Path(folder) / f"{flows.name}.csv"
        path.write_text(text, encoding="utf-8")
        rows = run_seeds(case, path, flows.name, seeds, progress)
    return rows if reference is None else [beside(row, reference.buckets) for row in rows]


def beside(row: Row, buckets: dict[str, dict[str, float]]) -> Row:
    """The row with the reference numbers of its bucket."""
    known = buckets.get(row.bucket)
    if known is None:
        return row
    return replace(row, reference_mean_s=known["mean_s"], reference_p99_s=known["p99_s"])


def own_list(case: Case, path: Path, *, seeds: int = SEEDS, progress: Progress = no_progress) -> list[Row]:
    """Runs a list that a user brings: as CSV or in the format of the case's simulator."""
    if not path.is_file():
        raise Error(f"{path}: can't be read as a list of flows: there is no such file")
    return run_seeds(case, path, path.name, seeds, progress)
