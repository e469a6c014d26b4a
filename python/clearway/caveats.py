"""Warnings on results: what a reader must know before the numbers of runs are compared.

Three things mislead: runs that ended before all of their flows were delivered, transports on unequal networks, and 99th
percentiles of few flows. Comparisons, sweeps and reports warn of them in the same words.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from clearway import few, metrics, units
from clearway.assumptions import setup
from clearway.lazy import WhenUsed
from clearway.result import Run
from clearway.window import numbers

if TYPE_CHECKING:
    import numpy as np
else:
    np = WhenUsed("numpy")

#: The words for the ends of a run that can leave flows undelivered, after the number of such runs. A run that was cut
#: off in another way has a warning of its own (`clearway.ended.reason`).
ENDS = {
    "stopped": "ended at the stop time before all flows were delivered",
    "stalled": "stalled before all flows were delivered",
}
#: Keys of a network that follow from its transports, which need their own signals.
SIGNALS = ("marking", "red_", "credit_")
#: Beginnings of keys that say no more where the key that they detail differs too.
DETAILS = {"switch.pfc_": "switch.pfc", "switch.alpha": "switch.shared_buffer", "switch.class.": "switch.buffer"}
#: The word for a key that a network has not.
UNSET = "unset"


@dataclass(frozen=True)
class Known:
    """The facts on a run of which warnings are made."""

    #: The transports of the run, or how a comparison calls them.
    transport: str
    #: The way in which it ended.
    ended: str
    #: Flows of a fixed size that were delivered in full, and those that started and were not.
    completed: int
    unfinished: int
    #: The flows behind the 99th percentiles: by traffic entry, or of all (with an empty name) where there is only one.
    flows: Mapping[str, int]
    #: Assumptions of the run (`clearway.assumptions.setup`).
    setup: Mapping[str, Any] = field(default_factory=dict)
    #: Values that it shares with the runs that it is compared with, such as those of the other axes of a sweep; and
    #: those of them that are no part of the network.
    place: tuple[object, ...] = ()
    elsewhere: tuple[object, ...] = ()


def unfinished(run: Run, part: str | None = None) -> int:
    """The flows of a fixed size that count, started, and were not delivered; `part` names a traffic entry."""
    size, fct = numbers(run, ("size_bytes", "fct_s"), part)
    return int((few.are_nan(fct) & (size > 0)).sum())


def completed(run: Run, part: str | None = None) -> int:
    """The flows that count and were delivered in full; `part` names a traffic entry."""
    (fct,) = numbers(run, ("fct_s",), part)
    return int((~few.are_nan(fct)).sum())


def of_runs(runs: Mapping[str, Run]) -> list[Known]:
    """The facts on the runs of a comparison, by the names of their transports."""
    # One run is compared with none, and its scenario may be long to parse.
    return [
        of_run(name, run, setup(tomllib.loads(run.scenario)) if len(runs) > 1 else {}) for name, run in runs.items()
    ]


def of_lines(lines: Mapping[str, Sequence[tuple[float, Run]]]) -> list[Known]:
    """The facts on runs over the values of a key, by transport and value."""
    return [
        replace(of_run(name, run, setup(tomllib.loads(run.scenario))), place=(x,))
        for name, line in lines.items()
        for x, run in line
    ]


def of_run(name: str, run: Run, assumed: Mapping[str, Any]) -> Known:
    """The facts on a run with these assumptions."""
    entries = [str(line["traffic"]) for line in run.summary["measure"]["traffic"]]
    done = completed(run)
    counts = {entry: completed(run, entry) for entry in entries} if len(entries) > 1 else {"": done}
    return Known(
        transport=name,
        ended=str(run.summary["ended"]),
        completed=done,
        unfinished=unfinished(run),
        flows=counts,
        setup=assumed,
    )


def caveats(known: Sequence[Known]) -> list[str]:
    """The warnings on unequal networks and on runs that ended too early, a sentence each."""
    return [*unequal_networks(known), *cut_off(known)]


# ---- runs that ended before their flows were delivered


def cut_off(known: Sequence[Known]) -> list[str]:
    """A warning for each way of ending early, with the share of flows that it left under each transport."""
    found = []
    for ended, words in ENDS.items():
        short = [one for one in known if one.ended == ended and one.unfinished]
        if not short:
            continue
        runs = f"{len(short):,} of {len(known):,} runs" if len(known) > 1 else "The run"
        shares: dict[str, list[float]] = {}
        for one in short:
            shares.setdefault(one.transport, []).append(one.unfinished / (one.completed + one.unfinished))
        told = ", ".join(
            f"{span([100 * share for share in of])} %{' of the flows' if at == 0 else ''} under {transport}"
            for at, (transport, of) in enumerate(shares.items())
        )
        found.append(
            f"{runs} {words}: {told} did not complete. Completion times and slowdowns are those of the others, so slow "
            "flows are missing from them."
        )
    return found


def span(values: Sequence[float]) -> str:
    """The least and the largest of some numbers, as `1.20 to 13.6`, or the one that all of them are."""
    ends = [units.digits(value) for value in (min(values), max(values))]
    return " to ".join(dict.fromkeys(ends))


# ---- transports on unequal networks


def network_of(of: Mapping[str, Any]) -> dict[str, str]:
    """The keys of the network in a `setup` that all transports should share, as texts."""
    found: dict[str, str] = {}
    for table in ("switch", "host", "network"):
        for key, value in of.get(table, {}).items():
            if key == "class":
                buffers = {f"{table}.class.{one['name']}.buffer": one["buffer"] for one in value if "buffer" in one}
                found |= {name: text_of(buffer) for name, buffer in buffers.items()}
            elif not key.startswith(SIGNALS):
                found[f"{table}.{key}"] = text_of(value)
    return found


def text_of(value: object) -> str:
    """A value in a sentence: texts without quotes."""
    if isinstance(value, str):
        return value
    from clearway.sweeps.amounts import inline

    return inline(value)


def unequal_networks(known: Sequence[Known]) -> list[str]:
    """A warning with the keys of switches, hosts and frames that differ between transports, if some do.

    Runs are compared where nothing but the transport differs; transports that have no such runs, since a key of the
    network goes together with the transport, where everything else is equal.
    """
    compared: set[str] = set()
    differing: dict[str, dict[str, dict[str, None]]] = {}
    ways: tuple[Callable[[Known], object], ...] = (lambda one: one.place, lambda one: one.elsewhere)
    for way in ways:
        met: set[str] = set()
        for group in grouped(known, way):
            if len(group) > 1 and not compared.issuperset(group):
                met.update(group)
                for key, values in differences(group).items():
                    for transport, texts in values.items():
                        differing.setdefault(key, {}).setdefault(transport, {}).update(dict.fromkeys(texts))
        compared |= met
    told = [f"{key} is {values_text(values)}" for key, values in differing.items() if not is_detail(key, differing)]
    if not told:
        return []
    return [
        f"The transports have unequal networks: {'; '.join(told)}. Differences between their results may be those of "
        "the networks."
    ]


def grouped(known: Iterable[Known], way: Callable[[Known], object]) -> list[dict[str, list[dict[str, str]]]]:
    """The networks of runs that have something in common, by transport."""
    # Runs of many seeds share one `setup`, which is looked at once.
    groups: dict[object, dict[str, dict[int, Mapping[str, Any]]]] = {}
    for one in known:
        if one.setup:
            groups.setdefault(way(one), {}).setdefault(one.transport, {})[id(one.setup)] = one.setup
    networks: dict[int, dict[str, str]] = {}
    for setups in (setups for group in groups.values() for setups in group.values()):
        networks |= {at: network_of(one) for at, one in setups.items() if at not in networks}
    return [
        {transport: [networks[at] for at in setups] for transport, setups in group.items()} for group in groups.values()
    ]


def differences(group: Mapping[str, Sequence[Mapping[str, str]]]) -> dict[str, dict[str, list[str]]]:
    """The keys of which not all transports have the same values: for each transport its values."""
    keys = dict.fromkeys(key for networks in group.values() for network in networks for key in network)
    found = {}
    for key in keys:
        values = {
            transport: list(dict.fromkeys(network.get(key, UNSET) for network in networks))
            for transport, networks in group.items()
        }
        if len({frozenset(texts) for texts in values.values()}) > 1:
            found[key] = values
    return found


def is_detail(key: str, among: Iterable[str]) -> bool:
    """True if a key details another one that differs too."""
    return any(key.startswith(start) and head in among for start, head in DETAILS.items())


def values_text(values: Mapping[str, Iterable[str]]) -> str:
    """The values of a key with their transports: `384.5 KB under dctcp and cubic, auto under hpcc`."""
    by_text: dict[str, list[str]] = {}
    for transport, texts in values.items():
        by_text.setdefault(" or ".join(texts), []).append(transport)
    return ", ".join(f"{text} under {' and '.join(names)}" for text, names in by_text.items())


# ---- percentiles of few flows


def is_few(count: float) -> bool:
    """True if a 99th percentile of so many flows has fewer than `metrics.BEYOND` of them beyond it."""
    return 0 < count < metrics.P99_FLOWS


def few_flows(known: Sequence[Known]) -> list[str]:
    """A remark on 99th percentiles of few flows: of which traffic, in how many runs, and of how many flows."""
    counts: dict[str, list[int]] = {}
    for one in known:
        for entry, count in one.flows.items():
            if is_few(count):
                counts.setdefault(entry, []).append(count)
    if not counts:
        return []
    told = []
    for entry, of in counts.items():
        runs = f" in {len(of):,} of {len(known):,} runs" if len(known) > 1 else ""
        ends = " to ".join(dict.fromkeys(f"{value:,}" for value in (min(of), max(of))))
        told.append((f"traffic {entry}: " if entry else "") + f"{ends} flow{'s' if ends != '1' else ''}{runs}")
    return [
        f"99th percentiles of fewer than {metrics.P99_FLOWS:,} flows rest on fewer than {metrics.BEYOND} of them "
        f"({'; '.join(told)})."
    ]


# ---- where a number is marked

#: The mark behind a 99th percentile of few flows in tables that don't show their number beside it.
FEW = "*"


def marked(text: str, count: float) -> str:
    """A 99th percentile as text, marked if it is of few flows."""
    return f"{text}{FEW}" if is_few(count) else text
