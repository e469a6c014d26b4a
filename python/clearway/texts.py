"""Results as rows of text: what the command prints and what the report shows."""

from __future__ import annotations

from collections.abc import Mapping

from clearway import metrics, units
from clearway.comparison import headline
from clearway.groups import Sweep
from clearway.result import Run

#: A table as texts: its header and its rows.
Texts = tuple[list[str], list[list[str]]]


def fct_texts(runs: Mapping[str, Run]) -> Texts:
    """FCT and slowdown by size bucket, the runs of a bucket below each other."""
    head = ["size", "transport", "flows", "mean FCT", "p50 FCT", "p99 FCT", "mean slowdown", "p99 slowdown"]
    of_run = {
        name: {row["bucket"]: row for row in metrics.fct_by_size(run.flows).to_dicts()} for name, run in runs.items()
    }
    rows = []
    for bucket in [*(name for name, _, _ in metrics.BUCKETS), "all"]:
        shown = ""
        for name, by_bucket in of_run.items():
            if (row := by_bucket.get(bucket)) is None:
                continue
            unfinished = f" (+{row['unfinished']:,} unfinished)" if row["unfinished"] else ""
            rows.append(
                [
                    "" if shown == bucket else bucket,
                    name,
                    units.count(row["flows"]) + unfinished,
                    *(units.seconds(row[key]) for key in ("mean_s", "p50_s", "p99_s")),
                    *(units.digits(row[key]) for key in ("slowdown_mean", "slowdown_p99")),
                ]
            )
            shown = bucket
    return head, rows


def network_texts(runs: Mapping[str, Run]) -> Texts:
    """What the network saw and what the run cost: a row a measure, a column a run."""
    heads = {name: headline(run) for name, run in runs.items()}
    rows = []
    for label, show in (
        ("flows completed", lambda h: f"{h['flows_completed']:,} of {h['flows_started']:,}"),
        ("maximum queue (worst switch port)", lambda h: units.size(h["queue_max_bytes"])),
        ("average queue (worst switch port)", lambda h: units.size(h["queue_mean_bytes"])),
        ("packets dropped", lambda h: drops_text(h["drops"], h["drops_by_reason"])),
        ("credits dropped (by design)", lambda h: units.count(h["credit_drops"])),
        ("utilisation (busiest port)", lambda h: units.share(h["utilisation_max"])),
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


def drops_text(total: int, by_reason: Mapping[str, int]) -> str:
    """How many packets were dropped, and why if there were any."""
    reasons = ", ".join(f"{reason} {count:,}" for reason, count in by_reason.items() if count)
    return f"{total:,} ({reasons})" if reasons else "0"


def ended_text(ended: str) -> str:
    """Says so if the run did not come to its end."""
    return f" ({ended})" if ended in ("interrupted", "stalled", "deadlocked") else ""


def speed_text(million: float) -> str:
    """Millions per second."""
    return f"{units.digits(million)} M"


def sweep_texts(part: Sweep) -> Texts:
    """A sweep as rows of text."""
    head = [
        words(part.key),
        "transport",
        "flows",
        "maximum queue",
        "average queue",
        "drops",
        "mean FCT",
        "p99 FCT",
        "credit waste",
        "speed",
    ]
    rows = []
    for value in part.values:
        shown = f"{value:,.10g}"
        for label, line in part.lines.items():
            for run in (run for x, run in line if x == value):
                rows.append([shown, label, *sweep_row(run)])
                shown = ""
    return head, rows


def sweep_row(run: Run) -> list[str]:
    """What a row of a sweep says of a run."""
    head, flows = headline(run), metrics.fct_by_size(run.flows).to_dicts()[-1]
    return [
        units.count(head["flows_completed"]),
        units.size(head["queue_max_bytes"]),
        units.size(head["queue_mean_bytes"]),
        units.count(head["drops"]),
        units.seconds(flows["mean_s"]),
        units.seconds(flows["p99_s"]),
        units.share(head["credit_waste"]),
        f"{units.digits(head['million_link_transmissions_per_cpu_s'])} M/s",
    ]


def words(name: str) -> str:
    """The last part of a dotted key, as words."""
    return name.rpartition(".")[2].replace("_", " ").replace("-", " ")
