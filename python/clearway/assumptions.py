"""The assumptions of a comparison besides congestion control: connection setup, first rates, buffers, marks, frames.

Two transports that start differently are told apart by how they start; so every comparison says it above its table.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from typing import Any

from clearway.result import Run

#: Parameters that decide how a flow starts, with the words for each: `{}` is the value.
STARTS: tuple[tuple[str, str], ...] = (
    ("initial_window", "first window {} segments"),
    ("alpha", "first rate {} of the link's"),
    ("rto_min", "least timeout {}"),
)


#: The words for marks whose threshold follows the port.
BY_RATE = ", marks by the link's rate (65 frames at 10 Gbps) and buffer (at most 26 % of it)"


def assumption_texts(runs: Mapping[str, Run]) -> list[str]:
    """The assumptions that the runs of a comparison make: a line for the network, then one for each transport.

    A parameter is named once, with its value, in each transport's line; the network's line is that of the first run,
    since a comparison changes the transport alone.
    """
    scenarios = {label: tomllib.loads(run.scenario) for label, run in runs.items()}
    if not scenarios:
        return []
    first = next(iter(scenarios.values()))
    lines = [f"Stacks: {first.get('stacks', 'own')}; {network_text(first)}."]
    for label, scenario in scenarios.items():
        marks = marks_text(scenario)
        found = list(dict.fromkeys(start_text(one) for one in transports(scenario)))
        lines.append(f"{label}: {' / '.join(found)}{marks}.")
    return lines


def transports(scenario: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The transports that traffic of a resolved scenario uses, each with all of its parameters."""
    default = scenario.get("transport")
    return [one.get("transport", default) for one in scenario.get("traffic", []) if one.get("transport", default)]


def start_text(transport: Mapping[str, Any]) -> str:
    """The words for how flows of a transport start."""
    opened = transport.get("handshake")
    handshake = {
        True: "connections open with a handshake",
        "syn": "connections open with a handshake, which asks for credits",
        False: "no handshake: data at once",
        "none": "no handshake: credits are asked for first",
        None: "connections stand before",
    }
    parts = [handshake.get(opened, f"handshake {opened}")]
    parts += [words.format(f"{transport[key]}") for key, words in STARTS if key in transport]
    return ", ".join(parts)


def network_text(scenario: Mapping[str, Any]) -> str:
    """Buffers, frames and host delay."""
    switch, host, network = (scenario.get(key, {}) for key in ("switch", "host", "network"))
    parts = []
    if "buffer" in switch:
        parts.append(f"buffers of {switch['buffer']} a port")
    if "payload" in network:
        parts.append(f"frames of {network['payload']} payload and {network['overhead']} of headers and framing")
    if (delay := host.get("processing_delay", "0 s")) not in ("0 s", 0):
        parts.append(f"host delay {delay_text(delay)}")
    return ", ".join(parts) or "no limits on buffers"


def delay_text(delay: object) -> str:
    """A host delay in words."""
    if isinstance(delay, Mapping) and "uniform" in delay:
        return " to ".join(map(str, delay["uniform"]))
    return str(delay)


def marks_text(scenario: Mapping[str, Any]) -> str:
    """The words for the queue length from which packets are marked; empty if none are."""
    marking = scenario.get("switch", {}).get("marking")
    words = {None: "", "off": "", "by-rate": BY_RATE}
    return words.get(marking, f", marks from {marking} on") if not isinstance(marking, Mapping) else ", marks by RED"
