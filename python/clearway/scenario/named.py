"""Resolved scenarios: the files that they name, beside whose paths stand hashes, and their texts without seeds."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any


def hash_of(key: str) -> str:
    """The key that has the hash of the file that `key` names."""
    return "hash" if key == "path" else f"{key}_hash"


def named_files(scenario: object) -> Iterator[tuple[str, str]]:
    """The files that a resolved scenario names: the key, and the full path."""
    if isinstance(scenario, dict):
        for key, value in scenario.items():
            if isinstance(value, str) and hash_of(key) in scenario:
                yield key, str(Path(value).resolve())
            yield from named_files(value)
    elif isinstance(scenario, list):
        for one in scenario:
            yield from named_files(one)


def without_paths(value: Any) -> Any:
    """A resolved scenario without the paths of files: what it simulates, wherever they lie."""
    if isinstance(value, list):
        return [without_paths(one) for one in value]
    if not isinstance(value, dict):
        return value
    return {key: without_paths(one) for key, one in value.items() if hash_of(key) not in value}


#: The line of the seed, which stands above the first table of a resolved scenario.
SEED = re.compile(r"\A((?:[^\[\n][^\n]*\n|\n)*?)seed = (\d+)\n")
#: A text that stands for the seed in JSON.
MARK = "\0seed\0"


def split(scenario: str) -> tuple[str, int | None]:
    """The text of a resolved scenario without its seed, and the seed."""
    found = SEED.match(scenario)
    return (scenario, None) if found is None else (found[1] + scenario[found.end() :], int(found[2]))


def without_seed(scenario: str) -> str:
    """The text of a resolved scenario without its seed: equal for runs that differ in that alone."""
    return split(scenario)[0]


def with_seed(scenario: str, seed: int) -> str:
    """The text of a resolved scenario with another seed."""
    found = SEED.match(scenario)
    return scenario if found is None else f"{found[1]}seed = {seed}\n{scenario[found.end() :]}"


def parsed(scenario: str) -> dict[str, Any]:
    """The content of a resolved scenario, of which nothing is to be changed: runs of many seeds share it."""
    shared, seed = split(scenario)
    rest = content(shared)
    return rest if seed is None else {**rest, "seed": seed}


@lru_cache(maxsize=64)
def content(scenario: str) -> dict[str, Any]:
    """The content of a text in TOML."""
    return tomllib.loads(scenario)


def identity_text(scenario: str) -> str:
    """All of a resolved scenario but the paths of files, as JSON."""
    shared, seed = split(scenario)
    text = marked(shared)
    if seed is None or text.count(json.dumps(MARK)) != 1:
        return json.dumps(without_paths(parsed(scenario)), sort_keys=True, default=str)
    return text.replace(json.dumps(MARK), str(seed))


@lru_cache(maxsize=64)
def marked(scenario: str) -> str:
    """A scenario without its seed as `identity_text` has it, with a mark in place of the seed."""
    return json.dumps(without_paths({**content(scenario), "seed": MARK}), sort_keys=True, default=str)
