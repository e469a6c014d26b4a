"""Divides `docs/reference/scenario.md` into a page for each table of a scenario, with the anchors of the whole page."""

from __future__ import annotations

import re
from collections import Counter

#: Where the pages are on the site.
FOLDER = "reference/scenario"


def sections(text: str) -> list[tuple[str, str]]:
    """The sections of second level, each with its title; the first has none."""
    found = re.split(r"^## (.*)$", text, flags=re.MULTILINE)
    return [("", found[0]), *zip(found[1::2], found[2::2], strict=True)]


def file_of(title: str) -> str:
    """The path on the site of a section."""
    if not title:
        return f"{FOLDER}/index.md"
    return f"{FOLDER}/{re.sub(r'[^a-z]+', '-', title.lower()).strip('-')}.md"


def slug(heading: str) -> str:
    """The anchor that GitHub gives a heading."""
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


def anchors(text: str) -> dict[str, tuple[str, str]]:
    """Each anchor of the whole page, with the page of the site and the anchor there."""
    found: dict[str, tuple[str, str]] = {}
    whole: Counter[str] = Counter()
    for title, body in sections(text):
        own: Counter[str] = Counter()
        for heading in ([title] if title else []) + re.findall(r"^#{1,6} (.*)$", body, flags=re.MULTILINE):
            found[numbered(slug(heading), whole)] = (file_of(title), numbered(slug(heading), own))
    return found


def numbered(name: str, seen: Counter[str]) -> str:
    """An anchor with the number that a repeated one gets."""
    seen[name] += 1
    return name if seen[name] == 1 else f"{name}-{seen[name] - 1}"


def parts(text: str) -> dict[str, str]:
    """The pages, by their paths on the site: the introduction with a list of the tables, and each table.

    Links are those of the whole page still.
    """
    found: dict[str, str] = {}
    listed = []
    titles = [title for title, _ in sections(text) if title]
    for number, title in enumerate(titles):
        listed.append(f"* [{title}](#{slug(title)}): {summary(text, title)}")
        body = dict(sections(text))[title]
        after = titles[number + 1] if number + 1 < len(titles) else ""
        body = re.sub(r"^### ", "## ", body, flags=re.MULTILINE)
        found[file_of(title)] = f"# {title}\n{body.rstrip()}\n\n{following(after)}\n"
    names = "\n".join(file_of(title).removeprefix(FOLDER + "/").removesuffix(".md") for title in titles)
    tree = f"```{{toctree}}\n:hidden:\n\n{names}\n```"
    opening = dict(sections(text))[""].rstrip()
    found[file_of("")] = f"{opening}\n\n## Tables\n\n" + "\n".join(listed) + f"\n\n{following(titles[0])}\n\n{tree}\n"
    return found


def summary(text: str, title: str) -> str:
    """The first sentence below a heading."""
    paragraph = dict(sections(text))[title].strip().partition("\n\n")[0].replace("\n", " ")
    return re.split(r"(?<=\.)\s", paragraph)[0]


def following(title: str) -> str:
    """The line that says where to read on."""
    if not title:
        return "**Next:** [what a run writes](results.md), or the [list of all tables](scenario.md)."
    return f"**Next:** [{title}](#{slug(title)}), or [write a scenario](../how-to/write-a-scenario.md)."
