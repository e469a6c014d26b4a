"""Requests and answers over one connection, each compared to the last byte."""

from __future__ import annotations

import random
import socket
import threading

from clearway.testbed import Daemon, Host
from clearway.testbed.sockets import open_socket
from testbed.attacks import stats

PORT = 7000


def echo(hosts: list[Host], sizes: list[int], *, address: str | None = None, parts: int = 1) -> None:
    """Sends messages to the first of two hosts, at any of its addresses, in so many writes, and compares answers."""
    server, client = hosts
    address = address or server.address
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    random_bytes = random.Random(1).randbytes
    with (
        open_socket(server.namespace, family, socket.SOCK_STREAM) as listener,
        open_socket(client.namespace, family, socket.SOCK_STREAM) as near,
    ):
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((address, PORT))
        listener.listen()
        near.settimeout(20.0)

        def answer() -> None:
            far, _ = listener.accept()
            with far:
                far.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                while data := far.recv(65536):
                    far.sendall(data)

        thread = threading.Thread(target=answer)
        thread.start()
        near.connect((address, PORT))
        near.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for size in sizes:
            message = random_bytes(size)
            step = -(-size // parts)
            for at in range(0, size, step):
                near.sendall(message[at : at + step])
            came = b""
            while len(came) < size:
                came += near.recv(size - len(came))
            assert came == message
        near.shutdown(socket.SHUT_RDWR)
        thread.join()


def under_credits(daemon: Daemon) -> float:
    """The share of the bytes that left for credits, or for what these left over."""
    found = stats(daemon)
    plain = sum(value for name, value in found.items() if name.startswith("plain_bytes_total"))
    return found["credited_bytes_total"] / (found["credited_bytes_total"] + plain)
