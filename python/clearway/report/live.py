"""The way from a report to its runs in the live page: a file beside the report, or else the command that shows them."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from html import escape
from pathlib import Path

from clearway._clearway import Error
from clearway.folder import find_runs
from clearway.page_file import write_text
from clearway.view import bundle
from clearway.view.sources import Asked, opened
from clearway.view.start import with_start

#: The most runs in a live page that is written beside a report.
RUNS_MAX = 50
#: The most hosts that the engine in a browser simulates fast enough to watch.
HOSTS_MAX = 1000


def live(folders: Sequence[Path], out: Path) -> str:
    """Writes the live page of the runs in some folders beside the report `out`, and returns the HTML that leads there.

    Without the bundle of the live page, for many runs, for large networks, and where a file is gone that a scenario
    names, the HTML says which command shows them.
    """
    if not folders:
        return ""
    if file := written(folders, out):
        where = f'<a href="{escape(file.name)}">{escape(file.name)}</a> simulates these runs again in the browser'
    else:
        command = shlex.join(["clearway", "view", *map(str, folders)])
        where = f"<code>{escape(command)}</code> simulates these runs again"
    return f"<p>See it live: {where}, packet by packet, and compares the hashes.</p>"


def written(folders: Sequence[Path], out: Path) -> Path | None:
    """The live page of the runs in some folders, written beside a report; None where there can be none."""
    if not out.name or not bundle.is_there():
        return None
    if sum(len(find_runs(path)) for path in folders) > RUNS_MAX:
        return None
    try:
        found = opened(folders, Asked())
    except Error:
        return None
    if found.hosts > HOSTS_MAX:
        return None
    file = out.with_name(f"{out.stem}-live.html")
    return write_text(with_start(bundle.page(), found.scenes), file, "the live page")
