"""Frames on a link, as `tcpdump` captures them, in columns.

All namespaces share the clock of the machine, so that times of captures at different nodes compare with each other.
"""

from __future__ import annotations

import re
import signal
import struct
import subprocess
import tempfile
import time
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clearway.testbed.namespace import wait_until
from clearway.testbed.network import Host, Switch
from clearway.testbed.shell import TestbedError

#: Bytes of each frame that are kept: all headers, and control frames whole.
SNAPLEN = 90
#: Kinds of control frames, by the codes of docs/reference/wire-format.md.
REQUEST, STOP, ACCEPT, STOPPED, CREDIT, CNP = 4, 5, 6, 7, 9, 10
#: The codepoint of scheduled data, shifted to where the IPv4 header has it.
SCHEDULED = 0b000011 << 2
#: Seconds after which the kernel hands frames to tcpdump, even if they are few.
FLUSH_S = 1.1
Mask = NDArray[np.bool_]


class Frames:
    """Columns of frames, in the order in which they passed. `control` is 0 for TCP segments."""

    def __init__(self, columns: dict[str, NDArray[Any]]) -> None:
        self.columns = columns
        self.time_s: NDArray[np.float64] = columns["time_s"]
        #: The kind of a control frame, or 0.
        self.control: NDArray[np.uint8] = columns["control"]
        #: The last byte of the addresses between which a flow's data travels (of a TCP segment: itself), and the ports.
        self.source: NDArray[np.uint8] = columns["source"]
        self.destination: NDArray[np.uint8] = columns["destination"]
        self.source_port: NDArray[np.uint16] = columns["source_port"]
        self.destination_port: NDArray[np.uint16] = columns["destination_port"]
        #: Bytes of TCP payload.
        self.payload: NDArray[np.int64] = columns["payload"]
        #: The identification of the IPv4 header.
        self.ip_id: NDArray[np.uint16] = columns["ip_id"]
        self.tos: NDArray[np.uint8] = columns["tos"]
        #: The number in a control frame.
        self.number: NDArray[np.uint64] = columns["number"]

    def __len__(self) -> int:
        return len(self.time_s)

    def __getitem__(self, chosen: Mask) -> Frames:
        return Frames({name: column[chosen] for name, column in self.columns.items()})

    def data(self, source: Host | None = None, port: int | None = None) -> Frames:
        """The TCP segments with payload, of one source or to one port if that is given."""
        return self[(self.payload > 0) & (self.control == 0) & self._of(source, port)]

    def credits(self, source: Host | None = None, port: int | None = None) -> Frames:
        """The credits for the data of one source or to one port, or all."""
        return self[(self.control == CREDIT) & self._of(source, port)]

    def scheduled(self) -> Frames:
        """The segments that spend a credit."""
        return self[(self.control == 0) & (self.tos & 0xFC == SCHEDULED)]

    def _of(self, source: Host | None, port: int | None) -> Mask:
        chosen: Mask = np.ones(len(self), bool)
        if source is not None:
            chosen &= self.source == source.number
        if port is not None:
            chosen &= self.destination_port == port
        return chosen

    def gaps_s(self) -> NDArray[np.float64]:
        """The times between frames that follow one another."""
        return np.diff(self.time_s)

    def goodput_bps(self, begin_s: float, end_s: float, bin_s: float) -> NDArray[np.float64]:
        """The rate of TCP payload in bins of time."""
        edges = np.arange(begin_s, end_s + bin_s / 2, bin_s)
        counted, _ = np.histogram(self.time_s, edges, weights=self.payload)
        return counted * 8 / bin_s


def read(data: bytes) -> Frames:
    """The frames of a file of tcpdump with times in nanoseconds: TCP over IPv4, and control frames."""
    if len(data) < 24 or struct.unpack_from("<I", data)[0] != 0xA1B23C4D:
        raise TestbedError("this is no capture with times in nanoseconds")
    head = struct.Struct("<IIII")
    starts, times, place = list[int](), list[int](), 24
    while place + 16 <= len(data):
        seconds, nanoseconds, kept, _ = head.unpack_from(data, place)
        if place + 16 + kept > len(data):
            break
        starts.append(place + 16)
        times.append(seconds * 1_000_000_000 + nanoseconds)
        place += 16 + kept
    padded = np.frombuffer(data + bytes(SNAPLEN), np.uint8)
    rows = padded[np.array(starts, np.int64)[:, None] + np.arange(SNAPLEN)]

    def word(at: int, size: int) -> NDArray[np.uint64]:
        value = np.zeros(len(rows), np.uint64)
        for column in range(at, at + size):
            value = value << np.uint64(8) | rows[:, column]
        return value

    ours = word(12, 2) == 0x88B5
    header = (rows[:, 14] & 15).astype(np.int64) * 4
    tcp = (word(12, 2) == 0x0800) & (rows[:, 23] == 6)
    # Where the header of IPv4 has options, the ports are not at their usual place; Linux sends none.
    plain = tcp & (header == 20)
    payload = word(16, 2).astype(np.int64) - 20 - (rows[:, 46] >> 4).astype(np.int64) * 4
    columns = {
        "time_s": np.array(times, np.float64) / 1e9,
        "control": np.where(ours, rows[:, 15], 0).astype(np.uint8),
        "source": np.where(ours, rows[:, 25], rows[:, 29]),
        "destination": np.where(ours, rows[:, 29], rows[:, 33]),
        "source_port": np.where(ours, word(30, 2), word(34, 2)).astype(np.uint16),
        "destination_port": np.where(ours, word(32, 2), word(36, 2)).astype(np.uint16),
        "payload": np.where(plain, payload, 0),
        "ip_id": np.where(plain, word(18, 2), 0).astype(np.uint16),
        "tos": np.where(plain, rows[:, 15], 0).astype(np.uint8),
        "number": np.where(ours, word(42, 8), 0).astype(np.uint64),
    }
    return Frames(columns)[ours | plain]


class Capture:
    """Captures the frames that cross a device while its block runs; then `frames` has them.

    A frame that leaves is seen after the device's queue, and one that arrives before anything else sees it.
    """

    def __init__(self, node: Host | Switch, device: str = "eth0", keep: Path | None = None) -> None:
        self._node, self._device, self._keep = node, device, keep
        self._process: subprocess.Popen[bytes]
        self.frames: Frames

    def __enter__(self) -> Capture:
        self._folder = tempfile.TemporaryDirectory(prefix="clearway-capture-")
        self._file, self._said = Path(self._folder.name) / "frames.pcap", Path(self._folder.name) / "said"
        words = f"tcpdump -Z root -n -p -i {self._device} -s {SNAPLEN} -B 16384 --time-stamp-precision=nano -w"
        with self._said.open("wb") as said:
            self._process = self._node.namespace.start(
                *words.split(), str(self._file), "tcp or ether proto 0x88b5", stderr=said
            )
        try:
            wait_until(lambda: b"listening on" in self._said.read_bytes() or self._process.poll(), "tcpdump listens")
        except BaseException:
            self._process.kill()
            self._process.wait()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            time.sleep(FLUSH_S)
        self._process.send_signal(signal.SIGINT)
        self._process.wait()
        said = self._said.read_text("utf-8", errors="replace")
        data = self._file.read_bytes() if self._file.exists() else b""
        self._folder.cleanup()
        if error is None:
            lost = re.search(r"(\d+) packets dropped by kernel", said)
            if lost is None or int(lost[1]):
                raise TestbedError(f"tcpdump at {self._node.name} {self._device}: {' '.join(said.split())}")
            if self._keep is not None:
                self._keep.write_bytes(data)
            self.frames = read(data)
