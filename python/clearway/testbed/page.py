"""The page docs/evidence/linux.md: each part of it that holds results is written from a file in docs/data/linux.

Some experiments have a part on another page too.
"""

from __future__ import annotations

from pathlib import Path

from matplotlib.figure import Figure

from clearway.report import style
from clearway.testbed import pictures
from clearway.testbed.experiment import Experiment
from clearway.testbed.experiments import NAMES, find
from clearway.testbed.merge import with_shares
from clearway.testbed.results import Results, load, part, rewrite

#: The folder of the results in the folder of documents, and the page that shows them.
DATA = Path("data/linux")
PAGE = Path("evidence/linux.md")


def save(experiment: Experiment, results: Results, folder: Path) -> None:
    """Writes results, tables and pictures into a folder."""
    results.write(folder)
    for name, (_, figure) in drawn(experiment, results).items():
        pictures.save(folder / f"{name}.svg", figure)


def drawn(experiment: Experiment, results: Results) -> dict[str, tuple[str, Figure]]:
    """The pictures of results, in the style of the reports."""
    with style.drawing():
        found = experiment.draw(results)
        for _, figure in found.values():
            pictures.above(figure, results.share_words())
        return found


def place(experiment: Experiment, results: Results, docs: Path, *, keep_figures: bool = False) -> None:
    """Keeps results among the documents, and writes the part of the page that tells of them.

    With `keep_figures` the results that are there stay, and take over the shares of bytes under control alone.
    """
    kept = docs / DATA / f"{experiment.name}.json"
    kept.parent.mkdir(parents=True, exist_ok=True)
    if keep_figures:
        results = with_shares(load(kept), results)
    experiment.conclude(results)
    kept.write_text(results.json(), "utf-8")
    found = drawn(experiment, load(kept))
    for name, (_, figure) in found.items():
        pictures.save(docs / "img" / f"{picture_name(name)}", figure)
    words = [(picture_name(name), said) for name, (said, _) in found.items()]
    rewrite(docs / PAGE, {experiment.name: part(load(kept), words)})
    for page, said in experiment.also.items():
        rewrite(docs / page, {experiment.name: said(load(kept))})


def picture_name(name: str) -> str:
    """The file of a picture in docs/img."""
    return f"linux-{name}.svg"


def part_of(experiment: Experiment, docs: Path) -> str | None:
    """The part of the page as the kept results have it, or None without results."""
    kept = docs / DATA / f"{experiment.name}.json"
    if not kept.is_file():
        return None
    results = load(kept)
    return part(results, [(picture_name(name), said) for name, (said, _) in drawn(experiment, results).items()])


def parts_elsewhere(experiment: Experiment, docs: Path) -> dict[Path, str]:
    """The parts of other pages as the kept results have them; none without results."""
    kept = docs / DATA / f"{experiment.name}.json"
    if not kept.is_file():
        return {}
    return {page: said(load(kept)) for page, said in experiment.also.items()}


def rewrite_all(docs: Path) -> list[str]:
    """Writes all parts anew whose results are kept; returns their names."""
    done = []
    for name in NAMES:
        kept = docs / DATA / f"{name}.json"
        if kept.is_file():
            place(find(name), load(kept), docs)
            done.append(name)
    return done
