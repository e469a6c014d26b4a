"""Leads from the address that a page had to the page that has its text now, so that links and bookmarks still work.

A page of a few lines stands at the old address. It names the new one for search engines and goes there, to the same
heading: what follows the `#` of an address is known to the browser alone, and to no server.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from html import escape
from pathlib import Path

#: The old addresses on the site, each with the new one.
MOVED = {
    "adding-a-transport.html": "how-to/add-a-transport.html",
    "architecture.html": "explanation/architecture.html",
    "clearwayd.html": "how-to/clearwayd.html",
    "findings.html": "reference/findings.html",
    "flow-control.html": "explanation/pfc.html",
    "glossary.html": "project/glossary.html",
    "guide.html": "how-to/python.html",
    "how-to/cluster.html": "how-to/sweeps.html",
    "how-to/wireshark-and-perfetto.html": "how-to/traces.html",
    "linux-switch.html": "how-to/linux-switch.html",
    "linux.html": "evidence/linux.html",
    "live-page.html": "how-to/live-page.html",
    "memory.html": "explanation/memory.html",
    "networks.html": "how-to/own-network-and-flows.html",
    "performance.html": "explanation/performance.html",
    "plan.html": "how-to/plan.html",
    "readings.html": "project/readings.html",
    "results.html": "reference/results.html",
    "sweeps.html": "how-to/sweeps.html",
    "testing.html": "project/testing.html",
    "threads.html": "explanation/threads.html",
    "traces.html": "how-to/traces.html",
    "verdicts.html": "evidence/verdicts.html",
    "view-protocol.html": "reference/view-protocol.html",
    "wire-format.html": "reference/wire-format.html",
    "writing-scenarios.html": "how-to/write-a-scenario.html",
}
#: Folders whose pages have the same names in another one.
FOLDERS = {"scenario": "reference/scenario"}

PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>This page moved</title>
<link rel="canonical" href="{there}">
<meta name="robots" content="noindex">
<script>location.replace("{there}" + location.hash)</script>
<noscript><meta http-equiv="refresh" content="0; url={there}"></noscript>
</head>
<body><p>This page moved to <a href="{there}">{there}</a>.</p></body>
</html>
"""


def moved(pages: Iterable[str]) -> dict[str, str]:
    """The old addresses with the new ones, of a site that has these pages."""
    found = dict(MOVED)
    for old, new in FOLDERS.items():
        found |= {old + page.removeprefix(new): page for page in pages if page.startswith(f"{new}/")}
    return found


def write(site: Path) -> None:
    """Writes a page at each old address."""
    pages = [page.relative_to(site).as_posix() for page in sorted(site.rglob("*.html"))]
    for old, new in moved(pages).items():
        place = site / old
        if place.exists() or new not in pages:
            raise SystemExit(f"moved.py: {old} leads to {new}: the first must be no page, and the second one")
        place.parent.mkdir(parents=True, exist_ok=True)
        there = escape(os.path.relpath(new, Path(old).parent))
        place.write_text(PAGE.format(there=there), "utf-8")
