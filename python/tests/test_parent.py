"""Worker processes end with the process that started them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

#: Starts two workers that never end, and says their numbers.
PARENT = """
import multiprocessing
import os
import time
from concurrent.futures import ProcessPoolExecutor

from clearway.jobs.parent import start_worker


def work(_):
    print(os.getpid(), flush=True)
    time.sleep(1000)


if __name__ == "__main__":
    pool = ProcessPoolExecutor(2, multiprocessing.get_context("spawn"), initializer=start_worker)
    list(pool.map(work, range(2)))
"""


def is_alive(process: int) -> bool:
    """True if a process runs; one that ended and that nobody has asked about yet does not."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_workers_end_when_their_parent_is_killed(tmp_path: Path) -> None:
    script = tmp_path / "parent.py"
    script.write_text(PARENT)
    parent = subprocess.Popen([sys.executable, script], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    assert parent.stdout is not None
    workers = [int(parent.stdout.readline()) for _ in range(2)]
    assert all(is_alive(worker) for worker in workers)
    parent.send_signal(signal.SIGKILL)
    parent.wait()
    parent.stdout.close()
    until = time.monotonic() + 20
    while any(is_alive(worker) for worker in workers) and time.monotonic() < until:
        time.sleep(0.05)
    left = [worker for worker in workers if is_alive(worker)]
    for worker in left:
        os.kill(worker, signal.SIGKILL)
    assert left == []
