"""Runs in the live page below the cell of a notebook."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from urllib.parse import quote

from clearway import naming
from clearway.page_file import write_text
from clearway.view import bundle
from clearway.view.sources import Asked, Opened, Recorded, of_runs
from clearway.view.start import with_start


@dataclass(frozen=True)
class View:
    """A page that was written to a file, which a notebook shows in a frame."""

    path: Path
    #: Height of the frame in CSS pixels.
    height: int

    def _repr_html_(self) -> str:
        source = escape(quote(self.path.as_posix()))
        return f'<iframe src="{source}" width="100%" height="{self.height}" style="border:0"></iframe>'


def view(runs: Sequence[Recorded], path: str | Path | None, height: int) -> View:
    """Writes the live page of runs of one scenario, side by side; without a path, to a file that is named for it.

    A notebook shows files of its own folder and those below it.
    """
    name = runs[0].name
    file = Path(f"{naming.safe_name(name)}-live.html" if path is None else path)
    scene = of_runs(name, runs, Asked(), Opened())
    return View(write_text(with_start(bundle.page(), [scene]), file, "the live page"), height)
