"""Copies the pages of `docs/` into a folder from which Sphinx builds the site.

A page is one file of Markdown in the repository. On the site a few things are otherwise, and all of them are done here:

* `README.md` of a folder is its `index`; the links at the beginning of its list items are the pages below it, in order.
* Pages outside of `docs/` that belong to the documentation are part of the site (`OUTSIDE`), and two have another place
  there (`PLACED`).
* Other files that a page links to (scenarios, lists, code) come along, so that the link works on the site.
* `docs/reference/scenario.md` becomes a page for each table, and notebooks become pages with the outputs that they
  hold.
* The addresses of pages that moved lead to the pages that have their text now (`moved.py`).
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import notebook
import split

#: Pages outside of `docs/`, and where they are on the site.
OUTSIDE = {
    "CHANGELOG.md": "project/changes.md",
    "CONTRIBUTING.md": "project/contributing.md",
    "workloads/README.md": "reference/workloads.md",
}
#: Pages at the top of `docs/`, and where they are on the site. The texts of figures at the papers' sizes link to them,
#: and the records of these figures have hashes of their texts, so they move when the figures are reproduced anew.
PLACED = {"docs/plan.md": "how-to/plan.md", "docs/verdicts.md": "evidence/verdicts.md"}
#: The page that becomes one for each table.
SPLIT = "docs/reference/scenario.md"
#: The index of the pages of results, whose sub-pages are those of its folder. There the page of a paper, `pac.md`, is
#: the index of the paper's figures, `pac-fig07.md`.
SCOREBOARD = "docs/results/README.md"

LINK = re.compile(r"(?P<head>!?\[(?:[^\[\]]|\[(?:[^\[\]]|\[[^\]]*\])*\])*\]\()(?P<link>[^()\s]+)(?P<tail>\))")
PICTURE = re.compile(
    r"<picture>\s*(?:<source srcset=\"(?P<still>[^\"]+)\" media=\"\(prefers-reduced-motion: reduce\)\">\s*)?"
    r"<img alt=\"(?P<alt>[^\"]*)\" src=\"(?P<link>[^\"]+)\"[^>]*>\s*</picture>"
)
BULLET = re.compile(r"^(?:\*|\d+\.) \[[^\]]*\]\((?P<link>[^()\s#]+)\)", re.MULTILINE)
#: The place of the link that opens the live page, and that link.
LIVE = "<!-- live -->"
OPEN = '<a href="live.html">Open it</a>, and move its sliders.'
FENCE = re.compile(r"^(```.*?^```[ \t]*)$", re.MULTILINE | re.DOTALL)


def stage(root: Path, out: Path, *, has_live_page: bool = False) -> None:
    """Writes all pages of the site, and the files that they show or link to, into a folder.

    With the live page, which stands beside the front page as `live.html`, the front page has a link that opens it.
    """
    pages = {name: page(name) for name in names(root)}
    table_of = split.anchors((root / SPLIT).read_text("utf-8"))
    for name, target in pages.items():
        text = read(root / name)
        if name == SPLIT:
            for part, body in split.parts(text).items():
                write(out / part, rewritten(body, Links(root, out, name, part, pages, table_of)))
            continue
        text = text.replace(LIVE, OPEN if has_live_page else "")
        text = text + following(name, text) + tree(root, name, pages, target)
        write(out / target, rewritten(text, Links(root, out, name, target, pages, table_of)))


def names(root: Path) -> list[str]:
    """The files that become pages of the site, by their paths in the repository."""
    found = [path for kind in ("*.md", "*.ipynb") for path in sorted((root / "docs").rglob(kind))]
    return [*(str(path.relative_to(root)) for path in found), *OUTSIDE]


def page(name: str) -> str:
    """The path on the site of a page of the repository."""
    if name in OUTSIDE | PLACED:
        return (OUTSIDE | PLACED)[name]
    if name == SPLIT:
        return split.file_of("")
    path = Path(name).relative_to("docs").with_suffix(".md")
    return str(path.with_name("index.md") if path.name == "README.md" else path)


def read(path: Path) -> str:
    """The Markdown of a page or notebook."""
    return notebook.markdown(path) if path.suffix == ".ipynb" else path.read_text("utf-8")


def write(path: Path, text: str) -> None:
    """Writes a staged page."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")


def tree(root: Path, name: str, pages: dict[str, str], target: str) -> str:
    """The hidden table of contents of an index page."""
    if name not in indexes(root):
        return ""
    lines = [relative(pages[child], target).removesuffix(".md") for child in children(root, name)]
    return "\n\n```{toctree}\n:hidden:\n\n" + "\n".join(lines) + "\n```\n"


