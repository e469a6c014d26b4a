"""The style of pictures: one colour per transport everywhere, on light and on dark paper.

Pictures are drawn with stand-in colours that become CSS variables, so that the page's theme colours them.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure

#: Colours on (light, dark) paper.
PAIRS = (
    ("#1f6feb", "#58a6ff"),
    ("#d4570b", "#ff9b50"),
    ("#7a3fd0", "#bc8cff"),
    ("#0b7f7f", "#39c5cf"),
    ("#c11f2d", "#ff7b72"),
    ("#5b6570", "#a5afba"),
    ("#1a7f37", "#3fb950"),
    ("#b03580", "#f778ba"),
    ("#8a5d00", "#d8a32c"),
)
#: Transports with a colour of their own; others take the next that is free.
OWN = {"expresspass": 0, "dctcp": 1, "naive-credit": 2, "expresspass-hotnets16": 3, "cubic": 4, "newreno": 5}
LINES = ("-", (0, (6, 2)), (0, (2, 1.5)), (0, (6, 2, 1.5, 2)))
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*", "h")

#: Stand-ins: text, text of less weight, grid, paper.
INK, MUTED, GRID, PAPER = "#010101", "#020202", "#030303", "#040404"
STAND_INS = {INK: "ink", MUTED: "muted", GRID: "grid", PAPER: "paper"}
PAPERS = (
    {"ink": "#1f2328", "muted": "#59636e", "grid": "#d8dee4", "paper": "#ffffff"},
    {"ink": "#e6edf3", "muted": "#9aa5b1", "grid": "#30363d", "paper": "#14181f"},
)

RC: Any = {
    "svg.fonttype": "none",
    "svg.hashsalt": "clearway",
    "font.family": "sans-serif",
    "font.size": 10,
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": MUTED,
    "axes.titlesize": 11,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.titlepad": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": GRID,
    "grid.linewidth": 0.7,
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "xtick.minor.visible": False,
    "legend.frameon": False,
    "lines.linewidth": 2.0,
    "figure.facecolor": "none",
    "axes.facecolor": "none",
}


class Palette:
    """Colours, lines and markers of the transports of a report."""

    def __init__(self, labels: Iterable[str]) -> None:
        self._index: dict[str, int] = {}
        labels = list(dict.fromkeys(labels))
        taken = {OWN[label] for label in labels if label in OWN}
        free = [index for index in range(len(PAIRS)) if index not in taken]
        for label in labels:
            self._index[label] = OWN[label] if label in OWN else free.pop(0) if free else len(self._index) % len(PAIRS)

    def knows(self, label: str) -> bool:
        """True if a text is the label of a run."""
        return label in self._index

    def color(self, label: str) -> str:
        """The stand-in of a transport's colour."""
        return stand_in(self._index[label])

    def line(self, label: str) -> str | tuple[int, tuple[float, ...]]:
        """The line style of a run, for those who can't tell the colours."""
        return LINES[self._index[label] % len(LINES)]

    def marker(self, label: str) -> str:
        """The marker of a run."""
        return MARKERS[self._index[label] % len(MARKERS)]

    def css(self, label: str) -> str:
        """The colour of a run in CSS."""
        return f"var(--t{self._index[label]})"


def stand_in(index: int) -> str:
    """The stand-in of a colour of `PAIRS`."""
    return f"#0501{index:02x}"


@contextmanager
def drawing() -> Iterator[None]:
    """A context in which pictures are drawn in the report's style."""
    with mpl.rc_context(RC):
        yield


def svg(figure: Figure) -> str:
    """A picture as SVG to be put in a page, its colours as CSS variables."""
    buffer = io.StringIO()
    with mpl.rc_context(RC):
        figure.savefig(buffer, format="svg", bbox_inches="tight", pad_inches=0.05, metadata={"Date": None})
    text = buffer.getvalue()
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    for color, name in STAND_INS.items():
        text = text.replace(color, f"var(--{name})")
    for index in range(len(PAIRS)):
        text = text.replace(stand_in(index), f"var(--t{index})")
    return re.sub(r"font: ([^;\"]*?)px [^;\"]*", r"font: \1px system-ui, 'Segoe UI', 'DejaVu Sans', sans-serif", text)


def variables(dark: bool) -> str:
    """The CSS variables of a theme."""
    names = {**PAPERS[dark], **{f"t{index}": pair[dark] for index, pair in enumerate(PAIRS)}}
    return "".join(f"--{name}:{color};" for name, color in names.items())


def standalone(picture: str) -> str:
    """A picture as a file of its own, which follows its reader's theme."""
    style = f"<style>svg{{{variables(False)}}}@media (prefers-color-scheme: dark){{svg{{{variables(True)}}}}}</style>"
    return picture.replace(">", f">{style}", 1) + "\n"
