"""A commented scenario to start from: every key that it may have, with its unit and documentation."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Mapping

from clearway import _clearway
from clearway.scenario.json_schema import typed

WIDTH = 110

#: Keys that a pattern of traffic sets, so that it runs on every network. Hosts go by number, since names differ.
PATTERNS: dict[str, dict[str, object]] = {
    "incast": {"receiver": 0, "senders": 16, "size": "64 KB"},
    "poisson": {"workload": "web-search", "load": 0.5, "flows": 1000},
    "permutation": {"size": "1 MB"},
    "long": {"pairs": "random", "count": 4, "size": "1 MB"},
    "partition-aggregate": {"client": 0, "fan_out": 32, "rounds": 100},
    "shuffle": {"tasks": 1, "size": "100 KB"},
    "flows": {"list": [{"src": 1, "dst": 0, "size": "1 MB", "start": "0 s"}, {"src": 2, "dst": 0, "size": "64 KB"}]},
}

#: Values that show how to write a key that has no default, by the key.
EXAMPLES: dict[str, object] = {
    "what": "queue",
    "at_switches": "data",
    "cdf": "sizes.csv",
    "hash": "(64 digits)",
    "cdf_hash": "(64 digits)",
    "path": "file.toml",
    "link": ["h0", "s0"],
    "ports": ["s0->h0"],
    "probability": 0.001,
    "down": "1 ms",
    "up": "2 ms",
}


#: Texts that show how to write an entry of a list, by its key.
TEXTS = {"hosts": "h0", "flows": "data/0..9"}


def shapes() -> list[str]:
    """The kinds of networks that a template may have: all but those that are read from a file."""
    return [shape["name"] for shape in _clearway.topologies() if "path" not in shape["keys"]]


def template(name: str, shape: str, transport: str, pattern: str, workload: str | None = None) -> str:
    """The text of a scenario of this network, transport and pattern, which runs as it is."""
    tables = {table["path"]: table for table in _clearway.scenario_tables()}
    transports = {one["name"]: one for one in _clearway.transports()}
    values = dict(PATTERNS[pattern]) | ({"workload": workload} if workload else {})
    parts = [
        comment(
            "A scenario of Clearway. Every key stands here with its meaning, kind of value and range. A line such as "
            '"#seed = 1" shows the default of a key, or an example where there is none: remove the # to change it. '
            "A table whose head is behind a # may be there as often as you like, or not at all."
        ),
        "#\n"
        + comment("clearway check FILE says how large the simulation is; clearway run FILE runs it.", "#   ")
        + "\n",
        lines(tables[""]["keys"], {"name": name}),
        table(tables["topology"], kind=shape, values=defaults(tables["topology"], shape, "integer")),
        head("transport", tables["transport"]["doc"]),
        transport_lines(transports[transport], list(transports)),
        table(tables["traffic"], kind=pattern, values={"name": pattern_name(pattern), **values}),
    ]
    others = [path for path in tables if path not in ("", "topology", "transport", "traffic", "traffic.list")]
    parts += [table(tables[path]) for path in others]
    return "\n".join(parts)


def pattern_name(pattern: str) -> str:
    """The name of the traffic, for tables and `--set`."""
    return "web" if pattern == "poisson" else "burst" if pattern == "incast" else pattern


def defaults(table: _clearway._Table, kind: str, form: str) -> dict[str, object]:
    """The keys of a kind whose values have this form, with their defaults."""
    keys = next(one["keys"] for one in table["kinds"] if one["name"] == kind)
    return {key["name"]: int(key["default"]) for key in keys if key["forms"][0]["form"] == form and key["default"]}


def table(found: _clearway._Table, kind: str | None = None, values: Mapping[str, object] | None = None) -> str:
    """A table with all its keys. One that may be there several times is behind a # unless it has values."""
    parts = [head(found["path"], found["doc"], many=found["many"], hidden=found["many"] and values is None)]
    keys = [key for key in found["keys"] if key["name"] != "kind" and is_value(key)]
    if kind is None:
        return "\n".join([*parts, lines(keys, values or {})])
    (chosen,) = [one for one in found["kinds"] if one["name"] == kind]
    words = ", ".join(one["name"] for one in found["kinds"])
    parts.append(entry(f"{kind}: {chosen['doc']} The kinds are {words}.", f"kind = {toml(kind)}"))
    return "\n".join([*parts, lines([*keys, *chosen["keys"]], values or {})])


