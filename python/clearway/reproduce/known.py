"""The figures of papers, found by their names."""

from __future__ import annotations

import importlib
import pkgutil
from pathlib import Path

from clearway._clearway import Error, suggestion
from clearway.reproduce.figure import Figure


def figures() -> dict[str, Figure]:
    """All figures, by name: whatever the folders of papers hold."""
    found = {}
    for paper in pkgutil.iter_modules([str(Path(__file__).parent)], f"{__package__}."):
        if paper.ispkg:
            for module in pkgutil.iter_modules(importlib.import_module(paper.name).__path__, f"{paper.name}."):
                figure = getattr(importlib.import_module(module.name), "FIGURE", None)
                if figure is not None:
                    found[figure.name] = figure
    return dict(sorted(found.items()))


def find(what: str | None) -> list[Figure]:
    """The figures that `paper`, `paper/figure` or nothing (all) names."""
    known = figures()
    chosen = [figure for name, figure in known.items() if what in (None, name, figure.paper)]
    if not chosen:
        hint = suggestion(what or "", [*known, *{figure.paper for figure in known.values()}])
        raise Error(f"{what!r} is no figure{hint} (known: {', '.join(known)}, and all of a paper by its name)")
    return chosen
