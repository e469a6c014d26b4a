"""The hand-written part of the page of a paper for readers: `claims/<paper>.headlines.toml`.

The file says what the system promises, sorts the paper's claims by topic, and names ten claims as headlines, each with
a title in a reader's words and the axis of its picture. It holds nothing that was measured.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import cache
from importlib.resources import files
from typing import Any

from clearway._clearway import Error, suggestion
from clearway.reproduce.claims import claims

#: The number of headlines of a paper.
HEADLINES = 10
SCALES = ("linear", "log")


@dataclass(frozen=True)
class Headline:
    """A claim that stands for its paper, as a picture."""

    #: The claim's id.
    id: str
    #: The claim in a reader's words.
    title: str
    #: The quantity on the axis.
    axis: str
    #: The unit on the axis; empty for a number without one.
    unit: str
    #: True for a logarithmic axis.
    log: bool
    #: The quantities that are shown, or patterns of their names, each with its label. Without any, all that decide.
    quantities: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Topic:
    """A group of claims that a reader thinks of together."""

    says: str
    #: The ids of its claims.
    claims: tuple[str, ...]


@dataclass(frozen=True)
class Frame:
    """The hand-written part of a paper's page."""

    promise: str
    topics: tuple[Topic, ...]
    headlines: tuple[Headline, ...]


@cache
def frame(paper: str) -> Frame:
    """The hand-written part of a paper's page, from its file."""
    file = files("clearway.reproduce") / "claims" / f"{paper}.headlines.toml"
    if not file.is_file():
        raise Error(f"claims/{paper}.headlines.toml: there is no such file; a paper's page needs its headlines")
    return parsed(paper, file.read_text("utf-8"))


def parsed(paper: str, text: str) -> Frame:
    """The hand-written part of a paper's page, from the text of its file."""
    where = f"{paper}.headlines.toml"
    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise Error(f"{where}: {error}") from None
    keys(where, content, {"promise": str, "topic": list, "headline": list})
    topics = tuple(topic(f"{where}: topic {number}", paper, one) for number, one in enumerate(content["topic"], 1))
    twice(where, [one for known in topics for one in known.claims], "is in two topics; a claim has one")
    found = [headline(f"{where}: headline {number}", paper, one) for number, one in enumerate(content["headline"], 1)]
    twice(where, [one.id for one in found], "is a headline twice")
    if len(found) != HEADLINES:
        raise Error(f"{where}: {len(found)} headlines; a paper has {HEADLINES}")
    return Frame(content["promise"], topics, tuple(found))


def keys(where: str, entry: Mapping[str, Any], known: Mapping[str, type], optional: str = "") -> None:
    """Each key of a table is known, there and of the right kind."""
    for name, value in entry.items():
        if name not in known:
            raise Error(f"{where}: unknown key {name!r}{suggestion(name, list(known))}; it has {', '.join(known)}")
        if not isinstance(value, known[name]):
            raise Error(f"{where}: {name} = {value!r}: write a {WORDS[known[name]]}")
    missing = [name for name in known if name not in entry and name != optional]
    if missing:
        raise Error(f"{where}: it needs {', '.join(missing)}")


#: Kinds of values, as people write them.
WORDS: Mapping[type, str] = {
    str: 'text, such as "..."',
    list: "list, such as [...]",
    dict: "table, such as { value = ... }",
}


def twice(where: str, ids: list[str], says: str) -> None:
    """No id stands in a list twice."""
    for one in ids:
        if ids.count(one) > 1:
            raise Error(f"{where}: {one!r} {says}")


def topic(where: str, paper: str, entry: Mapping[str, Any]) -> Topic:
    """A topic, whose claims are named by their ids or by patterns of them."""
    keys(where, entry, {"says": str, "claims": list})
    found = []
    for pattern in entry["claims"]:
        matching = [one for one in claims(paper) if fnmatchcase(one, pattern)]
        if not matching:
            raise Error(f"{where}: no claim of {paper} matches {pattern!r}")
        found += matching
    return Topic(entry["says"], tuple(found))


def headline(where: str, paper: str, entry: Mapping[str, Any]) -> Headline:
    """A headline."""
    known = {"id": str, "title": str, "axis": str, "unit": str, "scale": str, "quantities": dict}
    keys(where, entry, known, optional="quantities")
    name, scale = entry["id"], entry["scale"]
    if name not in claims(paper):
        raise Error(f"{where}: {paper} has no claim {name!r}{suggestion(name, list(claims(paper)))}")
    if scale not in SCALES:
        raise Error(f"{where}: scale = {scale!r}: write {' or '.join(SCALES)}")
    shown = entry.get("quantities", {})
    wrong = [one for one in shown.values() if not isinstance(one, str)]
    if wrong:
        raise Error(f'{where}: quantities: {wrong[0]!r} is no label; write each as name = "label"')
    return Headline(name, entry["title"], entry["axis"], entry["unit"], scale == "log", shown)
