"""Points of a sweep: each with its scenario resolved, so that all mistakes are found before anything runs."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from clearway._clearway import Error
from clearway.jobs import sources
from clearway.jobs.workers import cores
from clearway.scenario.named import identity_text, parsed, with_seed
from clearway.sweeps.amounts import ENDINGS, Amount, amount, inline, lookup, setting_text
from clearway.sweeps.axes import Choice, Settings
from clearway.sweeps.file import Asked, Spec

#: Longest name of a run's folder, below the limit of file systems.
NAME_MAX = 150


@dataclass(frozen=True)
class Point:
    """One run of a sweep."""

    choice: Choice
    #: Settings of all points of the sweep.
    fixed: Settings
    #: The scenario with every default filled in, as text.
    resolved: str = field(repr=False)
    #: The key of the result: equal for equal scenario and version of Clearway.
    key: str
    #: Estimate of the CPU time, in seconds.
    cpu_s: float = 0.0
    #: Estimate of the memory that its run takes.
    memory_bytes: int = 0

    @property
    def overrides(self) -> dict[str, Any]:
        """The entry `overrides` of the run's summary: settings as texts, and the transport."""
        asked = {**self.fixed, **self.choice.settings}
        transport = asked.pop("transport", None)
        asked.pop("seed", None)
        found: dict[str, Any] = {"set": {key: setting_text(value) for key, value in asked.items()}}
        return {**found, "transport": transport} if transport is not None else found

    @cached_property
    def scenario(self) -> dict[str, Any]:
        """The content of the resolved scenario."""
        return parsed(self.resolved)

    @cached_property
    def identity(self) -> str:
        """Hash of the scenario alone, wherever the files that it names lie: for those, their hashes stand beside."""
        return sources.digest(identity_text(self.resolved))

    def value(self, key: str) -> object:
        """The value of an axis at this point: that of the resolved scenario, where it has the key."""
        if key in self.choice.names:
            return self.choice.names[key]
        given = self.choice.settings.get(key, self.fixed.get(key))
        if key == "transport":
            return given if given is not None else transports(self.scenario)
        found = lookup(self.scenario, key)
        return given if found is None or isinstance(found, dict) else found

    def __str__(self) -> str:
        return (
            ", ".join(f"{key} = {setting_text(value)}" for key, value in self.choice.identity.items()) or "the scenario"
        )


def transports(scenario: dict[str, Any]) -> str:
    """The transports of a resolved scenario, in one text."""
    default = scenario.get("transport", {}).get("name", "")
    names = [one.get("transport", {}).get("name", default) for one in scenario.get("traffic", [])]
    return " + ".join(sorted({name for name in names if name})) or default


def resolve(
    spec: Spec,
    version: str,
    memory: int | None = None,
    disk: int | None = None,
    progress: Callable[[int], object] = lambda _: None,
) -> list[Point]:
    """The points of a sweep in the order of its axes; an error names the point and the mistake.

    `version` is a hash of what results depend on besides their scenario. A point that is estimated to take more bytes
    than `memory` or `disk` is a mistake too. `progress` hears of each point.
    """
    points: list[Point] = []
    seen: dict[str, Point] = {}
    for choice, resolved, cost in loaded(spec, list(spec.choices()), memory, disk):
        key = sources.digest(resolved, version)
        point = Point(choice, dict(spec.fixed), resolved, key, cost["cpu_s"], cost["streamed_memory_bytes"])
        if (twin := seen.get(point.key)) is not None:
            raise Error(f"{spec.origin}: the points {twin} and {point} are one scenario; remove one of them")
        seen[point.key] = point
        points.append(point)
        progress(len(points))
    if not points:
        raise Error(f"{spec.origin}: no points are left; exclude fewer")
    return points


#: A point that was read: what it sets, its resolved scenario, and its estimate.
Loaded = tuple[Choice, str, Mapping[str, Any]]
#: Points that a thread reads together, and the threads. The simulator, which reads them, leaves the interpreter free.
TOGETHER, THREADS = 100, 4


def loaded(spec: Spec, choices: Sequence[Choice], memory: int | None, disk: int | None) -> Iterator[Loaded]:
    """Reads the scenarios of points, in their order; the first mistake in that order is raised."""
    parts = [choices[at : at + TOGETHER] for at in range(0, len(choices), TOGETHER)]
    read = Reader(spec, memory, disk).read
    if len(parts) == 1:
        yield from map(read, choices)
        return
    pool = ThreadPoolExecutor(min(cores(), THREADS))
    try:
        for part in pool.map(lambda part: [read(choice) for choice in part], parts):
            yield from part
    finally:
        pool.shutdown(cancel_futures=True)


