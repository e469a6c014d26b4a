"""Control frames made by hand, true or forged, and a packet socket at a host that sends and sees frames.

docs/reference/wire-format.md specifies the frames.
"""

from __future__ import annotations

import contextlib
import select
import socket
import struct
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from clearway.testbed.network import Host
from clearway.testbed.sockets import open_socket

ETHERTYPE = 0x88B5
VERSION = 2
REQUEST, STOP, ACCEPT, STOPPED, CREDIT, CNP = 4, 5, 6, 7, 9, 10
#: The layout behind the Ethernet header: version, kind, flags, zero, session, flow, cookie, number, value, MTU.
BODY = struct.Struct("!BBBBI4s4sHHQQQH")


@dataclass(frozen=True)
class Control:
    """A control frame. The flow is named in the direction of its data."""

    to: str
    sender: str
    kind: int
    source: str = "0.0.0.0"
    destination: str = "0.0.0.0"
    source_port: int = 0
    destination_port: int = 0
    session: int = 1
    cookie: int = 0
    number: int = 0
    value: int = 0
    mtu: int = 1500
    version: int = VERSION

    def to_bytes(self) -> bytes:
        """The whole frame, of 60 bytes."""
        header = mac(self.to) + mac(self.sender) + ETHERTYPE.to_bytes(2, "big")
        flow = (socket.inet_aton(self.source), socket.inet_aton(self.destination))
        ports = (self.source_port, self.destination_port)
        rest = (self.cookie, self.number, self.value, self.mtu)
        return header + BODY.pack(self.version, self.kind, 0, 0, self.session, *flow, *ports, *rest)

    @staticmethod
    def of_bytes(frame: bytes) -> Control:
        """Reads a whole frame."""
        version, kind, _, _, session, source, destination, *rest = BODY.unpack_from(frame, 14)
        source_port, destination_port, cookie, number, value, mtu = rest
        return Control(
            to=frame[:6].hex(":"),
            sender=frame[6:12].hex(":"),
            kind=kind,
            source=socket.inet_ntoa(source),
            destination=socket.inet_ntoa(destination),
            source_port=source_port,
            destination_port=destination_port,
            session=session,
            cookie=cookie,
            number=number,
            value=value,
            mtu=mtu,
            version=version,
        )

    def but(self, **fields: object) -> Control:
        """The frame with other fields."""
        return replace(self, **fields)  # type: ignore[arg-type]


def mac(text: str) -> bytes:
    """The bytes of an Ethernet address."""
    return bytes.fromhex(text.replace(":", ""))


class Tap:
    """A packet socket at the NIC of a host."""

    def __init__(self, host: Host) -> None:
        self._socket = open_socket(host.namespace, socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETHERTYPE))
        self._socket.bind((host.device, ETHERTYPE))

    def __enter__(self) -> Tap:
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()

    def send(self, frames: Iterable[bytes | Control], per_second: float = 20_000.0) -> int:
        """Sends frames at a rate; those for which the NIC has no place are lost. Returns how many left."""
        begin, sent = time.monotonic(), 0
        for count, frame in enumerate(frames):
            with contextlib.suppress(OSError):
                self._socket.send(frame.to_bytes() if isinstance(frame, Control) else frame)
                sent += 1
            if count % 4 == 3:
                time.sleep(max(0.0, begin + count / per_second - time.monotonic()))
        return sent

    def seen(self, seconds: float) -> Iterator[Control]:
        """The control frames that come to the host, or leave it, from now on."""
        deadline = time.monotonic() + seconds
        with contextlib.suppress(BlockingIOError):
            while self._socket.recv(2048, socket.MSG_DONTWAIT):
                pass
        while (left := deadline - time.monotonic()) > 0:
            if select.select([self._socket], [], [], left)[0]:
                frame = self._socket.recv(2048)
                if len(frame) >= 60:
                    yield Control.of_bytes(frame)

    def first(self, kind: int, seconds: float = 5.0) -> Control:
        """The next frame of a kind."""
        for control in self.seen(seconds):
            if control.kind == kind:
                return control
        raise TimeoutError(f"no frame of kind {kind} in {seconds:g} s")
