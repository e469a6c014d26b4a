"""A program that asks the kernel over netlink how full queues are, again and again.

    python sampling.py INTERVAL_US HANDLE DEVICE...

It writes records of `RECORD` to its standard output until it gets SIGTERM. `HANDLE` is the queue's, such as 20 for
`20:`. It imports nothing but the standard library, so that it starts at once; `clearway.testbed.queues` runs it.
"""

from __future__ import annotations

import os
import signal
import socket
import struct
import sys
import time

RTM_GETQDISC = 38
#: The kernel answers a request for one queue only if the request asks for an echo.
NLM_F_REQUEST, NLM_F_ECHO, NLMSG_ERROR = 1, 8, 2
TCA_STATS = 3
#: Bytes of the headers before the first attribute: of netlink, and of the message on a queue.
HEADERS = 16 + 20
#: Time in ns, number of the device, packets that wait, bytes that wait, packets dropped, bytes that went through.
RECORD = struct.Struct("<qIIIIQ")
#: The kernel's `struct tc_stats`: bytes, packets, drops, over limits, bps, pps, qlen, backlog.
STATS = struct.Struct("=QIIIIIII")


class Stop(Exception):  # noqa: N818 - it is no error
    """SIGTERM came."""


def stats_of(data: bytes) -> int:
    """The place of the counters in the kernel's answer."""
    _, kind = struct.unpack_from("=IH", data)
    if kind == NLMSG_ERROR:
        raise OSError(-struct.unpack_from("=i", data, 16)[0], "the kernel knows no such queue")
    place = HEADERS
    while place + 4 <= len(data):
        length, attribute = struct.unpack_from("=HH", data, place)
        if attribute == TCA_STATS:
            return place + 4
        place += (length + 3) & ~3
    raise OSError("the kernel's answer holds no counters")


def sample(interval_us: int, handle: int, devices: list[str], records: bytearray) -> None:
    """Samples until `Stop` is raised; `records` holds what is not written yet."""
    requests = []
    for number, device in enumerate(devices):
        body = struct.pack("=BBHiIII", 0, 0, 0, socket.if_nametoindex(device), handle << 16, 0, 0)
        head = struct.pack("=IHHII", 16 + len(body), RTM_GETQDISC, NLM_F_REQUEST | NLM_F_ECHO, 1, 0)
        requests.append((number, head + body))
    interval_ns = interval_us * 1000
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE) as kernel:
        due, places, first = time.monotonic_ns(), dict[int, int](), True
        while True:
            for number, request in requests:
                kernel.send(request)
                now, data = time.time_ns(), kernel.recv(4096)
                if number not in places:
                    places[number] = stats_of(data)
                passed, _, drops, _, _, _, qlen, backlog = STATS.unpack_from(data, places[number])
                records += RECORD.pack(now, number, qlen, backlog, drops, passed)
            if first or len(records) > 1 << 15:
                os.write(1, records)
                records.clear()
                first = False
            # A sample that is late is left out, and the next one comes at its time.
            due += max(1, -(-(time.monotonic_ns() - due) // interval_ns)) * interval_ns
            time.sleep(max(0, due - time.monotonic_ns()) / 1e9)


def main() -> None:
    """Runs the program."""

    def stop(*_: object) -> None:
        raise Stop

    signal.signal(signal.SIGTERM, stop)
    records = bytearray()
    try:
        sample(int(sys.argv[1]), int(sys.argv[2], 16), sys.argv[3:], records)
    except Stop:
        os.write(1, records[: len(records) // RECORD.size * RECORD.size])


if __name__ == "__main__":
    main()
