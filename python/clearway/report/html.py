"""Pieces of pages: tables, cards and pictures in HTML."""

from __future__ import annotations

from html import escape

from matplotlib.figure import Figure

from clearway.report.style import PAIRS, Palette, svg

#: A table as texts: its header and its rows.
Texts = tuple[list[str], list[list[str]]]
#: CSS pixels for an inch of a picture at the least: letters of 12 points are then 10 pixels high.
LEAST = 60
#: CSS classes of the dots of looks that share a colour: a disc, a ring, a square.
SHAPES = ("dot", "dot ring", "dot square")


def table(texts: Texts, words: int, palette: Palette) -> str:
    """A table in HTML; its first `words` columns are words. Labels of runs get the dot of their look."""
    head, rows = texts
    named = [*head, *(text for row in rows for text in row[:words])]
    known = {label: dot(palette, label) for label in named if palette.knows(label)}
    kind = ['class="word"' if index < words else "" for index in range(len(head))]
    top = "".join(f"<th {kind[i]}>{known.get(name, '')}{escape(name)}</th>" for i, name in enumerate(head))
    body = []
    for row in rows:
        cells = (
            f"<td {kind[i]}>{known.get(text, '') if i < words else ''}{escape(text)}</td>" for i, text in enumerate(row)
        )
        body.append(f"<tr{' class=first' if words == 2 and row[0] else ''}>{''.join(cells)}</tr>")
    return f"<table><thead><tr>{top}</tr></thead><tbody>{''.join(body)}</tbody></table>"


def dot(palette: Palette, label: str) -> str:
    """A dot in the colour of a run, with another shape for looks that share a colour."""
    shape = SHAPES[palette.number(label) // len(PAIRS) % len(SHAPES)]
    return f'<span class="{shape}" style="color:{palette.css(label)}"></span>'


def picture(figure: Figure) -> str:
    """A figure in a page, at least as wide as its text needs to be legible; it scrolls where that does not fit."""
    width = round(figure.get_figwidth() * LEAST)
    return f'<figure><div style="min-width:{width}px">{svg(figure)}</div></figure>'


def card(content: str) -> str:
    """A box with a border around some HTML."""
    return f'<div class="card">{content}</div>'


def pair(*drawn: Figure) -> str:
    """Figures beside each other where there is room."""
    return f'<div class="pair">{"".join(card(picture(figure)) for figure in drawn)}</div>'
