"""Groups of runs: one scenario under several transports, or over the values of one of its keys."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from clearway.result import Run
from clearway.sweeps.amounts import Amount, amount, lookup


@dataclass(frozen=True)
class Group:
    """Runs of one scenario that differ in their transport (or seed) alone."""

    title: str
    #: label -> run.
    runs: dict[str, Run]


@dataclass(frozen=True)
class Variation:
    """Runs of one scenario over the values of one key."""

    title: str
    #: The key that varies.
    key: str
    #: label of the transport -> (value, run), rising; runs with several seeds have one value.
    lines: dict[str, list[tuple[float, Run]]]
    #: Unit of the values: `B`, `s`, `bit/s`, or empty.
    unit: str = ""

    @property
    def values(self) -> list[float]:
        """All values of the key, rising."""
        return sorted({x for line in self.lines.values() for x, _ in line})


def group(runs: Iterable[Run]) -> list[Group | Variation]:
    """Runs by scenario, in the order in which these come."""
    by_name: dict[str, list[Run]] = {}
    for run in runs:
        by_name.setdefault(run.name, []).append(run)
    found: list[Group | Variation] = []
    for name, members in by_name.items():
        variation = as_variation(name, members)
        found += [variation] if variation else by_settings(name, members)
    return found


def settings(run: Run) -> dict[str, str]:
    """The keys of the scenario that a run set otherwise."""
    return dict(run.summary["overrides"]["set"])


def as_variation(name: str, runs: Sequence[Run]) -> Variation | None:
    """Runs over the values of a key, if exactly one key varies over at least three numbers."""
    varied = {key for run in runs for key in settings(run) if len({settings(other).get(key) for other in runs}) > 1}
    varied.discard("seed")
    if len(varied) != 1:
        return None
    (key,) = varied
    lines: dict[str, list[tuple[float, Run]]] = {}
    units = set()
    for run in runs:
        if (x := amount_of(run, key)) is None:
            return None
        units.add(x.unit)
        lines.setdefault(run.label, []).append((float(x.value), run))
    if len(units) > 1 or len({x for line in lines.values() for x, _ in line}) < 3:
        return None
    rising = {label: sorted(line, key=lambda point: point[0]) for label, line in lines.items()}
    return Variation(name, key, rising, units.pop())


def by_settings(name: str, runs: Sequence[Run]) -> list[Group]:
    """A group for each set of settings."""
    parts: dict[str, list[Run]] = {}
    for run in runs:
        parts.setdefault(", ".join(f"{key} = {value}" for key, value in settings(run).items()), []).append(run)
    return [Group(f"{name} ({text})" if text else name, labelled(part)) for text, part in parts.items()]


def labelled(runs: Sequence[Run]) -> dict[str, Run]:
    """Runs by their label, with the seed or a number where it is not enough."""
    found: dict[str, Run] = {}
    labels = [run.label for run in runs]
    for run in runs:
        label = run.label if labels.count(run.label) == 1 else f"{run.label}, seed {run.summary['seed']}"
        unique, again = label, 2
        while unique in found:
            unique, again = f"{label} #{again}", again + 1
        found[unique] = run
    return found


def amount_of(run: Run, key: str) -> Amount | None:
    """The value that a run has of a key, in base units: `500 KB` is 500000 B. None if it is no number."""
    resolved = lookup(tomllib.loads(run.scenario), key)
    return amount(settings(run).get(key) if resolved is None else resolved)
