"""The copy of a sweep file in the sweep's folder, with all that it names: the folder runs again wherever it lies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import tomli_w

from clearway import _clearway, examples, reading
from clearway._clearway import Error
from clearway.scenario.named import named_files, without_seed
from clearway.sweeps import file, record
from clearway.sweeps.file import Spec
from clearway.sweeps.points import Point

#: The folder of the files that the scenario names, in that of the sweep.
FILES = "files"


def read(path: str | Path, settings: Mapping[str, object] | None = None) -> Spec:
    """Reads a sweep file, or that of an example, as `file.read` does; refuses a copy that was damaged or edited."""
    path = examples.found(path, examples.SWEEP)
    if path.name == record.FILE and (path.parent / record.RECORD).exists():
        try:
            kept = record.read(path.parent)
            for name in kept.files:
                if name == record.FILE or name.startswith(f"{FILES}/"):
                    kept.content(path.parent, name)
        except OSError as error:
            raise Error(f"{path.parent}: can't read the sweep: {error.filename}: {error.strerror}") from None
        except ValueError as error:
            raise Error(
                f"{path.parent}: can't read the sweep: {error}; to change it, copy it to another folder"
            ) from None
    return file.read(path, settings)


def contents(spec: Spec, points: Sequence[Point]) -> dict[str, bytes]:
    """The copy of a sweep file and the files that its scenario names, by their names in the sweep's folder."""
    keys, short = set[str](), dict[str, str]()
    # Points that differ in their seeds alone name the same files.
    different = {without_seed(point.resolved): point for point in reversed(points)}
    for point in reversed(different.values()):
        for key, full in named_files(point.scenario):
            keys.add(key)
            short.setdefault(full, f"{FILES}/{free_name(Path(full).name, short.values())}")
    place = path_of(spec.scenario)
    base = spec.base if place is None else place.parent
    content = {"name": spec.name, **spec.content, "scenario": scenario_of(spec, points)}
    text = tomli_w.dumps(renamed(content, "", keys, base, short))
    return {
        record.FILE: text.encode(),
        **{name: reading.content(Path(full), reading.LIST_MAX) for full, name in short.items()},
    }


def path_of(scenario: object) -> Path | None:
    """The path of the file of a sweep's scenario; None if it is a text or content."""
    if isinstance(scenario, Path):
        return scenario
    return Path(scenario) if isinstance(scenario, str) and "\n" not in scenario else None


def scenario_of(spec: Spec, points: Sequence[Point]) -> dict[str, Any] | str:
    """The content of the scenario of a sweep, with the name that it has or that its file gives it."""
    if isinstance(spec.scenario, Mapping):
        return {"name": spec.name, **spec.scenario}
    place = path_of(spec.scenario)
    text = str(spec.scenario)
    try:
        if place is not None:
            text = _clearway.unpacked(reading.content(place)).decode("utf-8-sig")
        return {"name": points[0].scenario["name"], **reading.parsed(text)}
    except ValueError:  # The simulator reads it: its TOML may be newer than Python's.
        return f"{text}\n"


def renamed(value: Any, key: str, keys: set[str], base: Path, short: Mapping[str, str]) -> Any:
    """The content of a sweep file with other names for the files that values of `keys` name, from `base` on."""
    if isinstance(value, Mapping):
        return {name: renamed(one, name.rpartition(".")[2], keys, base, short) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [renamed(one, key, keys, base, short) for one in value]
    if isinstance(value, str) and key in keys and "\0" not in value:
        return short.get(str(Path(base, value).resolve()), value)
    return value


def free_name(name: str, taken: Any) -> str:
    """A name that no other file has."""
    number, free = 1, name
    while f"{FILES}/{free}" in taken:
        number += 1
        free = f"{number}-{name}"
    return free
