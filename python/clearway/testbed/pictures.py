"""Pictures of experiments, in the style of the reports: a transport has the look that it has everywhere."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, PercentFormatter

from clearway.report import style
from clearway.report.style import LOOKS, Palette

#: Columns of numbers by name.
Curve = Mapping[str, Sequence[float]]


def grid(count: int, height: float = 3.6) -> tuple[Figure, list[Axes]]:
    """A figure with panels side by side."""
    figure = Figure(figsize=(4.9 * count if count > 1 else 6.4, height), layout="constrained")
    axes = figure.subplots(1, count, squeeze=False)[0]
    return figure, list(axes)


def look(label: str, palette: Palette) -> dict[str, Any]:
    """The colour and line of a label."""
    return {"color": palette.color(label), "linestyle": palette.line(label)}


def palette_of(labels: Sequence[str]) -> Palette:
    """The looks of labels: transports have their own."""
    return Palette(sorted(dict.fromkeys(labels), key=lambda one: one not in LOOKS))


def distributions(
    panels: Mapping[str, Mapping[str, Curve]], x: str, y: str, *, log: bool = False, at: float | None = None
) -> Figure:
    """Distributions as curves of `value` and `share`, a panel for each title; `at` is marked by a line."""
    palette = palette_of([label for curves in panels.values() for label in curves])
    figure, all_axes = grid(len(panels))
    for axes, (title, curves) in zip(all_axes, panels.items(), strict=True):
        for label, curve in curves.items():
            axes.plot(curve["value"], curve["share"], label=label, **look(label, palette))
        axes.set(title=title, xlabel=x, ylabel=y, ylim=(0, 1.005))
        if at is not None:
            axes.axvline(at, color=style.MUTED, lw=1, ls=":")
        if log:
            axes.set_xscale("log")
            axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))
        else:
            axes.set_xlim(left=0)
        axes.yaxis.set_major_formatter(PercentFormatter(1.0))
    legend(figure, all_axes[0])
    return figure


def courses(
    panels: Mapping[str, Mapping[str, Curve]], y: Sequence[str], *, x: str = "time, s", width: float = 10.0
) -> Figure:
    """Values over time as curves of `time_s` and `value`, panels one above the other."""
    palette = palette_of([label for curves in panels.values() for label in curves])
    figure = Figure(figsize=(width, 2.5 * len(panels)), layout="constrained")
    all_axes = figure.subplots(len(panels), 1, squeeze=False, sharex=True)[:, 0]
    for axes, unit, (title, curves) in zip(all_axes, y, panels.items(), strict=True):
        for label, curve in curves.items():
            axes.plot(curve["time_s"], curve["value"], label=label, lw=1.3, **look(label, palette))
        axes.set(title=title, ylabel=unit)
        axes.set_ylim(bottom=0)
        axes.margins(x=0.01)
        if len(curves) > 1:
            axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))
    all_axes[-1].set_xlabel(x)
    return figure


def legend(figure: Figure, axes: Axes, columns: int | None = None) -> None:
    """A legend below all panels, if there is more than one curve: in so many columns, or in as many as have room."""
    handles, labels = axes.get_legend_handles_labels()
    if len(labels) < 2:
        return
    columns = columns or (2 if max(map(len, labels)) > 14 else 4)
    figure.legend(handles, labels, loc="outside lower center", ncols=min(len(labels), columns))


def above(figure: Figure, words: str) -> None:
    """Small words above a figure, if there are some."""
    if words:
        figure.suptitle(words, fontsize="small", color=style.MUTED)


def save(path: Path, figure: Figure) -> None:
    """Writes a picture as SVG, which follows its reader's theme."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(style.standalone(style.svg(figure)), "utf-8")
