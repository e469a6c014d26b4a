"""Pieces of pages: tables, cards and pictures in HTML."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape

from matplotlib.figure import Figure

from clearway import units
from clearway.report.style import PAIRS, Palette, svg
from clearway.texts import BEFORE_UNIT

#: A table as texts: its header and its rows.
Texts = tuple[list[str], list[list[str]]]
#: CSS pixels for an inch of a picture at the least: letters of 12 points are then 10 pixels high.
LEAST = 60
#: CSS pixels for an inch at the most, so that the letters of all pictures are about as large as those of the page.
MOST = 96
#: CSS classes of the dots of looks that share a colour: a disc, a ring, a square.
SHAPES = ("dot", "dot ring", "dot square")


def table(texts: Texts, words: int, palette: Palette) -> str:
    """A table in HTML; its first `words` columns are words. Labels of runs get the dot of their look."""
    head, rows = texts
    named = [*head, *(text for row in rows for text in row[:words])]
    known = {label: dot(palette, label) for label in named if palette.knows(label)}
    kind = ['class="word"' if index < words else "" for index in range(len(head))]
    # A column of names of rows needs no heading, and an empty one would be read aloud.
    heads = (("th" if name else "td", kind[i], name) for i, name in enumerate(head))
    top = "".join(f"<{tag} {of}>{known.get(name, '')}{plain(name)}</{tag}>" for tag, of, name in heads)
    body = []
    for row in rows:
        cells = (
            f"<td {kind[i]}>{known.get(text, '') if i < words else ''}{plain(text)}</td>" for i, text in enumerate(row)
        )
        body.append(f"<tr{' class=first' if words == 2 and row[0] else ''}>{''.join(cells)}</tr>")
    rows_html = f"<table><thead><tr>{top}</tr></thead><tbody>{''.join(body)}</tbody></table>"
    # What scrolls sideways can be reached by the keyboard.
    return f'<div class="scroll" tabindex="0">{rows_html}</div>'


def dot(palette: Palette, label: str) -> str:
    """A dot in the colour of a run, with another shape for looks that share a colour."""
    shape = SHAPES[palette.number(label) // len(PAIRS) % len(SHAPES)]
    return f'<span class="{shape}" style="color:{palette.css(label)}"></span>'


def picture(figure: Figure) -> str:
    """A figure in a page, at least as wide as its text needs to be legible; it scrolls where that does not fit."""
    width = figure.get_figwidth()
    titles = [text for axes in figure.axes if (text := axes.get_title(loc="left") or axes.get_ylabel())]
    label = escape(titles[0] if titles else "picture")
    style = f"min-width:{round(width * LEAST)}px;max-width:{round(width * MOST)}px"
    return (
        f'<figure><div role="img" aria-label="{label}" style="{style}">{units.for_people(svg(figure))}</div></figure>'
    )


def card(content: str) -> str:
    """A box with a border around some HTML."""
    return f'<div class="card">{content}</div>'


def grid(cards: Sequence[str]) -> str:
    """Cards beside each other where there is room; nothing of none."""
    return f'<div class="grid">{"".join(cards)}</div>' if cards else ""


def pair(*drawn: Figure) -> str:
    """Figures beside each other where there is room."""
    return grid([card(picture(figure)) for figure in drawn])


def folded(title: str, content: str, *, is_open: bool = False) -> str:
    """HTML that is shown when its title is chosen, and on paper."""
    return f"<details{' open' if is_open else ''}><summary>{prose(title)}</summary>{content}</details>"


def plain(text: str) -> str:
    """A text in HTML, with units as people write them."""
    return escape(units.for_people(text))


def prose(text: str) -> str:
    """A text of ours in HTML: what stands between backticks is code, and numbers stay with their units."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(BEFORE_UNIT.sub("\xa0", units.for_people(text))))


def found(sentences: Sequence[str], warnings: Sequence[str]) -> str:
    """The findings in a card, and below it the warnings that must be known before one relies on them."""
    lead = "".join(f"<li>{prose(text)}</li>" for text in sentences)
    shown = f'<div class="card found"><ul>{lead}</ul></div>' if lead else ""
    return shown + warned(warnings)


def warned(warnings: Sequence[str]) -> str:
    """Warnings that must not be overlooked, in a card; nothing of none."""
    told = "".join(f"<p><strong>Warning.</strong> {prose(text)}</p>" for text in warnings)
    return f'<div class="card warning">{told}</div>' if told else ""
