"""Prints the HTB classes of a device from the kernel itself, over netlink: `tc` rounds what it shows.

python htb.py DEVICE
"""

from __future__ import annotations

import json
import socket
import struct
import sys
from collections.abc import Iterator

RTM_NEWTCLASS, RTM_GETTCLASS = 40, 42
NLM_F_REQUEST, NLM_F_DUMP, NLMSG_DONE = 1, 0x300, 3
TCA_KIND, TCA_OPTIONS = 1, 2
TCA_HTB_PARMS, TCA_HTB_RATE64, TCA_HTB_CEIL64 = 1, 6, 7
#: A tick of the packet scheduler's clock.
TICK_S = 64e-9


def attributes(data: bytes) -> Iterator[tuple[int, bytes]]:
    """The attributes in a row."""
    while len(data) >= 4:
        length, kind = struct.unpack_from("HH", data)
        yield kind & 0x3FFF, data[4:length]
        data = data[(length + 3) & ~3 :]


def messages(index: int) -> Iterator[bytes]:
    """The classes of a device, as messages without their headers."""
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE) as kernel:
        body = struct.pack("BBHiIII", 0, 0, 0, index, 0, 0, 0)
        kernel.send(struct.pack("IHHII", 16 + len(body), RTM_GETTCLASS, NLM_F_REQUEST | NLM_F_DUMP, 1, 0) + body)
        while True:
            data = kernel.recv(1 << 16)
            while data:
                length, kind = struct.unpack_from("IH", data)
                if kind == NLMSG_DONE:
                    return
                if kind == RTM_NEWTCLASS:
                    yield data[16:length]
                data = data[(length + 3) & ~3 :]


def describe(message: bytes) -> dict[str, object]:
    """One class."""
    handle = struct.unpack_from("I", message, 8)[0]
    options = dict(attributes(dict(attributes(message[20:]))[TCA_OPTIONS]))
    # Two rates of 12 bytes (cell, link layer, overhead, alignment, mpu, rate), then buckets, quantum, level, priority.
    _, _, overhead, _, mpu, rate, _, _, _, _, _, ceil, bucket, _, quantum, _, prio = struct.unpack(
        "BBHhHIBBHhHIIIIII", options[TCA_HTB_PARMS]
    )
    wide = {
        kind: struct.unpack("Q", value)[0]
        for kind, value in options.items()
        if kind in (TCA_HTB_RATE64, TCA_HTB_CEIL64)
    }
    return {
        "class": f"{handle >> 16:x}:{handle & 0xFFFF:x}",
        "rate": wide.get(TCA_HTB_RATE64, rate),
        "ceil": wide.get(TCA_HTB_CEIL64, ceil),
        "overhead": overhead,
        "mpu": mpu,
        "quantum": quantum,
        "prio": prio,
        "bucket_s": bucket * TICK_S,
    }


print(json.dumps([describe(message) for message in messages(socket.if_nametoindex(sys.argv[1]))]))
