"""Sweep files: a scenario and its axes in TOML. `docs/how-to/sweeps.md` lists every key."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import tomli_w

from clearway import _clearway, examples, reading
from clearway._clearway import Error
from clearway.sweeps import axes
from clearway.sweeps.amounts import inline, setting_text
from clearway.sweeps.axes import Axis, Choice, Settings

#: Keys of a sweep file.
KEYS = ("name", "scenario", "set", "axes", "zip", "cases", "point", "exclude", "labels")


class Asked(NamedTuple):
    """The values that a point sets in the scenario of its sweep."""

    transport: str | None
    seed: int | None
    #: Other keys with their values, as `--set` takes them.
    settings: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Spec:
    """A sweep as it was asked for."""

    name: str
    #: The place that messages name: the file of the sweep.
    origin: str
    #: The path of a scenario file, the text of a scenario, or its content.
    scenario: str | Path | Mapping[str, Any]
    #: The folder that paths in a scenario given as text or content start at.
    base: Path
    #: Settings of all points.
    fixed: Settings = field(default_factory=dict)
    axes: Sequence[Axis] = ()
    #: Points besides those of the grid.
    points: Sequence[Choice] = ()
    exclude: Sequence[Settings] = ()
    #: Key -> name of its column.
    labels: Mapping[str, str] = field(default_factory=dict)
    #: The content of the sweep file.
    content: Mapping[str, Any] = field(default_factory=dict)

    def choices(self) -> Iterator[Choice]:
        """The points that are asked for: the grid, where it is not excluded, then the points named one by one."""
        used = [False] * len(self.exclude)
        for choice in axes.grid(self.axes) if self.axes or not self.points else ():
            hits = [index for index, row in enumerate(self.exclude) if covers(row, choice)]
            for index in hits:
                used[index] = True
            if not hits:
                yield choice
        for index, row in enumerate(self.exclude):
            if not used[index]:
                raise Error(f"{self.origin}: exclude {inline(row)}: no point of the grid has these values")
        yield from self.points

    def asked(self, choice: Choice) -> Asked:
        """The values that a point sets, checked as far as that is possible without its scenario."""
        settings = {**self.fixed, **choice.settings}
        transport, seed = settings.pop("transport", None), settings.pop("seed", None)
        if transport is not None and not isinstance(transport, str):
            raise Error(
                f"transport = {inline(transport)}: write the name of a transport; set its parameters by transport.KEY"
            )
        if seed is not None and (isinstance(seed, bool) or not isinstance(seed, int) or not 0 <= seed < 2**64):
            raise Error(f"seed = {inline(seed)}: write a whole number from 0 to {2**64 - 1}")
        return Asked(transport, seed, tuple((key, setting_text(value)) for key, value in settings.items()))

    def load(self, choice: Choice, memory: int | None = None, disk: int | None = None) -> _clearway.Scenario:
        """The scenario of a point, read and checked; one that needs more bytes than `memory` or `disk` is refused."""
        asked = self.asked(choice)
        given: dict[str, Any] = {
            "transport": asked.transport,
            "seed": asked.seed,
            "memory": memory,
            "disk": disk,
            "set": asked.settings,
        }
        if isinstance(self.scenario, Mapping):
            text = tomli_w.dumps({"name": self.name, **self.scenario})
            return _clearway.Scenario.parse(text, self.origin, self.base, **given)
        if isinstance(self.scenario, str) and "\n" in self.scenario:
            return _clearway.Scenario.parse(self.scenario, self.origin, self.base, **given)
        return _clearway.Scenario.load(self.place, **given)

    @cached_property
    def place(self) -> Path:
        """The file of the scenario."""
        assert isinstance(self.scenario, str | Path)
        return examples.found(self.scenario, examples.SCENARIO)


def covers(row: Settings, choice: Choice) -> bool:
    """True if a point has all values of an exclusion; several values of a key may be given as a list."""
    has = {**choice.settings, **choice.names}
    for key, wanted in row.items():
        values = wanted if isinstance(wanted, list) else [wanted]
        if key not in has or axes.same(has[key]) not in [axes.same(value) for value in values]:
            return False
    return True


def read(path: str | Path, settings: Mapping[str, object] | None = None) -> Spec:
    """Reads a sweep file; `settings` are set for all points, above those of the file."""
    path = Path(path)
    content = reading.toml(path)
    if "scenario" not in content and ("topology" in content or "traffic" in content):
        raise Error(f"{path}: is a scenario, not a sweep; write a file with scenario = {inline(path.name)} and [axes]")
    return of_content(content, str(path), path.parent, path.stem, settings)


def of_content(
    content: Mapping[str, Any], origin: str, base: Path, name: str, settings: Mapping[str, object] | None = None
) -> Spec:
    """The sweep that the content of a file asks for."""
    for key in content:
        if key not in KEYS:
            hint = f"; did you mean {close[0]!r}?" if (close := get_close_matches(key, KEYS, 1)) else ""
            shown = key if key.isprintable() else inline(key)
            raise Error(f"{origin}: {shown}: unknown key{hint} (known: {', '.join(KEYS)})")
    called: object = content.get("name", name)
    if not isinstance(called, str) or not called:
        raise Error(f"{origin}: name = {inline(called)}: write a text")
    scenario = content.get("scenario")
    if isinstance(scenario, str) and "\n" not in scenario:
        scenario = example(scenario, base, origin) or base / scenario
    elif not isinstance(scenario, str | Path | Mapping):
        what = "is missing" if scenario is None else f"= {inline(scenario)}"
        raise Error(f"{origin}: scenario {what}: name a scenario file or an example, or write it under [scenario]")
    found = Reader(origin, content)
    spec = Spec(
        name=called,
        origin=origin,
        scenario=scenario,
        base=base,
        fixed={**axes.flat(found.table("set")), **(settings or {})},
        axes=found.axes(),
        points=[Choice(row) for row in found.rows("point")],
        exclude=found.rows("exclude"),
        labels={key: str(label) for key, label in axes.flat(found.table("labels")).items()},
        content={**content, **({"set": {**axes.flat(found.table("set")), **settings}} if settings else {})},
    )
    found.check(spec)
    return spec


def example(word: str, base: Path, origin: str) -> Path | None:
    """The file of the example that a sweep's scenario names; a file of that name beside the sweep goes before it."""
    try:
        return examples.named(word, examples.SCENARIO, base=base)
    except Error as error:
        raise Error(f"{origin}: scenario = {error}") from None


