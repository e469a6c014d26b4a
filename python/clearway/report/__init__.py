"""The report: one HTML file with tables and pictures of runs, which needs no network."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from clearway import _clearway
from clearway.report.page import page
from clearway.result import Run

__all__ = ["page", "write_page"]


def write_page(runs: Sequence[Run], out: str | Path, *, title: str = "Clearway report") -> Path:
    """Writes the report of some runs; runs of the same scenario are shown side by side."""
    out = Path(out)
    text = page(runs, title)
    scratch = out.with_name(f".{out.name}.tmp")
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        scratch.write_text(text, "utf-8")
        scratch.replace(out)
    except OSError as error:
        raise _clearway.Error(f"{out}: can't write the report: {error.strerror}") from None
    return out
