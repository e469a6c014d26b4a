"""The results that a page was made of, by which a command tells its own page from those of others."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from pathlib import Path

from clearway._clearway import Error
from clearway.naming import OUT, safe_name

#: Characters of a page within which its source stands.
HEAD = 2000
CHARSET = '<meta charset="utf-8">\n'
MARK = re.compile(r'<meta name="clearway-source" content="([0-9a-f]{16})">')


def source_of(folders: Iterable[Path]) -> str:
    """A hash of the places of folders of results: the same for the same folders in any order."""
    places = "\n".join(sorted({str(path.resolve()) for path in folders}))
    return hashlib.sha256(places.encode()).hexdigest()[:16]


def marked(page: str, source: str) -> str:
    """A page that says what it was made of."""
    return page.replace(CHARSET, f'{CHARSET}<meta name="clearway-source" content="{source}">\n', 1)


def default_page(folders: Iterable[Path]) -> Path:
    """The page of folders of results that was given no place: in a folder that is named for them."""
    names = []
    for path in folders:
        place, out = path.resolve(), OUT.resolve()
        below = place.relative_to(out).parts if place.is_relative_to(out) else place.parts[-1:]
        names.append("-".join(below) or OUT.name)
    return OUT / "report" / safe_name("+".join(names)) / "index.html"


def check_page(out: Path, source: str, *, force: bool) -> None:
    """Refuses a file that a page must not replace: the page of another source, or no page of Clearway's."""
    if force or not out.is_file():
        return
    try:
        with out.open(encoding="utf-8", errors="replace") as file:
            found = MARK.search(file.read(HEAD))
    except OSError as error:
        raise Error(f"{out}: can't write the report: {error.strerror}") from None
    if found is None or found[1] != source:
        what = "is no report, or one of unknown results" if found is None else "is the report of other results"
        raise Error(f"{out}: {what}; name another with --out, or use --force")
