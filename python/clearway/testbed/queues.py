"""Queues of a switch's ports over time, as the program `sampling.py` asks for them."""

from __future__ import annotations

import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from types import TracebackType

import numpy as np
from numpy.typing import NDArray

from clearway.testbed import sampling
from clearway.testbed.namespace import wait_until
from clearway.testbed.network import Switch
from clearway.testbed.shell import TestbedError

KINDS = np.dtype(
    {
        "names": ["time_ns", "device", "packets", "bytes", "drops", "passed"],
        "formats": ["<i8", "<u4", "<u4", "<u4", "<u4", "<u8"],
    }
)


class Samples:
    """The samples of one port: arrays of equal length."""

    def __init__(self, rows: NDArray[np.void]) -> None:
        #: Seconds since the epoch, as captures count them.
        self.time_s: NDArray[np.float64] = rows["time_ns"] / 1e9
        #: Packets and bytes that wait.
        self.packets: NDArray[np.uint32] = rows["packets"]
        self.bytes: NDArray[np.uint32] = rows["bytes"]
        #: Packets dropped and bytes that went through, counted since the queue was made.
        self.drops: NDArray[np.uint32] = rows["drops"]
        self.passed_bytes: NDArray[np.uint64] = rows["passed"]

    def between(self, begin_s: float, end_s: float) -> Samples:
        """The samples of a part of the time."""
        rows = np.zeros(int(((self.time_s >= begin_s) & (self.time_s < end_s)).sum()), KINDS)
        chosen = (self.time_s >= begin_s) & (self.time_s < end_s)
        rows["time_ns"] = np.round(self.time_s[chosen] * 1e9)
        rows["packets"], rows["bytes"] = self.packets[chosen], self.bytes[chosen]
        rows["drops"], rows["passed"] = self.drops[chosen], self.passed_bytes[chosen]
        return Samples(rows)

    def largest(self) -> int:
        """The largest queue that was seen, in packets."""
        return int(self.packets.max(initial=0))

    def percentile(self, percent: float) -> float:
        """A percentile of the queue over the samples, in packets."""
        return float(np.percentile(self.packets, percent)) if len(self.packets) else 0.0

    def dropped(self) -> int:
        """Packets dropped between the first sample and the last one."""
        return int(self.drops[-1]) - int(self.drops[0]) if len(self.drops) else 0

    def interval_s(self) -> float:
        """The median time between two samples."""
        return float(np.median(np.diff(self.time_s))) if len(self.time_s) > 1 else float("nan")


class Sampler:
    """Samples queues of a switch while its block runs; then `samples` has them by device.

    Queue `20:` of a port holds data and `10:` credits.
    """

    def __init__(self, switch: Switch, *devices: str, interval_us: int = 1000, handle: str = "20") -> None:
        self._switch, self._devices = switch, devices or tuple(port.device for port in switch.ports)
        self._interval_us, self._handle = interval_us, handle
        self._process: subprocess.Popen[bytes]
        self.samples: dict[str, Samples] = {}

    def __enter__(self) -> Sampler:
        self._file = tempfile.NamedTemporaryFile(prefix="clearway-queues-")
        words = [sys.executable, "-I", sampling.__file__, str(self._interval_us), self._handle, *self._devices]
        self._process = self._switch.namespace.start(*words, stdout=self._file)
        try:
            first = Path(self._file.name)
            wait_until(lambda: first.stat().st_size or self._process.poll(), "the first sample of a queue")
        except BaseException:
            self._process.kill()
            self._process.wait()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.send_signal(signal.SIGTERM)
        code = self._process.wait()
        data = Path(self._file.name).read_bytes()
        self._file.close()
        if code and error is None:
            raise TestbedError(f"the sampler of the queues of {self._switch.name} ended with code {code}")
        rows = np.frombuffer(data, KINDS, len(data) // KINDS.itemsize)
        self.samples = {name: Samples(rows[rows["device"] == n]) for n, name in enumerate(self._devices)}
