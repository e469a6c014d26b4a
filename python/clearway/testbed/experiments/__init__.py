"""The experiments of docs/linux.md, each in a module that ends with `EXPERIMENT = Experiment(...)`."""

from __future__ import annotations

import importlib

from clearway._clearway import Error, suggestion
from clearway.testbed.experiment import Experiment

#: The modules, in the order of the page.
NAMES = ("goodput", "incast", "convergence", "delay", "sharing", "applications")


def find(name: str) -> Experiment:
    """The experiment of this name; raises `Error` if there is none."""
    if name not in NAMES:
        raise Error(f"no such experiment {name!r}{suggestion(name, list(NAMES))}; `clearway testbed list` lists them")
    found: Experiment = importlib.import_module(f"{__name__}.{name}").EXPERIMENT
    return found
