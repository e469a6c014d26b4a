"""The report: one HTML file with tables and pictures of runs, which needs no network."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from clearway.page_file import write_text
from clearway.report.page import page
from clearway.report.source import marked
from clearway.report.sweeps import sweep_html
from clearway.result import Run
from clearway.sweeps.result import Sweep

__all__ = ["page", "write_page"]


def write_page(
    runs: Sequence[Run],
    out: str | Path,
    *,
    title: str | None = None,
    more: str = "",
    sweeps: Sequence[Sweep] = (),
    live: str = "",
    source: str = "",
) -> Path:
    """Writes the report of some runs and sweeps; runs of the same scenario are shown side by side.

    `more` is HTML that stands below them, `live` the HTML above them that says how to watch them (`report.live`), and
    `source` says which results they are, so that commands do not replace the page by that of others (`report.source`).
    """
    alone = title is None and len(sweeps) == 1 and not runs
    if alone:
        title = sweeps[0].name
    parts = "".join(sweep_html(sweep, "" if alone else sweep.name) for sweep in sweeps)
    text = page(runs, title, parts + more, live)
    return write_text(marked(text, source) if source else text, Path(out), "the report")
