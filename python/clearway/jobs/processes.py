"""Worker processes of this machine: warm, so that a task costs no start; safe against the death of any of them."""

from __future__ import annotations

import os
import pickle
import signal
import socket
import subprocess
import sys
from collections import deque
from collections.abc import Generator, Iterator, Sequence
from contextlib import suppress
from multiprocessing import connection

from clearway._clearway import Error
from clearway.jobs.workers import Done, Failure, Task, largest_first

#: Time that a worker shall have work for without hearing from its parent, in seconds. Tasks longer than this are handed
#: out one by one.
AHEAD_S = 0.05
#: Most tasks that wait at a worker. Their messages must fit into the buffer of a socket.
AHEAD = 8
#: Attempts at a task whose worker dies.
ATTEMPTS = 2
#: Program of a worker. The parent's module search path comes first, as the package may be nowhere else.
PROGRAM = "import sys; sys.path[:0] = {path!r}; from clearway.jobs.worker import main; main({tasks}, {lifeline})"
#: Workers compute in one thread each, since there is one a core.
ONE_THREAD = dict.fromkeys(("POLARS_MAX_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")


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
        #: Tasks that it was given and has not answered, in their order.
        self.given: deque[Task] = deque()

    def give(self, task: Task) -> None:
        """Sends a task. A worker that is dead is noticed where its answer is awaited."""
        self.given.append(task)
        with suppress(BrokenPipeError, ConnectionResetError):
            self.connection.send_bytes(pickle.dumps(task))

    def close(self) -> None:
        """Ends the process at once."""
        self.connection.close()
        self.process.kill()
        self.process.wait()
        os.close(self._lifeline)

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
        for ready in connection.wait(list(by_connection)):
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
            result, failure, wall_s = answer
            self.done, self.wall_s = self.done + 1, self.wall_s + wall_s
            task = worker.given.popleft()
            self.hand_out()  # First, so that the worker is busy while the caller looks at the result.
            yield Done(task, result, failure, wall_s)

    def bury(self, worker: Worker) -> Iterator[Done]:
        """Removes a dead worker. The task that it was at is tried again; its other tasks go to others."""
        self.workers.remove(worker)
        fate = worker.fate()
        worker.close()
        if not worker.ready and worker.process.returncode >= 0:
            raise Error(f"a worker process could not start (exit code {worker.process.returncode})")
        culprit, *others = worker.given
        self.queue.extendleft(reversed(others))
        self.deaths[culprit.name] = self.deaths.get(culprit.name, 0) + 1
        if self.deaths[culprit.name] < ATTEMPTS:
            self.queue.append(culprit)
        else:
            yield Done(culprit, failure=Failure(f"{fate}; it was tried {ATTEMPTS} times"))
