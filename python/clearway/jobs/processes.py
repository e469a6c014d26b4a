"""Worker processes of this machine: warm, so that a task costs no start; safe against the death of any of them."""

from __future__ import annotations

import os
import pickle
import signal
import socket
import subprocess
import sys
import time
from collections import deque
from collections.abc import Generator, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing import connection

from clearway._clearway import Error
from clearway.jobs.workers import Done, Failure, Task, largest_first
from clearway.machine import taken
from clearway.units import size

#: Time that a worker shall have work for without hearing from its parent, in seconds. Tasks longer than this are handed
#: out one by one.
AHEAD_S = 0.05
#: Most tasks that wait at a worker. Their messages must fit into the buffer of a socket.
AHEAD = 8
#: Time between two looks at the limits of tasks, in seconds.
LOOK_S = 0.05
#: Attempts at a task whose worker dies.
ATTEMPTS = 2
#: Program of a worker. The parent's module search path comes first, as the package may be nowhere else.
PROGRAM = "import sys; sys.path[:0] = {path!r}; from clearway.jobs.worker import main; main({tasks}, {lifeline})"
#: Workers compute in one thread each, since there is one a core.
ONE_THREAD = dict.fromkeys(("POLARS_MAX_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")


@dataclass(frozen=True)
class Excess:
    """A limit that a worker exceeded."""

    #: One line for people.
    message: str
    #: False if the task may keep the limit in a worker that has done none before.
    final: bool


class Worker:
    """A worker process and the tasks that it was given."""

    def __init__(self) -> None:
        ours, theirs = socket.socketpair()
        end, self._lifeline = os.pipe()
        with theirs:
            program = PROGRAM.format(path=sys.path, tasks=theirs.fileno(), lifeline=end)
            # Not `multiprocessing`: it would run the program of the parent again, which may be a user's own without a
            # guard. A process group of its own keeps Ctrl-C, which is for the parent, away from it.
            self.process = subprocess.Popen(
                [sys.executable, "-c", program],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                env={**os.environ, **ONE_THREAD},
                pass_fds=(theirs.fileno(), end),
                process_group=0,
            )
        os.close(end)
        self.connection = connection.Connection(ours.detach())
        self.ready = False
        #: Memory that it takes without a task; None until it has loaded all that the tasks need.
        self.base: int | None = None
        #: True until it has answered a task, of which some memory may be left.
        self.fresh = True
        #: The moment since which it is at the first of its tasks, at the latest.
        self.since = time.monotonic()
        #: Tasks that it was given and has not answered, in their order.
        self.given: deque[Task] = deque()

    def give(self, task: Task) -> None:
        """Sends a task. A worker that is dead is noticed where its answer is awaited."""
        if not self.given:
            self.since = time.monotonic()
        self.given.append(task)
        with suppress(BrokenPipeError, ConnectionResetError):
            self.connection.send_bytes(pickle.dumps(task))

    def close(self) -> None:
        """Ends the process at once."""
        self.connection.close()
        self.process.kill()
        self.process.wait()
        os.close(self._lifeline)

    def loaded(self, base: int) -> None:
        """Notes that it begins its first task, and the memory that it takes."""
        self.base, self.since = base, time.monotonic()

    def answered(self) -> Task:
        """Takes the task that it has answered from those that it was given."""
        self.fresh, self.since = False, time.monotonic()
        return self.given.popleft()

    def excess(self) -> Excess | None:
        """The limit of its task that it exceeds; None if it keeps all, or has answered already."""
        if self.base is None or not self.given:
            return None
        limits, found = self.given[0].limits, None
        if limits.wall_s is not None and time.monotonic() - self.since > limits.wall_s:
            found = Excess(f"it took more than {limits.wall_s:g} s, the limit of its time", final=True)
        elif limits.memory_bytes is not None and (taken(self.process.pid) or 0) - self.base > limits.memory_bytes:
            told = f"it took more than {size(limits.memory_bytes)} of memory, its limit"
            found = Excess(told, final=self.fresh)
        return None if found is None or self.connection.poll() else found

    def fate(self) -> str:
        """The way in which the process ended."""
        code = self.process.wait()
        if code >= 0:
            return f"its worker process ended with exit code {code}"
        hint = ", as the system does when memory runs out" if -code == signal.SIGKILL else ""
        return f"its worker process was killed by {signal.Signals(-code).name}{hint}"


class Processes:
    """Up to `count` worker processes, which are started when there is work and kept for more."""

    share_files = True

    def __init__(self, count: int) -> None:
        self.count = count
        self._workers: list[Worker] = []

    def run(self, tasks: Sequence[Task]) -> Generator[Done]:
        """Does the tasks, large ones first.

        If a worker dies, its task is tried once more and then counts as failed; others are not affected.
        """
        return Round(self._workers, self.count, tasks).run()

    def close(self) -> None:
        """Ends all workers."""
        while self._workers:
            self._workers.pop().close()


class Round:
    """The tasks of one call of `run`, and the workers that do them."""

    def __init__(self, workers: list[Worker], count: int, tasks: Sequence[Task]) -> None:
        self.workers, self.count = workers, count
        self.queue = deque(largest_first(tasks))
        self.deaths: dict[str, int] = {}
        self.looked = 0.0
        self.done, self.wall_s = 0, 0.0

    def run(self) -> Generator[Done]:
        """Does the tasks; however it ends, no worker has a task left then."""
        try:
            while self.queue or any(worker.given for worker in self.workers):
                self.hand_out()
                yield from self.collect()
        finally:
            for worker in [one for one in self.workers if one.given]:
                self.workers.remove(worker)
                worker.close()

    def hand_out(self) -> None:
        """Gives tasks to those who have few, and starts workers while there are more tasks than workers."""
        while len(self.workers) < min(self.count, len(self.queue) + sum(bool(one.given) for one in self.workers)):
            self.workers.append(Worker())
        for depth in range(1, self.depth() + 1):
            for worker in self.workers:
                if self.queue and len(worker.given) < depth:
                    worker.give(self.queue.popleft())

    def depth(self) -> int:
        """The number of tasks that a worker shall have, by the time that tasks took so far."""
        if not self.done or self.deaths:  # After a death it must be known whose fault it was.
            return 1
        return min(AHEAD, 1 + int(AHEAD_S * self.done / max(self.wall_s, 1e-6)))

    def collect(self) -> Iterator[Done]:
        """Waits for answers, and yields the tasks that are done."""
        by_connection = {worker.connection: worker for worker in self.workers if worker.given}
        for ready in connection.wait(list(by_connection), self.patience()):
            assert isinstance(ready, connection.Connection)
            worker = by_connection[ready]
            try:
                message = worker.connection.recv_bytes()
            except (ConnectionResetError, EOFError):
                yield from self.bury(worker)
                continue
            answer = pickle.loads(message)
            if answer is None:
                worker.ready = True
                continue
            if isinstance(answer, int):
                worker.loaded(answer)
                continue
            result, failure, wall_s = answer
            self.done, self.wall_s = self.done + 1, self.wall_s + wall_s
            task = worker.answered()
            self.hand_out()  # First, so that the worker is busy while the caller looks at the result.
            yield Done(task, result, failure, wall_s)
        yield from self.look()

    def patience(self) -> float | None:
        """Seconds to wait for answers before the limits of tasks are looked at; None if no task has any."""
        return LOOK_S if any(worker.given and worker.given[0].limits for worker in self.workers) else None

    def look(self) -> Iterator[Done]:
        """Ends workers whose task exceeds a limit, and yields the task as failed; unless memory of others is in it."""
        if time.monotonic() - self.looked < LOOK_S:
            return
        self.looked = time.monotonic()
        for worker in list(self.workers):
            excess = worker.excess()
            if excess is None:
                continue
            culprit = self.remove(worker)
            if excess.final:
                yield Done(culprit, failure=Failure(excess.message))
            else:
                self.queue.appendleft(culprit)

    def remove(self, worker: Worker) -> Task:
        """Ends a worker, and returns the task that it was at; its other tasks go to others."""
        self.workers.remove(worker)
        worker.close()
        culprit, *others = worker.given
        self.queue.extendleft(reversed(others))
        return culprit

    def bury(self, worker: Worker) -> Iterator[Done]:
        """Removes a dead worker. The task that it was at is tried again; its other tasks go to others."""
        fate = worker.fate()
        culprit = self.remove(worker)
        if not worker.ready and worker.process.returncode >= 0:
            raise Error(f"a worker process could not start (exit code {worker.process.returncode})")
        self.deaths[culprit.name] = self.deaths.get(culprit.name, 0) + 1
        if self.deaths[culprit.name] < ATTEMPTS:
            self.queue.append(culprit)
        else:
            yield Done(culprit, failure=Failure(f"{fate}; it was tried {ATTEMPTS} times"))
