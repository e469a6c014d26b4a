"""A program that sends or takes bytes over TCP and says their checksum.

    python stream.py sink PORT
    python stream.py source ADDRESS PORT BYTES SEED

The sink prints a line of JSON for each connection that has ended: bytes, SHA-256, seconds, whether it ended well. A
source prints the same about what it sent. The bytes follow from the seed. Only the standard library is imported.
"""

from __future__ import annotations

import hashlib
import json
import random
import socket
import sys
import threading
import time
from typing import Any

#: Bytes that are drawn at once, and repeated with a counter.
BLOCK = 1 << 16


def say(**what: Any) -> None:
    """Prints a line."""
    print(json.dumps(what), flush=True)


def take(connection: socket.socket) -> None:
    """Takes all bytes of a connection."""
    digest, size, began, ended = hashlib.sha256(), 0, time.monotonic(), "closed"
    with connection:
        try:
            while data := connection.recv(1 << 18):
                digest.update(data)
                size += len(data)
            connection.sendall(digest.digest())
        except OSError as error:
            ended = str(error)
    say(bytes=size, sha256=digest.hexdigest(), seconds=time.monotonic() - began, ended=ended)


def sink(port: int) -> None:
    """Takes connections until it is killed."""
    with socket.create_server(("", port), backlog=256) as server:
        say(listens=port)
        while True:
            connection, _ = server.accept()
            threading.Thread(target=take, args=(connection,), daemon=True).start()


def source(address: str, port: int, size: int, seed: int) -> int:
    """Sends bytes, and returns 0 if the sink has got the same ones."""
    block, digest, sent, began = random.Random(seed).randbytes(BLOCK), hashlib.sha256(), 0, time.monotonic()
    ended, same = "closed", False
    try:
        with socket.create_connection((address, port), timeout=60) as connection:
            while sent < size:
                data = (sent.to_bytes(8, "big") + block[8:])[: size - sent]
                connection.sendall(data)
                digest.update(data)
                sent += len(data)
            connection.shutdown(socket.SHUT_WR)
            answer = b"".join(iter(lambda: connection.recv(64), b""))
            same = answer == digest.digest()
    except OSError as error:
        ended = str(error)
    say(bytes=sent, sha256=digest.hexdigest(), seconds=time.monotonic() - began, ended=ended, same=same)
    return 0 if same else 1


def main() -> int:
    """Runs the program."""
    match sys.argv[1:]:
        case ["sink", port]:
            sink(int(port))
            return 0
        case ["source", address, port, size, seed]:
            return source(address, int(port), int(size), int(seed))
    print(__doc__, file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main())
