"""The pictures of the pages for readers: a claim's number on a scale, and claims by verdict as a bar.

They are small enough to be legible on a phone without being scaled, and follow their reader's theme.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from html import escape

from clearway.report import style
from clearway.reproduce.claims import Verdict
from clearway.reproduce.readers.model import Mark, Shown, Value, number
from clearway.reproduce.readers.scales import Scale, scale_of, value_text

#: The size of a headline's picture, in pixels: its width, its margins, and the ends of its axis.
WIDTH, LEFT, RIGHT = 330, 14, 316
#: The heights of the parts of a line: its label, the text above its marks, the marks, the text below.
LABEL, ABOVE, TRACK, BELOW = 17, 15, 12, 19
#: Free height between two lines.
GAP = 5
#: Width of a letter, for texts that must end within the picture, also in a wide font: plain and bold.
LETTER, BOLD = 6.7, 7.7

#: The colours of verdicts, as numbers of the house's palette, which people with any colour vision tell apart.
COLORS: Mapping[Verdict, str] = {
    "reproduced": "var(--t3)",
    "trend reproduced": "var(--t0)",
    "holds under a reading": "var(--t2)",
    "not reproduced": "var(--t1)",
    "undecidable": "var(--t5)",
}


@dataclass
class Drawing:
    """A picture that is being drawn; coordinates are pixels from its upper left corner."""

    about: str
    body: str = ""

    def text(
        self, x: float, y: float, words: str, color: str = "muted", anchor: str = "start", *, bold: bool = False
    ) -> None:
        """Writes a line of text that starts, ends or is centred at `x`."""
        weight = ' font-weight="600"' if bold else ""
        look = f'fill="var(--{color})" text-anchor="{anchor}"{weight}'
        self.body += f'<text x="{x:.4g}" y="{y:.4g}" {look}>{escape(words)}</text>\n'

    def beside(self, x: float, y: float, words: str, color: str, *, bold: bool = False) -> None:
        """Writes a line of text centred at `x`, moved so far that it ends within the picture."""
        half = (BOLD if bold else LETTER) * len(words) / 2
        at = min(max(x, LEFT + half - 8), RIGHT - half + 8)
        anchor, at = ("start", LEFT - 8.0) if 2 * half > RIGHT - LEFT + 16 else ("middle", at)
        self.text(at, y, words, color, anchor, bold=bold)

    def line(self, x: float, y: float, x2: float, y2: float, color: str, width: float = 1.0) -> None:
        """Draws a line."""
        self.body += (
            f'<path d="M{x:.4g} {y:.4g}L{x2:.4g} {y2:.4g}" stroke="{color}" stroke-width="{width:g}" fill="none"/>\n'
        )

    def rect(self, x: float, y: float, w: float, h: float, color: str, opacity: float = 1.0, round_: float = 0) -> None:
        """Draws a filled rectangle."""
        soft = f' fill-opacity="{opacity:g}"' if opacity < 1 else ""
        corners = f' rx="{round_:g}"' if round_ else ""
        self.body += f'<rect x="{x:.5g}" y="{y:.4g}" width="{w:.5g}" height="{h:.4g}" fill="{color}"{soft}{corners}/>\n'

    def svg(self, width: float, height: float) -> str:
        """The picture as a file that follows its reader's theme."""
        size = f'viewBox="0 0 {width:g} {height:g}" width="{width:g}" height="{height:g}"'
        font = "font-family=\"system-ui, 'Segoe UI', 'DejaVu Sans', sans-serif\" font-size=\"12\""
        head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" aria-label="{escape(self.about)}" {font}>'
        return style.standalone(f"{head}\n{self.body}</svg>")


def headline(shown: Shown) -> str:
    """The picture of a headline: the paper's value and Clearway's on one scale, a line for each quantity."""
    drawing = Drawing(about(shown))
    scale = scale_of(shown.marks, shown.headline.log, LEFT, RIGHT)
    top = 4.0
    for one in shown.marks:
        if one.label:
            drawing.text(LEFT - 8, top + 12, one.label, "ink", bold=True)
            top += LABEL
        mark(drawing, one, scale, top)
        top += ABOVE + TRACK + BELOW + GAP
    return drawing.svg(WIDTH, axis(drawing, scale, shown, top))


def mark(drawing: Drawing, one: Mark, scale: Scale, top: float) -> None:
    """Draws where a claim holds, the paper's number and the measured ones, between a line of text above and below."""
    middle = top + ABOVE + TRACK / 2
    bounds = one.limits
    drawing.rect(LEFT - 8, middle - 1, RIGHT - LEFT + 16, 2, "var(--grid)")
    if math.isfinite(bounds.least) or math.isfinite(bounds.most):
        low = LEFT - 8 if bounds.least == -math.inf else scale.at(bounds.least)
        high = RIGHT + 8 if bounds.most == math.inf else scale.at(bounds.most)
        drawing.rect(low - 1, middle - TRACK / 2, max(high - low, 0) + 2, TRACK, "var(--t3)", 0.28, 2)
    if bounds.paper is not None:
        x = scale.at(bounds.paper)
        drawing.body += (
            f'<path d="M{x:.4g} {middle - 7:.4g}l6 7l-6 7l-6 -7z" fill="var(--paper)" stroke="var(--ink)" '
            'stroke-width="1.6"/>\n'
        )
    drawing.beside(scale.middle(one), top + 11, bounds.says, "muted")
    for value in one.values:
        measured(drawing, value, scale, middle, alone=len(one.values) == 1)
    drawing.beside(
        sum(scale.at(value.mean) for value in one.values) / len(one.values),
        middle + TRACK / 2 + 13,
        f"Clearway: {value_text(one.values)}",
        "t0",
        bold=True,
    )


