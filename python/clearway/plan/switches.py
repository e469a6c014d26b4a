"""Settings of the ports of each switch, and the names of their devices."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Any

from clearway import _clearway
from clearway.plan import buffers
from clearway.plan.limits import without_bound

#: Names that Linux accepts for a device.
DEVICE = re.compile(r"[A-Za-z0-9_.:@-]{1,15}")
#: Full frames of data where there is no bound: the paper's 384.5 KB.
FRAMES = 250
#: Bytes of the smallest frame on the wire.
LEAST_FRAME = 84


@dataclass(frozen=True)
class Port:
    """Settings of one output port."""

    device: str
    name: str
    rate_bps: int
    credit_bps: int
    credit_burst: int
    credit_queue: int
    credit_bytes: int
    frame_bytes: int
    data_packets: int
    data_bytes: int
    marking_frames: int
    marking_bytes: int
    headroom_bytes: int

    @property
    def speed(self) -> str:
        """The rate as it stands in names: 10G, 100M."""
        whole, unit = (self.rate_bps, "") if self.rate_bps % 10**6 else (self.rate_bps // 10**6, "M")
        return f"{whole // 1000}G" if unit and whole % 1000 == 0 else f"{whole}{unit}"


def ports(
    scenario: _clearway.Scenario,
    pattern: str,
    flows: int,
    *,
    is_scenario: bool = False,
    leftover: int = 0,
    udp: bool = False,
) -> dict[str, list[Port]]:
    """The ports of each switch. Hosts take the time that a scenario file says, and that of the paper's without one.

    `leftover` is what credits of a pair of hosts leave over for small packets; as many pairs as flows meet at a port.
    With `udp` the bound on data is that for credits in datagrams; the rates of credits here are those of Ethernet.

    `pattern` names devices: `{switch}`, `{port}` (its number at the switch, from 0), `{lane}` (four times that, as
    SONiC counts) and `{to}` (the node at the other end).
    """
    plan = bounds(scenario, flows, is_scenario=is_scenario, leftover=leftover, udp=udp)
    used = plan.inputs if plan else {"frame_bytes": 1538}
    known = {port.port: port for port in plan.ports} if plan else {}
    found: dict[str, list[Port]] = {}
    for row in _clearway.plan_switches(scenario):
        bound = known.get(row["port"])
        packets, size = FRAMES, FRAMES * used["frame_bytes"]
        if bound:
            size = math.ceil(bound.bytes("safe"))
            of = bound.bounds["safe"]
            # A queue that counts packets gives a small one a full place.
            packets = math.ceil((size - of["control"] - of["leftover"]) / used["frame_bytes"]) + 4 * flows
            packets += math.ceil(of["leftover"] / LEAST_FRAME)
        found.setdefault(row["switch"], []).append(
            Port(
                device_name(pattern, row),
                row["port"],
                row["rate_bps"],
                row["credit_bps"],
                row["credit_burst_bytes"],
                row["credit_queue"],
                row["credit_bytes"],
                used["frame_bytes"],
                packets,
                size,
                row["marking_frames"],
                row["marking_bytes"],
                row["headroom_bytes"],
            )
        )
    check_names(pattern, found)
    for of_switch in found.values():
        of_switch.sort(key=lambda port: natural(port.device))
    return found


def bounds(
    scenario: _clearway.Scenario, flows: int, *, is_scenario: bool, leftover: int, udp: bool
) -> buffers.Plan | None:
    """The bounds of eq. (1), where there are any."""
    if without_bound(scenario):
        return None
    try:
        host_delay_s = None if is_scenario else (0.0, 5.1e-6)
        return buffers.plan(scenario, flows=flows, pairs=flows, host_delay_s=host_delay_s, leftover=leftover, udp=udp)
    except _clearway.ScenarioError:
        return None


def device_name(pattern: str, row: dict[str, Any]) -> str:
    """The device of a port."""
    try:
        name = pattern.format(switch=row["switch"], port=row["place"], lane=4 * row["place"], to=row["to"])
    except (KeyError, IndexError, ValueError, AttributeError):
        raise _clearway.ScenarioError(
            f"--dev {pattern!r}: write a pattern of {{switch}}, {{port}}, {{lane}} and {{to}}, such as "
            f"{{switch}}-{{port}}"
        ) from None
    if not DEVICE.fullmatch(name):
        raise _clearway.ScenarioError(
            f"--dev {pattern!r}: makes {name!r} of {row['port']}, which is no device; write a pattern that gives 1 to "
            f"15 letters, digits and _.:@-"
        )
    return name


def check_names(pattern: str, found: dict[str, list[Port]]) -> None:
    """Refuses two ports of a switch under one name."""
    for switch, of_switch in found.items():
        seen: dict[str, str] = {}
        for port in of_switch:
            if port.device in seen:
                raise _clearway.ScenarioError(
                    f"--dev {pattern!r}: gives {seen[port.device]} and {port.name} of {switch} the same name, "
                    f"{port.device!r}; use {{port}} in it"
                )
            seen[port.device] = port.name


def natural(name: str) -> list[tuple[int, str]]:
    """A key that sorts p2 before p10."""
    return [(int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"(\d+)", name)]
