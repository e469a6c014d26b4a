"""Clearway: a fast, deterministic packet-level simulator of datacenter congestion control.

>>> import clearway
>>> run = clearway.run("scenarios/incast.toml", transport="expresspass")  # doctest: +SKIP
>>> run.flows  # doctest: +SKIP
"""

from clearway import metrics
from clearway._clearway import Error, Progress, ScenarioError, SimulationError, __version__
from clearway._clearway import transports as transports
from clearway.comparison import Comparison, compare
from clearway.result import Run, load
from clearway.runner import run
from clearway.sweeps.result import Sweep, load_sweep
from clearway.sweeps.run import sweep

__all__ = [
    "Comparison",
    "Error",
    "Progress",
    "Run",
    "ScenarioError",
    "SimulationError",
    "Sweep",
    "__version__",
    "compare",
    "load",
    "load_sweep",
    "metrics",
    "run",
    "sweep",
    "transports",
]
