"""Transports with parameters of their own, as `expresspass+tell_end=true`: the name, and `+KEY=VALUE` for each."""

from __future__ import annotations

from clearway._clearway import ScenarioError


def split(transport: str) -> tuple[str, dict[str, str]]:
    """The name of the transport, and its parameters as settings of a scenario."""
    name, *texts = transport.split("+")
    found: dict[str, str] = {}
    for text in texts:
        key, equals, value = (part.strip() for part in text.partition("="))
        if not (key and equals and value) or "/" in text:
            raise ScenarioError(f"transport {transport!r}: write +KEY=VALUE behind the name, such as +tell_end=true")
        if f"transport.{key}" in found:
            raise ScenarioError(f"transport {transport!r}: sets {key} twice; set it once")
        found[f"transport.{key}"] = value
    return name.strip(), found
