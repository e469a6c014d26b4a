"""The experiments of docs/evidence/linux.md, each in a module that ends with `EXPERIMENT = Experiment(...)`."""

from __future__ import annotations

import importlib

from clearway._clearway import Error, suggestion
from clearway.testbed.experiment import Experiment

#: The modules, in the order of the page.
NAMES = (
    "goodput",
    "incast",
    "convergence",
    "delay",
    "sharing",
    "pac",
    "applications",
    "small",
    "matrix",
    "gigabit",
    "bulk",
    "prediction",
    "soak",
)


def find(name: str) -> Experiment:
    """The experiment of this name; raises `Error` if there is none."""
    if name not in NAMES:
        hint = suggestion(name, list(NAMES)) or "; `clearway testbed list` lists them"
        raise Error(f"no such experiment {name!r}{hint}")
    found: Experiment = importlib.import_module(f"{__name__}.{name}").EXPERIMENT
    return found
