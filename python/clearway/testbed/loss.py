"""Loss at a port of a switch, by a classic BPF program at its ingress: this kernel has no netem.

The program drops control frames of some kinds, or data, each with a chance of 1 in a power of two.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from clearway.testbed.network import Host

#: The two results of the program: the packet is dropped, or goes on to the next filter.
DROP, GO_ON = 2, 0xFFFFFFFF
#: Classic BPF: load a byte or a word at a place, `and`, jump if equal, return.
LOAD_BYTE, LOAD, AND, IF_EQUAL, RETURN = 0x30, 0x20, 0x54, 0x15, 0x06
#: The place that holds a random number, and that of a control frame's kind.
RANDOM, KIND = 0xFFFFF038, 15


def program(kinds: Sequence[int], one_in: int) -> str:
    """The program that drops one in so many (a power of two) of the frames of some kinds; of all frames if none."""
    if one_in < 1 or one_in & (one_in - 1):
        raise ValueError(f"one_in = {one_in}: must be a power of two")
    # Jumps count the lines that they leave out.
    lines = [(LOAD_BYTE, 0, 0, KIND)] if kinds else []
    lines += [(IF_EQUAL, len(kinds) - place, 0, kind) for place, kind in enumerate(kinds)]
    if kinds:
        lines.append((RETURN, 0, 0, GO_ON))
    lines += [(LOAD, 0, 0, RANDOM), (AND, 0, 0, one_in - 1), (IF_EQUAL, 0, 1, 0)]
    lines += [(RETURN, 0, 0, DROP), (RETURN, 0, 0, GO_ON)]
    return f"{len(lines)}," + ",".join(" ".join(map(str, line)) for line in lines)


@contextmanager
def loss(host: Host, *kinds: int, one_in: int = 1, protocol: str = "0x88b5", priority: int = 7) -> Iterator[None]:
    """Loses frames that a host sends, inside the block: control frames of these kinds, or all of the protocol.

    Two losses at once at one host need two priorities.
    """
    switch, device = host.port.switch.namespace, host.port.device
    if "clsact" not in switch.run("tc", "qdisc", "show", "dev", device):
        switch.tc(f"qdisc add dev {device} clsact\n")
    place = f"dev {device} ingress protocol {protocol} prio {priority}"
    switch.run("tc", "filter", "add", *place.split(), "bpf", "da", "bytecode", program(kinds, one_in))
    try:
        yield
    finally:
        switch.tc(f"filter del {place}\n")