def following(name: str, text: str) -> str:
    """The line that says where to read on, for pages of results and the changelog; all other pages have their own."""
    if "**Next:**" in text:
        return ""
    if name.startswith("docs/results/"):
        line = "[reproduce a figure](../how-to/reproduce-a-figure.md), or go back to the [scoreboard](README.md)."
    elif name == "CHANGELOG.md":
        line = "[install Clearway](docs/start/install.md), or [contribute](CONTRIBUTING.md)."
    else:
        return ""
    return f"\n**Next:** {line}\n"


def children(root: Path, name: str) -> Iterator[str]:
    """The pages below an index page: those that begin the items of its lists; of a page of results, its figures."""
    if name in OUTSIDE:
        return
    if Path(name).parent == Path(SCOREBOARD).parent:
        yield from results(root, name)
    else:
        for match in BULLET.finditer((root / name).read_text("utf-8")):
            path = os.path.normpath(Path(name).parent / match["link"])
            if path in OUTSIDE or (path.startswith("docs/") and Path(path).suffix in {".md", ".ipynb"}):
                yield path


def results(root: Path, name: str) -> Iterator[str]:
    """The pages below a page of results: of a paper its figures, of the scoreboard the papers and all other pages."""
    evidence = set(children(root, "docs/evidence/README.md"))
    pages = [str(found.relative_to(root)) for found in sorted((root / name).parent.glob("*.md"))]
    papers = [one for one in pages if any(other.startswith(one.replace(".md", "-")) for other in pages)]
    if name in papers:
        yield from (one for one in pages if one.startswith(name.replace(".md", "-")))
    elif name == SCOREBOARD:
        yield from papers
        below = {one for paper in papers for one in results(root, paper)}
        yield from (one for one in pages if one not in {*papers, *below, *evidence, SCOREBOARD})


@cache
def indexes(root: Path) -> set[str]:
    """The pages that have others below them."""
    found = {str(path.relative_to(root)) for path in (root / "docs").rglob("README.md")}
    return found | {one for one in children(root, SCOREBOARD) if any(results(root, one))}


def relative(target: str, start: str) -> str:
    """The path to a staged file from a staged page."""
    return os.path.relpath(target, Path(start).parent)


class Links:
    """The links of a page as they are on the site."""

    def __init__(
        self, root: Path, out: Path, name: str, target: str, pages: dict[str, str], table_of: dict[str, tuple[str, str]]
    ) -> None:
        self.root, self.out, self.name, self.target = root, out, name, target
        self.pages, self.table_of = pages, table_of

    def __call__(self, link: str) -> str:
        """A link of the repository as one of the site."""
        if re.match(r"[a-z]+:", link):
            return link
        path, _, anchor = link.partition("#")
        name = os.path.normpath(Path(self.name).parent / path) if path else self.name
        if name == SPLIT:
            part, anchor = self.table_of[anchor] if anchor else (split.file_of(""), "")
            return self.joined(part, anchor)
        if (self.root / name).is_dir() and f"{name}/README.md" in self.pages:
            name = f"{name}/README.md"
        if name in self.pages:
            return self.joined(self.pages[name], anchor)
        return relative(self.brought(name), self.target)

    def joined(self, target: str, anchor: str) -> str:
        """A link to an anchor of a staged page."""
        if target == self.target:
            return f"#{anchor}" if anchor else Path(target).name
        return relative(target, self.target) + (f"#{anchor}" if anchor else "")

    def brought(self, name: str) -> str:
        """The place on the site of a file that is no page; the file is copied there."""
        source = self.root / name
        if not source.is_file():
            raise SystemExit(f"{self.name}: links to {name}, which is no file and no page of the site")
        target = str(Path(name).relative_to("docs")) if name.startswith("docs/") else f"files/{name}"
        if not (self.out / target).exists():
            (self.out / target).parent.mkdir(parents=True, exist_ok=True)
            (self.out / target).write_bytes(source.read_bytes())
        return target


def image(found: re.Match[str]) -> str:
    """A picture as the site has it: one that moves has a still one beside it, of which the style shows one."""
    moving = f"![{found['alt']}]({found['link']})"
    return f"{moving}{{.moving}} ![{found['alt']}]({found['still']}){{.still}}" if found["still"] else moving


def rewritten(text: str, links: Callable[[str], str]) -> str:
    """A page with its links as on the site; code is left as it is."""
    parts = FENCE.split(text)
    for number in range(0, len(parts), 2):
        prose = PICTURE.sub(image, parts[number])
        parts[number] = LINK.sub(lambda found: found["head"] + links(found["link"]) + found["tail"], prose)
    return "".join(parts)
