"""Networks as `clearway plan` takes them: a scenario file, a topology file, or a shape with its keys."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from pathlib import Path

import tomli_w

from clearway import _clearway, examples, reading


def network(words: Sequence[str]) -> _clearway.Scenario:
    """The network that is named, as a scenario; where a scenario file doesn't say otherwise, of ExpressPass.

    `words`: a file, an example's name, or the kind of a shape and its keys, such as `["fat-tree", "k=8",
    "rate=10Gbps"]`.
    """
    return named(words)[0]


def named(words: Sequence[str]) -> tuple[_clearway.Scenario, bool]:
    """The network that is named, as `network`, and whether it is a scenario file, which says more than the network."""
    if len(words) == 1:
        words = words[0].split() if not Path(words[0]).exists() else words
    if not words:
        raise _clearway.ScenarioError(f"no network; {RIGHT}")
    first, *keys = words
    path = Path(first)
    kinds = [shape["name"] for shape in _clearway.topologies()]
    if first in kinds:
        table: dict[str, object] = {"kind": first}
        for key, value in map(key_and_value, keys):
            if key in table:
                raise _clearway.ScenarioError(f"{key}: this key is set twice; set it once")
            table[key] = value
        return of_table(table, Path()), False
    path = examples.named(first, examples.SCENARIO, examples.NETWORK) or path
    if not path.is_file():
        near = _clearway.suggestion(first, kinds) if examples.is_bare(first) else ""
        near = near or examples.hint(first, (examples.SCENARIO, examples.NETWORK))
        raise _clearway.ScenarioError(f"{first}: is neither a file nor one of {', '.join(kinds)}{near}; {RIGHT}")
    if keys:
        raise _clearway.ScenarioError(f"{keys[0]}: keys follow a shape, and {first} is a file; leave them out")
    try:
        content = reading.parsed(reading.content(path).decode("utf-8-sig"))
    except (_clearway.Error, ValueError):  # A list of links of another simulator, or nothing that can be read.
        content = None
    if content is not None and "link" in content and "topology" not in content:
        return of_table({"kind": "file", "path": path.name}, path.parent), False
    if content is None and path.suffix != ".toml":
        return of_table({"kind": kind_of(path), "path": path.name}, path.parent), False
    return _clearway.Scenario.load(path), True


def kind_of(path: Path) -> str:
    """The kind of a topology file of another simulator: by its name, or else by its content."""
    names = [suffix.lower() for suffix in path.suffixes]
    if ".topo" in names:
        return "htsim-file"
    if ".graphml" in names or ".xml" in names:
        return "graphml-file"
    try:
        start = reading.start(path, 100_000).lstrip("\ufeff \r\n\t")
    except OSError:
        return "hpcc-file"
    if start.startswith("<"):
        return "graphml-file"
    return "htsim-file" if re.search(r"^\s*tiers\s", start, re.IGNORECASE | re.MULTILINE) else "hpcc-file"


RIGHT = "write a scenario file, an example, a topology file, or a shape with its keys, such as fat-tree k=8 rate=10Gbps"


def key_and_value(word: str) -> tuple[str, object]:
    """`k=8` as TOML has it: what is no number is a text."""
    key, equals, text = word.partition("=")
    if not equals or not key or not text:
        raise _clearway.ScenarioError(f"{word}: is no key of a shape; write key=value, such as k=8 or rate=10Gbps")
    try:
        return key, reading.parsed(f"value = {text}")["value"]
    except ValueError:
        return key, text


def of_table(topology: dict[str, object], base: Path) -> _clearway.Scenario:
    """A scenario of ExpressPass on a network; its one flow is never run."""
    content = {
        "topology": topology,
        "transport": {"name": "expresspass"},
        "traffic": [{"kind": "long", "pairs": "random", "count": 1, "size": "1 B"}],
    }
    return _clearway.Scenario.parse(tomli_w.dumps(content), str(topology["kind"]), base)


def credit_sizes(scenario: _clearway.Scenario) -> tuple[int, int] | None:
    """Least and largest credit of the scenario's transports, or `None` where none uses credits."""
    content = tomllib.loads(scenario.to_toml())
    tables = [content.get("transport"), *(part.get("transport") for part in content.get("traffic", []))]
    found = [sizes(table) for table in tables if isinstance(table, dict) and "credit_queue" in table]
    if not found:
        return None
    return min(least for least, _ in found), max(most for _, most in found)


def sizes(transport: dict[str, object]) -> tuple[int, int]:
    """Least and largest credit of one transport; those that don't say have sizes from 76 B, as `expresspass`."""
    if not transport.get("randomize_size"):
        return 84, 84
    least = transport.get("size_min", 76)
    return (least if isinstance(least, int) else 76), 92
