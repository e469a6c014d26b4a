"""The way from a report to its runs in the live page: a file beside the report, or else the command that shows them."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from html import escape
from pathlib import Path

from clearway._clearway import Error
from clearway.page_file import write_text
from clearway.view import bundle
from clearway.view.sources import Asked, opened
from clearway.view.start import with_start

#: The most runs in a live page that is written beside a report.
RUNS_MAX = 50
#: The most hosts that the engine in a browser simulates fast enough to watch.
HOSTS_MAX = 1000


def live(runs: Sequence[Path], out: Path) -> str:
    """Writes the live page of the runs in some folders beside the report `out`, and returns the HTML that leads there.

    Without the bundle of the live page, for many runs, for large networks, and where a file is gone that a scenario
    names, the HTML says which command shows them.
    """
    if not runs:
        return ""
    if file := written(runs, out):
        where = f'<a href="{escape(file.name)}">{escape(file.name)}</a> simulates these runs again in the browser'
    else:
        command = shlex.join(["clearway", "view", *map(str, runs)]) if len(runs) <= RUNS_MAX else "clearway view RUN"
        where = f"<code>{escape(command)}</code> simulates {'them' if len(runs) > 1 else 'the run'} again"
    return f"<p>See it live: {where}, packet by packet, and compares the hash.</p>"


def written(runs: Sequence[Path], out: Path) -> Path | None:
    """The live page of some runs, written beside a report; None where there can be none."""
    if len(runs) > RUNS_MAX or not out.name or not bundle.is_there():
        return None
    try:
        found = opened(runs, Asked())
    except Error:
        return None
    if found.hosts > HOSTS_MAX:
        return None
    file = out.with_name(f"{out.stem}-live.html")
    return write_text(with_start(bundle.page(), found.scenes), file, "the live page")
