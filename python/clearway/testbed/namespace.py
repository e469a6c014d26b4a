"""Network namespaces with an owner: they and their processes go when the owner ends, or when the next one looks.

The owner of namespaces holds a lock on a file named after them, in `/run/clearway-testbed`. The kernel gives the lock
up with the process that holds it, whatever ends that, so namespaces whose lock is free are left over.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import secrets
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from clearway.testbed.allowed import restore
from clearway.testbed.shell import TestbedError, call

LOCKS = Path("/run/clearway-testbed")
#: Names of our namespaces: the owner's token, then the place in the network.
NAME = re.compile(r"cw-tb-([0-9a-f]{6})-[a-z0-9]+")


class Owner:
    """A token that this process owns, and all namespaces named after it."""

    def __init__(self) -> None:
        LOCKS.mkdir(parents=True, exist_ok=True)
        self.token = secrets.token_hex(3)
        self._lock = take(self.token)
        #: A folder for logs and journals, which the owner removes, or whoever removes what it left.
        self.folder = folder_of(self.token)
        self.folder.mkdir()

    def release(self) -> None:
        """Removes all namespaces of the owner, with their processes, and gives the token up."""
        remove(self.token)
        (LOCKS / self.token).unlink(missing_ok=True)
        self._lock.close()
        if not tokens():
            restore()


def take(token: str) -> IO[bytes]:
    """Locks a token; raises `BlockingIOError` if a living process owns it."""
    file = (LOCKS / token).open("ab")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        file.close()
        raise
    return file


def folder_of(token: str) -> Path:
    """The folder of an owner."""
    return Path(tempfile.gettempdir()) / f"clearway-testbed-{token}"


def tokens() -> set[str]:
    """The tokens in the names of all namespaces and locks of this machine."""
    names = call("ip", "netns", "list").split()
    found = {match[1] for match in map(NAME.fullmatch, names) if match}
    return found | ({path.name for path in LOCKS.iterdir()} if LOCKS.is_dir() else set())


def remove_leftovers() -> list[str]:
    """Removes the namespaces and processes of owners that live no more; returns the names of the namespaces."""
    LOCKS.mkdir(parents=True, exist_ok=True)
    removed = []
    for token in sorted(tokens()):
        with contextlib.suppress(BlockingIOError), take(token):
            removed += remove(token)
            shutil.rmtree(folder_of(token), ignore_errors=True)
            (LOCKS / token).unlink(missing_ok=True)
    if not tokens():
        restore()
    return removed


def remove(token: str) -> list[str]:
    """Ends the processes in the namespaces of a token, and removes these; returns their names."""
    names = [name for name in call("ip", "netns", "list").split() if name.startswith(f"cw-tb-{token}-")]
    deadline = time.monotonic() + 5.0
    while living := [pid for name in names for pid in processes(name)]:
        for pid in living:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        if time.monotonic() > deadline:
            break  # Namespaces of processes that cannot die, asleep in the kernel, go when those do.
        time.sleep(0.01)
    for name in names:
        call("ip", "netns", "del", name, check=False)
    return names


def processes(name: str) -> list[int]:
    """The processes in a namespace, but those that have ended and wait for their parent."""
    pids = [int(pid) for pid in call("ip", "netns", "pids", name, check=False).split()]
    return [pid for pid in pids if not ended(pid)]


def ended(pid: int) -> bool:
    """True if a process has ended."""
    try:
        return Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2].split()[0] in "ZX"
    except OSError:
        return True


class Namespace:
    """One network namespace: a node of a network."""

    def __init__(self, owner: Owner, place: str) -> None:
        self.name = f"cw-tb-{owner.token}-{place}"
        self.place = place
        call("ip", "netns", "add", self.name)
        call("ip", "-n", self.name, "link", "set", "lo", "up")

    @property
    def _enter(self) -> tuple[str, str]:
        return ("nsenter", f"--net=/run/netns/{self.name}")

    def run(self, *words: str, stdin: str | None = None, check: bool = True, timeout_s: float = 60.0) -> str:
        """Runs a command in the namespace, and returns what it printed."""
        return call(*self._enter, *words, stdin=stdin, check=check, timeout_s=timeout_s)

    def script(self, lines: str) -> str:
        """Runs lines of shell in the namespace; the first one that fails ends them with `TestbedError`."""
        return self.run("sh", "-eu", stdin=lines)

    def start(self, *words: str, **options: Any) -> subprocess.Popen[bytes]:
        """Starts a command in the namespace; `options` are those of `subprocess.Popen`. The caller ends it."""
        return subprocess.Popen([*self._enter, *words], **options)

    def ip(self, lines: str) -> None:
        """Runs commands of `ip`, one a line, in the namespace."""
        call("ip", "-n", self.name, "-batch", "-", stdin=lines)

    def tc(self, lines: str) -> None:
        """Runs commands of `tc`, one a line, in the namespace."""
        call("tc", "-n", self.name, "-batch", "-", stdin=lines)


@contextlib.contextmanager
def signals_wait() -> Iterator[None]:
    """Keeps SIGINT, SIGTERM and SIGHUP from ending a cleanup; they are delivered when it is done."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM, signal.SIGHUP})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def wait_until(true: Any, what: str, timeout_s: float = 10.0, every_s: float = 0.01) -> None:
    """Waits until a function returns something true; raises `TestbedError` if that takes too long."""
    deadline = time.monotonic() + timeout_s
    while not true():
        if time.monotonic() > deadline:
            raise TestbedError(f"{what}: not within {timeout_s:g} s")
        time.sleep(every_s)
