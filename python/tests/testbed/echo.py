"""Requests and answers over one connection, each compared to the last byte."""

from __future__ import annotations

import random

from clearway.testbed import Daemon, Host
from clearway.testbed.sockets import echoing
from testbed.attacks import stats

PORT = 7000


def echo(hosts: list[Host], sizes: list[int], *, address: str | None = None, parts: int = 1) -> None:
    """Sends messages to the first of two hosts, at any of its addresses, in so many writes, and compares answers."""
    server, client = hosts
    random_bytes = random.Random(1).randbytes
    with echoing(server.namespace, client.namespace, address or server.address, PORT) as near:
        for size in sizes:
            message = random_bytes(size)
            step = -(-size // parts)
            for at in range(0, size, step):
                near.sendall(message[at : at + step])
            came = b""
            while len(came) < size:
                came += near.recv(size - len(came))
            assert came == message


def under_credits(daemon: Daemon) -> float:
    """The share of the bytes that left for credits, or for what these left over."""
    found = stats(daemon)
    plain = sum(value for name, value in found.items() if name.startswith("plain_bytes_total"))
    return found["credited_bytes_total"] / (found["credited_bytes_total"] + plain)
