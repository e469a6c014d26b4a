"""Runs that go on step by step, for notebooks: one looks at ports, packets and flows in between."""

from __future__ import annotations

import polars as pl

from clearway import _clearway, examples
from clearway.cost import Meter
from clearway.result import Run
from clearway.runner import Settings, Source, load_scenario, made_of
from clearway.tables import frame

#: A time: a number of seconds, or a text with a unit such as `"10 us"`.
When = str | float


class Stepped:
    """A run that goes on step by step. `clearway.open` makes one.

    Looks change nothing: a run that was looked at after steps of any sizes has the hash of one that `clearway.run`
    made.
    """

    def __init__(self, scenario: _clearway.Scenario, *, transport: str | None, settings: Settings | None) -> None:
        self._scenario = scenario
        self._asked = (transport, settings)
        self._meter = Meter(1)
        self._run = _clearway.Stepped(scenario)
        self._result: Run | None = None

    def step(self, *, until: When | None = None, by: When | None = None, events: int | None = None) -> bool:
        """Lets the run go on, and returns true while it is not over.

        `until` is the simulated time to go on to, `by` the simulated time to go on for: all events up to and at that
        time happen. `events` is the most events to handle, wherever that ends; `step()` handles one.
        """
        if until is not None and by is not None:
            raise _clearway.Error("until and by both say where the step ends; write one of them")
        if events is not None and events < 1:
            raise _clearway.Error(f"events = {events}: must be at least 1")
        if until is None and by is None:
            return self._run.step(events=1 if events is None else events)
        return self._run.step(until=text(until) if until is not None else None, by=text(by), events=events)

    @property
    def now_s(self) -> float:
        """The simulated time, in seconds."""
        return self._run.progress.now_s if self._result is None else float(self._result.summary["simulated_s"])

    @property
    def progress(self) -> _clearway.Progress:
        """The simulated time, and the counts of events, link transmissions and flows."""
        return self._run.progress

    @property
    def ended(self) -> str | None:
        """Why the run is over, as in `Run.summary`; None while it goes on."""
        return self._run.ended if self._result is None else str(self._result.summary["ended"])

    @property
    def ports(self) -> pl.DataFrame:
        """A row per output port: its queues now, and its counters since the start of the run."""
        return frame(self._run.ports())

    @property
    def in_flight(self) -> pl.DataFrame:
        """A row per frame on a link, with the times at which it started and will arrive; pause frames too."""
        return frame(self._run.in_flight())

    @property
    def flows(self) -> pl.DataFrame:
        """A row per flow that is alive: what is delivered, window, rate and smoothed round-trip time."""
        return frame(self._run.flows())

    def queued(self, port: str | None = None) -> pl.DataFrame:
        """A row per packet that waits at a port, such as `"s0->h0"`, the first one first; at all ports without one."""
        return frame(self._run.queued(port))

    def finished(self) -> pl.DataFrame:
        """A row per flow that was delivered in full since the last call."""
        return frame(self._run.finished())

    def path(self, row: int) -> list[str]:
        """The ports that the data of the flow of a row (column `row` of `flows`) crosses."""
        return self._run.path(row)

    def finish(self) -> Run:
        """Goes on to the end, and returns the run as `clearway.run` does, with the same hash."""
        if self._result is None:
            self._run.step()
            transport, settings = self._asked
            self._result = made_of(self._scenario, self._run.finish(), self._meter, transport=transport, set=settings)
        return self._result

    def __repr__(self) -> str:
        """The scenario and how far the run is."""
        if self._result is not None:
            return f"Stepped({self._scenario.name}: finished)"
        return f"Stepped({self._scenario.name}: {self._run.progress.now_s * 1e6:,.10g} us, {self.ended or 'goes on'})"


def open(  # noqa: A001 - `clearway.open` opens a scenario as `open` opens a file
    scenario: Source,
    *,
    transport: str | None = None,
    seed: int | None = None,
    set: Settings | None = None,  # noqa: A002 - the name that the command and scenario files have for it
    memory: int | str | None = None,
) -> Stepped:
    """Opens a scenario as a run that goes on step by step. The arguments are those of `clearway.run`.

    >>> run = clearway.open("incast", transport="dctcp")  # doctest: +SKIP
    >>> run.step(until="40 us")  # doctest: +SKIP
    >>> run.queued("s0->h0")  # doctest: +SKIP
    """
    scenario = examples.of_source(scenario)
    loaded = load_scenario(scenario, transport=transport, seed=seed, set=set, memory=memory)
    return Stepped(loaded, transport=transport, settings=set)


def text(when: When | None) -> str | None:
    """A time as text with a unit."""
    if when is None or isinstance(when, str):
        return when
    return f"{round(when * 1e12)} ps"
