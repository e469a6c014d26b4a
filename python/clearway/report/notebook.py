"""Runs as notebooks show them: their tables and small pictures, in HTML that needs nothing else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from html import escape
from importlib.resources import files

from matplotlib.figure import Figure

from clearway import caveats, metrics
from clearway.findings import findings
from clearway.report import figures
from clearway.report.html import Texts, prose, table
from clearway.report.style import Palette, drawing, svg, variables
from clearway.result import Run
from clearway.scenario_warnings import scenario_warnings
from clearway.texts import fct_texts, network_texts, warning_texts

#: Width in inches from which a picture takes a line of its own.
WIDE = 7.0


def runs_html(title: str, runs: Mapping[str, Run]) -> str:
    """Runs side by side: the tables that the command prints, completion times and queues as pictures."""
    palette = Palette(runs)
    tables = [(network_texts(runs), 1)]
    with drawing():
        if any(metrics.completed(run.flows).height for run in runs.values()):
            tables.insert(0, (fct_texts(runs), 2))
            pictures = [figures.fct_cdf(runs, palette), figures.slowdown_by_size(runs, palette)]
        else:
            pictures = []
        pictures.append(figures.sampled(runs, None, "queue_bytes", palette) or figures.queues_by_tier(runs, palette))
        warnings = [*scenario_warnings(runs), *caveats.caveats(caveats.of_runs(runs)), *warning_texts(runs)]
        return block(title, tables, pictures, palette, warnings, findings(runs))


def block(
    title: str,
    tables: Sequence[tuple[Texts, int]],
    pictures: Sequence[Figure],
    palette: Palette,
    warnings: Sequence[str] = (),
    sentences: Sequence[str] = (),
) -> str:
    """A title, what was found, warnings, tables and pictures, in the notebook's theme.

    A table comes with the number of its columns that are words. Pictures are drawn with stand-in colours, in the
    context `style.drawing`.
    """
    shown = f"<ul>{''.join(f'<li>{prose(text)}</li>' for text in sentences)}</ul>" if sentences else ""
    shown += "".join(f'<p class="warning">{escape(text)}</p>' for text in warnings)
    shown += "".join(table(texts, words, palette) for texts, words in tables)
    drawn = "".join(f"<div{wide(picture)}>{svg(picture)}</div>" for picture in pictures)
    return (
        f'<div class="clearway"><style>{css()}</style><p><strong>{escape(title)}</strong></p>{shown}'
        f'<div class="pictures">{drawn}</div></div>'
    )


def wide(picture: Figure) -> str:
    """The CSS class of a picture that takes a line of its own."""
    return ' class="wide"' if picture.get_figwidth() > WIDE else ""


@cache
def css() -> str:
    """The style of a block: both themes, told by JupyterLab, by VS Code, or else by the browser."""
    light, dark = variables(dark=False), variables(dark=True)
    return (
        f".clearway{{{light}}}"
        f"@media (prefers-color-scheme:dark){{.clearway{{{dark}}}}}"
        f'body[data-jp-theme-light="true"] .clearway,body.vscode-light .clearway{{{light}}}'
        f'body[data-jp-theme-light="false"] .clearway,body.vscode-dark .clearway{{{dark}}}'
    ) + files("clearway.report").joinpath("notebook.css").read_text("utf-8")