def measured(drawing: Drawing, value: Value, scale: Scale, y: float, *, alone: bool) -> None:
    """Draws a measured number with its interval; one that is infinite as an arrow at the end of the scale.

    The intervals of several numbers on one line are thin, and the numbers are rings.
    """
    if math.isnan(value.mean):
        return
    x = scale.at(value.mean)
    if math.isinf(value.mean):
        x = RIGHT + 4 if value.mean > 0 else LEFT - 4
        way = 8 if value.mean > 0 else -8
        drawing.body += f'<path d="M{x:.4g} {y:.4g}l{-way} -5.5v11z" fill="var(--t0)"/>\n'
        return
    low, high = scale.at(value.low), scale.at(value.high)
    if high - low > 1:
        drawing.line(low, y, high, y, "var(--t0)", 2.4 if alone else 1)
        for end in (low, high) if alone else ():
            drawing.line(end, y - 4.5, end, y + 4.5, "var(--t0)", 1.6)
    look = 'r="4.6" fill="var(--t0)"' if alone else 'r="4" fill="none" stroke="var(--t0)" stroke-width="1.6"'
    drawing.body += f'<circle cx="{x:.4g}" cy="{y:.4g}" {look}/>\n'


def axis(drawing: Drawing, scale: Scale, shown: Shown, top: float) -> float:
    """Draws the axis with its ticks and its name, and says where the picture ends."""
    y = top + 2
    drawing.line(LEFT - 8, y, RIGHT + 8, y, "var(--muted)")
    for tick in scale.ticks():
        x = scale.at(tick)
        drawing.line(x, y, x, y + 4, "var(--muted)")
        drawing.text(x, y + 16, number(tick), "muted", "middle")
    unit = shown.headline.unit
    words = shown.headline.axis + (f" ({unit})" if unit and unit not in ("times", "packets") else "")
    y += 32
    for part in wrapped(words + (", logarithmic" if shown.headline.log else "")):
        drawing.text(LEFT - 8, y, part, "muted")
        y += 15
    return y - 6


def wrapped(words: str) -> list[str]:
    """A text as lines that fit into a picture."""
    lines, most = [""], int((RIGHT - LEFT + 16) / LETTER)
    for word in words.split():
        if lines[-1] and len(lines[-1]) + 1 + len(word) > most:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".strip()
    return lines


def about(shown: Shown) -> str:
    """The text for those who do not see the picture."""
    unit = shown.headline.unit
    lines = [
        f"{one.label + ': ' if one.label else ''}{one.limits.says}; Clearway: {value_text(one.values)}"
        for one in shown.marks
    ]
    return f"{shown.headline.axis}{f' in {unit}' if unit else ''}. {'. '.join(lines)}."


def bar(counts: Mapping[Verdict, int], width: float = 330, height: float = 14, about: str = "") -> str:
    """Claims by verdict as one bar, without words: for a table."""
    drawing = Drawing(about)
    segments(drawing, counts, width, height)
    return drawing.svg(width, height)


def inner_bar(counts: Mapping[Verdict, int], about: str) -> str:
    """Claims by verdict as one bar to stand in an HTML page, whose theme colours it."""
    drawing = Drawing(about)
    segments(drawing, counts, 170, 13)
    return f'<svg viewBox="0 0 170 13" role="img" aria-label="{escape(about)}">{drawing.body}</svg>'


def segments(drawing: Drawing, counts: Mapping[Verdict, int], width: float, height: float) -> None:
    """Draws the segments of a bar from left to right, with a gap between any two."""
    total, x = sum(counts.values()) or 1, 0.0
    for verdict, count in counts.items():
        if count:
            wide = width * count / total
            drawing.rect(x, 0, max(wide - 1.5, 0.5), height, COLORS[verdict], 1, 2)
            x += wide


def legend(counts: Mapping[Verdict, int], about: str) -> str:
    """Claims by verdict as one bar with its legend: for the top of a page."""
    drawing = Drawing(about)
    segments(drawing, counts, WIDTH, 22)
    x, y = 0.0, 42.0
    for verdict, count in counts.items():
        if count:
            words = f"{count} {verdict}"
            if x and x + 20 + LETTER * len(words) > WIDTH:
                x, y = 0.0, y + 19
            drawing.rect(x, y - 10, 11, 11, COLORS[verdict], 1, 2)
            drawing.text(x + 16, y, words, "ink")
            x += 34 + LETTER * len(words)
    return drawing.svg(WIDTH, y + 8)


def bar_words(counts: Mapping[Verdict, int]) -> str:
    """A bar in words."""
    return ", ".join(f"{count} {verdict}" for verdict, count in counts.items() if count)
