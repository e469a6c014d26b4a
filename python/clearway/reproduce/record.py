"""What is kept of a reproduced figure beside its page: verdicts for the scoreboard, hashes against staleness."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from clearway import _clearway
from clearway.reproduce import sources
from clearway.reproduce.claims import Finding, Verdict, claims
from clearway.reproduce.figure import Figure, Reproduction


@dataclass(frozen=True)
class Row:
    """A verdict of a figure, as it is kept."""

    claim: str
    paper: str
    measured: str
    verdict: Verdict
    note: str
    reading: str
    seeds: int

    @classmethod
    def of(cls, finding: Finding, paper: str) -> Row:
        """The row of a finding of a figure of `paper`."""
        one = finding
        return cls(one.claim.id, paper, one.measured, one.verdict, one.note, one.reading, one.seeds)

    def finding(self) -> Finding:
        """Back to the claim itself."""
        claim = claims(self.paper)[self.claim]
        return Finding(claim, self.measured, self.verdict, self.note, self.reading, self.seeds)


@dataclass(frozen=True)
class Record:
    """A figure as it was last reproduced."""

    figure: str
    scale: str
    #: The commit that the simulator was built from.
    commit: str
    version: str
    #: Hash of the Python sources and prose of the figure.
    sources: str
    #: Hash of all simulations and all verdicts.
    result: str
    cpu_s: float
    #: Label of each simulation -> its hash and the CPU seconds that it took.
    runs: dict[str, tuple[str, float]]
    rows: list[Row]


def record(found: Reproduction) -> Record:
    """What to keep of a reproduction."""
    rows = [Row.of(one, found.figure.paper) for one in found.findings]
    hashes = {label: one for label, (one, _) in found.hashes.items()}
    return Record(
        figure=found.figure.name,
        scale=found.scale,
        commit=_clearway.__commit__ or "unknown",
        version=_clearway.__version__,
        sources=sources.page_sources(found.figure.check.__module__),
        result=sources.digest(json.dumps(hashes, sort_keys=True), json.dumps([asdict(row) for row in rows])),
        cpu_s=round(found.cpu_s, 1),
        runs={label: (one, round(cpu_s, 2)) for label, (one, cpu_s) in found.hashes.items()},
        rows=rows,
    )


def save(kept: Record, folder: Path) -> Path:
    """Writes the record of a figure into `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{kept.figure.replace('/', '-')}.json"
    path.write_text(json.dumps(asdict(kept), indent=1) + "\n", "utf-8")
    return path


def load(figure: Figure, folder: Path) -> Record | None:
    """The record of a figure, if it was reproduced into `folder`."""
    path = folder / f"{figure.slug}.json"
    if not path.exists():
        return None
    kept: dict[str, Any] = json.loads(path.read_text("utf-8"))
    runs = {label: (str(one), float(cpu_s)) for label, (one, cpu_s) in kept.pop("runs").items()}
    rows = [Row(**row) for row in kept.pop("rows")]
    return Record(runs=runs, rows=rows, **kept)
