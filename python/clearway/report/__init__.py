"""The report: one HTML file with tables and pictures of runs, which needs no network."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from clearway import _clearway
from clearway.report.page import page
from clearway.report.sweeps import sweep_html
from clearway.result import Run
from clearway.sweeps.result import Sweep

__all__ = ["page", "write_page"]


def write_page(
    runs: Sequence[Run],
    out: str | Path,
    *,
    title: str = "Clearway report",
    more: str = "",
    sweeps: Sequence[Sweep] = (),
) -> Path:
    """Writes the report of some runs and sweeps; runs of the same scenario are shown side by side.

    `more` is HTML that stands below them.
    """
    return write_text(page(runs, title, "".join(map(sweep_html, sweeps)) + more), Path(out))


def write_text(text: str, out: Path) -> Path:
    """Writes a page in place of an earlier one, which stays whole until the new one is."""
    if not out.name:
        raise _clearway.Error(f"{out}: can't write the report: this is a folder; name a file, such as report.html")
    scratch = out.with_name(f".{out.name}.tmp")
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        scratch.write_text(text, "utf-8")
        scratch.replace(out)
    except OSError as error:
        raise _clearway.Error(f"{out}: can't write the report: {error.strerror}") from None
    return out
