"""The keys of a scenario as `--set` names them, for completion in the shell."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from clearway import _clearway, reading


def read(path: Path) -> dict[str, Any]:
    """The content of a scenario file; nothing where it can't be read, since a file may be half written."""
    try:
        return reading.toml(path.expanduser())
    except _clearway.Error:
        return {}


def settable(content: Mapping[str, Any], transport: str | None = None) -> dict[str, _clearway._Parameter]:
    """The keys that `--set` can set in a scenario, by their paths: `topology.hosts`, `traffic.web.load`.

    With the content of a file they are those of its network, its traffic and its transport; else those of all.
    """
    return dict(paths(content, transport))


def paths(content: Mapping[str, Any], transport: str | None) -> Iterator[tuple[str, _clearway._Parameter]]:
    """The paths of keys, in the order of the reference."""
    for table in _clearway.scenario_tables():
        path = table["path"]
        if path == "transport":
            for name in [transport] if transport else transports_of(content):
                yield from (
                    (f"transport.{key['name']}", key)
                    for one in _clearway.transports()
                    if name in (None, one["name"])
                    for key in one["parameters"]
                )
        elif not table["many"]:
            yield from one_table(table, f"{path}." if path else "", content.get(path) if path else content)
        elif "." not in path:
            for name, entry in named(content.get(path)):
                yield from one_table(table, f"{path}.{name}.", entry)
        else:
            outer, _, inner = path.partition(".")
            holder = content.get(outer)
            for name, entry in named(holder.get(inner) if isinstance(holder, dict) else None):
                yield from one_table(table, f"{path}.{name}.", entry)


def one_table(table: _clearway._Table, start: str, content: object) -> Iterator[tuple[str, _clearway._Parameter]]:
    """The keys of a table that are values, with those of its kind, or of all kinds where none is known."""
    kind = content.get("kind") if isinstance(content, dict) else None
    kinds = [one for one in table["kinds"] if kind in (None, one["name"])]
    for key in [*table["keys"], *(key for one in kinds for key in one["keys"])]:
        if key["forms"][0]["form"] not in ("tables", "kind"):
            yield f"{start}{key['name']}", key


def transports_of(content: Mapping[str, Any]) -> list[str | None]:
    """The transport of a scenario, or `None` for all."""
    given = content.get("transport")
    name = given.get("name") if isinstance(given, dict) else given
    return [name if isinstance(name, str) else None]


def named(entries: object) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The entries of a list with their names; an entry without one goes by its kind, as in the results."""
    tables = [one for one in entries if isinstance(one, dict)] if isinstance(entries, list) else []
    taken = {str(one["name"]) for one in tables if "name" in one}
    for number, one in enumerate(tables):
        name = str(one.get("name") or one.get("kind") or one.get("what") or number)
        if "name" not in one:
            name = next(free for free in (name, *(f"{name}-{more}" for more in range(2, 1000))) if free not in taken)
            taken.add(name)
        yield name, one


def whole(problem: str, content: Mapping[str, Any], transport: str | None) -> str | None:
    """The message that names the whole paths of a key that `--set` was given without its table; None if it is another.

    `problem` is what the simulator says of it, which knows the keys of one table alone.
    """
    found = re.match(r"--set (\w+): unknown key", problem)
    if found is None:
        return None
    paths = [f'"{path}"' for path in settable(content, transport) if path.rpartition(".")[2] == found[1]]
    return f"{found[0]}; did you mean {' or '.join(paths)}?" if paths else None


def words(key: _clearway._Parameter) -> list[str]:
    """The words that the value of a key may be."""
    found = [str(form["of"]) for form in key["forms"] if form["form"] == "word"]
    return [*found, "true", "false"] if any(form["form"] == "truth" for form in key["forms"]) else found
