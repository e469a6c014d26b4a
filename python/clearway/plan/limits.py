"""The limits of plans: the keys of a scenario that a plan would ignore are refused, each with what would be right."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from typing import Any

from clearway import _clearway

#: Transports whose data leaves in answer to credits alone, for which eq. (1) bounds the queues.
CREDITED = ("expresspass", "expresspass-hotnets16", "naive-credit")
#: Parameters of these transports under which a port carries more than eq. (1) counts, by the value that it counts.
COUNTED: dict[str, tuple[object, str]] = {
    "low_priority": (0.0, "data without credits waits at the port too"),
    "retry": ("auto", "requests and stops that are repeated sooner wait at the port too"),
    "retry_backoff": (True, "requests and stops that are repeated sooner wait at the port too"),
    "early_stop": (False, "requests after an early stop wait at the port too"),
}
#: Keys of [network], [switch] and [host], by the value that eq. (1) is for.
PLANNED: dict[str, tuple[object, str]] = {
    "network.routing": ("symmetric-ecmp", "data must return over its credits' links"),
    "network.framing": ("ethernet", "credits and data are counted as Ethernet frames"),
    "network.wire_min": ("84 B", "the smallest frame is counted as that of Ethernet"),
    "switch.credit_share": (1.0, "eq. (1) is for a link that credits have whole"),
    "switch.pfc": (False, "a port that is paused holds more than eq. (1) counts"),
    "host.buffer": ("unlimited", "a host would lose data"),
}


def resolved(scenario: _clearway.Scenario) -> dict[str, Any]:
    """A scenario with every default filled in."""
    return tomllib.loads(scenario.to_toml())


def transports(content: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """The transports of a scenario's traffic with the keys that set them."""
    default = content.get("transport")
    if default and not all("transport" in part for part in content["traffic"]):
        yield "transport", default
    for part in content["traffic"]:
        if "transport" in part:
            yield f"traffic.{part['name']}.transport", part["transport"]


def without_bound(scenario: _clearway.Scenario) -> str | None:
    """Why eq. (1) says nothing about this scenario, if it doesn't: key, value, and what would be right."""
    content = resolved(scenario)
    for key, transport in transports(content):
        if transport["name"] not in CREDITED:
            return (
                f'{key}.name = "{transport["name"]}": its data does not wait for credits; buffers are planned for '
                f"{', '.join(CREDITED)} alone"
            )
        for name, (value, why) in COUNTED.items():
            if name in transport and transport[name] != value:
                return refusal(f"{key}.{name}", transport[name], value, why)
    for key, (value, why) in PLANNED.items():
        table, _, name = key.partition(".")
        if content[table].get(name, value) != value:
            return refusal(key, content[table][name], value, why)
    if "queue" in content["host"]:
        return f'host.queue = "{content["host"]["queue"]}": a host would hold or lose data; leave it out'
    switch = content["switch"]
    if "shared_buffer" in switch:
        return f'switch.shared_buffer = "{switch["shared_buffer"]}": a queue may hold less than the bound; leave it out'
    for name in ("class", "credit_class"):
        if len(switch.get(name, [])) > 1:
            listed = ", ".join(one["name"] for one in switch[name])
            return f"switch.{name} = {listed}: eq. (1) is for one class; leave [[switch.{name}]] out"
    if "fault" in content:
        return "fault: data that waited for a link that was down exceeds the bound; leave [[fault]] out"
    if "loss" in content or any(_clearway.network(scenario)["loss"]):
        return "loss: what is lost is sent and asked for again, which eq. (1) does not count; leave [[loss]] out"
    return None


def refusal(key: str, value: object, right: object, why: str) -> str:
    """The line that refuses a value."""
    return f"{key} = {text(value)}: {why}; write {text(right)}"


def text(value: object) -> str:
    """A value as TOML writes it."""
    if isinstance(value, bool):
        return str(value).lower()
    return f'"{value}"' if isinstance(value, str) else f"{value:g}"


def starting(scenario: _clearway.Scenario) -> int:
    """Flows of a scenario that start or end together through one port: those of its largest incast or shuffle."""
    content = resolved(scenario)
    hosts = _clearway.network(scenario)["hosts"]
    found = [0]
    for part in content["traffic"]:
        if part["kind"] == "incast":
            senders = part["senders"]
            found.append(len(senders) if isinstance(senders, list) else senders)
        elif part["kind"] == "partition-aggregate":
            found.append(part["fan_out"])
        elif part["kind"] == "shuffle":
            found.append(part["tasks"] ** 2 * (hosts - 1))
        elif part["kind"] in ("flows", "file", "long"):
            found.append(next(one["flows"] for one in scenario.estimate()["traffic"] if one["name"] == part["name"]))
    return max(found)
