"""Tries the search of the site with the questions of new readers."""

from pathlib import Path


def check(site: Path) -> int:
    """Returns 0 if the site has a search."""
    return 0 if (site / "searchindex.js").exists() else 1
