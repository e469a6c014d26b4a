"""Puts the docstrings of the Python package below the tables that list its names."""

from __future__ import annotations

import re


def expand(text: str) -> str:
    """A page on which each `<!-- docstrings: MODULE.NAME ... -->` has become the documentation of these names."""

    def documented(match: re.Match[str]) -> str:
        blocks = []
        for name in match["names"].split():
            kind, options = directive(name)
            blocks.append(f".. {kind}:: {name}" + "".join(f"\n   :{option}:" for option in options))
        return "```{eval-rst}\n" + "\n\n".join(blocks) + "\n```"

    return re.sub(r"<!-- docstrings: (?P<names>[\w. \n]+?) -->", documented, text)


def directive(name: str) -> tuple[str, list[str]]:
    """The directive that documents a name, and its options."""
    last = name.rpartition(".")[2]
    if last[0].isupper():
        return "autoclass", ["members"]
    return "autofunction", []
