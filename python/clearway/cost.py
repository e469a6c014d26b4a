"""The cost of a run: seconds and memory.

What a run found is in `clearway.metrics` (functions on its tables) and in `clearway.reproduce.quantities` (what the
figures of papers take from it).
"""

from __future__ import annotations

import resource
import sys
import time
from contextlib import suppress
from pathlib import Path


class Meter:
    """Measures from its making on. CPU seconds are of the calling thread or, if several simulate, of the process."""

    def __init__(self, threads: int = 1) -> None:
        with suppress(OSError):  # Linux only: lets the peak start anew, so that runs of one process can be told apart.
            Path("/proc/self/clear_refs").write_text("5")
        self._wall = time.perf_counter()
        self._clock = time.thread_time if threads == 1 else time.process_time
        self._cpu = self._clock()

    def add(self, *, wall_s: float, cpu_s: float) -> None:
        """Adds what an earlier process had taken for the same run."""
        self._wall -= wall_s
        self._cpu -= cpu_s

    def spent(self) -> dict[str, float]:
        """Wall and CPU seconds since the meter was made, and those that were added."""
        return {"wall_s": time.perf_counter() - self._wall, "cpu_s": self._clock() - self._cpu}

    def read(self, link_transmissions: int) -> dict[str, float | int]:
        """Wall and CPU seconds, speed, and the process's peak memory since the meter was made."""
        spent = self.spent()
        return {
            "wall_s": round(spent["wall_s"], 4),
            "cpu_s": round(spent["cpu_s"], 4),
            "million_link_transmissions_per_cpu_s": round(link_transmissions / 1e6 / max(spent["cpu_s"], 1e-6), 4),
            "peak_memory_bytes": peak_memory_bytes(),
        }


def peak_memory_bytes() -> int:
    """The most memory that this process held at once."""
    with suppress(OSError):
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024
