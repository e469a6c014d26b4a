"""Writes the texts of all pages into one script, from which the search takes excerpts on a site opened from disk."""

from __future__ import annotations

import json
from html import escape
from html.parser import HTMLParser
from pathlib import Path

#: Elements whose text is none of the page.
LEFT_OUT = ("script", "style", "svg")
#: Elements that stand on lines of their own.
BLOCKS = ("p", "li", "tr", "td", "th", "pre", "h1", "h2", "h3", "h4", "section")


class Main(HTMLParser):
    """The text of the main part of a page, with its sections but without any other element."""

    def __init__(self) -> None:
        super().__init__()
        self.parts: list[str] = []
        self.depth = 0
        self.skipped = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Begins the main part at the article, and keeps the beginning of a section."""
        if tag == "article":
            self.depth += 1
        self.skipped += tag in LEFT_OUT
        if self.depth and tag == "section":
            self.parts.append(f'<section id="{escape(dict(attrs).get("id") or "")}">')

    def handle_endtag(self, tag: str) -> None:
        """Ends the main part and its sections; blocks are apart by a space."""
        if self.depth and not self.skipped and tag in BLOCKS:
            self.parts.append("</section>" if tag == "section" else " ")
        self.skipped -= tag in LEFT_OUT
        if tag == "article":
            self.depth -= 1

    def handle_data(self, data: str) -> None:
        """Keeps text, but for the signs behind headings."""
        if self.depth and not self.skipped and data != "¶":
            self.parts.append(escape(data, quote=False))


def write(site: Path) -> None:
    """Writes `_static/excerpts.js`."""
    texts = {}
    for page in sorted(site.rglob("*.html")):
        main = Main()
        main.feed(page.read_text("utf-8"))
        if text := " ".join("".join(main.parts).split()):
            texts[page.relative_to(site).as_posix()] = f'<div role="main">{text}</div>'
    (site / "_static" / "excerpts.js").write_text(f"showExcerpts({json.dumps(texts)});\n", "utf-8")
