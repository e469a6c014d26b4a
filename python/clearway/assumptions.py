"""The assumptions of a comparison besides congestion control: connection setup, first rates, buffers, marks, frames.

Two transports that start differently are told apart by how they start; so every comparison says it above its table.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from clearway.result import Run

#: Parameters that decide how a flow starts, with the words for each: `{}` is the value.
STARTS: tuple[tuple[str, str], ...] = (
    ("initial_window", "first window {} segments"),
    ("alpha", "first rate {} of the link's"),
    ("rto_min", "least timeout {}"),
)
#: Transports with another parameter of such a name: alpha is a gain there.
NO_STARTS = {"alpha": ("uec", "uec-nscc")}
#: Tables of a scenario that a comparison holds equal.
NETWORK = ("switch", "host", "network")
#: Networks that a line names at the most.
NAMED = 3
#: The words for marks whose threshold follows the port.
BY_RATE = "marks by the link's rate (65 frames at 10 Gbps) and buffer (at most 26 % of it)"


def setup(scenario: Mapping[str, Any]) -> dict[str, Any]:
    """The part of a resolved scenario that assumptions are made of: the network, and how each transport starts."""
    keys = ("name", "handshake", *(key for key, _ in STARTS))
    starts = [{key: one[key] for key in keys if key in one} for one in transports(scenario)]
    traffic = [{"transport": one} for at, one in enumerate(starts) if one not in starts[:at]]
    kept = {key: scenario[key] for key in ("stacks", *NETWORK) if key in scenario}
    return {**kept, "traffic": traffic}


def transport_names(scenario: Mapping[str, Any]) -> str:
    """The transports of a scenario in one text."""
    return " + ".join(sorted({str(one.get("name", "")) for one in transports(scenario)}))


def assumption_texts(runs: Mapping[str, Run]) -> list[str]:
    """The assumptions that the runs of a comparison make: a line for the network, then one for each transport."""
    return assumption_lines({label: [tomllib.loads(run.scenario)] for label, run in runs.items()})


def assumption_lines(scenarios: Mapping[str, Sequence[Mapping[str, Any]]]) -> list[str]:
    """The assumptions of resolved scenarios, or of their `setup`, by the label of their transport.

    A line says what the networks have in common. A line for each label says how its transports start; a parameter is
    named once there, with all of its values.
    """
    every = [one for found in scenarios.values() for one in found]
    if not every:
        return []
    stacks = " or ".join(dict.fromkeys(str(one.get("stacks", "own")) for one in every))
    lines = [f"Stacks: {stacks}; {networks_text(every)}."]
    for label, found in scenarios.items():
        starts = distinct(start_text(one) for scenario in found for one in transports(scenario))
        marks = distinct(marks_text(scenario) for scenario in found)
        lines.append(f"{label}: {', '.join(' / '.join(texts) for texts in (starts, marks) if texts)}.")
    return lines


def distinct(texts: Iterable[str]) -> list[str]:
    """Texts that are not empty, each once."""
    return [text for text in dict.fromkeys(texts) if text]


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
    known = [(key, words) for key, words in STARTS if transport.get("name") not in NO_STARTS.get(key, ())]
    parts += [words.format(f"{transport[key]}") for key, words in known if key in transport]
    return ", ".join(parts)


def networks_text(scenarios: Sequence[Mapping[str, Any]]) -> str:
    """Buffers, frames and host delay of some scenarios; where they differ, each of them."""
    by_scenario = [network_parts(scenario) for scenario in scenarios]
    kinds = dict.fromkeys(kind for parts in by_scenario for kind in parts)
    texts = [some(distinct(parts.get(kind, f"no {kind}") for parts in by_scenario)) for kind in kinds]
    return ", ".join(texts) or "no limits on buffers"


def some(texts: Sequence[str]) -> str:
    """Texts of which one holds in each scenario, the first of many."""
    return " or ".join(texts) if len(texts) <= NAMED else f"{texts[0]} or {len(texts) - 1} others"


def network_parts(scenario: Mapping[str, Any]) -> dict[str, str]:
    """The words for buffers, frames and host delay of a scenario, those that it has."""
    switch, host, network = (scenario.get(key, {}) for key in NETWORK)
    parts = {}
    if "shared_buffer" in switch:
        parts["buffers"] = f"buffers of {switch['shared_buffer']} a switch"
    elif cut := trimmed_buffers(switch):
        parts["buffers"] = f"buffers of {' or '.join(cut)} a port, beyond which data is cut to headers"
    elif "buffer" in switch:
        parts["buffers"] = f"buffers of {switch['buffer']} a port"
    if switch.get("pfc"):
        parts["buffers"] = f"{parts.get('buffers', 'buffers')} with flow control (PFC)"
    if "payload" in network:
        parts["frames"] = f"frames of {network['payload']} payload and {network['overhead']} of headers and framing"
    if (delay := host.get("processing_delay", "0 s")) not in ("0 s", 0):
        parts["host delay"] = f"host delay {delay_text(delay)}"
    return parts


def trimmed_buffers(switch: Mapping[str, Any]) -> list[str]:
    """The limits of the classes of a switch that cut packets to their headers, each once."""
    classes = switch.get("class", [])
    return distinct(str(one.get("buffer", switch.get("buffer"))) for one in classes if one.get("trim"))


def delay_text(delay: object) -> str:
    """A host delay in words."""
    if isinstance(delay, Mapping) and "uniform" in delay:
        return " to ".join(map(str, delay["uniform"]))
    if isinstance(delay, Mapping) and "quantiles" in delay:
        times = [str(time) for _, time in delay["quantiles"]]
        return f"{times[0]} to {times[-1]}"
    return str(delay)


def marks_text(scenario: Mapping[str, Any]) -> str:
    """The words for the queue length from which packets are marked; empty if none are."""
    marking = scenario.get("switch", {}).get("marking")
    words = {None: "", "off": "", "by-rate": BY_RATE, "red": "marks by RED"}
    if marking == "bdp":
        low, high = (scenario["switch"].get(key) for key in ("bdp_min", "bdp_max"))
        return f"marks at random from {low} to {high} BDP"
    return words.get(marking, f"marks from {marking} on") if not isinstance(marking, Mapping) else "marks by RED"
