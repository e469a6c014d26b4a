"""The check that pages in `docs` are still what the code computes: `clearway reproduce --check`.

Each page has a record with a hash of its sources, a hash of its result, and the hash of each of its simulations. A page
is looked at again if its sources changed, or if the simulation that is cheapest to run gives another hash than it did;
it is then computed anew and must come out the same.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from clearway.reproduce import page, record, reproduce
from clearway.reproduce.figure import Figure, Reproduction
from clearway.reproduce.scale import jobs_at
from clearway.reproduce.work import Progress
from clearway.runner import run


@dataclass(frozen=True)
class Verdict:
    """The answer of the check for a page."""

    figure: str
    #: Why the page is stale; empty if it is not.
    stale: str
    #: True if the page was computed anew, False if only its cheapest simulation was.
    anew: bool


def check(
    chosen: Sequence[Figure], docs: Path, *, processes: int | None = None, progress: Progress = lambda *_: None
) -> Iterator[Verdict]:
    """Looks at the pages of the figures, one after the other."""
    for figure in chosen:
        yield look_at(figure, docs, processes, progress)
        progress(figure.name, "")


def look_at(figure: Figure, docs: Path, processes: int | None, progress: Progress) -> Verdict:
    """Looks at one page."""
    folder = docs / "results" / "data"
    kept = record.load(figure, folder)
    if kept is None:
        return Verdict(figure.name, "it has no page", anew=False)
    if kept.scale != "quick":
        return look_at_larger(figure, kept, folder, processes, progress)
    changed = kept.sources != record.page_sources(figure)
    if not changed and (figure.alone or spot_check(figure, kept)):
        return Verdict(figure.name, "", anew=False)
    if figure.alone:
        return Verdict(figure.name, f"{why(changed=changed)}, and it is too long to be computed here", anew=False)
    with tempfile.TemporaryDirectory() as scratch:
        again = reproduce(figure, out=scratch, docs=Path(scratch) / "docs", processes=processes, progress=progress)
        new = record.record(again, figure.jobs("quick"))
        if new.result != kept.result:
            return Verdict(figure.name, difference(kept, new), anew=True)
        written = (docs / "results" / f"{figure.slug}.md").read_text("utf-8")
        if body(written) != body(page_of(again, docs, new.result)):
            return Verdict(figure.name, "its text or tables changed", anew=True)
    return Verdict(figure.name, "", anew=True)


def look_at_larger(
    figure: Figure, kept: record.Record, folder: Path, processes: int | None, progress: Progress
) -> Verdict:
    """Looks at a page that was made at a larger scale than can be computed here.

    It stands as long as its scenarios, its texts and the rules of its claims are the same, and its quick runs give
    the results that they gave.
    """
    quick = record.load(figure, folder / record.QUICK)
    if quick is None:
        return Verdict(figure.name, "it has no record of its quick runs", anew=False)
    if record.jobs_hash(jobs_at(figure, kept.scale)) != kept.jobs:
        return Verdict(figure.name, f"its scenarios at the scale {kept.scale} changed", anew=False)
    if record.texts_hash(figure, [row.claim for row in kept.rows]) != kept.texts:
        return Verdict(figure.name, "its texts or the rules of its claims changed", anew=False)
    if quick.sources == record.page_sources(figure) and spot_check(figure, quick):
        return Verdict(figure.name, "", anew=False)
    with tempfile.TemporaryDirectory() as scratch:
        again = reproduce(figure, out=scratch, processes=processes, progress=progress)
        new = record.record(again, figure.jobs("quick"))
    stale = difference(quick, new) if new.result != quick.result else ""
    return Verdict(figure.name, stale and f"at the scale quick, {stale}", anew=True)


def why(*, changed: bool) -> str:
    """The reason why a page may be stale, in words."""
    return "its sources changed" if changed else "its simulations give another result"


def spot_check(figure: Figure, kept: record.Record) -> bool:
    """True if the cheapest simulation of a record still gives the hash that it gave."""
    jobs = jobs_at(figure, kept.scale)
    if record.jobs_hash(jobs) != kept.jobs:
        return False
    label, was = kept.spot
    return not jobs or run(next(job.scenario for job in jobs if job.label == label)).hash == was


def difference(old: record.Record, new: record.Record) -> str:
    """The first thing that came out otherwise, in a line."""
    before = {row.claim: row for row in old.rows}
    for row in new.rows:
        was = before.get(row.claim)
        if was is None or (was.verdict, was.measured) != (row.verdict, row.measured):
            shown = f"{was.measured} ({was.verdict})" if was else "no row"
            return f"{row.claim}: {shown} -> {row.measured} ({row.verdict})"
    return "its simulations give other results, its verdicts are the same"


def page_of(found: Reproduction, docs: Path, result: str) -> str:
    """The text of a page as it would be written to `docs`."""
    return page.page(found, docs / "img", docs / "results" / f"{found.figure.slug}.md", result)


def body(text: str) -> list[str]:
    """A page without its line of commit and CPU time, and without columns of CPU time: they differ by machine."""
    lines: list[str] = []
    timed: set[int] = set()
    for line in text.splitlines():
        if line.startswith("`clearway reproduce "):
            continue
        if not line.startswith("|"):
            timed = set()
            lines.append(line)
            continue
        cells = line.split("|")
        timed = timed or {i for i, cell in enumerate(cells) if cell.strip().endswith("cpu s")}
        lines.append("|".join(cell for i, cell in enumerate(cells) if i not in timed))
    return lines
