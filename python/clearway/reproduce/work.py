"""Runs the simulations of a figure in several processes and keeps what was measured, so that nothing is run twice."""

from __future__ import annotations

import importlib
import inspect
import json
import multiprocessing
import os
import secrets
import shutil
import signal
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import dataclass
from functools import cache
from hashlib import blake2b
from pathlib import Path

import polars as pl

from clearway import _clearway, metrics
from clearway.reproduce import measures
from clearway.reproduce.figure import Figure, Job, Tables
from clearway.runner import run

#: Written last: a folder that has it is whole.
DONE = "done.json"


@dataclass(frozen=True)
class Outcome:
    """What the jobs of a figure gave."""

    tables: Tables
    cached: int
    cpu_s: float


@cache
def engine_hash() -> str:
    """Hash of the simulator, as it was compiled."""
    return blake2b(Path(str(_clearway.__file__)).read_bytes(), digest_size=16).hexdigest()


def key(figure: Figure, job: Job) -> str:
    """What the result of a job depends on: scenario, simulator, and how it is measured."""
    sources = [inspect.getsource(figure.measure), inspect.getsource(measures), inspect.getsource(metrics)]
    text = json.dumps([figure.name, dict(job.params), job.scenario, engine_hash(), sources], sort_keys=True)
    return blake2b(text.encode(), digest_size=16).hexdigest()


def do(figure: Figure, job: Job, kept: Path) -> None:
    """Runs a job and keeps its tables in the folder `kept`."""
    result = run(job.scenario)
    if result.interrupted:
        raise KeyboardInterrupt
    scratch = kept.parent / f".{kept.name}.{secrets.token_hex(4)}.tmp"
    scratch.mkdir(parents=True)
    for name, table in figure.measure(job, result).items():
        table.write_parquet(scratch / f"{name}.parquet", compression="zstd")
    about = {"params": dict(job.params), "hash": result.hash, **result.summary["measured"]}
    (scratch / DONE).write_text(json.dumps(about), "utf-8")
    shutil.rmtree(kept, ignore_errors=True)
    scratch.rename(kept)


def in_worker(module: str, job: Job, kept: Path) -> None:
    """`do` in another process."""
    do(importlib.import_module(module).FIGURE, job, kept)


def ignore_interrupts() -> None:
    """Ctrl-C is for the process that started this one."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def gather(
    figure: Figure, jobs: list[Job], folder: Path, processes: int, progress: Callable[[int, str], object]
) -> Outcome:
    """Runs what was not run before. `progress` hears how many jobs are done, and which was the last."""
    kept = {index: folder / figure.slug / key(figure, job) for index, job in enumerate(jobs)}
    missing = [index for index in kept if not (kept[index] / DONE).exists()]
    cached = len(jobs) - len(missing)
    progress(cached, "")
    work(figure, {index: (jobs[index], kept[index]) for index in missing}, processes, cached, progress)
    about = [json.loads((path / DONE).read_text("utf-8")) for path in kept.values()]
    return Outcome(collect(jobs, list(kept.values())), cached, sum(entry["cpu_s"] for entry in about))


def work(
    figure: Figure,
    todo: dict[int, tuple[Job, Path]],
    processes: int,
    done: int,
    progress: Callable[[int, str], object],
) -> None:
    """Runs jobs, in this process if one is enough."""
    if processes == 1 or len(todo) <= 1:
        for job, path in todo.values():
            do(figure, job, path)
            progress(done := done + 1, job.label)
        return
    pool = ProcessPoolExecutor(
        min(processes, len(todo)), multiprocessing.get_context("spawn"), initializer=ignore_interrupts
    )
    try:
        module = figure.measure.__module__
        running: dict[Future[None], Job] = {
            pool.submit(in_worker, module, job, path): job for job, path in todo.values()
        }
        while running:
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                future.result()
                progress(done := done + 1, running.pop(future).label)
    except BaseException:
        for process in list((pool._processes or {}).values()):
            process.terminate()
        raise
    finally:
        pool.shutdown(cancel_futures=True)


def collect(jobs: list[Job], kept: list[Path]) -> Tables:
    """The tables of all jobs one below the other, with the parameters of each job as first columns."""
    parts: dict[str, list[pl.DataFrame]] = {}
    for job, path in zip(jobs, kept, strict=True):
        for file in sorted(path.glob("*.parquet")):
            columns = [pl.lit(value).alias(name) for name, value in job.params.items()]
            parts.setdefault(file.stem, []).append(pl.read_parquet(file).select(*columns, pl.all()))
    return {name: pl.concat(tables, how="vertical_relaxed") for name, tables in parts.items()}


def cores() -> int:
    """Processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
