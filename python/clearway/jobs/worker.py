"""A worker process: does the tasks that come over a connection, one after the other, until that is closed."""

from __future__ import annotations

import pickle
import signal
import threading
from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path

from clearway.jobs.parent import end_after
from clearway.jobs.workers import Done, Failure, Task, failure_of, perform
from clearway.machine import taken


def main(tasks: int, lifeline: int) -> None:
    """Works on the connection `tasks` until it is closed; ends at once when the other end of `lifeline` is.

    Both are numbers of open files. Only the parent holds the other end of the lifeline, so the system closes it when
    the parent ends, even if it was killed.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=end_after, args=(lifeline,), name="die with parent", daemon=True).start()
    be_killed_first()
    connection = Connection(tasks)
    try:
        connection.send(None)  # Ready.
        first = connection.recv_bytes()
        with suppress(Exception):  # Its answer says what is wrong.
            pickle.loads(first)  # Loads the modules of the tasks, which are no memory of any of them.
        connection.send(taken() or 0)
        connection.send_bytes(answer(first))
        while (message := connection.recv_bytes()) != b"":
            connection.send_bytes(answer(message))
    except (BrokenPipeError, ConnectionResetError, EOFError):
        return


def be_killed_first() -> None:
    """Has the system end this process before its parent where memory runs out: a task can be told as failed then."""
    with suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("500")


def answer(message: bytes) -> bytes:
    """Does a pickled task; the answer is its result, failure and time, pickled."""
    try:
        task: Task = pickle.loads(message)
    except Exception as error:
        return pickle.dumps((None, failure_of(error), 0.0))
    done: Done = perform(task)
    try:
        return pickle.dumps((done.result, done.failure, done.wall_s))
    except Exception as error:
        return pickle.dumps((None, Failure(f"its result can't be sent: {failure_of(error).message}"), done.wall_s))
