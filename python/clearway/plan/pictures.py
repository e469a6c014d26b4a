"""The planner's pictures, in SVG (which follows its reader's theme) or PNG."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import TwoSlopeNorm
from matplotlib.figure import Figure

from clearway import units
from clearway.plan.expresspass import Floats, Trajectory
from clearway.plan.pacc import Loop, margin_grid
from clearway.report import style

#: Values of beta1 and beta2 in Fig. 5.
GRID = np.linspace(0.02, 1, 50)


def pacc(loop: Loop) -> Figure:
    """Bode diagram of a loop, and Fig. 5 with its pair marked."""
    figure = Figure(figsize=(10.5, 4.6), layout="constrained")
    grid = figure.add_gridspec(2, 2, width_ratios=(1, 1.05), wspace=0.06)
    gain = figure.add_subplot(grid[0, 0])
    bode(gain, figure.add_subplot(grid[1, 0], sharex=gain), loop)
    margins(figure, figure.add_subplot(grid[:, 1]), loop)
    return figure


def bode(gain: Axes, phase: Axes, loop: Loop) -> None:
    """The Bode diagram: gain above, phase below."""
    found = loop.margins()
    omega = np.geomspace(found.crossover_rad_s / 30, found.crossover_rad_s * 4, 300)
    hertz, at = omega / (2 * np.pi), found.crossover_rad_s / (2 * np.pi)
    here = 180 - found.phase_deg
    gain.semilogx(hertz, 20 * np.log10(loop.magnitude(omega)), color=style.stand_in(0))
    gain.axhline(0, color=style.MUTED, linewidth=1)
    gain.set_ylabel("gain in dB")
    gain.tick_params(labelbottom=False)
    gain.set_title(f"Bode diagram of (16), {loop.sign} sign")
    phase.semilogx(hertz, loop.phase_deg(omega), color=style.stand_in(0))
    phase.axhline(-180, color=style.MUTED, linewidth=1)
    phase.plot([at, at], [-180, -here], color=style.stand_in(1), linewidth=3, solid_capstyle="butt")
    phase.set_ylabel("phase in degrees")
    phase.set_xlabel("frequency in Hz")
    for axes in (gain, phase):
        axes.axvline(at, color=style.stand_in(1), linewidth=1, linestyle=(0, (2, 1.5)))
    gain.annotate(
        f"gain 1 at {hertz_text(at)}:\nphase margin {found.phase_deg:+,.0f}°",
        (at, 0),
        xytext=(-8, -8),
        textcoords="offset points",
        ha="right",
        va="top",
        color=style.stand_in(1),
    )


def margins(figure: Figure, axes: Axes, loop: Loop) -> None:
    """Fig. 5: the phase margin over beta1 and beta2."""
    grid = margin_grid(loop, GRID, GRID)
    step = 30 * np.ceil((grid.max() - grid.min()) / 300)
    levels = step * np.arange(np.floor(grid.min() / step), np.ceil(grid.max() / step) + 1)
    norm = TwoSlopeNorm(0, min(-1.0, levels[0]), max(90.0, levels[-1]))
    colours = axes.contourf(GRID, GRID, grid, levels=levels, cmap="RdBu", norm=norm)
    if grid.min() < 0 < grid.max():
        edge = axes.contour(GRID, GRID, grid, levels=[0], colors="black", linewidths=1.5)
        axes.clabel(edge, fmt="0°", fontsize=9)
    axes.plot(
        loop.beta1,
        loop.beta2,
        marker="o",
        markersize=8,
        color="#ffd33d",
        markeredgecolor="black",
        clip_on=False,
        zorder=5,
    )
    axes.annotate(
        f"({loop.beta1:g}, {loop.beta2:g}): {loop.margins().phase_deg:+,.0f}°",
        (loop.beta1, loop.beta2),
        xytext=(14, 12) if loop.beta1 < 0.5 else (-14, 12),
        ha="left" if loop.beta1 < 0.5 else "right",
        textcoords="offset points",
        color="black",
        bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.8, "boxstyle": "round,pad=0.25"},
    )
    axes.grid(visible=False)
    axes.set(xlim=(0, 1), ylim=(0, 1), xlabel=r"$\beta_1$", ylabel=r"$\beta_2$")
    axes.set_title(f"Phase margin (Fig. 5), {units.rate(loop.rate_bps)}, Q in {loop.unit}")
    bar = figure.colorbar(colours, ax=axes, label="phase margin in degrees")
    bar.outline.set_visible(False)


def expresspass(model: Trajectory, simulated: Floats | None) -> Figure:
    """Rates of the model, and of the simulator below where there are some; D(t) beside them."""
    rows = 1 if simulated is None else 2
    figure = Figure(figsize=(10.5, 3.4 if rows == 1 else 5.8), layout="constrained")
    panels = figure.subplots(rows, 2, sharex=True, squeeze=False)
    for row, (name, rates) in enumerate([("sec. 4's model", model.rates), ("simulator", simulated)][:rows]):
        assert rates is not None
        trace(panels[row][0], rates, model, name)
        steps(panels[row][1], rates, model, name)
    for axes in panels[-1]:
        axes.set_xlabel("update periods")
    if rows == 2:
        for column in range(2):
            low = min(axes.get_ylim()[0] for axes in panels[:, column])
            high = max(axes.get_ylim()[1] for axes in panels[:, column])
            for axes in panels[:, column]:
                axes.set_ylim(low, high)
    return figure


def trace(axes: Axes, rates: Floats, model: Trajectory, name: str) -> None:
    """Rates over the fair share."""
    shares = rates / model.parameters.fair
    last = shares.shape[1] - 1
    for flow in range(min(last, 16)):
        axes.plot(shares[:, flow], color=style.stand_in(0), linewidth=1, alpha=0.7 if last < 4 else 0.45)
    axes.plot(shares[:, last], color=style.stand_in(1), linewidth=1.6)
    axes.axhline(1, color=style.INK, linewidth=1, linestyle=(0, (2, 1.5)))
    axes.set_ylim(bottom=0)
    axes.set_ylabel("rate / (C/N)")
    axes.set_title(f"{name}: credit rates of {last + 1} flows")


def steps(axes: Axes, rates: Floats, model: Trajectory, name: str) -> None:
    """D(t) of the last flow, and D*."""
    d = np.abs(np.diff(rates[:, -1])) / model.parameters.capacity
    line: Any = {"color": style.stand_in(1), "linewidth": 1.2, "marker": ".", "markersize": 4}
    axes.semilogy(np.arange(1, len(d) + 1), np.where(d > 0, d, np.nan), **line)
    d_star = model.parameters.d_star / model.parameters.capacity
    axes.axhline(d_star, color=style.INK, linewidth=1, linestyle=(0, (2, 1.5)))
    axes.annotate("D*", (1, d_star), xycoords=("axes fraction", "data"), xytext=(3, -3), textcoords="offset points")
    axes.set_ylim(bottom=1e-4)
    axes.set_ylabel("D(t) / C")
    axes.set_title(f"{name}: step between periods")


def hertz_text(hertz: float) -> str:
    """A frequency as text, such as `1.79 kHz`."""
    return units.scaled(hertz, ((1e6, "MHz"), (1e3, "kHz"), (1, "Hz")))


def save(draw: Any, path: Path) -> None:
    """Calls `draw()` for a figure and writes it, in the format that the name ends in."""
    if path.suffix == ".svg":
        with style.drawing():
            path.write_text(style.standalone(style.svg(draw())), "utf-8")
        return
    with mpl.rc_context({**style.RC, "figure.facecolor": style.PAPER, "axes.facecolor": style.PAPER}):
        style.on_white(draw()).savefig(path, dpi=160, metadata={"Software": None})
