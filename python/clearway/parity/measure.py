"""Runs lists of flows and compares completion times by size with the reference."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from clearway._clearway import Error
from clearway.metrics import mean, percentile
from clearway.parity.case import Case, FlowList, digest, read_list
from clearway.result import Run
from clearway.runner import ProgressCallback, load_scenario, simulate

#: How far mean and 99th percentile may be from the reference, as a share of it.
BUCKET_LIMITS = {"mean_s": 0.10, "p99_s": 0.20}


@dataclass(frozen=True)
class Row:
    """A size bucket of a list."""

    flow_list: str
    bucket: str
    flows: int
    unfinished: int
    mean_s: float
    p99_s: float
    #: Of the authors' simulator; NaN if nobody measured it.
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
        """Whether both are within their limits and every flow ended; `None` without a reference."""
        if np.isnan(self.reference_mean_s):
            return None
        near = abs(self.mean_ratio - 1) <= BUCKET_LIMITS["mean_s"] and abs(self.p99_ratio - 1) <= BUCKET_LIMITS["p99_s"]
        return bool(near) and self.unfinished == 0

    def as_dict(self) -> dict[str, object]:
        """All columns, ratios and verdict included."""
        return {**vars(self), "mean_ratio": self.mean_ratio, "p99_ratio": self.p99_ratio, "agrees": self.agrees}


def run_list(
    case: Case, text: str, *, origin: str, seed: int | None = None, progress: ProgressCallback | None = None
) -> Run:
    """Simulates a list, given as CSV, in the case's scenario. `origin` stands for it in messages."""
    with tempfile.TemporaryDirectory(prefix="clearway-parity-") as folder:
        path = Path(folder) / "flows.csv"
        path.write_text(text, encoding="utf-8")
        try:
            loaded = load_scenario(case.scenario(path), seed=seed)
        except Error as error:
            raise Error(str(error).replace(str(path), origin)) from None
        return simulate(loaded, progress=progress)


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


def compare(
    case: Case, flows: FlowList, *, seed: int | None = None, progress: ProgressCallback | None = None
) -> list[Row]:
    """Runs one of the case's lists, beside its reference numbers if there are any."""
    with tempfile.TemporaryDirectory(prefix="clearway-parity-") as folder:
        path = Path(folder) / "flows.csv"
        case.write(flows, path)
        text = path.read_text(encoding="utf-8")
    reference = case.reference(flows)
    if reference is None:
        return measure(case, run_list(case, text, origin=flows.name, seed=seed, progress=progress), flows.name)
    if digest(text) != reference.sha256:
        raise Error(f"list {flows.name}: it is not the one that was measured (SHA-256 {digest(text)})")
    run = run_list(case, text, origin=flows.name, seed=seed, progress=progress)
    return [beside(row, reference.buckets) for row in measure(case, run, flows.name)]


def beside(row: Row, buckets: dict[str, dict[str, float]]) -> Row:
    """The row with the reference numbers of its bucket."""
    known = buckets.get(row.bucket)
    if known is None:
        return row
    return Row(**{**vars(row), "reference_mean_s": known["mean_s"], "reference_p99_s": known["p99_s"]})


def own_list(case: Case, path: Path, *, progress: ProgressCallback | None = None) -> list[Row]:
    """Runs a list that a user brings."""
    return measure(case, run_list(case, read_list(case, path), origin=str(path), progress=progress), path.name)
