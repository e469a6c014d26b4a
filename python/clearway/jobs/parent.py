"""Worker processes that end when the process that started them is gone, even if that was killed."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from multiprocessing import connection

#: Exit code of a worker whose parent is gone. Nobody is left to read it but a system's log of processes.
ORPHANED = 3


def start_worker() -> None:
    """Prepares a worker process; meant as the `initializer` of a pool.

    Ctrl-C is for the parent alone, which ends its workers itself, and the worker ends if the parent is killed.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    die_with_parent()


def die_with_parent() -> None:
    """Ends this process as soon as its parent is gone; call it in a process that `multiprocessing` started.

    A parent that is killed by SIGKILL can't end its workers. Every process of `multiprocessing` holds the reading
    end of a pipe whose other end only the parent holds, so the system closes it when the parent ends, for whatever
    reason; a thread waits for that. Unlike `prctl(PR_SET_PDEATHSIG)`, this works on every platform and does not
    mistake the end of the thread that started the worker for the end of the parent. The process ends at once, as by
    SIGKILL: whatever it writes must be safe against that.
    """
    parent = multiprocessing.parent_process()
    if parent is None:
        return
    threading.Thread(target=end_after, args=(parent.sentinel,), name="die with parent", daemon=True).start()


def end_after(sentinel: int) -> None:
    """Waits for the end of the process behind `sentinel`, and ends this one."""
    connection.wait([sentinel])
    os._exit(ORPHANED)
