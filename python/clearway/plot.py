"""Pictures of runs as matplotlib figures: `run.plot.fct()`, `.slowdown()`, `.queue()`, `.rates()`.

Matplotlib is imported when the first picture is drawn.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from clearway._clearway import Error
from clearway.result import Run

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Word of `[[sample]]` -> the quantity that it records and that `queue` and `rates` draw.
QUEUES = {"queue": "queue_bytes", "credit-queue": "queue_credits"}
RATES = {"throughput": "throughput_bps", "sender": "rate_bps", "rate": "port_rate_bps"}


def look(transport: str) -> dict[str, Any]:
    """The colour, line and marker of a transport in all pictures, as matplotlib's `plot` takes them."""
    from clearway.report import style

    number = style.Palette([transport]).number(transport)
    return {
        "color": style.PAIRS[number % len(style.PAIRS)][0],
        "linestyle": style.line_style(number),
        "marker": style.marker_style(number),
    }


@contextmanager
def matplotlib_wanted() -> Iterator[None]:
    """Says what to install where an import in it fails for want of matplotlib."""
    try:
        yield
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] != "matplotlib":
            raise
        raise Error("pictures need matplotlib, which is not installed: pip install matplotlib") from None


class Plots:
    """Pictures of one run or of several side by side; each method returns a new matplotlib figure.

    A transport looks the same in all of them, and `clearway.plot.look` gives its look for pictures of your own. In a
    notebook a figure that ends a cell is shown; elsewhere `figure.savefig("fct.svg")` writes it.
    """

    def __init__(self, runs: Mapping[str, Run]) -> None:
        self._runs = dict(runs)

    def fct(self) -> Figure:
        """Distribution of the flow completion times: the share of flows that were done after a time."""
        return self._drawn("fct_cdf")

    def slowdown(self) -> Figure:
        """Median and 99th percentile of the slowdown (FCT over that in the idle network) against flow size."""
        return self._drawn("slowdown_by_size")

    def queue(self, series: str | None = None, *, what: str = "queue") -> Figure:
        """Queues over time, from samples of `what`: `"queue"` (data, in bytes) or `"credit-queue"` (credits).

        `series` picks one `[[sample]]` by name; without it all of this kind are drawn. Raises `Error` without samples.
        """
        return self._sampled(series, what, QUEUES)

    def rates(self, series: str | None = None, *, what: str | None = None) -> Figure:
        """Rates over time, from samples of `what`.

        `"throughput"` is what receivers got, `"sender"` the rates that senders pace by, `"rate"` what left ports;
        without `what`, it is the first of these that the run has. Raises `Error` without samples.
        """
        return self._sampled(series, what, RATES)

    def _sampled(self, series: str | None, what: str | None, kinds: Mapping[str, str]) -> Figure:
        if what is not None and what not in kinds:
            raise Error(f"what = {what!r}: must be one of {', '.join(kinds)}")
        found = {
            (name, quantity)
            for run in self._runs.values()
            for name, quantity in run.samples.select("series", "quantity").unique().iter_rows()
        }
        wanted = [kinds[what]] if what is not None else list(kinds.values())
        names = sorted({name for name, quantity in found if quantity in wanted})
        if not names:
            scenario = next(iter(self._runs.values())).name
            word = what or next(iter(kinds))
            raise Error(
                f'{scenario}: no samples to draw: add to the scenario a table [[sample]] with what = "{word}" '
                f'and, for example, every = "10 us"'
            )
        if series is not None and series not in names:
            raise Error(f"series = {series!r}: no such samples; there are {', '.join(names)}")
        quantity = next(one for one in wanted if any(pair[1] == one and series in (None, pair[0]) for pair in found))
        return self._drawn("sampled", series, quantity)

    def _drawn(self, name: str, *arguments: Any) -> Figure:
        with matplotlib_wanted():
            from clearway.report import figures, style
        draw: Callable[..., Figure] = getattr(figures, name)
        with style.drawing():
            drawn: Figure = style.on_white(draw(self._runs, *arguments, style.Palette(self._runs)))
        return drawn
