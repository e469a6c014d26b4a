"""Counters of the kernel: TCP's, the drops of ports, processor time; and what else the machine did meanwhile."""

from __future__ import annotations

import contextlib
import json
import os
import time
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from clearway.testbed.network import Host, Switch

TICKS = os.sysconf("SC_CLK_TCK")


def tcp(host: Host) -> dict[str, int]:
    """The counters of TCP at a host, by the kernel's names, such as `RetransSegs` and `TCPTimeouts`."""
    lines = host.run("cat", "/proc/net/snmp", "/proc/net/netstat").splitlines()
    found = dict[str, int]()
    for names, values in zip(lines[::2], lines[1::2], strict=True):
        kind, *words = names.split()
        if kind in ("Tcp:", "TcpExt:"):
            found |= zip(words, map(int, values.split()[1:]), strict=True)
    return found


def retransmissions(hosts: list[Host]) -> int:
    """The segments that hosts have sent again."""
    return sum(tcp(host)["RetransSegs"] for host in hosts)


def drops(switch: Switch, handle: str = "20:") -> dict[str, int]:
    """The packets that the queues with this handle have dropped, by device: `20:` holds data, `10:` credits."""
    queues = json.loads(switch.run("tc", "-s", "-j", "qdisc", "show"))
    return {queue["dev"]: int(queue["drops"]) for queue in queues if queue.get("handle") == handle}


def processor_s(pid: int | str) -> float:
    """The processor time that a process has taken, or 0 if it has ended."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / TICKS


def whole_machine() -> tuple[float, float, float]:
    """Seconds that all processors together were busy, in interrupts and software interrupts, and in total."""
    user, nice, system, idle, wait, hard, soft, stolen = map(
        int, Path("/proc/stat").read_text("utf-8").split("\n", 1)[0].split()[1:9]
    )
    busy = user + nice + system + hard + soft + stolen
    return busy / TICKS, (hard + soft) / TICKS, (busy + idle + wait) / TICKS


def elsewhere() -> dict[str, float]:
    """The processor time of each process outside of testbeds, but this one."""
    here = os.stat("/proc/self/ns/net").st_ino  # noqa: PTH116 - the link itself leads nowhere
    found = dict[str, float]()
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit() and folder.name != str(os.getpid()):
            with contextlib.suppress(OSError):
                if os.stat(folder / "ns/net").st_ino == here:  # noqa: PTH116
                    found[folder.name] = processor_s(folder.name)
    return found


@dataclass(frozen=True)
class Load:
    """The processors during a measurement, as shares of all of them."""

    #: The share of time in which processors were busy, with anything.
    busy: float
    #: The share of processor time that programs took which have nothing to do with the testbed.
    others: float
    #: The load average of the last minute before the measurement.
    before: float
    processors: int

    def words(self) -> str:
        """A sentence on it."""
        return (
            f"{self.processors} processors were busy for {self.busy:.0%} of the time; programs outside of the testbed "
            f"took {self.others:.0%} of them, and the load average before it was {self.before:.1f}."
        )


class Watch:
    """Measures the machine's load while its block runs; then `load` has it."""

    load: Load

    def __enter__(self) -> Watch:
        self._before, self._others = os.getloadavg()[0], elsewhere()
        self._machine, self._began = whole_machine(), time.monotonic()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        took, now = time.monotonic() - self._began, whole_machine()
        others = sum(max(0.0, used - self._others.get(pid, 0.0)) for pid, used in elsewhere().items())
        count = os.cpu_count() or 1
        busy = (now[0] - self._machine[0]) / max(now[2] - self._machine[2], 1e-9)
        self.load = Load(busy, others / max(took, 1e-9) / count, self._before, count)
