"""Runs the simulations of figures in several processes and keeps what was measured, so that nothing is run twice."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import polars as pl

from clearway._clearway import Error
from clearway.jobs import sources
from clearway.jobs.processes import Processes
from clearway.jobs.store import Store
from clearway.jobs.workers import InProcess, Task, Workers, cores
from clearway.reproduce.figure import Figure, Job, Tables
from clearway.reproduce.known import figures
from clearway.runner import run, simulate

__all__ = ["cores"]

#: The file of a result that says how it was asked for, its hash and its cost.
DONE = "done.json"


@dataclass(frozen=True)
class Outcome:
    """The results of all jobs of a figure."""

    tables: Tables
    cached: int
    cpu_s: float
    #: The hash of each simulation, by its label, and the CPU seconds that it took.
    hashes: dict[str, tuple[str, float]]


@dataclass(frozen=True)
class Batch:
    """A figure, its jobs, and the keys of their results in a store."""

    figure: Figure
    jobs: list[Job]
    keys: list[str]
    store: Store
    #: The jobs that had no result when the batch was made.
    missing: list[int]


#: Hears of each simulation that is done: the figure's name and the job's label.
Progress = Callable[[str, str], object]


def measured(figure: Figure) -> str:
    """Hash of how a figure's results are made and measured: the code behind a run, and the figure's own."""
    return sources.fingerprint(simulate, figure.measure)


def key(figure: Figure, job: Job, how: str) -> str:
    """The key of a job's result: hash of its scenario, files that it names, simulator, and `how` it is measured."""
    scenario = sources.scenario_text({"params": job.params, "scenario": job.scenario})
    return sources.digest(figure.name, scenario, sources.engine_hash(), how)


def batch(figure: Figure, jobs: list[Job], folder: Path) -> Batch:
    """The jobs of a figure, with the results that `folder` has of them."""
    how, store = measured(figure), Store(folder)
    keys = [key(figure, job, how) for job in jobs]
    return Batch(figure, jobs, keys, store, [at for at, one in enumerate(keys) if store.get(one) is None])


def do(figure: Figure | str, job: Job, folder: str, key: str) -> None:
    """Runs a job, unless another process does so too, and keeps its tables in the store.

    The figure goes by its name where this is another process than that of the caller.
    """
    store = Store(folder)
    with store.claim(key):
        if key not in store:
            keep(known()[figure] if isinstance(figure, str) else figure, job, store, key)


def keep(figure: Figure, job: Job, store: Store, key: str) -> None:
    """Runs a job and keeps its tables in the store."""
    result = run(job.scenario)
    result.check_whole()
    about = {"params": dict(job.params), "hash": result.hash, **result.summary["measured"]}
    tables = figure.measure(job, result)

    def write(draft: Path) -> None:
        for name, table in tables.items():
            table.write_parquet(draft / f"{name}.parquet", compression="zstd")
        (draft / DONE).write_text(json.dumps(about), "utf-8")

    store.put(key, write)


@cache
def known() -> dict[str, Figure]:
    """All figures; a process looks for them once."""
    return figures()


def work(batches: Sequence[Batch], processes: int, progress: Progress) -> Iterator[Batch]:
    """Runs what has no result yet, and yields each figure as soon as all of its jobs have one.

    Jobs of all figures share the processes, so none is idle while another figure still has jobs. Figures whose runs
    must not share the machine come last, one run at a time.
    """
    for each in batches:
        each.store.clean()
    shared = [one for one in batches if not one.figure.alone]
    todo = sum(len(each.missing) for each in shared)
    workers = Processes(min(processes, todo)) if min(processes, todo) > 1 else InProcess()
    with closing(workers):
        yield from do_all(shared, workers, progress)
    yield from do_all([one for one in batches if one.figure.alone], InProcess(), progress)


def do_all(batches: Sequence[Batch], workers: Workers, progress: Progress) -> Iterator[Batch]:
    """Has the missing jobs of figures done, and yields each figure when all of its jobs are."""
    left = [len(each.missing) for each in batches]
    yield from (each for each, missing in zip(batches, left, strict=True) if not missing)
    # Batches of one figure at several sizes may share a simulation.
    todo: dict[str, list[tuple[int, int]]] = {}
    for number, each in enumerate(batches):
        for index in each.missing:
            todo.setdefault(each.keys[index], []).append((number, index))
    here = isinstance(workers, InProcess)
    tasks = []
    for key, [(number, index), *_] in todo.items():
        each, job = batches[number], batches[number].jobs[index]
        name = each.figure if here else each.figure.name
        tasks.append(Task(key, do, (name, job, str(each.store.folder), key)))
    with closing(workers.run(tasks)) as answers:
        for done in answers:
            for number, index in todo[done.task.name]:
                each = batches[number]
                if done.failure:
                    error = Error(f"{each.figure.name}, {each.jobs[index].label}: {done.failure.message}")
                    error.add_note(done.failure.where)
                    raise error
                progress(each.figure.name, each.jobs[index].label)
                left[number] -= 1
                if left[number] == 0:
                    yield each


def outcome(of: Batch) -> Outcome:
    """The results of a batch all of whose jobs are done."""
    kept = [read(of.store, key) for key in of.keys]
    hashes = {job.label: (one["hash"], one["cpu_s"]) for job, (one, _) in zip(of.jobs, kept, strict=True)}
    tables = collect(of.jobs, [tables for _, tables in kept])
    return Outcome(tables, len(of.jobs) - len(of.missing), sum(one["cpu_s"] for one, _ in kept), hashes)


def read(store: Store, key: str) -> tuple[dict[str, Any], Tables]:
    """The result of a job that `do` kept: its hash and cost, and its tables."""
    path = store.get(key)
    if path is None:
        raise Error(f"{store.path(key)}: the result of a simulation was damaged or removed meanwhile; start again")
    about: dict[str, Any] = json.loads((path / DONE).read_text("utf-8"))
    tables = {file.stem: pl.read_parquet(file) for file in sorted(path.glob("*.parquet"))}
    return {"hash": str(about["hash"]), "cpu_s": float(about["cpu_s"])}, tables


def gather(figure: Figure, jobs: list[Job], folder: Path, processes: int, progress: Progress) -> Outcome:
    """Runs what was not run before of one figure."""
    (done,) = work([batch(figure, jobs, folder)], processes, progress)
    return outcome(done)


def collect(jobs: list[Job], results: list[Tables]) -> Tables:
    """The tables of all jobs one below the other, with the parameters of each job as first columns."""
    parts: dict[str, list[pl.DataFrame]] = {}
    for job, tables in zip(jobs, results, strict=True):
        columns = [pl.lit(value).alias(name) for name, value in job.params.items()]
        for name, table in tables.items():
            parts.setdefault(name, []).append(table.select(*columns, pl.all()))
    return {name: pl.concat(tables, how="vertical_relaxed") for name, tables in parts.items()}
