"""Clusters as workers: Dask's, which one may start by hand, on Kubernetes, or in the queue of Slurm."""

from __future__ import annotations

import importlib
from asyncio import CancelledError
from collections.abc import Generator, Sequence
from typing import Any

from clearway._clearway import Error
from clearway.jobs.workers import Done, Failure, Task, Workers, failure_of, largest_first, perform

#: Time in which a scheduler must answer.
CONNECT = "10s"


def connect(where: str, jobs: int | None = None) -> Workers:
    """The workers of a cluster: `dask://HOST:PORT`, or `slurm`, in whose queue `jobs` jobs (1 by default) are put."""
    kind, _, address = where.partition("://")
    if kind == "dask" and address:
        distributed = extra("distributed", where)
        try:
            client = distributed.Client(f"tcp://{address}", timeout=CONNECT, set_as_default=False)
        except (OSError, ValueError) as error:
            raise Error(f"--on {where}: there is no scheduler of Dask: {' '.join(str(error).split())}") from None
        return Cluster(client)
    if where == "slurm":
        distributed, queue = extra("distributed", where), extra("dask_jobqueue", where)
        try:
            cluster = queue.SLURMCluster()
        except (TypeError, ValueError, RuntimeError) as error:
            what = " ".join(str(error).split())
            raise Error(f"--on slurm: {what}; docs/how-to/sweeps.md shows a configuration") from None
        cluster.scale(jobs or 1)
        return Cluster(distributed.Client(cluster, set_as_default=False), cluster)
    raise Error(f"--on {where}: write dask://HOST:PORT, the address of a scheduler of Dask, or slurm")


def extra(name: str, where: str) -> Any:
    """A module of the extra `cluster`."""
    try:
        return importlib.import_module(name)
    except ImportError:
        raise Error(f"--on {where}: {name} is not installed; run pip install 'clearway[cluster]'") from None


class Cluster:
    """The workers of a Dask cluster. Results come back as bytes: the workers need no folder of ours."""

    share_files = False

    def __init__(self, client: Any, owned: Any = None) -> None:
        self.client, self.owned = client, owned

    @property
    def count(self) -> int:
        """Number of tasks that the cluster does at a time now."""
        return sum(self.client.nthreads().values())

    def run(self, tasks: Sequence[Task]) -> Generator[Done]:
        """Does the tasks, large ones first. Dask gives the task of a worker that died to another one."""
        distributed = importlib.import_module("distributed")
        ordered = largest_first(tasks)
        futures = {self.client.submit(perform, task, pure=False, priority=-at): task for at, task in enumerate(ordered)}
        try:
            for future in distributed.as_completed(list(futures), loop=self.client.loop):
                yield self.done(futures.pop(future), future)
        finally:
            self.client.cancel(list(futures), force=True)

    def done(self, task: Task, future: Any) -> Done:
        """The result of a task, or its failure: its error, or the death of several workers that had it."""
        try:
            found: Done = future.result()
        except CancelledError:
            return Done(task, failure=Failure("the connection to the scheduler of Dask was lost"))
        except Exception as error:
            if type(error).__name__ == "KilledWorker":
                return Done(task, failure=Failure("every worker that ran it died, as it happens when memory runs out"))
            return Done(task, failure=failure_of(error))
        finally:
            future.release()
        return found

    def close(self) -> None:
        """Leaves the cluster, and ends it if it was started for this."""
        self.client.close()
        if self.owned is not None:
            self.owned.close()
