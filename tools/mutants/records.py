"""Records of shards, files of JSON in `docs/data/mutants`: which mutants were drawn, and what came of each."""

from __future__ import annotations

import json
import math
import tomllib
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

from drawing import Mutant, ProblemError, key_of

#: The quantile of the normal distribution that a two-sided interval of 95 % takes.
Z = 1.959964
#: What a trial may find.
OUTCOMES = ("killed", "timeout", "survived", "unviable")


@dataclass
class Trial:
    """A mutant that was drawn, and what came of it."""

    package: str
    file: str
    #: The line at the shard's commit.
    line: int
    change: str
    code: str
    twin: int
    #: One of `OUTCOMES`; null as long as the mutant was not tried.
    outcome: str | None = None
    #: The test that failed.
    by: str | None = None
    seconds: float | None = None
    #: Whether a survivor has stood the slow tests too.
    thorough: bool = False
    #: The same of a later trial, with the slow tests and those that were added; null without one. `is_old` says whether
    #: the test that failed is a slow one that was there when the mutant was drawn.
    later: dict[str, Any] | None = None

    @classmethod
    def of(cls, mutant: Mutant) -> Trial:
        """A trial that has not been made yet."""
        return cls(mutant.package, mutant.file, mutant.start.line, mutant.change, mutant.code, mutant.twin)

    @property
    def key(self) -> str:
        """What identifies the mutant, as `Mutant.key` does."""
        return key_of(self.file, self.change, self.code, self.twin)

    @property
    def words(self) -> tuple[str, str, str]:
        """The words by which a verdict names the mutant."""
        return self.file, self.change, self.code

    @property
    def then(self) -> str | None:
        """The outcome by all tests that were there when the mutant was drawn, if the slow ones were tried since."""
        return self.later["outcome"] if self.later and self.later.get("is_old") else self.outcome

    @property
    def awaits_slow(self) -> bool:
        """Whether it survived all tests so far, of which the slow ones were not all tried."""
        return self.last == "survived" and not self.thorough

    @property
    def last(self) -> str | None:
        """The outcome of the last trial."""
        return self.later["outcome"] if self.later else self.outcome


@dataclass
class Shard:
    """The record of a shard."""

    shard: int
    #: The number of all mutants, and of those in the shard.
    population: int
    size: int
    #: What was tried: the day on which the shard was begun, the commit, the compiler.
    day: str
    commit: str
    rustc: str
    trials: list[Trial]
    #: The draw that the shard belongs to. A draw is a sample of its own, of the code and the tests of its time.
    draw: int = 1

    @property
    def done(self) -> list[Trial]:
        """The trials that were made."""
        return [trial for trial in self.trials if trial.outcome]


def read(file: Path) -> Shard:
    """A record, as `Shard` describes it."""
    try:
        content = json.loads(file.read_text("utf-8"))
        trials = [Trial(**trial) for trial in content.pop("trials")]
        return Shard(**content, trials=trials)
    except (ValueError, TypeError, KeyError) as problem:
        raise ProblemError(f"{file}: is no record of a shard: {problem}") from None


def write(shard: Shard, file: Path) -> None:
    """Writes a record at a stroke, so that a run that is ended leaves the old or the new one."""
    file.parent.mkdir(parents=True, exist_ok=True)
    scratch = file.with_suffix(".new")
    scratch.write_text(json.dumps(asdict(shard), indent=1) + "\n", "utf-8")
    scratch.replace(file)


def read_all(folder: Path) -> list[Shard]:
    """All records, by number."""
    return sorted((read(file) for file in folder.glob("shard-*.json")), key=lambda shard: shard.shard)


class Verdict(NamedTuple):
    """What a person says of a survivor."""

    #: Why no test can tell the mutant from the code; empty if one could.
    equivalent: str
    #: Anything else that is to be known.
    note: str


def verdicts(file: Path) -> dict[tuple[str, str, str], Verdict]:
    """What was said of survivors, by file, change and code."""
    if not file.exists():
        return {}
    found = {}
    for entry in tomllib.loads(file.read_text("utf-8")).get("survivor", []):
        unknown = set(entry) - {"file", "change", "code", "equivalent", "note"}
        if unknown or not {"file", "change", "code"} <= set(entry):
            raise ProblemError(
                f"{file}: an entry has the keys {', '.join(sorted(entry))}; "
                "it must have `file`, `change` and `code`, and `equivalent` or `note`"
            )
        verdict = Verdict(entry.get("equivalent", ""), entry.get("note", ""))
        found[entry["file"], entry["change"], entry["code"]] = verdict
    return found


class Counts(NamedTuple):
    """How many mutants had each outcome."""

    killed: int
    timeout: int
    survived: int
    unviable: int

    @property
    def viable(self) -> int:
        """Those that compile."""
        return self.killed + self.timeout + self.survived


def counts(outcomes: Iterable[str | None]) -> Counts:
    """Counts outcomes."""
    every = list(outcomes)
    return Counts(*(every.count(what) for what in OUTCOMES))


def share(hits: int, of: int) -> str:
    """A share in per cent, with its interval."""
    low, high = wilson(hits, of)
    return f"{100 * hits / of:.1f} % ({100 * low:.1f} to {100 * high:.1f})" if of else "-"


def wilson(hits: int, of: int) -> tuple[float, float]:
    """The 95 % interval of a share by Wilson's score, which holds for small numbers and shares near 0 too.

    (p + z²/2n ± z √(p(1-p)/n + z²/4n²)) / (1 + z²/n), from E. B. Wilson, JASA 22 (1927).
    """
    if of == 0:
        return 0.0, 1.0
    p, z2 = hits / of, Z * Z
    middle = p + z2 / (2 * of)
    half = Z * math.sqrt(p * (1 - p) / of + z2 / (4 * of * of))
    return max(0.0, (middle - half) / (1 + z2 / of)), min(1.0, (middle + half) / (1 + z2 / of))
