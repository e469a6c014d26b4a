"""The look of pictures of figures: SVG that follows its reader's theme, and PNG on white."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import matplotlib as mpl
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Picture
from matplotlib.ticker import PercentFormatter

from clearway.report import style


class Look:
    """Colours: stand-ins that an SVG's theme replaces, or those of white paper."""

    def __init__(self, *, themed: bool) -> None:
        self.themed = themed
        light = {stand_in: style.PAPERS[False][name] for stand_in, name in style.STAND_INS.items()}
        self._real = {color: color if themed else light[color] for color in light}
        self.ink, self.muted, self.grid, self.paper = (
            self._real[color] for color in (style.INK, style.MUTED, style.GRID, style.PAPER)
        )

    def color(self, number: int) -> str:
        """The colour of look `number`; that of a transport is in `style.OWN`."""
        return style.stand_in(number) if self.themed else style.PAIRS[number % len(style.PAIRS)][0]

    def line(self, number: int) -> dict[str, Any]:
        """Colour, dashes and marker of look `number`."""
        return {"color": self.color(number), "ls": style.line_style(number), "marker": style.marker_style(number)}

    @contextmanager
    def drawing(self) -> Iterator[None]:
        """A context in which pictures are drawn in the pages' style."""
        real = {
            key: self._real.get(value, value) if isinstance(value, str) else value for key, value in style.RC.items()
        }
        if not self.themed:
            real |= {"figure.facecolor": self.paper, "savefig.facecolor": self.paper}
        with mpl.rc_context(real):
            yield


def save(draw: Callable[[Look], dict[str, Picture]], folder: Path, prefix: str) -> list[Path]:
    """Draws for both and writes `PREFIX-NAME.svg` and `.png`."""
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for look in (Look(themed=True), Look(themed=False)):
        with look.drawing():
            for name, picture in draw(look).items():
                path = folder / f"{prefix}-{name}.{'svg' if look.themed else 'png'}"
                if look.themed:
                    path.write_text(style.standalone(style.svg(picture)), "utf-8")
                else:
                    picture.savefig(path, dpi=110, metadata={"Software": None})
                written.append(path)
    return sorted(written)


def grid(rows: int, columns: int, width: float = 9.2, height: float = 2.9, **shared: Any) -> tuple[Picture, list[Axes]]:
    """A picture with panels, row by row."""
    picture = Picture(figsize=(width, 0.6 + height * rows), layout="constrained")
    return picture, list(picture.subplots(rows, columns, squeeze=False, **shared).flat)


def done_and_left(axes: list[Axes], points: pl.DataFrame, label: str, line: dict[str, Any]) -> None:
    """A distribution of completion times: the share that is done in the first panel, what is left in the second."""
    line = {**line, "marker": ""}
    axes[0].plot(points["fct_s"] * 1e3, points["share"], label=label, lw=1.8, **line)
    tail = points.filter(pl.col("share") < 1)
    axes[1].plot(tail["fct_s"] * 1e3, 1 - tail["share"], label=label, lw=1.8, **line)
    axes[0].set_ylim(0, 1.01)
    axes[0].yaxis.set_major_formatter(PercentFormatter(1.0))


def legend(picture: Picture, axes: Axes, columns: int = 3) -> None:
    """A legend below the panels."""
    handles, labels = axes.get_legend_handles_labels()
    picture.legend(
        handles, labels, loc="outside lower center", ncols=columns, fontsize=10.5, handlelength=2.8, columnspacing=2.2
    )


def powers(axes: Axes, values: list[int]) -> None:
    """A logarithmic x axis that names the values of a sweep."""
    axes.set_xscale("log")
    axes.set_xticks(values, [f"{value:,}" for value in values])
    axes.minorticks_off()
