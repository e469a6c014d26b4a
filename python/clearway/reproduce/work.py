"""Runs the simulations of figures in several processes and keeps what was measured, so that nothing is run twice."""

from __future__ import annotations

import importlib
import json
import multiprocessing
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import polars as pl

from clearway._clearway import Error
from clearway.jobs import sources
from clearway.jobs.parent import start_worker
from clearway.reproduce.figure import Figure, Job, Tables
from clearway.runner import run, simulate

#: Written last: a folder that has it is whole.
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
    """A figure, its jobs, and the folder in which the result of each is kept."""

    figure: Figure
    jobs: list[Job]
    kept: list[Path]

    @property
    def missing(self) -> list[int]:
        """The jobs that have no result yet."""
        return [index for index, path in enumerate(self.kept) if not (path / DONE).exists()]


@dataclass(frozen=True)
class Task:
    """One simulation to be run: everything another process must know."""

    figure: str
    job: Job
    kept: Path


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
    """The jobs of a figure with the folders of their results in `folder`."""
    how = measured(figure)
    return Batch(figure, jobs, [folder / figure.slug / key(figure, job, how) for job in jobs])


def do(figure: Figure, job: Job, kept: Path) -> None:
    """Runs a job and keeps its tables in the folder `kept`."""
    result = run(job.scenario)
    if result.interrupted:
        raise KeyboardInterrupt
    scratch = kept.parent / f".{kept.name}.{os.getpid()}.tmp"
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir(parents=True)
    for name, table in figure.measure(job, result).items():
        table.write_parquet(scratch / f"{name}.parquet", compression="zstd")
    about = {"params": dict(job.params), "hash": result.hash, **result.summary["measured"]}
    (scratch / DONE).write_text(json.dumps(about), "utf-8")
    shutil.rmtree(kept, ignore_errors=True)
    scratch.rename(kept)


def in_worker(task: Task) -> None:
    """Does a task; called in another process."""
    do(known()[task.figure], task.job, task.kept)


@cache
def known() -> dict[str, Figure]:
    """All figures; a process looks for them once."""
    figures: Callable[[], dict[str, Figure]] = importlib.import_module("clearway.reproduce").figures
    return figures()


def work(batches: Sequence[Batch], processes: int, progress: Progress) -> Iterator[Batch]:
    """Runs what has no result yet, and yields each figure as soon as all of its jobs have one.

    Jobs of all figures share the processes, so none is idle while another figure still has jobs. Figures whose runs
    must not share the machine come last, one run at a time.
    """
    for each in batches:
        clean(each)
    shared = [one for one in batches if not one.figure.alone]
    yield from in_pool(shared, processes, progress)
    for each in batches:
        if each.figure.alone:
            for index in each.missing:
                do(each.figure, each.jobs[index], each.kept[index])
                progress(each.figure.name, each.jobs[index].label)
            yield each


def in_pool(batches: Sequence[Batch], processes: int, progress: Progress) -> Iterator[Batch]:
    """`work` for figures whose runs may share the machine."""
    left = {each.figure.name: len(each.missing) for each in batches}
    yield from (each for each in batches if left[each.figure.name] == 0)
    todo = [(each, index) for each in batches for index in each.missing]
    if processes == 1 or len(todo) <= 1:
        for each, index in todo:
            do(each.figure, each.jobs[index], each.kept[index])
            progress(each.figure.name, each.jobs[index].label)
            left[each.figure.name] -= 1
            if left[each.figure.name] == 0:
                yield each
        return
    pool = ProcessPoolExecutor(
        min(processes, len(todo)), multiprocessing.get_context("spawn"), initializer=start_worker
    )
    try:
        running: dict[Future[None], tuple[Batch, int]] = {
            pool.submit(in_worker, Task(each.figure.name, each.jobs[index], each.kept[index])): (
                each,
                index,
            )
            for each, index in todo
        }
        while running:
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                future.result()
                each, index = running.pop(future)
                progress(each.figure.name, each.jobs[index].label)
                left[each.figure.name] -= 1
                if left[each.figure.name] == 0:
                    yield each
    except BaseException:
        for process in list((pool._processes or {}).values()):
            process.terminate()
        raise
    finally:
        pool.shutdown(cancel_futures=True)


def clean(of: Batch) -> None:
    """Removes what processes that were killed left unfinished."""
    for folder in {path.parent for path in of.kept}:
        for scratch in folder.glob(".*.tmp"):
            if not is_running(scratch.name.split(".")[-2]):
                shutil.rmtree(scratch, ignore_errors=True)


def is_running(process: str) -> bool:
    """True if a process with this number exists, so that its unfinished result may still become one."""
    try:
        os.kill(int(process), 0)
    except (ValueError, ProcessLookupError):
        return False
    except PermissionError:
        return True
    return True


def outcome(of: Batch, cached: int) -> Outcome:
    """The results of a batch all of whose jobs are done."""
    kept = [read(path) for path in of.kept]
    hashes = {job.label: (one["hash"], one["cpu_s"]) for job, (one, _) in zip(of.jobs, kept, strict=True)}
    tables = collect(of.jobs, [tables for _, tables in kept])
    return Outcome(tables, cached, sum(one["cpu_s"] for one, _ in kept), hashes)


def read(path: Path) -> tuple[dict[str, Any], Tables]:
    """The result of a job from the folder that `do` made: its hash and cost, and its tables."""
    try:
        about: dict[str, Any] = json.loads((path / DONE).read_text("utf-8"))
        tables = {file.stem: pl.read_parquet(file) for file in sorted(path.glob("*.parquet"))}
        return {"hash": str(about["hash"]), "cpu_s": float(about["cpu_s"])}, tables
    except (KeyError, OSError, TypeError, ValueError, pl.exceptions.PolarsError):
        raise Error(f"{path}: the result of a simulation is damaged; remove this folder and start again") from None


def gather(figure: Figure, jobs: list[Job], folder: Path, processes: int, progress: Progress) -> Outcome:
    """Runs what was not run before of one figure."""
    one = batch(figure, jobs, folder)
    cached = len(jobs) - len(one.missing)
    (done,) = work([one], processes, progress)
    return outcome(done, cached)


def collect(jobs: list[Job], results: list[Tables]) -> Tables:
    """The tables of all jobs one below the other, with the parameters of each job as first columns."""
    parts: dict[str, list[pl.DataFrame]] = {}
    for job, tables in zip(jobs, results, strict=True):
        columns = [pl.lit(value).alias(name) for name, value in job.params.items()]
        for name, table in tables.items():
            parts.setdefault(name, []).append(table.select(*columns, pl.all()))
    return {name: pl.concat(tables, how="vertical_relaxed") for name, tables in parts.items()}


def cores() -> int:
    """Processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