class Reader:
    """Reads the tables of a sweep file."""

    def __init__(self, origin: str, content: Mapping[str, Any]) -> None:
        self.origin, self.content = origin, content

    def table(self, key: str) -> Mapping[str, Any]:
        """A table of the file; empty if it is absent."""
        value: object = self.content.get(key, {})
        if not isinstance(value, Mapping):
            raise Error(f"{self.origin}: {key} = {inline(value)}: write a table, under [{key}]")
        return value

    def rows(self, key: str) -> list[Settings]:
        """A list of tables of the file, each with dotted keys."""
        rows = self.content.get(key, [])
        if not isinstance(rows, list) or not all(isinstance(row, Mapping) for row in rows):
            raise Error(f"{self.origin}: {key} = {inline(rows)}: write tables, each under [[{key}]]")
        if any(not row for row in rows):
            raise Error(f"{self.origin}: [[{key}]]: has no keys; write key = value lines below it")
        return [axes.flat(row) for row in rows]

    def axes(self) -> list[Axis]:
        """The axes of the grid, in the order of the file: those of single keys, of keys that go together, of cases."""
        found = [
            axes.plain(key, values, f"{self.origin}: axes") for key, values in axes.flat(self.table("axes")).items()
        ]
        found += [axes.zipped(row, f"{self.origin}: zip {at}") for at, row in enumerate(self.rows("zip"))]
        for name, table in self.table("cases").items():
            if not isinstance(table, Mapping):
                raise Error(f"{self.origin}: cases.{name} = {inline(table)}: write a table, under [cases.{name}]")
            found.append(axes.cases(name, table, f"{self.origin}: cases.{name}"))
        return found

    def check(self, spec: Spec) -> None:
        """Refuses keys that are set twice, exclusions and labels of keys that no axis has, and grids too large."""
        seen: dict[str, int] = {}
        count = 1
        for at, axis in enumerate(spec.axes):
            count *= len(axis.choices)
            for key in {key for choice in axis.choices for key in (*choice.settings, *choice.names)}:
                if key in seen:
                    raise Error(f"{self.origin}: {key}: two axes set this key; set it in one")
                seen[key] = at
        if count > axes.POINTS_MAX:
            raise Error(f"{self.origin}: the grid has {count:,} points; at most {axes.POINTS_MAX:,} can be run")
        if not spec.axes and not spec.points:
            raise Error(f"{self.origin}: has no axes; write some under [axes], such as seed = {{from = 1, to = 5}}")
        known = {*seen, *(key for point in spec.points for key in point.settings)}
        for part, keys in (("exclude", {key for row in spec.exclude for key in row}), ("labels", {*spec.labels})):
            for key in sorted(keys - known):
                hint = f"; did you mean {close[0]!r}?" if (close := get_close_matches(key, known, 1)) else ""
                raise Error(f"{self.origin}: {part}: {key} is no axis{hint} (axes: {', '.join(sorted(known))})")
        for key in sorted({*spec.fixed} & set(seen)):
            raise Error(f"{self.origin}: set.{key}: is an axis too; remove one of the two")
