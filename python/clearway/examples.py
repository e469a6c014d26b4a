"""The examples that come with Clearway: scenarios, sweeps and networks that go by a name, from any folder.

`data/examples.toml` declares them. Their files are those of `scenarios` in the repository, which `make wheel` copies
into the package. What looks like a file, by a slash or by its ending, is never taken for the name of an example.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from clearway import _clearway, reading
from clearway._clearway import ScenarioError
from clearway.scenario.named import named_files
from clearway.scenario.template import shapes

#: Kinds of examples. A file below one of these folders is a sweep or a network; all others are scenarios.
SCENARIO, SWEEP, NETWORK = KINDS = "scenario", "sweep", "network"
FOLDERS = {"sweeps": SWEEP, "networks": NETWORK}
#: The ending of files that people name.
ENDING = ".toml"
#: The command that takes an example of each kind, for errors of commands that take another.
INSTEAD = {
    SCENARIO: "`clearway run {name}` runs it",
    SWEEP: "`clearway sweep {name}` runs it",
    NETWORK: "`clearway show {name}` draws it",
}


@dataclass(frozen=True)
class Example:
    """A scenario, sweep or network that comes with Clearway."""

    name: str
    #: The path of its file below the folder of all examples.
    file: str
    #: The question that it answers, together with others.
    question: str
    #: The command that shows it.
    command: str
    #: A sentence on what the command shows.
    shows: str

    @property
    def kind(self) -> str:
        """The kind of example: a scenario, a sweep or a network, by the folder of its file."""
        return FOLDERS.get(self.file.partition("/")[0], SCENARIO)

    @property
    def path(self) -> Path:
        """The file of the example; raises `Error` where this installation has none."""
        path = folder() / self.file
        if not path.is_file():
            raise _clearway.Error(f"{self.name}: the examples are not in this installation; `make wheel` builds one")
        return path

    def text(self) -> str:
        """The content of its file."""
        return reading.content(self.path).decode("utf-8")

    def others(self) -> dict[str, Path]:
        """The files that its own file names, by the paths that stand there."""
        if self.kind != SCENARIO:
            return {}
        content = reading.parsed(_clearway.Scenario.load(self.path).to_toml())
        full = [Path(path) for _, path in named_files(content)]
        return {os.path.relpath(path, self.path.parent.resolve()): path for path in dict.fromkeys(full)}


def folder() -> Path:
    """The folder of the files: that of the repository, if the package lies there, or else the copy in the package."""
    package = Path(__file__).parent
    beside = package.parent.parent / "scenarios"
    is_checkout = package.parent.name == "python" and (beside / "incast.toml").is_file()
    return beside if is_checkout else package / "data" / "scenarios"


@cache
def examples() -> Mapping[str, Example]:
    """All examples by their names, in the order of their questions."""
    content = reading.toml(Path(__file__).parent / "data" / "examples.toml")
    found = [Example(question=part["ask"], **one) for part in content["question"] for one in part["example"]]
    return {one.name: one for one in found}


def names(*kinds: str) -> dict[str, str]:
    """The names of the examples of some kinds, or of all, with a sentence on each."""
    return {one.name: one.shows for one in examples().values() if not kinds or one.kind in kinds}


def is_bare(word: str | Path) -> bool:
    """True for a word that may be the name of an example, and does not look like a file."""
    text = str(word)
    return "/" not in text and os.sep not in text and not text.endswith(ENDING)


def named(word: str | Path, *kinds: str, base: Path = Path()) -> Path | None:
    """The file of the example that a word names; `None` if it names none, or if `base` has a file of that name.

    Raises `ScenarioError` for an example of another kind than those that are wanted.
    """
    if not is_bare(word) or has_file(base / word) or (example := examples().get(str(word))) is None:
        return None
    if example.kind not in kinds:
        instead = INSTEAD[example.kind].format(name=example.name)
        raise ScenarioError(f"{word}: is a {example.kind}, not a {kinds[0]}; {instead}")
    return example.path


def found(word: str | Path, *kinds: str) -> Path:
    """The file that a word names: a path, or an example; raises `ScenarioError`, with a near miss, if there is none."""
    path = named(word, *kinds) or Path(word)
    if not is_missing(path):
        if what := other_than_text(path):
            raise ScenarioError(f"{path}: {what}")
        return path
    if is_bare(word):
        if str(word) in shapes():
            raise ScenarioError(
                f"{word}: is a shape of networks, not a {kinds[0]}; `clearway show {word}` draws it, and "
                f"`clearway new --shape {word}` writes a scenario with it"
            )
        near = hint(word, kinds)
        raise ScenarioError(f"{word}: there is no such file or example{near} (`clearway list scenarios` lists these)")
    raise ScenarioError(f"{path}: can't be read: No such file or directory{hint(word, kinds)}")


def other_than_text(path: Path) -> str | None:
    """Says what else than the file of a scenario or sweep a path is, and what to do with it; None for a file."""
    if is_folder(path):
        for record, inside in (("summary.json", "scenario.toml"), ("sweep.json", "sweep.toml")):
            if (path / record).is_file():
                return f"is a folder of results; `clearway report {path}` shows them, and {path / inside} made them"
        return "is a directory; name a text file"
    if path.name.endswith((".csv", ".csv.gz", ".parquet")):
        return 'is a table; a list of flows is named by a scenario, with kind = "file" and path under [[traffic]]'
    return None


def of_source(scenario: str | Path | Mapping[str, Any]) -> str | Path | Mapping[str, Any]:
    """The scenario that Python is given: the name of an example as the path of its file, all else as it is."""
    if isinstance(scenario, Mapping) or "\n" in str(scenario):
        return scenario
    return found(scenario, SCENARIO)


def hint(word: str | Path, kinds: Sequence[str]) -> str:
    """The hint `; did you mean "incast.toml"?`: a file beside the one that is missing, or else an example."""
    path = Path(word)
    try:
        beside = [one.name for one in path.parent.iterdir() if one.name.endswith(ENDING) and one.is_file()]
    except (OSError, ValueError):
        beside = []
    known = list(names(*kinds))
    if is_bare(word):
        return _clearway.suggestion(str(word), [*beside, *known])
    if near := _clearway.suggestion(path.name, beside):
        return near.replace('"', f'"{path.parent}/', 1) if path.parent != Path() else near
    return _clearway.suggestion(path.stem, known)


def remark(word: str, *, runs: bool = False) -> str | None:
    """The line that says which of two is taken, where a file in this folder and an example have almost one name.

    With `runs`, a folder of results goes before an example as a file does.
    """
    example = examples().get(word) if is_bare(word) else None
    if example is None:
        return None
    if has_file(Path(word)) or (runs and Path(word).is_dir()):
        return f"{word}: this is what the current folder has by that name, not the example"
    other = Path(f"{word}{ENDING}")
    if not other.is_file() or other.samefile(example.path):
        return None
    return f"{word}: this is the example that comes with Clearway; the file in the current folder is {other}"


def has_file(path: Path) -> bool:
    """True if a path is there and no folder."""
    try:
        return path.exists() and not path.is_dir()
    except OSError:  # Its reader says what is wrong with it.
        return True


def is_folder(path: Path) -> bool:
    """True if a path is a folder, and certainly one."""
    try:
        return path.is_dir()
    except (OSError, ValueError):  # Its reader says what is wrong with it.
        return False


def is_missing(path: Path) -> bool:
    """True if there is certainly nothing at a path."""
    try:
        return not path.exists()
    except OSError:
        return False
