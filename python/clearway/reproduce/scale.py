"""The scales at which figures are run, what each costs, and which share of the paper's size it has.

| scale | what it is |
|---|---|
| `quick` | small enough for continuous integration, which computes it again as a regression test |
| `paper` | every dimension as the paper states it; the page of a figure says which one is not stated |
| `full` | as `paper`, with four times as many seeds |

A figure that would take more than an hour at the paper's size has smaller sizes (`Figure.sizes`). The scale `paper`
runs it at each of them: the largest decides, the others show where its numbers lead. `full` has the paper's size.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cache

from clearway._clearway import Error
from clearway.machine import memory_limit
from clearway.reproduce.figure import Figure, Job
from clearway.runner import load_scenario

SCALES = ("quick", "paper", "full")
#: The seeds of `full` for each one of `paper`.
TIMES = 4


def jobs_at(figure: Figure, scale: str) -> list[Job]:
    """The simulations of a figure at a scale."""
    if scale not in SCALES:
        raise Error(f"scale = {scale!r}: write {', '.join(SCALES[:-1])} or {SCALES[-1]}")
    if scale == "paper" and figure.sizes:
        return figure.at(figure.sizes[-1])
    if scale != "full":
        return figure.jobs(scale)
    once = figure.jobs("paper")
    most = max((job.params.get("seed", 0) for job in once), default=0)
    return [more(job, turn * most) for turn in range(TIMES) for job in once if turn == 0 or "seed" in job.params]


def smaller(figure: Figure, scale: str) -> list[list[Job]]:
    """The simulations at the sizes that only show where the numbers lead, from small to large."""
    return [figure.at(size) for size in figure.sizes[:-1]] if scale == "paper" else []


def all_jobs(figure: Figure, scale: str) -> list[Job]:
    """The simulations of a figure at a scale, with those at smaller sizes."""
    return [*jobs_at(figure, scale), *(job for jobs in smaller(figure, scale) for job in jobs)]


def more(job: Job, later: int) -> Job:
    """A simulation with a later seed in its place."""
    if not later:
        return job
    seed = job.params["seed"] + later
    scenario = {**job.scenario, "seed": job.scenario["seed"] + later} if "seed" in job.scenario else job.scenario
    return replace(job, params={**job.params, "seed": seed}, scenario=scenario)


@dataclass(frozen=True)
class Cost:
    """The cost of the simulations of a figure, by the estimate of each."""

    runs: int = 0
    cpu_s: float = 0.0
    #: Bytes of the simulation that takes the most memory.
    memory_bytes: int = 0
    #: Bytes that the applications of the largest simulation send.
    payload_bytes: int = 0

    def __add__(self, other: Cost) -> Cost:
        return Cost(
            self.runs + other.runs,
            self.cpu_s + other.cpu_s,
            max(self.memory_bytes, other.memory_bytes),
            max(self.payload_bytes, other.payload_bytes),
        )


def cost(jobs: Iterable[Job]) -> Cost:
    """The cost of simulations. Those that differ by their seed alone are taken to cost the same."""
    total = Cost()
    for job in jobs:
        total += cost_of(json.dumps({**job.scenario, "seed": 1}, sort_keys=True))
    return total


@cache
def limit() -> int | None:
    """The memory that a run may take, looked up once and not for each of thousands of scenarios."""
    return memory_limit()


@cache
def cost_of(scenario: str) -> Cost:
    """The cost of one simulation."""
    known = load_scenario(json.loads(scenario), memory=limit()).estimate()
    return Cost(1, known["cpu_s"], known["memory_bytes"], known["payload_bytes"])


def share(figure: Figure, jobs: Iterable[Job]) -> float:
    """The size of the largest of these simulations over that at the paper's size, by the bytes that applications send.

    1 for figures without simulations.
    """
    paper = cost(figure.jobs("paper")).payload_bytes
    return 1.0 if not paper else cost(jobs).payload_bytes / paper


def share_text(share: float) -> str:
    """A share of the paper's size, as people write it."""
    if 0.95 <= share <= 1.05:
        return "the paper's size"
    return f"{share:.3g} times the paper's size" if share > 1 else f"1/{digits(1 / share)} of the paper's size"


def digits(value: float) -> str:
    """A number with two digits that count."""
    return f"{value:.1f}" if value < 10 else f"{float(f'{value:.2g}'):,.0f}"
