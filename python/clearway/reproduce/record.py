"""Records of reproduced figures, beside their pages: verdicts for the scoreboard, hashes against staleness."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from clearway import _clearway
from clearway._clearway import Error
from clearway.folder import CHECKSUM, checksum
from clearway.jobs import sources
from clearway.reproduce.causes import Cause, CauseKind
from clearway.reproduce.claims import Finding, Verdict, claims, claims_text
from clearway.reproduce.figure import Figure, Job, Reproduction
from clearway.reproduce.rules import rule, rules_text

#: Folder of the records of quick runs, in that of the records of larger ones: they are a regression test.
QUICK = "quick"


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
    cells: tuple[int, int] = (0, 0)
    #: The results at smaller sizes, from small to large: the share of the paper's size, the number, the verdict.
    smaller: tuple[tuple[float, str, Verdict], ...] = ()
    #: The reason why the claim does not hold: the kind of cause and its sentence; None where it holds.
    cause: tuple[CauseKind, str] | None = None

    @classmethod
    def of(cls, finding: Finding, paper: str, smaller: Sequence[tuple[float, list[Finding]]] = ()) -> Row:
        """The row of a finding of a figure of `paper`, with those on the same claim at smaller sizes."""
        one = finding
        before = tuple(
            (round(share, 6), other.measured, other.verdict)
            for share, findings in smaller
            for other in findings
            if other.claim.id == one.claim.id
        )
        cause = (one.cause.kind, one.cause.says) if one.cause else None
        return cls(
            one.claim.id, paper, one.measured, one.verdict, one.note, one.reading, one.seeds, one.cells, before, cause
        )

    def finding(self) -> Finding:
        """The finding that this row was made from."""
        claim = claims(self.paper)[self.claim]
        cause = Cause(*self.cause) if self.cause else None
        return Finding(claim, self.measured, self.verdict, self.note, self.reading, self.seeds, self.cells, cause)


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
    #: Hash of the scenarios of all simulations.
    jobs: str
    #: The simulation that was cheapest to run, by its label, and its hash; empty without simulations.
    spot: tuple[str, str]
    rows: list[Row]
    #: The size of its largest simulation over that at the paper's size.
    share: float = 1.0
    #: Hash of what a reader sees beside its numbers: its texts, and the claims that it judges with their rules.
    texts: str = ""


def jobs_hash(jobs: Sequence[Job]) -> str:
    """Hash of the scenarios of simulations and of the files that they name."""
    return sources.digest(*(job.label + sources.scenario_text(job.scenario) for job in jobs))


def page_sources(figure: Figure) -> str:
    """Hash of what a figure's page is made from: its code, its own texts, its prose and the claims of its paper."""
    code = sources.fingerprint(figure.measure, figure.summarise, figure.check, figure.facts, figure.draw)
    texts = [figure.title, figure.doc, figure.template, json.dumps([dict(figure.shown), dict(figure.captions)])]
    return sources.digest(code, *texts, claims_text(figure.paper), rules_text(figure.paper))


def texts_hash(figure: Figure, ids: Iterable[str]) -> str:
    """Hash of a figure's texts, and of claims of its paper with what decides them."""
    known = claims(figure.paper)
    judged = [repr((known[one], rule(figure.paper, one))) for one in sorted(set(ids))]
    shown = json.dumps([dict(figure.shown), dict(figure.captions)])
    return sources.digest(figure.title, figure.doc, figure.template, shown, *judged)


def record(found: Reproduction, jobs: Sequence[Job]) -> Record:
    """The record of a reproduction whose verdicts are those of `jobs`."""
    rows = [Row.of(one, found.figure.paper, found.smaller) for one in found.findings]
    hashes = {label: one for label, (one, _) in found.hashes.items()}
    cheapest = min(found.hashes, key=lambda one: (found.hashes[one][1], one), default="")
    return Record(
        figure=found.figure.name,
        scale=found.scale,
        commit=_clearway.__commit__ or "unknown",
        version=_clearway.__version__,
        sources=page_sources(found.figure),
        result=sources.digest(json.dumps(hashes, sort_keys=True), json.dumps([asdict(row) for row in rows])),
        jobs=jobs_hash(jobs),
        spot=(cheapest, hashes.get(cheapest, "")),
        rows=rows,
        share=round(found.share, 6),
        texts=texts_hash(found.figure, [one.claim.id for one in found.findings]),
    )


def has_larger(figure: Figure, folder: Path) -> bool:
    """True if `folder` has the record of a figure at a larger scale than `quick`."""
    kept = load(figure, folder)
    return kept is not None and kept.scale != "quick"


def save(kept: Record, folder: Path) -> Path:
    """Writes the record of a figure into `folder`; that of a quick run into `QUICK` there, if there is a larger one."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{kept.figure.replace('/', '-')}.json"
    larger = path.exists() and json.loads(path.read_text("utf-8"))["scale"] != "quick"
    if kept.scale == "quick" and larger:
        path = folder / QUICK / path.name
        path.parent.mkdir(exist_ok=True)
    elif kept.scale != "quick" and path.exists() and not larger:
        (folder / QUICK).mkdir(exist_ok=True)
        path.rename(folder / QUICK / path.name)
    content = asdict(kept)
    path.write_text(json.dumps({**content, CHECKSUM: checksum(content)}, indent=1) + "\n", "utf-8")
    return path


def read_row(row: Mapping[str, Any]) -> Row:
    """A row as it was before it was written."""
    smaller = tuple(map(tuple, row.get("smaller", ())))
    cause = tuple(found) if (found := row.get("cause")) else None
    return Row(**{**row, "cells": tuple(row.get("cells", (0, 0))), "smaller": smaller, "cause": cause})


def load(figure: Figure, folder: Path) -> Record | None:
    """The record of a figure, if it was reproduced into `folder`.

    One with a checksum is refused if it is damaged or edited; records of older versions have none.
    """
    path = folder / f"{figure.slug}.json"
    if not path.exists():
        return None
    try:
        kept: dict[str, Any] = json.loads(path.read_text("utf-8"))
        if kept.pop(CHECKSUM, known := checksum(kept)) != known:
            raise ValueError
        label, one = kept.pop("spot")
        rows = [read_row(row) for row in kept.pop("rows")]
        return Record(spot=(label, one), rows=rows, **kept)
    except (AttributeError, KeyError, TypeError, ValueError):
        right = f"write it anew with `clearway reproduce {figure.name}`"
        raise Error(f"{path}: is not the record of a figure, or damaged or edited; {right}") from None
