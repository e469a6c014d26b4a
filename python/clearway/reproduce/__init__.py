"""Figures of papers, each reproduced by one command: `clearway reproduce expresspass/fig16`.

To add a figure, write a module in the folder of its paper (see `clearway.reproduce.figure.Figure`), and copy the
claims that it checks into `claims/<paper>.toml`.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable
from pathlib import Path

from clearway._clearway import Error
from clearway.reproduce import look, page, work
from clearway.reproduce.claims import Claim, Finding, claim, claims
from clearway.reproduce.figure import Figure, Job, Reproduction

__all__ = [
    "SCALES",
    "Claim",
    "Figure",
    "Finding",
    "Job",
    "Reproduction",
    "claim",
    "claims",
    "figures",
    "find",
    "reproduce",
]

SCALES = ("quick", "full")


def figures() -> dict[str, Figure]:
    """All figures, by name: whatever the folders of papers hold."""
    found = {}
    for paper in pkgutil.iter_modules(__path__, f"{__name__}."):
        if paper.ispkg:
            for module in pkgutil.iter_modules(importlib.import_module(paper.name).__path__, f"{paper.name}."):
                figure = getattr(importlib.import_module(module.name), "FIGURE", None)
                if figure is not None:
                    found[figure.name] = figure
    return dict(sorted(found.items()))


def find(what: str | None) -> list[Figure]:
    """The figures that `paper`, `paper/figure` or nothing (all) names."""
    known = figures()
    chosen = [figure for name, figure in known.items() if what in (None, name, figure.paper)]
    if not chosen:
        raise Error(f"{what!r} is no figure; there are {', '.join(known)}, and all of a paper by its name")
    return chosen


def reproduce(
    figure: Figure | str,
    *,
    scale: str = "quick",
    out: str | Path = "out/reproduce",
    docs: str | Path | None = None,
    processes: int | None = None,
    jobs: list[Job] | None = None,
    progress: Callable[[int, str], object] = lambda *_: None,
) -> Reproduction:
    """Runs a figure's simulations, those that were not run before, and writes tables, pictures and a page to `out`.

    With `docs`, the page goes to `DOCS/results` and the pictures as SVG to `DOCS/img` instead. `jobs` replaces the
    simulations of the scale.
    """
    if isinstance(figure, str):
        (figure,) = find(figure)
    if scale not in SCALES:
        raise Error(f"scale = {scale!r}: write {' or '.join(SCALES)}")
    jobs = figure.jobs(scale) if jobs is None else jobs
    out = Path(out)
    count = 1 if figure.alone else processes or work.cores()
    outcome = work.gather(figure, jobs, out / ".cache", count, progress)
    tables = figure.summarise(outcome.tables)
    files = []
    (out / figure.slug).mkdir(parents=True, exist_ok=True)
    for name, table in tables.items():
        for suffix in ("parquet", "csv"):
            path = out / figure.slug / f"{name}.{suffix}"
            table.write_parquet(path) if suffix == "parquet" else table.write_csv(path)
            files.append(path)
    images = Path(docs) / "img" if docs else out / figure.slug
    where = Path(docs) / "results" / f"{figure.slug}.md" if docs else out / figure.slug / f"{figure.slug}.md"
    drawn = look.save(lambda look: figure.draw(tables, look), out / figure.slug, figure.slug)
    if docs:
        images.mkdir(parents=True, exist_ok=True)
        for picture in [path for path in drawn if path.suffix == ".svg"]:
            drawn.append(images / picture.name)
            drawn[-1].write_bytes(picture.read_bytes())
    found = Reproduction(
        figure,
        scale,
        tables,
        figure.check(tables),
        len(jobs),
        outcome.cached,
        outcome.cpu_s,
        [*files, *drawn, where],
    )
    where.parent.mkdir(parents=True, exist_ok=True)
    where.write_text(page.page(found, images, where), "utf-8")
    return found
