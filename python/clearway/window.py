"""The window of measurement of a run (`[measure]` in its scenario), and the figures that it bounds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from clearway import few, metrics, tables, units
from clearway.few import Array
from clearway.lazy import WhenUsed
from clearway.result import Run

if TYPE_CHECKING:
    import numpy as np
    import polars as pl
else:
    np = WhenUsed("numpy")
    pl = WhenUsed("polars")

#: Columns of flows, and counts of traffic entries, that say what was lost.
LOSSES = ("retransmits", "timeouts")
#: The columns of `tiers` that are shares of links.
SHARES = ("asked", "payload_share", "payload_share_max")


@dataclass(frozen=True)
class Window:
    """The time over which ports and flows of a run were measured."""

    #: The start, in seconds.
    from_s: float
    #: The end, in seconds; the start if the run ended before it.
    until_s: float
    #: True if the scenario sets the start or the end; else it is the default window, which bounds rates alone.
    is_set: bool
    #: The event that ended it: `set`, `last arrival` or `end of the run`.
    end: str

    @property
    def length_s(self) -> float:
        """The length, in seconds."""
        return self.until_s - self.from_s


def window(run: Run) -> Window:
    """The window of a run."""
    made = run.summary["measure"]
    return Window(made["from_s"], made["until_s"], made["is_set"], made["end"])


def flows(run: Run, columns: Iterable[str], part: str | None = None) -> pl.DataFrame:
    """Columns of the flows that count: those that start in the window, if the scenario sets one; else all of them.

    `part` names a traffic entry, whose flows alone count then.
    """
    made, stored = window(run), run.stored("flows")
    if isinstance(stored, tables.Held):
        return stored.load(columns, counted(stored, made, part))
    rows = run.scan("flows")
    if made.is_set:
        rows = rows.filter(pl.col("start_s").is_between(made.from_s, made.until_s))
    if part is not None:
        rows = rows.filter(pl.col("traffic") == part)
    return rows.select(*columns).collect()


def numbers(run: Run, columns: Sequence[str], part: str | None = None) -> list[Array]:
    """As `flows`, but each column as an array: of a few flows, a data frame takes longer than what is made of it."""
    stored = run.stored("flows")
    if not isinstance(stored, tables.Held):
        found = flows(run, columns, part)
        return [found[name].to_numpy() for name in columns]
    mask = counted(stored, window(run), part)
    arrays = [stored.values(name) for name in columns]
    return arrays if mask is None else [array[mask] for array in arrays]


def places(run: Run, column: str, known: Sequence[str]) -> Array:
    """For each flow that counts the place of a text in a list of all that the column may have."""
    stored = run.stored("flows")
    if isinstance(stored, tables.Held):
        there = stored.texts(column)
        of_text = [known.index(one) if one in known else len(known) for one in there]
        found, mask = few.looked_up(stored.values(column), of_text), counted(stored, window(run), None)
        return found if mask is None else found[mask]
    return flows(run, [column])[column].cast(pl.Enum(known)).to_physical().to_numpy().astype(np.uint64)


def counted(flows: tables.Held, made: Window, part: str | None) -> Array | None:
    """For each flow whether it counts, as `flows` says; None if all do."""
    mask = None
    if made.is_set:
        starts = flows.values("start_s")
        mask = (starts >= made.from_s) & (starts <= made.until_s)
    if part is not None:
        of_part = few.looked_up(flows.values("traffic"), [name == part for name in flows.texts("traffic")])
        mask = of_part if mask is None else mask & of_part
    return mask


def transport_of(run: Run, part: str) -> str:
    """The transport of a traffic entry; nothing if none of its flows count."""
    stored = run.stored("flows")
    if isinstance(stored, tables.Held):
        mask = counted(stored, window(run), part)
        at = stored.values("transport")[mask][:1]
        return stored.texts("transport")[int(at[0])] if len(at) else ""
    found = flows(run, ["transport"], part)["transport"]
    return str(found[0]) if len(found) else ""


def traffic_rows(run: Run) -> list[dict[str, Any]]:
    """The rows of `traffic`."""
    made, rows = window(run), []
    for line in run.summary["measure"]["traffic"]:
        part = line["traffic"]
        fct, slowdown, *lost = numbers(run, ("fct_s", "slowdown", *LOSSES), part)
        row = metrics.times_row("", fct, slowdown)
        counts = line if made.is_set else dict(zip(LOSSES, (of.sum() for of in lost), strict=True))
        rows.append(
            {
                "traffic": part,
                "transport": transport_of(run, part),
                "flows": row["flows"],
                "unfinished": row["unfinished"],
                "goodput_bps": rate(line["delivered_bytes"], made.length_s),
                "mean_s": row["mean_s"],
                "p99_s": row["p99_s"],
                "slowdown_p99": row["slowdown_p99"],
                **{name: int(counts[name]) for name in LOSSES},
            }
        )
    return rows


def traffic(run: Run) -> pl.DataFrame:
    """The traffic entries of a run: a row for each, in the order of the scenario.

    Columns: `traffic`, `transport`, `flows` (that completed), `unfinished`, `goodput_bps` (bytes delivered in the
    window by its length), `mean_s` and `p99_s` (FCT), `slowdown_p99`, `retransmits`, `timeouts`. Flows count by
    their start in the window, and so do retransmissions and timeouts by their time, if the scenario sets one; else all
    of the run count.
    """
    return pl.DataFrame(traffic_rows(run))


def tiers(run: Run) -> pl.DataFrame:
    """The payload on the links of each tier in the window: `clearway.metrics.payload_shares` with a column `asked`.

    `asked` is the share that all Poisson traffic of the run asked for while it arrived, by its `load`. There is no row
    without such traffic, nor for a result that an earlier version saved.
    """
    asked = pl.DataFrame(run.summary["measure"].get("tiers", []), schema={"tier": pl.String, "asked": pl.Float64})
    if not asked.height:
        return pl.DataFrame(schema={"tier": pl.String, "links": pl.UInt32, **dict.fromkeys(SHARES, pl.Float64)})
    return asked.join(metrics.payload_shares(run.ports, window(run).length_s), on="tier", maintain_order="left").select(
        "tier", "links", *SHARES
    )


def in_window(run: Run) -> dict[str, Any]:
    """A run in its window in a few numbers, as `clearway.comparison.headline` has them for the whole run."""
    made, ports = window(run), run.held("ports")
    fct, *lost = numbers(run, ("fct_s", *LOSSES))
    longest, port = metrics.worst_port(ports, "window_queue_max_bytes")
    lines = run.summary["measure"]["traffic"]
    used, wasted = (sum(line[name] for line in lines) for name in ("credits_used", "credits_wasted"))
    return {
        "from_s": made.from_s,
        "until_s": made.until_s,
        "flows_started": len(fct),
        "flows_completed": int((~few.are_nan(fct)).sum()),
        "goodput_bps": rate(sum(line["delivered_bytes"] for line in lines), made.length_s),
        **{
            name: sum(int(part[name]) for part in lines) if made.is_set else int(of.sum())
            for name, of in zip(LOSSES, lost, strict=True)
        },
        "queue_max_bytes": longest,
        "queue_max_port": port,
        "queue_mean_bytes": metrics.largest(ports, "window_queue_mean_bytes", of_switches=True),
        "utilisation_max": metrics.largest(ports, "window_utilisation"),
        "marks": metrics.total(ports, "window_marks"),
        "drops": metrics.total(ports, "window_drops"),
        "credit_drops": metrics.total(ports, "window_drops_credit"),
        "credit_waste": wasted / (used + wasted) if used + wasted else float("nan"),
    }


def losses(run: Run, name: str, part: str | None = None) -> int:
    """The `retransmits` or `timeouts` of all flows or of a traffic entry, in the window if the scenario sets it."""
    if window(run).is_set:
        lines = run.summary["measure"]["traffic"]
        return sum(int(line[name]) for line in lines if part in (None, line["traffic"]))
    return int(numbers(run, (name,), part)[0].sum())


def rate(size_bytes: float, seconds: float) -> float:
    """A rate in bits per second; NaN over no time."""
    return 8 * size_bytes / seconds if seconds > 0 else float("nan")


def window_texts(runs: Mapping[str, Run]) -> list[str]:
    """The lines that say which time the tables of some runs cover: one line where all agree."""
    said = {name: window_text(window(run), run.summary["simulated_s"]) for name, run in runs.items()}
    if len(set(said.values())) == 1:
        return [next(iter(said.values()))]
    return [f"{name}: {line}" for name, line in said.items()]


def window_text(made: Window, end_s: float) -> str:
    """The line that says which time the tables of a run cover."""
    span = f"from {units.seconds(made.from_s)} to {units.seconds(made.until_s)}"
    if made.is_set and made.from_s >= end_s:
        return f"Nothing was measured: the run ended at {units.seconds(end_s)}, before the window began."
    if made.is_set:
        return f"Measured {span}. Flows count by their start. What is of the whole run says so."
    if made.end == "last arrival":
        return (
            f"Utilisation and goodput: {span}, the starts of the first and the last flow, without the drain after them."
        )
    return f"Utilisation and goodput: {span}, the start of the first flow and the end of the run."
