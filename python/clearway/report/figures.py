"""The pictures of a report. Each function draws one figure of some runs of a scenario."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import (
    FixedLocator,
    FuncFormatter,
    LogLocator,
    MaxNLocator,
    NullFormatter,
    NullLocator,
    PercentFormatter,
)
from numpy.typing import NDArray

from clearway import metrics, units
from clearway.report.style import MUTED, PAPER, Palette, Picture
from clearway.result import Run
from clearway.sweeps.bands import interval
from clearway.texts import words

Runs = Mapping[str, Run]
#: The width of all pictures in inches, so that their letters have one size on a page.
WIDTH = 5.6
#: Points of a line at the most: more can't be seen, and make the page heavy.
POINTS = 500
#: Lines of a panel at the most.
LINES = 8
#: Points of a line of slowdowns at the most.
GROUPS = 16
#: Lines of a panel that a legend names.
LEGEND = 4


def fct_cdf(runs: Runs, palette: Palette) -> Figure:
    """Distribution of the flow completion times."""
    figure, axes = panel()
    for label, run in runs.items():
        fct = np.sort(metrics.completed(run.flows)["fct_s"].to_numpy())
        if len(fct):
            share = np.linspace(0, 1, min(len(fct), POINTS))
            axes.plot(np.quantile(fct, share), share, color=palette.color(label), ls=palette.line(label), label=label)
    axes.set(xscale="log", xlabel="flow completion time", ylabel="share of flows", title="Flow completion times")
    axes.yaxis.set_major_formatter(PercentFormatter(1.0))
    axes.set_ylim(0, 1.005)
    unit_axis(axes, "x", units.seconds)
    legend(figure, axes)
    return figure


def slowdown_by_size(runs: Runs, palette: Palette) -> Figure:
    """Slowdown against the idle network by flow size: median and 99th percentile of groups of flows."""
    figure, axes = panel()
    for label, run in runs.items():
        done = metrics.completed(run.flows).sort("size_bytes", "flow")
        groups = by_size(done["size_bytes"].to_numpy())
        size, slowdown = done["size_bytes"].to_numpy(), done["slowdown"].to_numpy()
        x = [float(np.median(size[part])) for part in groups]
        color, marker = palette.color(label), palette.marker(label)
        high = [metrics.percentile(slowdown[part], 99) for part in groups]
        middle = [metrics.percentile(slowdown[part], 50) for part in groups]
        axes.plot(x, high, color=color, marker=marker, ms=5, label=f"{label}, 99th percentile")
        axes.plot(
            x, middle, color=color, marker=marker, ms=5, mfc=PAPER, ls=(0, (4, 2)), lw=1.4, label=f"{label}, median"
        )
    axes.set(xscale="log", yscale="log", xlabel="flow size", ylabel="slowdown")
    axes.set_title("Slowdown by flow size")
    unit_axis(axes, "x", units.size)
    plain_axis(axes)
    legend(figure, axes)
    return figure


def by_size(sizes: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    """Groups of flows that are sorted by size: those of equal size, or of equally many flows where sizes vary."""
    change = np.flatnonzero(np.diff(sizes)) + 1
    if len(change) < GROUPS:
        parts = np.split(np.arange(len(sizes)), change)
    else:
        parts = np.array_split(np.arange(len(sizes)), min(GROUPS, max(1, len(sizes) // 50)))
    return [part for part in parts if len(part)]


def queues_by_tier(runs: Runs, palette: Palette) -> Figure:
    """Maximum and average queue of the worst port of each tier."""
    tiers = list(dict.fromkeys(tier for run in runs.values() for tier in run.ports["tier"].to_list()))
    figure, axes = panel(height=1.6 + 0.3 * len(tiers) * (0.6 + 0.4 * len(runs)))
    step = 0.7 / max(1, len(runs))
    for index, (label, run) in enumerate(runs.items()):
        color = palette.color(label)
        worst = run.ports.group_by("tier").agg(pl.col("queue_max_bytes").max(), pl.col("queue_mean_bytes").max())
        by_tier = {row["tier"]: row for row in worst.to_dicts()}
        for place, tier in enumerate(tiers):
            if tier not in by_tier:
                continue
            y = place + (index - (len(runs) - 1) / 2) * step
            mean, most = by_tier[tier]["queue_mean_bytes"], by_tier[tier]["queue_max_bytes"]
            axes.plot([mean, most], [y, y], color=color, lw=2.5, alpha=0.45, solid_capstyle="butt")
            first = label if place == 0 else None
            axes.plot([most], [y], ls="", marker=palette.marker(label), color=color, ms=8, label=first)
            axes.plot([mean], [y], ls="", marker="|", color=color, ms=11, mew=2.5)
    axes.set_yticks(range(len(tiers)), tiers)
    axes.set_ylim(len(tiers) - 0.4, -0.6)
    axes.grid(visible=False, axis="y")
    axes.set_xscale("symlog", linthresh=1000, linscale=0.5)
    axes.set_xlim(left=0, right=max(axes.get_xlim()[1], 2000) * 1.3)
    axes.xaxis.set_major_locator(FixedLocator([0, *(10.0**power for power in range(3, 12))]))
    axes.set_xlabel("data waiting at the worst port of the tier\n(tick: time average, symbol: maximum)")
    axes.set_title("Queues by tier")
    axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: bare(units.size(x)) if x else "0"))
    legend(figure, axes)
    return figure


def sampled(runs: Runs, series: str | None, quantity: str, palette: Palette) -> Figure | None:
    """A sampled series over time (or all series of a quantity), a panel for each run; None without samples."""
    chosen = pl.col("quantity") == quantity
    if series is not None:
        chosen &= pl.col("series") == series
    parts = {label: part for label, run in runs.items() if (part := run.samples.filter(chosen)).height}
    if not parts:
        return None
    figure = Picture(figsize=(WIDTH, 0.7 + 1.7 * len(parts)), layout="constrained")
    panels = figure.subplots(len(parts), 1, sharex=True, sharey=True, squeeze=False)[:, 0]
    name, scale = axis_of(quantity, max(float(np.nanmax(part["value"].to_numpy())) for part in parts.values()))
    for axes, (label, part) in zip(panels, parts.items(), strict=True):
        entities = part.group_by("entity").agg(pl.col("value").mean()).sort("value", "entity", descending=[True, False])
        shown = sorted(entities["entity"].to_list()[:LINES], key=natural)
        for index, entity in enumerate(shown):
            line = part.filter(pl.col("entity") == entity)
            x, y = thin(line["time_s"].to_numpy(), line["value"].to_numpy())
            color = palette.color(label)
            fade = 1.0 - 0.65 * index / max(1, len(shown) - 1)
            axes.plot(x, y / scale, color=color, lw=1.3, alpha=fade, drawstyle="steps-post", label=entity)
        if 1 < len(shown) <= LEGEND or (len(shown) == 1 and len(parts) == 1):
            axes.legend(fontsize=9, loc="upper right", ncols=2)
        more = f" ({len(shown)} of {entities.height} with the highest mean)" if entities.height > LINES else ""
        axes.set_title(f"{label}{more}", fontsize=11.5, color=palette.color(label))
        axes.set_ylabel(name)
        axes.yaxis.set_major_locator(MaxNLocator(4))
        axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: bare(units.seconds(x))))
        axes.xaxis.set_major_locator(MaxNLocator(5))
    most = max(float(np.nanmax(np.asarray(line.get_ydata()))) for axes in panels for line in axes.lines)
    panels[0].set_ylim(0, 1.05 * most or 1)
    panels[-1].set_xlabel("simulated time")
    return figure


def swept(
    lines: Mapping[str, list[tuple[float, Run]]], key: str, measure: str, palette: Palette, unit: str = ""
) -> Figure:
    """A measure of the network against the swept key: `queue_max`, `queue_mean`, `fct_mean` or `fct_p99`.

    Runs of one value (several seeds) give their mean, with its confidence interval as a band.
    """
    figure, axes = panel()
    sweep_on(axes, lines, key, measure, palette, unit)
    legend(figure, axes)
    return figure


def trade(lines: Mapping[str, list[tuple[float, Run]]], key: str, palette: Palette) -> Figure:
    """Both sides of the trade against the swept key: the largest queue, and how long the slowest flows take."""
    figure = Picture(figsize=(9.6, 3.6), layout="constrained")
    left, right = figure.subplots(1, 2)
    sweep_on(left, lines, key, "queue_max", palette)
    sweep_on(right, lines, key, "fct_p99", palette)
    left.set_title("Maximum queue")
    right.set_title("Completion time, 99th percentile")
    for line in right.lines:
        line.set_label("_")
    legend(figure, left)
    return figure


def sweep_on(
    axes: Axes, lines: Mapping[str, list[tuple[float, Run]]], key: str, measure: str, palette: Palette, unit: str = ""
) -> None:
    """Draws `swept` on axes."""
    title, ylabel = {
        "queue_max": ("Maximum queue", "maximum of the worst switch port"),
        "queue_mean": ("Average queue", "time average of the worst switch port"),
        "fct_mean": ("Mean flow completion time", "flow completion time"),
        "fct_p99": ("Flow completion time, 99th percentile", "flow completion time"),
    }[measure]
    for label, line in lines.items():
        x = sorted({value for value, _ in line})
        means = [interval([measured(run, measure) for value, run in line if value == here]) for here in x]
        style = {"color": palette.color(label), "ls": palette.line(label), "marker": palette.marker(label)}
        axes.plot(x, [mean for mean, _, _ in means], ms=6, label=label, **style)  # type: ignore[arg-type]
        low, high = [low for _, low, _ in means], [high for _, _, high in means]
        if not np.isnan(low).all():
            axes.fill_between(x, low, high, color=palette.color(label), alpha=0.18, lw=0)
    axes.set(xscale="log", yscale="log", xlabel=words(key), ylabel=ylabel, title=f"{title} against {words(key)}")
    decade(axes)
    values = sorted({value for line in lines.values() for value, _ in line})
    axes.set_xticks(values, [units.value(value, unit) for value in values])
    axes.xaxis.set_minor_locator(NullLocator())
    unit_axis(axes, "y", units.seconds if measure.startswith("fct") else units.size)


def measured(run: Run, measure: str) -> float:
    """The number of a run that `swept` draws."""
    if measure.startswith("fct"):
        fct = metrics.completed(run.flows)["fct_s"].to_numpy()
        return metrics.mean(fct) if measure == "fct_mean" else metrics.percentile(fct, 99)
    worst = metrics.switch_ports(run.ports)[f"{measure}_bytes"].max()
    return float(worst) if isinstance(worst, (int, float)) else float("nan")


def panel(width: float = WIDTH, height: float = 3.7) -> tuple[Figure, Axes]:
    """A figure with one set of axes, of the width of half a page by default."""
    figure = Picture(figsize=(width, height), layout="constrained")
    return figure, figure.subplots()


def legend(figure: Figure, axes: Axes) -> None:
    """A legend below the axes, where it hides nothing."""
    if axes.get_legend_handles_labels()[0]:
        figure.legend(loc="outside lower center", ncols=2, fontsize=10.5, handlelength=2.8, columnspacing=2.2)
    else:
        axes.text(0.5, 0.5, "nothing to show", transform=axes.transAxes, ha="center", color=MUTED)


def unit_axis(axes: Axes, which: str, show: object) -> None:
    """Labels a logarithmic axis with units."""
    axis = axes.xaxis if which == "x" else axes.yaxis
    low, high = axes.get_xlim() if which == "x" else axes.get_ylim()
    decades = np.log10(high / low) if low > 0 else 9
    if decades < 0.5:  # Less than two of 1, 2 and 5 lie on such an axis.
        axis.set_major_locator(MaxNLocator(4))
    else:
        axis.set_major_locator(LogLocator(base=10, subs=(1.0, 2.0, 5.0) if decades < 2.2 else (1.0,), numticks=12))
    axis.set_minor_formatter(NullFormatter())
    axis.set_major_formatter(FuncFormatter(lambda x, _: bare(show(x))))  # type: ignore[operator]


def decade(axes: Axes) -> None:
    """Lets a logarithmic y axis span a decade at least: a small difference shall look small."""
    low, high = axes.get_ylim()
    stretch = (10 * low / high) ** 0.5
    if low > 0 and stretch > 1:
        axes.set_ylim(low / stretch, high * stretch)


def plain_axis(axes: Axes) -> None:
    """Labels a logarithmic y axis with plain numbers."""
    low, high = axes.get_ylim()
    subs = (1.0, 2.0, 5.0) if np.log10(high / low) < 2.2 else (1.0,)
    axes.yaxis.set_major_locator(LogLocator(base=10, subs=subs, numticks=12))
    axes.yaxis.set_minor_formatter(NullFormatter())
    axes.yaxis.set_major_formatter(FuncFormatter(lambda y, _: f"{y:,.10g}"))


def bare(text: str) -> str:
    """`10.0 us` without the zeros: `10 us`."""
    number, _, unit = text.partition(" ")
    return f"{number.rstrip('0').rstrip('.') if '.' in number else number} {unit}"


def axis_of(quantity: str, most: float) -> tuple[str, float]:
    """The label of a sampled quantity's axis, and what to divide its values by."""
    name, _, unit = quantity.rpartition("_")
    scales = {
        "bps": ((1e9, "Gbps"), (1e6, "Mbps"), (1e3, "Kbps"), (1, "bps")),
        "bytes": ((1e6, "MB"), (1e3, "KB"), (1, "B")),
        "s": ((1, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns")),
    }.get(unit)
    if scales is None:
        return words(quantity), 1.0
    scale, shown = next(((s, n) for s, n in scales if most >= s), scales[-1])
    return f"{words(name)} ({shown})", float(scale)


def natural(text: str) -> tuple[int, str]:
    """A key that sorts labels with numbers by their values."""
    return (int(text), "") if text.isdigit() else (10**9, text)


def thin(x: NDArray[np.float64], y: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Fewer points: of each group of neighbours, the one with the largest value, so that no peak is lost."""
    if len(x) <= POINTS:
        return x, y
    picked = [
        part[np.argmax(np.nan_to_num(y[part], nan=-np.inf))] for part in np.array_split(np.arange(len(x)), POINTS)
    ]
    return x[picked], y[picked]
