"""Figures of papers, each reproduced by one command: `clearway reproduce expresspass/fig16`.

To add a figure, write a module in the folder of its paper (see `clearway.reproduce.figure.Figure`) and the prose of its
page beside it. CONTRIBUTING.md says how.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from clearway.page_file import write_text
from clearway.report.page import shell
from clearway.reproduce import look, page, readers, record, scoreboard, work
from clearway.reproduce.claims import Claim, Finding, claim, claims
from clearway.reproduce.figure import Figure, Job, Reproduction
from clearway.reproduce.known import figures, find
from clearway.reproduce.readers import html
from clearway.reproduce.scale import SCALES, all_jobs, cost, jobs_at, share, smaller
from clearway.reproduce.work import Progress

__all__ = [
    "SCALES",
    "Claim",
    "Figure",
    "Finding",
    "Job",
    "Reproduction",
    "all_jobs",
    "claim",
    "claims",
    "cost",
    "figures",
    "find",
    "jobs_at",
    "reproduce",
    "reproduce_all",
    "write_scoreboard",
]


def reproduce(
    figure: Figure | str,
    *,
    scale: str = "quick",
    out: str | Path = "out/reproduce",
    docs: str | Path | None = None,
    processes: int | None = None,
    jobs: list[Job] | None = None,
    progress: Progress = lambda *_: None,
) -> Reproduction:
    """Runs a figure's simulations, those that were not run before, and writes tables, pictures and a page to `out`.

    With `docs`, the page goes to `DOCS/results`, its record to `DOCS/results/data`, pictures as SVG to `DOCS/img`.
    `jobs` replaces the simulations of the scale. `progress` hears of each simulation that is done.
    """
    if isinstance(figure, str):
        (figure,) = find(figure)
    chosen = None if jobs is None else {figure.name: jobs}
    (found,) = reproduce_all(
        [figure], scale=scale, out=out, docs=docs, processes=processes, jobs=chosen, progress=progress
    )
    return found


def reproduce_all(
    chosen: Sequence[Figure],
    *,
    scale: str = "quick",
    out: str | Path = "out/reproduce",
    docs: str | Path | None = None,
    processes: int | None = None,
    jobs: dict[str, list[Job]] | None = None,
    progress: Progress = lambda *_: None,
) -> Iterator[Reproduction]:
    """As `reproduce`, for several figures, whose simulations share the processes; yields each as soon as it is done."""
    kept = Path(out) / ".cache"
    parts: dict[str, list[work.Batch]] = {}
    for figure in chosen:
        sizes = [*smaller(figure, scale), jobs_at(figure, scale)] if jobs is None else [jobs[figure.name]]
        parts[figure.name] = [work.batch(figure, one, kept) for one in sizes]
    left = {name: len(batches) for name, batches in parts.items()}
    every = [one for batches in parts.values() for one in batches]
    for done in work.work(every, processes or work.cores(), progress):
        name = done.figure.name
        left[name] -= 1
        if not left[name]:
            yield write(scale, parts[name], Path(out), Path(docs) if docs else None)


def write(scale: str, sizes: Sequence[work.Batch], out: Path, docs: Path | None) -> Reproduction:
    """Judges a figure whose simulations are done, and writes its tables, pictures, page and record.

    The last of `sizes` decides. A quick run leaves the page of a larger one as it is: only its record is written.
    """
    figure, outcome = sizes[-1].figure, work.outcome(sizes[-1])
    if docs and scale == "quick" and record.has_larger(figure, records(out, docs)):
        pages: Path | None = None
    else:
        pages = docs
    tables = figure.summarise(outcome.tables)
    files = []
    (out / figure.slug).mkdir(parents=True, exist_ok=True)
    for name, table in tables.items():
        for suffix in ("parquet", "csv"):
            path = out / figure.slug / f"{name}.{suffix}"
            table.write_parquet(path) if suffix == "parquet" else table.write_csv(path)
            files.append(path)
    images = pages / "img" if pages else out / figure.slug
    where = pages / "results" / f"{figure.slug}.md" if pages else out / figure.slug / f"{figure.slug}.md"
    drawn = look.save(lambda look: figure.draw(tables, look), out / figure.slug, figure.slug)
    if pages:
        images.mkdir(parents=True, exist_ok=True)
        for picture in [path for path in drawn if path.suffix == ".svg"]:
            drawn.append(images / picture.name)
            drawn[-1].write_bytes(picture.read_bytes())
    smaller = [(one, work.outcome(one)) for one in sizes[:-1]]
    found = Reproduction(
        figure,
        scale,
        tables,
        figure.check(tables),
        sum(len(one.jobs) for one in sizes),
        sum(one.cached for one in [outcome, *(one for _, one in smaller)]),
        sum(one.cpu_s for one in [outcome, *(one for _, one in smaller)]),
        outcome.hashes,
        [*files, *drawn],
        share(figure, sizes[-1].jobs),
        tuple((share(figure, of.jobs), figure.check(figure.summarise(one.tables))) for of, one in smaller),
    )
    kept = record.record(found, sizes[-1].jobs)
    found.files.append(record.save(kept, records(out, docs)))
    where.parent.mkdir(parents=True, exist_ok=True)
    where.write_text(page.page(found, images, where, kept.result), "utf-8")
    found.files.append(where)
    return found


def records(out: str | Path, docs: str | Path | None) -> Path:
    """The folder of the records that the scoreboard is made from."""
    return Path(docs) / "results" / "data" if docs else Path(out) / "records"


def write_scoreboard(out: str | Path = "out/reproduce", docs: str | Path | None = None) -> Path:
    """Writes the pages for readers of all figures that were reproduced so far: the scoreboard and a page a paper.

    The scoreboard is `DOCS/results/README.md` or, without `docs`, `OUT/results/README.md`. `OUT/index.html` has it as
    a page for the browser.
    """
    known, folder = figures(), records(out, docs)
    path = readers.write(known, folder, Path(docs) if docs else Path(out))
    scores = scoreboard.scores(known, folder)
    title = "Results, claim by claim"
    Path(out).mkdir(parents=True, exist_ok=True)
    text = shell(title, html.body(scores, known), "docs/verdicts.md says what a verdict means.")
    write_text(text, index(out), "the scoreboard")
    return path


def index(out: str | Path) -> Path:
    """The scoreboard as an HTML page."""
    return Path(out) / "index.html"
