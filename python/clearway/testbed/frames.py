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
#: The number by which a packet socket names every EtherType (`ETH_P_ALL`).
EVERY_TYPE = 3
#: Versions of the format, of flows over IPv4 and over IPv6.
VERSION, VERSION_IPV6 = 2, 3
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
    #: The version that the frame names; `None` for that of the flow's addresses.
    version: int | None = None

    @property
    def is_ipv6(self) -> bool:
        """True if the flow is one over IPv6."""
        return ":" in self.source

    def to_bytes(self) -> bytes:
        """The whole frame: of 60 bytes, or of 84 if it has both addresses of IPv6 whole, as all but credits have."""
        header = mac(self.to) + mac(self.sender) + ETHERTYPE.to_bytes(2, "big")
        family = socket.AF_INET6 if self.is_ipv6 else socket.AF_INET
        addresses = [socket.inet_pton(family, address) for address in (self.source, self.destination)]
        flow = [address[-4:] for address in addresses]
        version = self.version or (VERSION_IPV6 if self.is_ipv6 else VERSION)
        ports = (self.source_port, self.destination_port)
        rest = (self.cookie, self.number, self.value, self.mtu)
        upper = b"" if self.kind == CREDIT else b"".join(address[:-4] for address in addresses)
        return header + BODY.pack(version, self.kind, 0, 0, self.session, *flow, *ports, *rest) + upper

    @staticmethod
    def of_bytes(frame: bytes) -> Control:
        """Reads a whole frame. A credit over IPv6 has the lower 32 bits of addresses alone; the others are zero."""
        version, kind, _, _, session, source, destination, *rest = BODY.unpack_from(frame, 14)
        family = socket.AF_INET6 if version == VERSION_IPV6 else socket.AF_INET
        if family == socket.AF_INET6:
            upper = bytes(24) if kind == CREDIT else frame[60:84]
            source, destination = upper[:12] + source, upper[12:] + destination
        source_port, destination_port, cookie, number, value, mtu = rest
        return Control(
            to=frame[:6].hex(":"),
            sender=frame[6:12].hex(":"),
            kind=kind,
            source=socket.inet_ntop(family, source),
            destination=socket.inet_ntop(family, destination),
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
    """A packet socket at the NIC of a host.

    With `first` it sees frames before any program in the kernel, such as credits that the kernel takes.
    """

    def __init__(self, host: Host, *, first: bool = False) -> None:
        ethertype = EVERY_TYPE if first else ETHERTYPE
        self._socket = open_socket(host.namespace, socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ethertype))
        self._socket.bind((host.device, ethertype))

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
                is_long = len(frame) > 15 and frame[14] == VERSION_IPV6 and frame[15] != CREDIT
                if frame[12:14] == ETHERTYPE.to_bytes(2, "big") and len(frame) >= (84 if is_long else 60):
                    yield Control.of_bytes(frame)

    def first(self, kind: int, seconds: float = 5.0) -> Control:
        """The next frame of a kind."""
        for control in self.seen(seconds):
            if control.kind == kind:
                return control
        raise TimeoutError(f"no frame of kind {kind} in {seconds:g} s")
