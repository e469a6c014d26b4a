"""Results as people look at them: findings, pictures, and HTML for notebooks.

Methods of results end here by way of `clearway.hooks`. What a function needs is imported when it is called.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import polars as pl

from clearway.plot import Plots, matplotlib_wanted
from clearway.result import Run
from clearway.sweeps.result import Sweep

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def pictures(runs: Mapping[str, Run]) -> Plots:
    """Pictures of runs side by side."""
    return Plots(runs)


def findings(runs: Mapping[str, Run]) -> list[str]:
    """The findings on runs, in sentences."""
    from clearway.findings import findings

    return findings(runs)


def runs_html(title: str, runs: Mapping[str, Run]) -> str:
    """Runs side by side, as notebooks show them."""
    from clearway.report.notebook import runs_html

    return runs_html(title, runs)


def sweep_findings(sweep: Sweep) -> list[str]:
    """The findings on a sweep, in sentences."""
    from clearway.sweeps.findings import findings

    return findings(sweep)


def sweep_picture(
    sweep: Sweep, measure: str, x: str | None, lines: str | None, table: str, rows: pl.DataFrame
) -> Figure:
    """A measure of a sweep against an axis, of rows of one of its tables."""
    with matplotlib_wanted():
        from clearway.report.sweeps import picture
    return picture(sweep, measure, x, lines, table, rows)


def sweep_html(sweep: Sweep) -> str:
    """A sweep as notebooks show it."""
    from clearway.report.sweeps import notebook_html

    return notebook_html(sweep)
