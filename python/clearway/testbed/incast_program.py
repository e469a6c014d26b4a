"""A program that takes part in an incast of rounds: each round brings a block of bytes from every connection.

    python incast_program.py receiver SOCKET PORT CONNECTIONS ROUNDS BLOCK connect|request
    python incast_program.py sender SOCKET ADDRESS PORT CONNECTIONS BLOCK connect|request

A round begins when all blocks of the round before have come. With `connect` each block comes over a connection that
its sender opens in this round; the receiver tells senders to begin by the Unix socket SOCKET, beside the network. With
`request` connections stand from the beginning, and the receiver asks on each one with a few bytes.

Both print one line of JSON when they are done. Only the standard library is imported.
"""

from __future__ import annotations

import contextlib
import json
import selectors
import socket
import struct
import sys
import time
from pathlib import Path

REQUEST = b"another!"
#: The place of `tcpi_rtt`, in microseconds, in the kernel's `struct tcp_info`.
RTT = 68
#: Seconds between two looks at the round trip times of all connections.
LOOK_S = 0.005
#: Seconds that a round may take.
PATIENCE_S = 60.0


def timeouts() -> int:
    """The retransmission timeouts of TCP in this network namespace so far."""
    lines = Path("/proc/self/net/netstat").read_text("utf-8").splitlines()
    for names, values in zip(lines[::2], lines[1::2], strict=True):
        if names.startswith("TcpExt:"):
            return int(dict(zip(names.split(), values.split(), strict=True))["TCPTimeouts"])
    return 0


def receive(path: str, port: int, connections: int, rounds: int, block: int, mode: str) -> None:
    """Runs all rounds, and prints the seconds that each took."""
    chosen = selectors.EpollSelector()
    server = socket.create_server(("", port), backlog=4096)
    control = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    control.bind(path)
    control.listen(64)
    senders: list[socket.socket] = []
    standing: list[socket.socket] = []
    # The senders' programs say how many connections they have.
    waiting = connections
    while waiting > 0:
        sender, _ = control.accept()
        senders.append(sender)
        waiting -= int(sender.recv(16))
    if mode == "request":
        for sender in senders:
            sender.send(b"c")
        while len(standing) < connections:
            one, _ = server.accept()
            one.setblocking(False)
            chosen.register(one, selectors.EVENT_READ)
            standing.append(one)
    server.setblocking(False)
    chosen.register(server, selectors.EVENT_READ)
    took, buffer = [], bytearray(1 << 18)
    for _ in range(rounds):
        began = time.monotonic()
        for one in standing:
            one.send(REQUEST)
        if mode == "connect":
            for sender in senders:
                sender.send(b"g")
        left = connections * block
        while left > 0:
            events = chosen.select(max(0.0, began + PATIENCE_S - time.monotonic()))
            if not events:
                sys.exit(f"a round lacks {left} of {connections * block} bytes after {PATIENCE_S:g} s")
            for key, _ in events:
                if key.fileobj is server:
                    with contextlib.suppress(BlockingIOError):
                        while True:
                            one, _ = server.accept()
                            one.setblocking(False)
                            chosen.register(one, selectors.EVENT_READ)
                    continue
                source = key.fileobj
                assert isinstance(source, socket.socket)
                count = source.recv_into(buffer)
                left -= count
                if count == 0:
                    chosen.unregister(source)
                    source.close()
        took.append(time.monotonic() - began)
        # Every sender sees the end of its round before the next one begins.
        for sender in senders:
            sender.send(b"e")
        for sender in senders:
            sender.recv(1)
    for sender in senders:
        sender.send(b"q")
    print(json.dumps({"rounds_s": took}), flush=True)


class Sender:
    """The connections of one program that sends."""

    def __init__(self, address: str, port: int, block: int, mode: str) -> None:
        self.chosen = selectors.EpollSelector()
        self.peer, self.block, self.mode = (address, port), bytes(block), mode
        #: Bytes that a connection has still to send.
        self.left: dict[socket.socket, int] = {}
        self.rtts_us: list[int] = []

    def connect(self, count: int) -> None:
        """Opens connections, which send a block as soon as they stand if the mode says so."""
        for _ in range(count):
            one = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
            if self.mode == "request":
                one.connect(self.peer)
            one.setblocking(False)
            if self.mode == "connect":
                one.connect_ex(self.peer)
            self.left[one] = len(self.block) if self.mode == "connect" else 0
            wanted = selectors.EVENT_READ | (selectors.EVENT_WRITE if self.mode == "connect" else 0)
            self.chosen.register(one, wanted)

    def serve(self, one: socket.socket, mask: int) -> None:
        """Sends and reads what can be."""
        if mask & selectors.EVENT_READ:
            asked = one.recv(4096)
            if not asked:
                self.chosen.unregister(one)
                one.close()
                del self.left[one]
                return
            self.left[one] += len(self.block) * (len(asked) // len(REQUEST))
            self.chosen.modify(one, selectors.EVENT_READ | selectors.EVENT_WRITE)
        if mask & selectors.EVENT_WRITE and self.left[one]:
            with contextlib.suppress(BlockingIOError):
                self.left[one] -= one.send(memoryview(self.block)[: self.left[one]])
            if not self.left[one]:
                self.chosen.modify(one, selectors.EVENT_READ)
                if self.mode == "connect":
                    one.shutdown(socket.SHUT_WR)

    def look(self) -> None:
        """Notes the smoothed round trip times of all connections that have one."""
        for one in self.left:
            (rtt,) = struct.unpack_from("=I", one.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 104), RTT)
            if rtt:
                self.rtts_us.append(rtt)


def send(path: str, address: str, port: int, connections: int, block: int, mode: str) -> None:
    """Takes part until the receiver ends it, and prints timeouts by rounds and round trip times."""
    control = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    control.connect(path)
    control.send(str(connections).encode())
    all_of = Sender(address, port, block, mode)
    all_of.chosen.register(control, selectors.EVENT_READ)
    before, by_round, look_at, busy = timeouts(), list[int](), 0.0, False
    while True:
        for key, mask in all_of.chosen.select(LOOK_S):
            if key.fileobj is not control:
                assert isinstance(key.fileobj, socket.socket)
                busy = True
                all_of.serve(key.fileobj, mask)
                continue
            for order in control.recv(16):
                if order in b"cg":
                    all_of.connect(connections)
                elif order in b"e":
                    now, busy = timeouts(), False
                    by_round.append(now - before)
                    before = now
                    control.send(b"e")
                else:
                    print(json.dumps({"timeouts": by_round, "rtts_us": all_of.rtts_us}), flush=True)
                    return
        if busy and time.monotonic() >= look_at:
            look_at = time.monotonic() + LOOK_S
            all_of.look()


def main() -> int:
    """Runs the program."""
    match sys.argv[1:]:
        case ["receiver", path, port, connections, rounds, block, ("connect" | "request") as mode]:
            receive(path, int(port), int(connections), int(rounds), int(block), mode)
        case ["sender", path, address, port, connections, block, ("connect" | "request") as mode]:
            send(path, address, int(port), int(connections), int(block), mode)
        case _:
            print(__doc__, file=sys.stderr)
            return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
