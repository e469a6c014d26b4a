"""Results as rows of text: what the command prints and what the report shows."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from clearway import metrics, units
from clearway.comparison import headline
from clearway.ended import reason
from clearway.result import Run
from clearway.window import flows, numbers, tiers, traffic_rows, transport_of, window

if TYPE_CHECKING:
    from clearway.groups import Variation

#: A table as texts: its header and its rows.
Texts = tuple[list[str], list[list[str]]]


def fct_texts(runs: Mapping[str, Run], part: str | None = None) -> Texts:
    """FCT and slowdown by size bucket, the runs of a bucket below each other; `part` names a traffic entry."""
    head = ["size", "transport", "flows", "mean FCT", "p50 FCT", "p99 FCT", "mean slowdown", "p99 slowdown"]
    of_run = {}
    for name, run in runs.items():
        found = numbers(run, metrics.FCT, part)
        label = name if part is None or len(runs) > 1 or not len(found[0]) else transport_of(run, part)
        of_run[label] = {row["bucket"]: row for row in metrics.fct_rows(*found)}
    rows = []
    for bucket in [*(name for name, _, _ in metrics.BUCKETS), "all"]:
        shown = ""
        for name, by_bucket in of_run.items():
            if (row := by_bucket.get(bucket)) is None:
                continue
            unfinished = f" (+{row['unfinished']:,} unfinished)" if row["unfinished"] else ""
            rows.append(
                [
                    "" if shown == bucket else size_text(bucket),
                    name,
                    units.count(row["flows"]) + unfinished,
                    *(units.seconds(row[key]) for key in ("mean_s", "p50_s", "p99_s")),
                    *(units.digits(row[key]) for key in ("slowdown_mean", "slowdown_p99")),
                ]
            )
            shown = bucket
    return head, rows


def size_text(bucket: str) -> str:
    """The sizes of a bucket without its letter: `10-100 KB`."""
    return bucket.partition("(")[2].removesuffix(")") or bucket


#: Most traffic entries that have a table of FCT by size each; more have a row each in the table of traffic alone.
PARTS_MAX = 6


def parts(runs: Mapping[str, Run]) -> list[str]:
    """The traffic entries of runs of one scenario; nothing if there is only one."""
    names = dict.fromkeys(line["traffic"] for run in runs.values() for line in run.summary["measure"]["traffic"])
    return list(names) if len(names) > 1 else []


def parts_texts(runs: Mapping[str, Run]) -> list[tuple[str, Texts]]:
    """FCT by size for each traffic entry, where a scenario has several: the entry and its table."""
    named = [name for name in parts(runs) if any(flows(run, ["flow"], name).height for run in runs.values())]
    return [(name, fct_texts(runs, name)) for name in named] if len(named) <= PARTS_MAX else []


def traffic_texts(runs: Mapping[str, Run]) -> Texts:
    """Flows, goodput, FCT and losses of each traffic entry, the runs of an entry below each other."""
    head = ["traffic", "transport", "flows", "goodput", "mean FCT", "p99 FCT", "retransmits", "timeouts"]
    of_run = {name: {row["traffic"]: row for row in traffic_rows(run)} for name, run in runs.items()}
    rows = []
    for part in parts(runs):
        shown = ""
        for name, by_part in of_run.items():
            if (row := by_part.get(part)) is None:
                continue
            unfinished = f" (+{row['unfinished']:,} unfinished)" if row["unfinished"] else ""
            rows.append(
                [
                    "" if shown == part else part,
                    row["transport"] if len(runs) == 1 else name,
                    units.count(row["flows"]) + unfinished,
                    units.rate(row["goodput_bps"]),
                    *(units.seconds(row[key]) for key in ("mean_s", "p99_s")),
                    *(units.count(row[key]) for key in ("retransmits", "timeouts")),
                ]
            )
            shown = part
    return head, rows


def network_texts(runs: Mapping[str, Run]) -> Texts:
    """Totals of the network and cost of the runs: a row a measure, a column a run.

    Repeated requests, marks, what flow control did and notifications of congestion have rows where a run has them.
    Utilisation and goodput are those of the window of measurement; if the scenario sets it, so is all that is not said
    to be of the whole run.
    """
    heads = {name: {**shown_head(run), "tiers": tiers_of(run)} for name, run in runs.items()}
    is_set = any(window(run).is_set for run in runs.values())
    whole = ", whole run" if is_set else ""
    rows = []
    has_control = any(head["pauses"] is not None for head in heads.values())
    control_rows = (
        (f"pauses (flow control{whole})", lambda h: control_text(h, units.count(h["pauses"] or 0))),
        (
            "longest pause of a port" + (" (whole run)" if is_set else ""),
            lambda h: control_text(h, units.seconds(h["longest_pause_s"] or 0)),
        ),
        (
            "ports in a pause storm" + (" (whole run)" if is_set else ""),
            lambda h: control_text(h, units.count(h["storms"] or 0)),
        ),
    )
    signal_rows = ((f"requests and stops repeated{whole}", lambda h: units.count(h["repeated_signals"])),)
    mark_rows = (("packets marked (ECN)", marks_text),)
    trim_rows = ((f"packets cut to headers (trimming{whole})", trims_text),)
    cnp_rows = ((f"notifications of congestion (CNPs{whole})", lambda h: units.count(h["notices"])),)
    for label, show in (
        ("flows completed", lambda h: f"{h['flows_completed']:,} of {h['flows_started']:,}"),
        ("goodput (all traffic)", lambda h: units.rate(h["goodput_bps"])),
        ("maximum queue (worst switch port)", queue_text),
        ("average queue (worst switch port)", lambda h: units.size(h["queue_mean_bytes"])),
        ("packets dropped", lambda h: drops_text(h["drops"], h["drops_by_reason"])),
        *(trim_rows if any(head["trims"] is not None for head in heads.values()) else ()),
        ("retransmissions", lambda h: units.count(h["retransmits"])),
        ("timeouts", lambda h: units.count(h["timeouts"])),
        *(signal_rows if any(head["repeated_signals"] for head in heads.values()) else ()),
        *(mark_rows if any(head["marks"] is not None for head in heads.values()) else ()),
        *(control_rows if has_control else ()),
        *(cnp_rows if any(head["notices"] for head in heads.values()) else ()),
        ("credits dropped (by design)", lambda h: units.count(h["credit_drops"])),
        ("utilisation (busiest port)", lambda h: units.share(h["utilisation_max"])),
        *tier_rows([head["tiers"] for head in heads.values()]),
        ("credit waste", lambda h: units.share(h["credit_waste"])),
        ("simulated time", lambda h: units.seconds(h["simulated_s"]) + ended_text(h["ended"])),
        (
            "speed (link transmissions per CPU-second)",
            lambda h: speed_text(h["million_link_transmissions_per_cpu_s"]),
        ),
        ("CPU time", lambda h: units.seconds(h["cpu_s"])),
        ("peak memory", lambda h: units.size(h["peak_memory_bytes"])),
        ("hash of the results", lambda h: h["hash"][:16]),
    ):
        rows.append([label, *(show(head) for head in heads.values())])
    return ["", *heads], rows


def shown_head(run: Run) -> dict[str, Any]:
    """The numbers of the network table: of the whole run, and of the window of measurement where that counts."""
    head = headline(run)
    inside = {key.removeprefix("window_"): number for key, number in head.items() if key.startswith("window_")}
    if window(run).is_set:
        return {**head, **inside, "drops_by_reason": {}}
    return {**head, **{key: inside[key] for key in ("goodput_bps", "retransmits", "timeouts", "utilisation_max")}}


def tiers_of(run: Run) -> dict[str, dict[str, Any]]:
    """The payload on the links of each tier, by the name of the tier; nothing without Poisson traffic."""
    asked = run.summary["measure"].get("tiers")
    return {row["tier"]: row for row in tiers(run).to_dicts()} if asked else {}


def tier_rows(found: Sequence[Mapping[str, Any]]) -> list[tuple[str, Callable[[Mapping[str, Any]], str]]]:
    """Rows of the payload on the links of each tier: for both directions of a tier one row."""
    both: dict[frozenset[str], list[str]] = {}
    for tier in dict.fromkeys(tier for of_run in found for tier in of_run):
        both.setdefault(frozenset(tier.split("->")), []).append(tier)
    return [(f"payload share of links {' and '.join(names)}", partial(tier_text, names)) for names in both.values()]


def tier_text(names: Sequence[str], head: Mapping[str, Any]) -> str:
    """The share of payload in each direction of a tier, and the one that the traffic asked for."""
    shown = [head["tiers"][name] for name in names if name in head["tiers"]]
    if not shown:
        return units.NONE
    reached = ", ".join(units.share(row["payload_share"]) for row in shown)
    return f"{reached} ({units.share(shown[0]['asked'])} asked)"


def queue_text(head: Mapping[str, Any]) -> str:
    """The longest queue, and the port that had it."""
    size = units.size(head["queue_max_bytes"])
    return f"{size} ({head['queue_max_port']})" if head["queue_max_bytes"] else size


def drops_text(total: int, by_reason: Mapping[str, int]) -> str:
    """The number of packets dropped, with the reasons if there were any."""
    reasons = ", ".join(f"{reason} {count:,}" for reason, count in by_reason.items() if count)
    return f"{total:,} ({reasons})" if reasons else f"{total:,}"


def marks_text(head: Mapping[str, Any]) -> str:
    """The number of packets marked, or `off` where no switch marks any."""
    return "off" if head["marks"] is None else units.count(head["marks"])


def trims_text(head: Mapping[str, Any]) -> str:
    """The number of packets cut to their headers, or `off` where no switch cuts any."""
    return "off" if head["trims"] is None else units.count(head["trims"])


def control_text(head: Mapping[str, Any], text: str) -> str:
    """A number of flow control, or `off` where there was none."""
    return "off" if head["pauses"] is None else text


#: Most ports that a warning names.
NAMED = 8

#: Remedies for ports that wait for each other.
AGAINST_DEADLOCK = (
    "Remedies: paths that cannot lead around in a circle (in a tree: up, then down), memory for more data "
    "(switch.shared_buffer), a congestion control that keeps queues short (such as transport hpcc), or no flow control "
    "(switch.pfc = false), so that switches drop what has no room and senders repeat it."
)


def warning_texts(runs: Mapping[str, Run]) -> list[str]:
    """Warnings that must not be overlooked: runs that could not go on, and ports that flow control stopped for long."""
    found = []
    for name, run in runs.items():
        if why := reason(run.summary):
            found.append(f"{name}: {why}")
        control = run.summary.get("flow_control") or {}
        if stuck := control.get("deadlock"):
            circle = control["circle"]
            behind = [port for port in stuck if port not in circle]
            text = (
                f"{name}: DEADLOCK. Flow control has stopped ports in a circle, each of which waits until the next one "
                f"may send, the last one for the first: {', '.join(circle)}. None of them will ever go on"
            )
            text += f", nor will those that wait for them: {some(behind)}. " if behind else ". "
            left = run.summary["flows_started"] - run.summary["flows_completed"]
            text += f"Flows not delivered: {left:,} of {run.summary['flows_started']:,}. {AGAINST_DEADLOCK}"
            found.append(text)
        # Ports that are stopped for ever are in the warning above.
        if storms := [port for port in control.get("storms", ()) if port not in control["deadlock"]]:
            found.append(
                f"{name}: PAUSE STORM. Flow control stopped these ports without a break for longer than "
                f"switch.pfc_storm, and so all that had to pass them, whoever caused it: {some(storms)}."
            )
    return found


def some(names: Sequence[str]) -> str:
    """Names, the first few of many."""
    more = len(names) - NAMED
    return ", ".join(names[:NAMED]) + (f" and {more:,} more" if more > 0 else "")


def ended_text(ended: str) -> str:
    """Says so if the run did not come to its end."""
    return "" if ended in ("complete", "stopped") else f" ({ended})"


def speed_text(million: float) -> str:
    """A speed in millions per second as text."""
    return f"{units.digits(million)} M"


def variation_texts(part: Variation) -> Texts:
    """A sweep as rows of text."""
    heads = [headline(run) for line in part.lines.values() for _, run in line]
    has_marks, has_trims = (any(head[key] is not None for head in heads) for key in ("marks", "trims"))
    head = [
        words(part.key),
        "transport",
        "flows",
        "maximum queue",
        "average queue",
        "drops",
        *(["trims"] if has_trims else []),
        *(["marks"] if has_marks else []),
        "mean FCT",
        "p99 FCT",
        "credit waste",
        "speed",
    ]
    rows = []
    for value in part.values:
        shown = units.value(value, part.unit)
        for label, line in part.lines.items():
            for run in (run for x, run in line if x == value):
                rows.append([shown, label, *sweep_row(run, has_marks=has_marks, has_trims=has_trims)])
                shown = ""
    return head, rows


def sweep_row(run: Run, *, has_marks: bool, has_trims: bool) -> list[str]:
    """The cells of a run in a row of a sweep."""
    head, found = headline(run), metrics.fct_rows(*numbers(run, metrics.FCT))[-1]
    return [
        units.count(head["flows_completed"]),
        units.size(head["queue_max_bytes"]),
        units.size(head["queue_mean_bytes"]),
        units.count(head["drops"]),
        *([trims_text(head)] if has_trims else []),
        *([marks_text(head)] if has_marks else []),
        units.seconds(found["mean_s"]),
        units.seconds(found["p99_s"]),
        units.share(head["credit_waste"]),
        f"{units.digits(head['million_link_transmissions_per_cpu_s'])} M/s",
    ]


#: The space between a number and its unit.
BEFORE_UNIT = re.compile(r"(?<=\d) (?=(?:%|[nmuµ]?s|[KMG]?B|[KMG]?bps)(?!\w))")


def words(name: str) -> str:
    """The last part of a dotted key, as words."""
    return name.rpartition(".")[2].replace("_", " ").replace("-", " ")