def head(path: str, doc: str, *, many: bool = False, hidden: bool = False) -> str:
    """The head of a table below its documentation."""
    brackets = f"[[{path}]]" if many else f"[{path}]"
    return f"{comment(doc)}\n{'#' if hidden else ''}{brackets}\n"


def entry(doc: str, text: str) -> str:
    """A line of the file below its documentation."""
    return f"{comment(doc)}\n{text}\n"


def is_value(key: _clearway._Parameter) -> bool:
    """True for keys that are values: not for lists of tables, which have tables of their own."""
    return key["forms"][0]["form"] not in ("tables", "kind")


def lines(keys: Iterable[_clearway._Parameter], values: Mapping[str, object]) -> str:
    """The keys, each below its documentation; those without a value here are behind a #."""
    parts = []
    for key in keys:
        name = key["name"]
        text = f"{name} = {toml(values[name])}" if name in values else f"#{name} = {shown(key)}"
        parts.append(entry(f"{key['doc']} ({about(key)})", text))
    return "\n".join(parts)


def transport_lines(transport: _clearway._Transport, known: Iterable[str]) -> str:
    """The keys of a transport."""
    words = f"{transport['summary']}. The transports are {', '.join(known)}."
    parts = [entry(words, f"name = {toml(transport['name'])}")]
    for profile in transport["profiles"]:
        sets = ", ".join(f"{key} = {value}" for key, value in profile["values"].items())
        parts.append(entry(f"{profile['doc'].rstrip('.')}. Sets {sets}.", f"#profile = {toml(profile['name'])}"))
    return "\n".join([*parts, lines(transport["parameters"], {})])


def about(key: _clearway._Parameter) -> str:
    """The kind of value, the range and whether there is a default."""
    least, most = key["min"], key["max"]
    parts = [key["kind"]]
    if least or most:
        parts.append(f"{least} to {most}" if least and most else f"at least {least}" if least else f"at most {most}")
    if key["default"] == "required":
        parts.append("required")
    elif not key["default"]:
        parts.append("no default")
    if key["source"]:
        parts.append(f"default from {key['source']}")
    return "; ".join(parts)


def shown(key: _clearway._Parameter) -> str:
    """The default of a key in TOML, or an example where there is none."""
    default = key["default"]
    if default in ("", "required"):
        return toml(EXAMPLES.get(key["name"], example(key)))
    return toml(typed(default, key["forms"]))


def example(key: _clearway._Parameter) -> object:
    """A value that a key without a default may have."""
    first = key["forms"][0]
    match first["form"]:
        case "quantity":
            return key["max"] if key["max"] and key["max"].endswith("1 ms") else example_quantity(first["of"], key)
        case "integer":
            return int(key["min"] or 1)
        case "number":
            return float(key["min"] or 0.5) or 0.5
        case "truth":
            return True
        case "word":
            return first["of"]
        case "name":
            return "data"
        case "transport":
            return "dctcp"
        case "list":
            return [example({**key, "forms": first["of"]})]
    return TEXTS.get(key["name"], "text")


def example_quantity(units: list[str], key: _clearway._Parameter) -> str:
    """A quantity within the limits of every key that has none."""
    by_unit = {"bps": "10 Gbps", "s": "100 us", "B": "84 B" if key["name"] == "trim_to" else "100 KB"}
    return next((text for unit, text in by_unit.items() if unit in units), key["min"])


def toml(value: object) -> str:
    """A value in TOML."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {toml(one)}" for key, one in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(map(toml, value)) + "]"
    if isinstance(value, str):
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    return repr(value)


def comment(text: str, start: str = "# ") -> str:
    """A text as comment lines."""
    words = " ".join(text.split())
    return "\n".join(textwrap.wrap(words, WIDTH, initial_indent=start, subsequent_indent=start, break_on_hyphens=False))
