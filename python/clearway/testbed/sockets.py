"""Sockets of this process that belong to other network namespaces."""

from __future__ import annotations

import ctypes
import os
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from clearway.testbed.namespace import Namespace

CLONE_NEWNET = 0x40000000
LIBC = ctypes.CDLL(None, use_errno=True)
#: Threads of a process may be in different namespaces, but no two calls of one thread; this keeps it simple.
ONE_AT_A_TIME = threading.Lock()


@contextmanager
def inside(namespace: Namespace) -> Iterator[None]:
    """Takes the calling thread into a network namespace; sockets that it makes there stay there."""
    thread = threading.get_native_id()
    with ONE_AT_A_TIME, Path(f"/proc/self/task/{thread}/ns/net").open("rb") as home:
        with Path(f"/run/netns/{namespace.name}").open("rb") as there:
            enter(there.fileno())
        try:
            yield
        finally:
            enter(home.fileno())


def enter(number: int) -> None:
    """Takes the calling thread into the network namespace of an open file."""
    if LIBC.setns(number, CLONE_NEWNET):
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error))


@contextmanager
def echoing(server: Namespace, client: Namespace, address: str, port: int) -> Iterator[socket.socket]:
    """A connection from a client to a server at this address, which sends back whatever comes.

    Neither end waits to fill a segment (TCP_NODELAY).
    """
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with (
        open_socket(server, family, socket.SOCK_STREAM) as listener,
        open_socket(client, family, socket.SOCK_STREAM) as near,
    ):
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((address, port))
        listener.listen()

        def answer() -> None:
            far, _ = listener.accept()
            with far:
                far.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                while data := far.recv(65536):
                    far.sendall(data)

        thread = threading.Thread(target=answer)
        thread.start()
        near.settimeout(20.0)
        near.connect((address, port))
        near.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        yield near
        near.shutdown(socket.SHUT_RDWR)
        thread.join()


def open_socket(namespace: Namespace, family: int, kind: int, protocol: int = 0) -> socket.socket:
    """Makes a socket in a network namespace."""
    with inside(namespace):
        return socket.socket(family, kind, protocol)
