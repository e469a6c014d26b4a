"""A TCP transfer inside this process between two hosts: checksummed, and with the time of each arrival.

An unlucky connection is the subject, so an exchange knows how long its receiver waited for the next bytes (`stall_s`),
and its bytes are compared by their checksum.
"""

from __future__ import annotations

import hashlib
import random
import socket
import threading
import time
from collections.abc import Callable
from itertools import pairwise

from clearway.testbed.network import Host
from clearway.testbed.shell import TestbedError
from clearway.testbed.sockets import open_socket

BLOCK = 1 << 16


class Exchange:
    """A connection over which `source` sends `size` bytes to `sink`, begun at once.

    With `pause_s` the source waits so long after each block of 64 KiB: an application that writes now and then. With
    `mptcp` both ends open sockets of MPTCP.
    """

    def __init__(
        self,
        source: Host,
        sink: Host,
        size: int,
        *,
        port: int = 8000,
        ipv6: bool = False,
        patience_s: float = 20.0,
        pause_s: float = 0.0,
        mptcp: bool = False,
    ) -> None:
        self.size, self.patience_s, self._pause_s = size, patience_s, pause_s
        family = socket.AF_INET6 if ipv6 else socket.AF_INET
        self._address = (sink.address6 if ipv6 else sink.address, port)
        protocol = socket.IPPROTO_MPTCP if mptcp else 0
        self._server = open_socket(sink.namespace, family, socket.SOCK_STREAM, protocol)
        self._server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self._client = open_socket(source.namespace, family, socket.SOCK_STREAM, protocol)
        self._server.bind(self._address)
        self._server.listen()
        for one in (self._server, self._client):
            one.settimeout(patience_s)
        self._random = random.Random(size + port)
        self._sent, self._came = hashlib.sha256(), hashlib.sha256()
        #: Times and bytes in all, one pair for each arrival.
        self.arrivals: list[tuple[float, int]] = []
        self.connect_s = 0.0
        self._errors: list[BaseException] = []
        self.began = time.monotonic()
        self._threads = [threading.Thread(target=self._try, args=(each,)) for each in (self._receive, self._send)]
        for thread in self._threads:
            thread.start()

    @property
    def received(self) -> int:
        """Bytes that have come."""
        return self.arrivals[-1][1] if self.arrivals else 0

    @property
    def stall_s(self) -> float:
        """The longest time for which nothing came."""
        times = [self.began, *(at for at, _ in self.arrivals)]
        return max((b - a for a, b in pairwise(times)), default=0.0)

    @property
    def first_s(self) -> float:
        """Time from the beginning of the connection to its first bytes at the sink."""
        return self.arrivals[0][0] - self.began

    def received_at(self, moment: float) -> int:
        """Bytes that had come at a time of the monotonic clock."""
        return max((total for at, total in self.arrivals if at <= moment), default=0)

    def goodput_bps(self, since: float, until: float) -> float:
        """The goodput between two times of the monotonic clock."""
        return 8 * (self.received_at(until) - self.received_at(since)) / (until - since)

    def wait_for(self, share: float) -> None:
        """Waits until a share of all bytes has come."""
        deadline = time.monotonic() + self.patience_s
        while self.received < share * self.size:
            if self._errors or time.monotonic() > deadline:
                self.wait()
                raise TestbedError(f"{self}: {self.received} of {self.size} bytes came in {self.patience_s:g} s")
            time.sleep(0.005)

    def wait(self) -> Exchange:
        """Waits until all bytes have come; raises `TestbedError` if the connection hung, broke or changed a byte."""
        for thread in self._threads:
            thread.join(self.patience_s * 3)
        if any(thread.is_alive() for thread in self._threads):
            raise TestbedError(f"{self}: hangs after {self.received} of {self.size} bytes")
        for error in self._errors:
            raise TestbedError(f"{self}: {error!r} after {self.received} of {self.size} bytes") from error
        if self.received != self.size or self._sent.digest() != self._came.digest():
            raise TestbedError(f"{self}: {self.received} of {self.size} bytes came, and they are not those sent")
        return self

    def close(self) -> None:
        """Ends the connection as it is."""
        for one in (self._client, self._server):
            one.close()
        for thread in self._threads:
            thread.join(1.0)

    def _try(self, work: Callable[[], None]) -> None:
        try:
            work()
        except BaseException as error:
            self._errors.append(error)
            for one in (self._client, self._server):
                one.close()

    def _send(self) -> None:
        begin = time.monotonic()
        self._client.connect(self._address)
        self.connect_s = time.monotonic() - begin
        block = self._random.randbytes(BLOCK)
        left = self.size
        while left:
            # Every block differs, so that bytes at a wrong place are found.
            block = block[1:] + self._random.randbytes(1)
            part = block[:left]
            self._sent.update(part)
            self._client.sendall(part)
            left -= len(part)
            if self._pause_s:
                time.sleep(self._pause_s)
        self._client.shutdown(socket.SHUT_WR)
        self._client.recv(1)
        self._client.close()

    def _receive(self) -> None:
        connection, _ = self._server.accept()
        connection.settimeout(self.patience_s)
        total = 0
        with connection:
            while part := connection.recv(BLOCK):
                total += len(part)
                self.arrivals.append((time.monotonic(), total))
                self._came.update(part)
        self._server.close()

    def __str__(self) -> str:
        return f"transfer of {self.size} bytes to {self._address[0]}"
