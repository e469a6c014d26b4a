"""Sweeps in a report: a line per transport over the numeric axis, with bands, and a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullLocator

from clearway.report import figures
from clearway.report.html import card, folded, found, pair, table
from clearway.report.notebook import block
from clearway.report.style import Palette, Picture, drawing, on_white
from clearway.sweeps.frame import ALL
from clearway.sweeps.layout import (
    Band,
    Layout,
    amount_text,
    bands,
    layout,
    measure_text,
    panels,
    size_texts,
    summary_texts,
    traffic_texts,
    without_unit,
)
from clearway.sweeps.result import Sweep
from clearway.texts import PARTS_MAX, words

#: Measures that a report draws, with their titles.
DRAWN = {
    "fct_mean_s": "Mean flow completion time",
    "fct_p99_s": "Flow completion time, 99th percentile",
    "slowdown_p99": "Slowdown, 99th percentile",
    "queue_max_bytes": "Maximum queue",
}
#: Measures that a report draws of a traffic entry, columns of `Sweep.traffic`.
DRAWN_OF_TRAFFIC = {
    "mean_s": "Mean flow completion time",
    "p99_s": "Flow completion time, 99th percentile",
    "slowdown_p99": "Slowdown, 99th percentile",
}
#: The measure of a traffic entry of which no flow ends.
GOODPUT = {"goodput_bps": "Goodput"}
#: Sets of panels that are drawn at the most.
PANELS = 12
#: Panels beside each other in one picture.
ACROSS = 2
#: Ratio of the largest to the smallest value from which on an axis is logarithmic.
LOG_FROM = 8.0
#: Ticks at the most, of those at the values themselves.
TICKS = 9


def sweep_html(sweep: Sweep, title: str) -> str:
    """A sweep as a section of a page, with a title unless that is empty."""
    of = layout(sweep)
    palette = Palette(line_labels(sweep, of))
    parts = panels(of, sweep.frame) if sweep.frame.height else []
    units = {name: column.unit for name, column in sweep.described["runs"].items()}
    blocks = []
    with drawing():
        for values, part in parts[:PANELS]:
            named = {words(without_unit(name, units[name])): amount_text(values[name], units[name]) for name in values}
            told = ", ".join(f"{name} {value}" for name, value in named.items())
            if told:
                blocks.append(f"<h3>{escape(told)}</h3>")
            blocks.append(pair(*pictures(sweep, of, values, part, palette)))
    if len(parts) > PANELS:
        blocks.append(f'<p class="muted">{PANELS} of {len(parts)} sets of values are drawn; the table has all.</p>')
    return "".join(
        [
            f"<section>{f'<h2>{escape(title)}</h2>' if title else ''}{muted([about(sweep)])}",
            found(sweep.findings, [*filter(None, [missing_text(sweep), failures(sweep)]), *sweep.warnings]),
            *blocks,
            *tables(sweep, palette),
            folded("What is assumed", card(muted(sweep.assumptions))) if sweep.assumptions else "",
            "</section>",
        ]
    )


def tables(sweep: Sweep, palette: Palette) -> list[str]:
    """The tables of a sweep: of all traffic, and of each traffic entry; completion times by size are folded."""
    axes, by_traffic = len(sweep.by()), traffic_texts(sweep)
    every = card(table(summary_texts(sweep), axes, palette))
    found = [folded("All traffic" if by_traffic else "All points", every, is_open=True)]
    for entry, texts in by_traffic:
        name = f"Traffic {entry}" if entry else "By traffic"
        found.append(folded(name, card(table(texts, axes + (not entry), palette)), is_open=True))
    named = [entry for entry, _ in by_traffic if entry]
    for entry in named or [ALL]:
        title = f"Completion times by size{f', traffic {entry}' if named else ''}"
        found.append(folded(title, card(table(size_texts(sweep, entry), axes + 1, palette))))
    return found


def muted(lines: Sequence[str]) -> str:
    """Lines in small grey letters; nothing for none."""
    return f'<p class="muted">{"<br>".join(map(escape, lines))}</p>' if lines else ""


def pictures(
    sweep: Sweep, of: Layout, values: Mapping[str, object], part: pl.DataFrame, palette: Palette
) -> list[Figure]:
    """The pictures of the runs in `part`, which have these values; of each traffic entry where there are several."""
    chosen = [pl.col(name).eq_missing(pl.lit(value)) for name, value in values.items()]
    entries = sweep.entries if len(sweep.entries) <= PARTS_MAX else []
    wanted: list[tuple[str, pl.DataFrame, Mapping[str, str], str]] = []
    for entry in entries:
        rows = sweep.traffic.filter(*chosen, pl.col("traffic") == entry)
        drawn = DRAWN_OF_TRAFFIC if rows["flows"].sum() else GOODPUT
        wanted += [("traffic", rows, {measure: title}, entry) for measure, title in drawn.items()]
    common = {measure: title for measure, title in DRAWN.items() if not entries or measure == "queue_max_bytes"}
    wanted += [("runs", part, {measure: title}, "") for measure, title in common.items()]
    found = []
    for name, rows, titles, entry in wanted:
        units = {column: one.unit for column, one in sweep.described[name].items()}
        for measure, title in titles.items():
            figure, axes = figures.panel()
            draw(axes, bands(rows, of, measure), of, units, measure, palette)
            axes.set_title(f"{title}: {entry}" if entry else title)
            figures.legend(figure, axes)
            found.append(figure)
    return found


def picture(sweep: Sweep, measure: str, x: str | None, lines: str | None, name: str, rows: pl.DataFrame) -> Figure:
    """A measure of a sweep as a picture on white, with a panel for each combination of values of further axes.

    It is a column of `rows`, which are of the table `name`.
    """
    described = sweep.described[name]
    of = layout(sweep, x, lines)
    parts = panels(of, rows)
    units = {name: column.unit for name, column in described.items()}
    title = described[measure].doc[:1].upper() + described[measure].doc[1:]
    across = min(len(parts), ACROSS)
    down = -(-len(parts) // across)
    with drawing():
        figure = Picture(figsize=(5.6 * across, 3.4 * down + 0.4), layout="constrained")
        grid = figure.subplots(down, across, squeeze=False, sharey=True).flat
        palette = Palette(line_labels(sweep, of))
        drawn = [bands(part, of, measure) for _, part in parts]
        span = [mean for lines in drawn for line in lines.values() for _, mean, _, _ in line if mean == mean]
        for axes, (values, _), of_part in zip(grid, parts, drawn, strict=False):
            draw(axes, of_part, of, units, measure, palette, span)
            told = ", ".join(f"{words(name)} {amount_text(values[name], units[name])}" for name in values)
            axes.set_title(told or title)
        for axes in list(figure.axes)[len(parts) :]:
            axes.set_axis_off()
        handles, labels = figure.axes[0].get_legend_handles_labels()
        if handles:
            figure.legend(handles, labels, loc="outside lower center", ncols=4, fontsize=10.5, handlelength=2.8)
        figure.supylabel(title if of.panels else "", fontsize=11)
        return on_white(figure)


def notebook_html(sweep: Sweep) -> str:
    """A sweep in a notebook: its table, and the first pictures of the report."""
    of = layout(sweep)
    palette = Palette(line_labels(sweep, of))
    units = {name: column.unit for name, column in sweep.described["runs"].items()}
    drawn = []
    with drawing():
        values, part = panels(of, sweep.frame)[0]
        told = ", ".join(f"{words(name)} {amount_text(values[name], units[name])}" for name in values)
        for figure in pictures(sweep, of, values, part, palette)[:2] if part.height else []:
            title = figure.axes[0].get_title()
            figure.axes[0].set_title(f"{title}{f' ({told})' if told else ''}")
            drawn.append(figure)
        failed = [f"{sweep.failures.height} of {sweep.points} points failed"] if sweep.failures.height else []
        failed = [*filter(None, [missing_text(sweep)]), *failed, *sweep.warnings]
        shown = [(summary_texts(sweep), len(sweep.by()))]
        shown += [(texts, len(sweep.by()) + (not entry)) for entry, texts in traffic_texts(sweep)]
        return block(f"{sweep.name}: {about(sweep)}", shown, drawn, palette, failed, sweep.findings)


def about(sweep: Sweep) -> str:
    """A sweep in a sentence: its runs, its axes, and what bands mean."""
    units = {name: column.unit for name, column in sweep.described["runs"].items()}
    axes = ", ".join(
        f"{words(without_unit(name, units[name]))} ({count} values)"
        for name in sweep.axes.values()
        if (count := sweep.frame[name].n_unique()) > 1
    )
    text = f"{sweep.frame.height:,} runs over {axes or 'one point'}."
    if "seed" in sweep.axes:
        text += (
            " Lines are means over seeds, bands (and ± in the table) their 95 % confidence intervals by Student's t."
        )
    return text


def missing_text(sweep: Sweep) -> str:
    """The number of points without a result, in a sentence; empty if all have one."""
    if not sweep.missing:
        return ""
    why = "the sweep was ended before them, or still runs"
    return f"{sweep.missing:,} of {sweep.points:,} points are missing: {why}. The same command goes on from here."


def failures(sweep: Sweep) -> str:
    """The points that failed, as a text; empty of none."""
    if not sweep.failures.height:
        return ""
    lines = [
        ", ".join(f"{name} {row[name]}" for name in sweep.axes.values()) + f": {row['error']}"
        for row in sweep.failures.head(PANELS).iter_rows(named=True)
    ]
    return f"{sweep.failures.height} of {sweep.points} points failed: {'; '.join(lines)}"


def line_labels(sweep: Sweep, of: Layout) -> list[str]:
    """The labels of the lines of a sweep."""
    return [str(value) for value in sweep.frame[of.lines].unique(maintain_order=True)] if of.lines else [""]


def draw(
    axes: Axes,
    lines: Mapping[str, Sequence[Band]],
    of: Layout,
    units: Mapping[str, str],
    measure: str,
    palette: Palette,
    span: Sequence[float] = (),
) -> None:
    """Draws a measure on axes: over x, or beside each other where there is no numeric axis.

    `span` are the values of all axes that share the scale, if there are others than these.
    """
    labels = list(lines)
    for place, (label, line) in enumerate(lines.items()):
        points = line if of.x else [(float(place), mean, low, high) for _, mean, low, high in line]
        shown = amount_text(number(label), units[of.lines]) if of.lines and units[of.lines] else label
        band_on(axes, points, label, palette, shown, bars=of.x is None)
    values = span or [mean for line in lines.values() for _, mean, _, _ in line if mean == mean]
    scale(axes, "y", values)
    if values and min(values) > 0 and axes.get_yscale() == "linear":
        axes.set_ylim(bottom=0)
    if axes.get_yscale() == "log":
        figures.unit_axis(axes, "y", lambda y: measure_text(y, units[measure]))
    else:
        axes.yaxis.set_major_formatter(FuncFormatter(lambda y, _: tick_text(y, units[measure])))
    if of.x:
        axes.set_xlabel(words(without_unit(of.x, units[of.x])))
        ticks = sorted({x for line in lines.values() for x, *_ in line})
        scale(axes, "x", ticks)
        x_ticks(axes, ticks, units[of.x])
    else:
        axes.set_xticks(range(len(labels)), labels)
        axes.set_xlim(-0.6, len(labels) - 0.4)


def band_on(
    axes: Axes, points: Sequence[Band], label: str, palette: Palette, shown: str, *, bars: bool = False
) -> None:
    """Draws means as a line and their intervals as a band, or as bars where the x axis is no number."""
    x, mean, low, high = ([point[column] for point in points] for column in range(4))
    color, marker = palette.color(label), palette.marker(label)
    axes.plot(x, mean, color=color, ls=palette.line(label), marker=marker, ms=5, label=shown or "_")
    if bars:
        axes.vlines(x, low, high, color=color, lw=3, alpha=0.35)
    elif any(value == value for value in low):
        axes.fill_between(x, low, high, color=color, alpha=0.18, lw=0)


def number(label: str) -> float | str:
    """The number that a label of a line is."""
    try:
        return float(label)
    except ValueError:
        return label


def scale(axes: Axes, which: str, values: Sequence[float]) -> None:
    """Makes an axis logarithmic if its values are above 0 and span about a decade or more."""
    if values and min(values) > 0 and max(values) / min(values) >= LOG_FROM:
        axes.set(**{f"{which}scale": "log"})


def x_ticks(axes: Axes, values: Sequence[float], unit: str) -> None:
    """Puts the ticks of x at the values of the axis, or at some of many."""
    step = -(-len(values) // TICKS)
    shown = values[::step]
    axes.set_xticks(shown, [amount_text(value, unit) for value in shown])
    axes.xaxis.set_minor_locator(NullLocator())


def tick_text(value: float, unit: str) -> str:
    """A number at a tick."""
    return amount_text(value, unit) if value else "0"
