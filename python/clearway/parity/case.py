"""Cases of parity: lists of flows, the scenario that runs one, and reference numbers."""

from __future__ import annotations

import hashlib
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

import polars as pl

from clearway.metrics import BUCKETS
from clearway.result import Run


@dataclass(frozen=True)
class FlowList:
    """A list of flows, made anew wherever it is needed and always the same."""

    name: str
    #: Makes it: columns `start_ns`, `src`, `dst` (numbers of hosts) and `size_bytes`, in the order of starts.
    make: Callable[[], pl.DataFrame]


@dataclass(frozen=True)
class Reference:
    """The authors' simulator's results for a list."""

    #: SHA-256 of the list as `csv` writes it.
    sha256: str
    #: A draw is one run of that simulator. By name of the bucket: mean and 99th percentile of completion times in
    #: seconds, and the number of flows.
    draws: list[dict[str, dict[str, Any]]]


def fct_s(run: Run) -> pl.Series:
    """Completion times from the start of a flow to the arrival of its last byte, in seconds."""
    return run.flows["fct_s"]


@dataclass(frozen=True)
class Case:
    """A comparison with one simulator."""

    name: str
    title: str
    #: Whose simulator, and which commit of it.
    simulator: str
    #: The span that a completion time covers, in words; it is the same on both sides.
    counted: str
    lists: tuple[FlowList, ...]
    #: The scenario that runs the list of flows in this file.
    scenario: Callable[[Path], dict[str, Any]]
    #: Runs of each list: seed 1 and those after it.
    seeds: int = 5
    #: Completion times of a run in seconds, counted as `counted` says, in the order of its flows.
    fct: Callable[[Run], pl.Series] = fct_s
    #: Name, least size and first size that is too large.
    buckets: tuple[tuple[str, float, float], ...] = BUCKETS

    def reference(self, flows: FlowList) -> Reference | None:
        """The reference numbers of a list, if they were measured."""
        path = files("clearway.parity") / "reference" / self.name / f"{flows.name}.toml"
        if not path.is_file():
            return None
        found = tomllib.loads(path.read_text(encoding="utf-8"))
        draws = found.get("draw", [found])
        return Reference(found["sha256"], [{row["name"]: row for row in draw["bucket"]} for draw in draws])

    def write(self, flows: FlowList, path: Path) -> str:
        """Writes a list as CSV, which both simulators are given, and returns its hash."""
        text = csv(flows.make())
        path.write_text(text, encoding="utf-8")
        return digest(text)


def csv(flows: pl.DataFrame) -> str:
    """A list of flows as the text of a file that a scenario can name."""
    return flows.select("start_ns", "src", "dst", "size_bytes").write_csv()


def digest(text: str) -> str:
    """SHA-256 of a list's text."""
    return hashlib.sha256(text.encode()).hexdigest()
