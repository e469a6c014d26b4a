"""Mutants of the code, as cargo-mutants lists them, and which of them belong to a shard."""

from __future__ import annotations

import hashlib
import json
import subprocess
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

#: Packages whose mutants are listed; `.cargo/mutants.toml` says which of their files count.
PACKAGES = ("clearway-proto", "clearway-sim")
#: The number of shards into which all mutants fall at random: with 9,600 mutants, a shard has some 66.
SHARDS = 145
#: What the order of mutants and their division into shards begin from.
SEED = "clearway 1"


class ProblemError(Exception):
    """Something that the caller can put right."""


@dataclass(frozen=True)
class Place:
    """A place in a file: line and column, both counted from 1, the column in characters."""

    line: int
    column: int


@dataclass(frozen=True)
class Mutant:
    """A change of the code in one place.

    `file`, `change`, `code` and `twin` tell mutants apart, and stay the same when lines move.
    """

    package: str
    #: Path from the root of the repository.
    file: str
    #: What is changed, in words: `replace > with >= in Wheel::pop`.
    change: str
    #: The first line that is changed, as it stands in the file, without its indentation.
    code: str
    #: How many mutants of the same file, change and code come before this one.
    twin: int
    start: Place
    end: Place
    #: What stands from `start` to `end` (exclusive) in the mutant.
    replacement: str
    #: Start and end of the function, documentation included; `None` of what is in none.
    function: tuple[Place, Place] | None = None

    @property
    def key(self) -> str:
        """What identifies the mutant."""
        return key_of(self.file, self.change, self.code, self.twin)

    @property
    def rank(self) -> int:
        """A number that is drawn by the key alone: the shard follows from it, and the order within the shard."""
        return int.from_bytes(hashlib.sha256(f"{SEED}|{self.key}".encode()).digest()[:8])

    @property
    def shard(self) -> int:
        """The shard that the mutant belongs to, from 0 to `SHARDS` - 1."""
        return self.rank % SHARDS

    def applied(self, text: str) -> str:
        """The text of the mutant's file after the change."""
        start, end = (offset(text, place) for place in (self.start, self.end))
        return text[:start] + self.replacement + text[end:]


def key_of(file: str, change: str, code: str, twin: int) -> str:
    """What identifies a mutant, whatever its line."""
    return f"{file}|{change}|{code}|{twin}"


def offset(text: str, place: Place) -> int:
    """The offset of a place in a text."""
    lines = text.split("\n")
    return sum(len(line) + 1 for line in lines[: place.line - 1]) + place.column - 1


def listed(root: Path, program: Path) -> list[Mutant]:
    """All mutants of the code below `root`, in the order of files and lines."""
    command = [str(program), "mutants", "--list", "--json", *(word for each in PACKAGES for word in ("-p", each))]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise ProblemError(f"cargo mutants lists no mutants: {done.stderr.strip()}")
    return mutants_of(json.loads(done.stdout), root)


def mutants_of(entries: Iterable[dict[str, Any]], root: Path) -> list[Mutant]:
    """The mutants that a list of cargo-mutants names, each told apart from others of the same words."""
    texts: dict[str, list[str]] = {}
    twins: Counter[tuple[str, str, str]] = Counter()
    found = []

    def position(entry: dict[str, Any]) -> tuple[str, int, int, str]:
        start = entry["span"]["start"]
        return entry["file"], start["line"], start["column"], entry["name"]

    for entry in sorted(entries, key=position):
        file = entry["file"]
        start, end = (Place(**entry["span"][word]) for word in ("start", "end"))
        if file not in texts:
            texts[file] = (root / file).read_text("utf-8").split("\n")
        code = texts[file][start.line - 1].strip()
        change = entry["name"].removeprefix(f"{file}:{start.line}:{start.column}: ")
        twin = twins[file, change, code]
        twins[file, change, code] += 1
        function = None
        if entry.get("function"):
            span = entry["function"]["span"]
            function = (Place(**span["start"]), Place(**span["end"]))
        package, replacement = entry["package"], entry["replacement"]
        found.append(Mutant(package, file, change, code, twin, start, end, replacement, function))
    return found


def drawn(mutants: Iterable[Mutant], shard: int) -> list[Mutant]:
    """The mutants of a shard in a random order, so that the first few of them are a sample too."""
    if not 0 <= shard < SHARDS:
        raise ProblemError(f"SHARD={shard}: must be a number from 0 to {SHARDS - 1}")
    return sorted((mutant for mutant in mutants if mutant.shard == shard), key=lambda mutant: mutant.rank)