class Reader:
    """Reads the scenarios of a sweep's points; of those that differ in their seeds alone one, where that says all."""

    def __init__(self, spec: Spec, memory: int | None, disk: int | None) -> None:
        self._spec, self._memory, self._disk = spec, memory, disk
        #: Values of points without their seeds -> the resolved scenario and the estimate, which hold for all seeds.
        self._shared: dict[Asked, tuple[str, Mapping[str, Any]]] = {}

    def read(self, choice: Choice) -> Loaded:
        """Reads the scenario of a point."""
        try:
            return choice, *self._read(choice)
        except Error as error:
            told, origin = str(error), self._spec.origin
            at = ", ".join(f"{key} = {setting_text(value)}" for key, value in choice.identity.items())
            where = "" if told.startswith(f"{origin}:") else f"{origin}: "
            raise type(error)(f"{where}{told} (at the point {at})" if at else f"{where}{told}") from None

    def _read(self, choice: Choice) -> tuple[str, Mapping[str, Any]]:
        asked = self._spec.asked(choice)
        without_seed = asked._replace(seed=None)
        if asked.seed is not None and (shared := self._shared.get(without_seed)) is not None:
            resolved, cost = shared
            return with_seed(resolved, asked.seed), cost
        scenario = self._spec.load(choice, self._memory, self._disk)
        found = scenario.to_toml(), scenario.estimate()
        if asked.seed is not None and scenario.with_seed(asked.seed) is not None:
            self._shared[without_seed] = found
        return found


@dataclass(frozen=True)
class Column:
    """An axis as a column of the frame."""

    key: str
    name: str
    unit: str
    #: The value of each point.
    values: list[Any]


def columns(spec: Spec, points: Sequence[Point], taken: frozenset[str]) -> list[Column]:
    """The axes as columns: a column a key, with numbers in base units; `taken` are names of other columns."""
    keys = list(dict.fromkeys(key for point in points for key in (*point.choice.names, *point.choice.settings)))
    named = {key for point in points for key in point.choice.names}
    of_cases = {key for point in points if point.choice.names for key in point.choice.settings}
    short = short_names(keys)
    found: list[Column] = []
    for key in keys:
        values = [point.value(key) for point in points]
        if key in of_cases and len({inline(value) for value in values}) == 1:
            continue
        amounts = [None if key in named else amount(value) for value in values]
        unit = common_unit([one for one, value in zip(amounts, values, strict=True) if value is not None])
        ending = ENDINGS.get(unit or "", "")
        used = {*taken, *(one.name for one in found)}
        choices = [spec.labels[key]] if key in spec.labels else [short[key] + ending, key + ending]
        name = next((one for one in choices if one not in used), None)
        if name is None:
            raise Error(f"{spec.origin}: labels: {choices[-1]} is the name of another column; choose another for {key}")
        if unit is not None:
            shown: list[Any] = [one and one.value for one in amounts]
        else:
            shown = [None if value is None else setting_text(value) for value in values]
        found.append(Column(key, name, unit or "", shown))
    return found


def short_names(keys: Sequence[str]) -> dict[str, str]:
    """The last part of each key, or the whole key where two have the same last part."""
    last = {key: key.rpartition(".")[2] for key in keys}
    times = Counter(last.values())
    return {key: name if times[name] == 1 else key for key, name in last.items()}


def common_unit(amounts: Sequence[Amount | None]) -> str | None:
    """The unit of all amounts; None if some value is none, or if they differ."""
    units = {None if one is None else one.unit for one in amounts}
    return units.pop() if len(units) == 1 else None


def folder_names(points: Sequence[Point]) -> list[str]:
    """A name for the folder of each point, of safe characters, by its values alone."""
    short = short_names(list(dict.fromkeys(key for point in points for key in point.choice.identity)))
    names = []
    for point in points:
        parts = [f"{short[key]}={setting_text(value)}" for key, value in point.choice.identity.items()]
        name = re.sub(r"[^A-Za-z0-9._+=,-]+", "-", ",".join(parts)).strip(".-") or "run"
        names.append(name if len(name) <= NAME_MAX else f"{name[:NAME_MAX]}-{point.key[:8]}")
    times = Counter(name.lower() for name in names)
    return [
        name if times[name.lower()] == 1 else f"{name}-{point.key[:8]}"
        for name, point in zip(names, points, strict=True)
    ]
