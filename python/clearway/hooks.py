"""Functions of results that modules above them provide: pictures, findings, and HTML for notebooks.

Those modules know results, so results can't know them. `clearway/__init__.py`, which is imported before any other
module, says where they are (`shown_by`); they are imported when the first of their functions is called.
"""

# As in `clearway/__init__.py`, which an older Python than Clearway needs must be able to read.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any, Protocol

    from matplotlib.figure import Figure

    class Pictures(Protocol):
        """Pictures of one run or of several side by side: `clearway.plot.Plots`, which says more on each."""

        def fct(self) -> Figure:
            """Distribution of the flow completion times."""

        def slowdown(self) -> Figure:
            """Median and 99th percentile of the slowdown against flow size."""

        def queue(self, series: str | None = None, *, what: str = "queue") -> Figure:
            """Queues over time, from samples of `what`."""

        def rates(self, series: str | None = None, *, what: str | None = None) -> Figure:
            """Rates over time, from samples of `what`."""

    class Display(Protocol):
        """The functions of `clearway.display`, which say what each does."""

        def pictures(self, runs: Mapping[str, Any]) -> Pictures: ...  # noqa: D102
        def findings(self, runs: Mapping[str, Any]) -> list[str]: ...  # noqa: D102
        def runs_html(self, title: str, runs: Mapping[str, Any]) -> str: ...  # noqa: D102
        def sweep_findings(self, sweep: Any) -> list[str]: ...  # noqa: D102
        def sweep_picture(  # noqa: D102
            self, sweep: Any, measure: str, x: str | None, lines: str | None, table: str, rows: Any
        ) -> Figure: ...
        def sweep_html(self, sweep: Any) -> str: ...  # noqa: D102


_load = None  # type: Callable[[], Display] | None


def shown_by(load: "Callable[[], Display]") -> None:
    """Says which function imports the module that shows results."""
    global _load
    _load = load


def display() -> "Display":
    """The module that shows results."""
    assert _load
    return _load()
