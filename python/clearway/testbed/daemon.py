"""The daemon `clearwayd` at a node of a network: started, awaited, stopped and killed, its log kept."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

from clearway.testbed.namespace import Namespace
from clearway.testbed.shell import TestbedError, binary

#: Seconds that the daemon has until it is ready, and until it has gone after SIGTERM.
READY_S, STOP_S = 10.0, 5.0
#: Seconds within which the daemon's loop leaves new statistics.
LOOK_S = 5.0


class Daemon:
    """One daemon. `words` are what follows `clearwayd` on the command line."""

    def __init__(self, namespace: Namespace, words: tuple[str, ...], log: Path, folder: Path) -> None:
        self.namespace, self.words, self.log, self._folder = namespace, words, log, folder
        folder.mkdir(mode=0o700)
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int:
        """The number of the running process."""
        return self._running().pid

    @property
    def runs(self) -> bool:
        """True if the daemon runs."""
        return self._process is not None and self._process.poll() is None

    def start(self) -> None:
        """Starts the daemon and waits until it says that it is ready, as it does to systemd."""
        if self.runs:
            raise TestbedError(f"{self}: runs already")
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as ready, self.log.open("ab") as log:
            address = self._folder / "notify"
            address.unlink(missing_ok=True)
            ready.bind(str(address))
            ready.settimeout(0.1)
            environment = {**os.environ, "NOTIFY_SOCKET": str(address), "RUNTIME_DIRECTORY": str(self._folder)}
            self._process = self.namespace.start(
                str(binary()), *self.words, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment
            )
            deadline = time.monotonic() + READY_S
            while time.monotonic() < deadline:
                with contextlib.suppress(TimeoutError):
                    if b"READY=1" in ready.recv(4096).split(b"\n"):
                        return
                if not self.runs:
                    raise TestbedError(f"{self}: ended with code {self._process.returncode}: {tail(self.log, 5)}")
        self.kill()
        raise TestbedError(f"{self}: not ready within {READY_S:g} s: {tail(self.log, 5)}")

    def stop(self) -> None:
        """Asks the daemon to end, as systemd does. If it does not, it is killed, and that is an error."""
        process = self._running()
        process.terminate()
        try:
            code = process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            self.kill()
            raise TestbedError(f"{self}: still runs {STOP_S:g} s after SIGTERM") from None
        if code:
            raise TestbedError(f"{self}: ended with code {code}: {tail(self.log, 5)}")

    def close(self) -> None:
        """Kills the daemon if it runs, and removes the folder of its journal."""
        if self.runs:
            self.kill()
        shutil.rmtree(self._folder, ignore_errors=True)

    def kill(self) -> None:
        """Kills the daemon, so that it cannot clean up."""
        process = self._running()
        process.send_signal(signal.SIGKILL)
        process.wait()

    @contextlib.contextmanager
    def paused(self) -> Iterator[None]:
        """Stands the daemon still inside the block, as a machine that sleeps does."""
        self._running().send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            self._running().send_signal(signal.SIGCONT)

    def restart(self) -> None:
        """Stops the daemon and starts it anew."""
        self.stop()
        self.start()

    def ask(self, *words: str) -> str:
        """Runs another command of `clearwayd`, such as `stats` or `cleanup`, at the daemon's node."""
        return self.namespace.run("env", f"RUNTIME_DIRECTORY={self._folder}", str(binary()), *words)

    def metrics(self) -> dict[str, float]:
        """The statistics of the daemon: its counters and gauges by name, with labels as `name{label="value"}`.

        They are those of the last look of the daemon's loop, up to 50 ms ago, or more on a busy machine.
        """
        told = json.loads(self.ask("stats", "--json"))
        found: dict[str, float] = (told[0] if isinstance(told, list) else told)["metrics"]
        return found

    def settled_metrics(self) -> dict[str, float]:
        """The statistics of a look that came after this call, so that all that has happened before it counts."""
        before = self.metrics()["loop_looks_total"]
        deadline = time.monotonic() + LOOK_S
        while (now := self.metrics())["loop_looks_total"] <= before:
            if time.monotonic() > deadline:
                raise TestbedError(f"{self}: its loop has not looked at its statistics for {LOOK_S:g} s")
            time.sleep(0.01)
        return now

    def cpu_s(self) -> float:
        """Seconds of processor time that the daemon took since it started."""
        fields = Path(f"/proc/{self.pid}/stat").read_text("utf-8").rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def rss_bytes(self) -> int:
        """Bytes of memory that the daemon holds."""
        pages = Path(f"/proc/{self.pid}/statm").read_text("utf-8").split()[1]
        return int(pages) * os.sysconf("SC_PAGE_SIZE")

    def _running(self) -> subprocess.Popen[bytes]:
        if self._process is None:
            raise TestbedError(f"{self}: was not started")
        return self._process

    def __str__(self) -> str:
        return f"clearwayd {' '.join(self.words)} at {self.namespace.place}"


def tail(path: Path, lines: int = 20) -> str:
    """The last lines of a file."""
    return "\n".join(path.read_text("utf-8", errors="replace").splitlines()[-lines:])
