"""The style of pictures: each transport looks the same everywhere, on light and on dark paper.

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

#: Colours on (light, dark) paper. Any two, and each and the ink, stay apart for all three kinds of colour vision that
#: `python/tests/test_style.py` simulates.
PAIRS = (
    ("#1f6feb", "#58a6ff"),
    ("#d4570b", "#ff9b50"),
    ("#621976", "#a05dae"),
    ("#0b9f8c", "#0e9f8d"),
    ("#d4556e", "#a8655e"),
    ("#494e59", "#aab4c9"),
    ("#006641", "#b9f2b2"),
    ("#a24a91", "#fe6297"),
    ("#592a00", "#a9780b"),
)
#: The transports of each colour of `PAIRS`. Those of one colour differ in line and marker, and are not compared by a
#: paper.
SHARING = (
    ("expresspass",),
    ("dctcp", "rdma-dctcp"),
    ("pac", "naive-credit"),
    ("timely", "expresspass-hotnets16"),
    ("pacc", "cubic", "fixed-window"),
    ("rocev2", "ideal", "blast"),
    ("hpcc", "rcp", "ack-shaper"),
    ("ec4", "hull", "ictcp"),
    ("dcqcn", "newreno", "dx"),
)
#: The look of each transport as one number: its colour is the remainder by the number of colours.
OWN = {name: index + rank * len(PAIRS) for index, names in enumerate(SHARING) for rank, name in enumerate(names)}
#: The looks of transports that came after the papers' pages: a change of `OWN` would have all of these computed anew.
LATER = {"uec-rccc": 9, "eqds": 18, "uec-nscc": 19, "uec": 20, "ndp": 21}
#: The look of each transport.
LOOKS = OWN | LATER
LINES = ("-", (0, (6, 2)), (0, (2, 1.5)), (0, (6, 2, 1.5, 2)))
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*", "h")

#: Stand-ins: text, text of less weight, grid, paper.
INK, MUTED, GRID, PAPER = "#010101", "#020202", "#030303", "#040404"
STAND_INS = {INK: "ink", MUTED: "muted", GRID: "grid", PAPER: "paper"}
PAPERS = (
    {
        "ink": "#1f2328",
        "muted": "#59636e",
        "grid": "#d8dee4",
        "paper": "#ffffff",
        "alarm": "#b3261e",
    },
    {
        "ink": "#e6edf3",
        "muted": "#9aa5b1",
        "grid": "#30363d",
        "paper": "#14181f",
        "alarm": "#ff8a80",
    },
)

RC: Any = {
    "svg.fonttype": "none",
    "svg.hashsalt": "clearway",
    "font.family": "sans-serif",
    "font.size": 12,
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": MUTED,
    "axes.titlesize": 12.5,
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


def own(*names: str) -> dict[str, int]:
    """The numbers of the looks of some transports, by name."""
    return {name: OWN[name] for name in names}


def line_style(number: int) -> str | tuple[int, tuple[float, ...]]:
    """The line style of look `number`; looks of one colour differ in it."""
    return LINES[(number % len(PAIRS) + number // len(PAIRS)) % len(LINES)]


def marker_style(number: int) -> str:
    """The marker of look `number`; looks of one colour differ in it."""
    return MARKERS[(number % len(PAIRS) + 3 * (number // len(PAIRS))) % len(MARKERS)]


class Palette:
    """The looks of the runs of a report, by their labels.

    A transport has the look that is its own in all pictures. Further runs of the same transport (`dctcp, seed 2`) and
    other labels take colours that no transport of the report has, as long as there are any.
    """

    def __init__(self, labels: Iterable[str]) -> None:
        self._number: dict[str, int] = {}
        labels = list(dict.fromkeys(labels))
        for label in sorted(labels, key=lambda one: one not in LOOKS):
            number = LOOKS.get(transport_of(label))
            if number is not None and number not in self._number.values():
                self._number[label] = number
        taken = {number % len(PAIRS) for number in self._number.values()}
        free = [number for number in range(len(PAIRS)) if number not in taken]
        others = iter([*free, *(number for number in range(len(PAIRS), 999) if number not in LOOKS.values())])
        for label in labels:
            if label not in self._number:
                self._number[label] = next(others)

    def knows(self, label: str) -> bool:
        """True if a text is the label of a run."""
        return label in self._number

    def number(self, label: str) -> int:
        """The number of a run's look."""
        return self._number[label]

    def color(self, label: str) -> str:
        """The stand-in of a run's colour."""
        return stand_in(self._number[label])

    def line(self, label: str) -> str | tuple[int, tuple[float, ...]]:
        """The line style of a run, for those who can't tell the colours."""
        return line_style(self._number[label])

    def marker(self, label: str) -> str:
        """The marker of a run."""
        return marker_style(self._number[label])

    def css(self, label: str) -> str:
        """The colour of a run in CSS."""
        return f"var(--t{self._number[label] % len(PAIRS)})"


def transport_of(label: str) -> str:
    """The transport that a run's label begins with: that of `dctcp, seed 2` or `dctcp #2` is `dctcp`."""
    return re.split(r",| #", label, maxsplit=1)[0]


def stand_in(number: int) -> str:
    """The stand-in of the colour of look `number`."""
    return f"#0501{number % len(PAIRS):02x}"


class Picture(Figure):
    """A figure that a notebook shows as SVG."""

    def _repr_svg_(self) -> str:
        buffer = io.StringIO()
        with mpl.rc_context(RC):
            self.savefig(buffer, format="svg", bbox_inches="tight", pad_inches=0.1, metadata={"Date": None})
        return buffer.getvalue()


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


def on_white(figure: Figure) -> Figure:
    """The figure with the colours of white paper in the place of stand-ins, for use outside of pages."""
    colors = {stand: PAPERS[0][name] for stand, name in STAND_INS.items()}
    colors |= {stand_in(index): pair[0] for index, pair in enumerate(PAIRS)}
    figure.set_facecolor(PAPERS[0]["paper"])
    figure.draw_without_rendering()
    for artist in figure.findobj():
        for part in ("color", "facecolor", "edgecolor", "markerfacecolor", "markeredgecolor"):
            get, put = getattr(artist, f"get_{part}", None), getattr(artist, f"set_{part}", None)
            if get is None or put is None:
                continue
            value = get()
            if getattr(value, "shape", ()) == (1, 4):  # A collection, such as a band.
                value = tuple(value[0])
            if mpl.colors.is_color_like(value) and (real := colors.get(mpl.colors.to_hex(value))):
                put(real)
    return figure


def standalone(picture: str) -> str:
    """A picture as a file of its own, which follows its reader's theme."""
    style = f"<style>svg{{{variables(False)}}}@media (prefers-color-scheme: dark){{svg{{{variables(True)}}}}}</style>"
    return picture.replace(">", f">{style}", 1) + "\n"
