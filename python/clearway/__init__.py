"""Clearway: a fast, deterministic packet-level simulator of datacenter congestion control.

>>> import clearway
>>> run = clearway.run("incast", transport="expresspass")  # doctest: +SKIP
>>> run.flows  # doctest: +SKIP
"""

from clearway import hooks

# Known to mypy under this name; the module `typing` itself takes longer to load than the rest of this file.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from clearway import metrics
    from clearway import plot as plot
    from clearway._clearway import Error, Progress, ScenarioError, SimulationError, __version__
    from clearway._clearway import transports as transports
    from clearway.comparison import Comparison, compare
    from clearway.interrupt import Interrupted
    from clearway.result import Run, load
    from clearway.runner import run
    from clearway.stepping import Stepped, open  # noqa: A004 - see there
    from clearway.sweeps.result import Sweep
    from clearway.sweeps.run import sweep
    from clearway.sweeps.saved import load_sweep


def _display() -> "hooks.Display":
    from clearway import display

    return display


hooks.shown_by(_display)

__all__ = [
    "Comparison",
    "Error",
    "Interrupted",
    "Progress",
    "Run",
    "ScenarioError",
    "SimulationError",
    "Stepped",
    "Sweep",
    "__version__",
    "compare",
    "load",
    "load_sweep",
    "metrics",
    "open",
    "run",
    "sweep",
    "transports",
]

#: The modules of this package, by the names that it takes from them. Each is imported when one of its names is first
#: used: those that need Polars and NumPy, so that commands which show help or a version start in a tenth of the time,
#: and the simulator, so that the command hears Ctrl-C before it is loaded.
_LATER = {
    "Error": "clearway._clearway",
    "Progress": "clearway._clearway",
    "ScenarioError": "clearway._clearway",
    "SimulationError": "clearway._clearway",
    "__version__": "clearway._clearway",
    "transports": "clearway._clearway",
    "Comparison": "clearway.comparison",
    "Interrupted": "clearway.interrupt",
    "Run": "clearway.result",
    "Stepped": "clearway.stepping",
    "Sweep": "clearway.sweeps.result",
    "compare": "clearway.comparison",
    "load": "clearway.result",
    "load_sweep": "clearway.sweeps.saved",
    "metrics": "clearway.metrics",
    "open": "clearway.stepping",
    "plot": "clearway.plot",
    "run": "clearway.runner",
    "sweep": "clearway.sweeps.run",
}

if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        """Imports a name of this package when it is first used (PEP 562)."""
        if name not in _LATER:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        import importlib

        module = importlib.import_module(_LATER[name])
        found = module if _LATER[name] == f"{__name__}.{name}" else getattr(module, name)
        globals()[name] = found
        return found

    def __dir__() -> "list[str]":
        """Names those that are imported later too."""
        return sorted({*globals(), *_LATER})
