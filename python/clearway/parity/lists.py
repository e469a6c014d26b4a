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
from clearway.parity.judge import P99_FLOWS, Compared, compared
from clearway.parity.known import causes_of
from clearway.result import Run
from clearway.runner import load_scenario, simulate

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
    #: Mean and 99th percentile of each seed.
    draws: list[tuple[float, float]]
    #: Mean and 99th percentile of each run of the authors' simulator; none if nobody measured them.
    reference: list[tuple[float, float]] = field(default_factory=list)
    #: Why means differ, and why 99th percentiles do, where that is known.
    causes: dict[str, str] = field(default_factory=dict)

    @property
    def has_p99(self) -> bool:
        """True if the bucket has flows enough for a 99th percentile."""
        return self.flows >= P99_FLOWS

    @property
    def mean_s(self) -> float:
        """The mean over the seeds of the mean completion time."""
        return float(np.mean([mean for mean, _ in self.draws]))

    @property
    def p99_s(self) -> float:
        """The mean over the seeds of the 99th percentile; NaN if the bucket has too few flows for one."""
        return float(np.mean([p99 for _, p99 in self.draws])) if self.has_p99 else float("nan")

    @property
    def measures(self) -> dict[str, Compared]:
        """The judged numbers on both sides: the mean, and the 99th percentile if there are flows enough for it."""
        if not self.reference:
            return {}
        names = ("mean", "p99") if self.has_p99 else ("mean",)
        sides = [list(zip(*draws, strict=True)) for draws in (self.draws, self.reference)]
        return {name: compared(sides[0][place], sides[1][place]) for place, name in enumerate(names)}

    @property
    def differs(self) -> list[str]:
        """The measures of which the intervals do not overlap."""
        return [name for name, both in self.measures.items() if both.agrees is False]

    @property
    def agrees(self) -> bool | None:
        """True if every flow ended and all intervals overlap; `None` without a reference or without intervals."""
        if not self.measures or any(both.agrees is None for both in self.measures.values()):
            return None
        return not self.differs and self.unfinished == 0

    @property
    def passes(self) -> bool:
        """False if flows did not end, or if a measure differs by more than a little for a reason that is not known."""
        excused = (name in self.causes or self.measures[name].is_small for name in self.differs)
        return not self.measures or (self.unfinished == 0 and all(excused))

    def as_dict(self) -> dict[str, object]:
        """All columns, intervals and verdict included."""
        both = {
            name: {"ours": vars(one.ours), "theirs": vars(one.theirs), "ratio": one.ratio, "agrees": one.agrees}
            for name, one in self.measures.items()
        }
        own = {"mean_s": self.mean_s, "p99_s": self.p99_s if self.has_p99 else None}
        return {**vars(self), **own, "measures": both, "agrees": self.agrees, "passes": self.passes}


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
            rows.append(Row(name, bucket, len(part), len(part) - len(done), [(mean(done), percentile(done, 99))]))
    return rows


def joined(runs: list[list[Row]]) -> list[Row]:
    """The rows of a list that was run with several seeds, as one."""
    return [
        replace(same[0], unfinished=max(row.unfinished for row in same), draws=[row.draws[0] for row in same])
        for same in zip(*runs, strict=True)
    ]


def run_seeds(case: Case, path: Path, name: str, seeds: int, progress: Progress) -> list[Row]:
    """Runs a list with so many seeds."""
    runs = []
    for seed in range(1, seeds + 1):
        run = run_list(case, path, seed=seed, progress=progress(f"{name}, seed {seed}"))
        runs.append(measure(case, run, name))
        run.check_whole()
    return joined(runs)


def compare(case: Case, flows: FlowList, *, seeds: int | None = None, progress: Progress = no_progress) -> list[Row]:
    """Runs one of the case's lists with so many seeds or as many as the case has, beside its reference numbers."""
    text = csv(flows.make())
    reference = case.reference(flows)
    if reference is not None and digest(text) != reference.sha256:
        raise Error(f"list {flows.name}: it is not the one that was measured (SHA-256 {digest(text)})")
    with tempfile.TemporaryDirectory(prefix="clearway-parity-") as folder:
        path = Path(folder) / f"{flows.name}.csv"
        path.write_text(text, encoding="utf-8")
        rows = run_seeds(case, path, flows.name, seeds or case.seeds, progress)
    return rows if reference is None else [beside(case, row, reference.draws) for row in rows]


def beside(case: Case, row: Row, draws: list[dict[str, dict[str, float]]]) -> Row:
    """The row with the reference numbers of its bucket, and with the causes of differences that are known."""
    found = [draw[row.bucket] for draw in draws if row.bucket in draw]
    reference = [(bucket["mean_s"], bucket["p99_s"]) for bucket in found]
    return replace(row, reference=reference, causes=causes_of(case, row.flow_list, row.bucket))


def own_list(case: Case, path: Path, *, seeds: int | None = None, progress: Progress = no_progress) -> list[Row]:
    """Runs a list that a user brings: as CSV or in the format of the case's simulator."""
    if not path.is_file():
        raise Error(f"{path}: can't be read as a list of flows: there is no such file")
    return run_seeds(case, path, path.name, seeds or case.seeds, progress)
