"""The places of the pages for readers and of their pictures, below a folder of documents."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from clearway.reproduce import scoreboard
from clearway.reproduce.figure import Figure
from clearway.reproduce.readers import board, pictures
from clearway.reproduce.readers.model import papers
from clearway.reproduce.readers.page import page, picture_name

#: The folders of pages and pictures, and the way from the first to the second.
PAGES, IMAGES, WAY = "results", "img", "../img"
#: Beginnings of the names of pictures that only these pages show.
OURS = ("headline-", "verdicts-", "bar-")


def files(figures: Mapping[str, Figure], records: Path) -> dict[str, str]:
    """All pages and pictures for readers by their places, computed from the records in a folder."""
    scores = scoreboard.scores(figures, records)
    known = papers(scores)
    found = {
        f"{PAGES}/README.md": board.board(known, figures, records, WAY),
        f"{PAGES}/{board.LONG}.md": board.all_claims(scores, figures),
    }
    for name, (_, counted) in board.groups(known).items():
        about = pictures.bar_words(counted.bar)
        found[f"{IMAGES}/bar-{name}.svg"] = pictures.bar(counted.bar, 170, 13, about)
        found[f"{IMAGES}/verdicts-{name}.svg"] = pictures.legend(counted.bar, about)
    for one in known:
        found[f"{PAGES}/{one.name}.md"] = page(one, figures, WAY)
        for shown in one.headlines:
            if shown.marks:
                found[f"{IMAGES}/{picture_name(one.name, shown.headline.id)}"] = pictures.headline(shown)
    return found


def left_over(docs: Path, wanted: Mapping[str, str]) -> list[Path]:
    """Pictures of earlier pages for readers that none of them shows any more."""
    drawn = [path for path in sorted((docs / IMAGES).glob("*.svg")) if path.name.startswith(OURS)]
    return [path for path in drawn if f"{IMAGES}/{path.name}" not in wanted]


def write(figures: Mapping[str, Figure], records: Path, docs: Path) -> Path:
    """Writes all pages for readers below a folder of documents, and says where the board is."""
    wanted = files(figures, records)
    for place, text in wanted.items():
        (docs / place).parent.mkdir(parents=True, exist_ok=True)
        (docs / place).write_text(text, "utf-8", newline="\n")
    for path in left_over(docs, wanted):
        path.unlink()
    return docs / PAGES / "README.md"
