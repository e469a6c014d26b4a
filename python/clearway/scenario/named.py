"""Resolved scenarios: the files that they name, beside whose paths stand hashes, and their texts without seeds."""

from __future__ import annotations

import re
from collections.abc import Iterator
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
SEED = re.compile(r"\A((?:[^\[\n][^\n]*\n|\n)*?)seed = \d+\n")


def without_seed(scenario: str) -> str:
    """The text of a resolved scenario without its seed: equal for runs that differ in that alone."""
    return SEED.sub(r"\1", scenario, count=1)
