"""From scenario files and result folders to what the live page shows; the engine checks all before it is served."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from clearway import _clearway, ended, folder
from clearway._clearway import Error
from clearway.machine import memory_limit
from clearway.scenario.named import named_files
from clearway.view import limits
from clearway.view.start import Expected, Scene, Side

#: The most sides that the page shows beside each other.
SIDES = 2
#: The first bytes of a file in the Parquet format.
PARQUET = b"PAR1"


@dataclass(frozen=True)
class Asked:
    """The options that change all scenarios."""

    transports: Sequence[str] = ()
    settings: Sequence[tuple[str, str]] = ()

    @property
    def each(self) -> Sequence[str | None]:
        """The transport of each side; None stands for the scenario's own."""
        return self.transports or [None]

    def __bool__(self) -> bool:
        """True if anything is changed."""
        return bool(self.transports or self.settings)


@dataclass(frozen=True)
class Recorded:
    """A run in a folder: its resolved scenario and its result."""

    path: Path
    name: str
    text: str
    #: The result, or None where it covers a part of the run.
    expected: Expected | None


@dataclass
class Opened:
    """The scenes of the page, and remarks on them."""

    scenes: list[Scene] = field(default_factory=list)
    #: The number of hosts of the largest network.
    hosts: int = 0
    #: Folders of runs that were interrupted, which have no hash to compare with.
    interrupted: list[Path] = field(default_factory=list)


def opened(paths: Sequence[Path], asked: Asked) -> Opened:
    """Reads scenario files and result folders as scenes; two runs of a scenario stand side by side.

    The page tells scenes apart by their names, so scenes of one name are named for their file or folder.
    """
    found = Opened()
    scenes: list[tuple[Path, Scene]] = []
    recorded: dict[str, list[Recorded]] = {}
    for path in dict.fromkeys(paths):
        if path.is_dir():
            for run in runs_in(path):
                runs = recorded.setdefault(run.name, [])
                runs += [run] if run not in runs else []
        else:
            scenes.append((path, of_file(path, asked, found)))
    for name, runs in recorded.items():
        together = [runs] if len(runs) == SIDES and not asked.transports else [[run] for run in runs]
        scenes += [(each[0].path, of_runs(name, each, asked, found)) for each in together]
        found.interrupted += [run.path for run in runs if run.expected is None]
    limits.check_files(scene for _, scene in scenes)
    names = [scene.name for _, scene in scenes]
    found.scenes = [replace(scene, name=str(path)) if names.count(scene.name) > 1 else scene for path, scene in scenes]
    return found


def runs_in(path: Path) -> list[Recorded]:
    """The runs in a folder of results: one, or those of a comparison."""
    inside = folder.find_runs(path)
    if not inside:
        raise Error(f"{path}: there are no results in this folder; name a scenario, or a folder of `clearway run`")
    return [recorded(one) for one in inside]


def recorded(path: Path) -> Recorded:
    """The run in a folder."""
    folder.recover(path)
    try:
        summary, hashes = folder.unseal(path)
        if folder.file_hash(path / folder.SCENARIO) != hashes[folder.SCENARIO]:
            raise ValueError(f"{folder.SCENARIO} is damaged or was edited (its hash is not that in the summary)")
        text = folder.read_text(path / folder.SCENARIO)
        name, found, version = str(summary["scenario"]), str(summary["hash"]), str(summary["clearway"])
        whole = summary["ended"] not in ended.CUT_OFF
    except OSError as error:
        raise Error(f"{path}: can't read the results: {error.strerror}") from None
    except KeyError as error:
        raise Error(f"{path}: can't read the results: {folder.SUMMARY} lacks {error}") from None
    except ValueError as error:
        raise Error(f"{path}: can't read the results: {' '.join(str(error).split())}") from None
    return Recorded(path, name, text, Expected(found, version, str(path)) if whole else None)


def of_file(path: Path, asked: Asked, found: Opened) -> Scene:
    """A scenario file as a scene, with a side for each transport that is asked for."""
    files: dict[str, bytes] = {}
    name = path.stem
    text = ""
    for transport in asked.each:
        scenario = _clearway.Scenario.load(path, transport=transport, set=list(asked.settings), memory=memory_limit())
        limits.check_scenario(scenario, str(path))
        name = scenario.name
        text = text or text_of(path, scenario)
        limits.check_text(text, str(path))
        found.hosts = max(found.hosts, scenario.estimate()["hosts"])
        named = {*strings(tomllib.loads(text)), *(value for _, value in asked.settings)}
        full = set(files_of(scenario))
        files |= {one: content(Path(path.parent, one)) for one in sorted(named) if absolute(path.parent, one) in full}
    # The name of a scenario that gives itself none is that of its file, which the page doesn't know.
    text = text if "name" in tomllib.loads(text) else f'name = "{name}"\n{text}'
    sides = [Side(text, transport, asked.settings) for transport in asked.each]
    return Scene(name, sides, files)


def of_runs(name: str, runs: Sequence[Recorded], asked: Asked, found: Opened) -> Scene:
    """Runs as a scene, each a side; files that they read have short names in it, so that it opens on any machine."""
    short: dict[str, str] = {}
    sides = []
    for run in runs:
        text = run.text
        for transport in asked.each:
            origin = str(run.path / folder.SCENARIO)
            scenario = _clearway.Scenario.parse(
                run.text, origin, run.path, transport=transport, set=list(asked.settings), memory=memory_limit()
            )
            limits.check_scenario(scenario, origin)
            limits.check_text(text, origin)
            found.hosts = max(found.hosts, scenario.estimate()["hosts"])
            for full in files_of(scenario):
                short.setdefault(full, free_name(Path(full).name, short.values()))
                text = text.replace(f'"{full}"', f'"{short[full]}"')
        expected = None if asked else run.expected
        sides += [Side(text, transport, asked.settings, expected) for transport in asked.each]
    return Scene(name, sides, {one: content(Path(full)) for full, one in short.items()})


def files_of(scenario: _clearway.Scenario) -> Iterator[str]:
    """The full paths of the files that a scenario names."""
    return (full for _, full in named_files(tomllib.loads(scenario.to_toml())))


def strings(node: Any) -> Iterator[str]:
    """All texts in a scenario."""
    if isinstance(node, str):
        yield node
    elif isinstance(node, dict):
        for value in node.values():
            yield from strings(value)
    elif isinstance(node, list):
        for value in node:
            yield from strings(value)


def absolute(base: Path, name: str) -> str:
    """The full path of a file that a scenario in `base` names."""
    return str(Path(base, name).resolve()) if "\0" not in name else ""


def free_name(name: str, taken: Any) -> str:
    """A name that no other file has."""
    number, free = 1, name
    while free in taken:
        number += 1
        free = f"{number}-{name}"
    return free


def content(path: Path) -> bytes:
    """The bytes of a file that a scenario names, unpacked: the page has no readers of packed files."""
    found = path.read_bytes()
    if found.startswith(PARQUET):
        raise Error(f"{path}: the live page can't read Parquet; save the list as CSV")
    return _clearway.unpacked(found)


def text_of(path: Path, scenario: _clearway.Scenario) -> str:
    """The text of a scenario file; of a packed one, the scenario with every default filled in."""
    try:
        return path.read_text("utf-8-sig")
    except UnicodeDecodeError:
        return scenario.to_toml()
