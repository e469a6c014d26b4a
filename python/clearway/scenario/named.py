"""The files that a resolved scenario names: beside the path of each stands the hash of its content."""

from __future__ import annotations

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
