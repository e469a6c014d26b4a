"""Quantities that several figures of papers take from a run, built on `clearway.metrics`; none is public."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from clearway import metrics
from clearway.metrics import jain_index
from clearway.result import Run

Floats = NDArray[np.float64]

#: Credit and full data frame on the wire, and the payload of the latter (E17 3.1; ns2-xpass).
CREDIT, FRAME, PAYLOAD = 84, 1538, 1460
#: Share of a link that data may take beside its credits.
CEILING = FRAME / (CREDIT + FRAME)
#: Share of a link that data may take beside credits of 84 to 92 bytes, where the limiter counts bytes (E17-8).
CEILING_RANDOM = CEILING * CREDIT / 88


def binned(run: Run, series: str, start_s: float, width_s: float) -> tuple[list[str], Floats]:
    """A sampled series averaged over bins of `width_s` from `start_s` on: entities, and a row for each.

    Before a flow's first sample it counts as zero. Samples are means of the interval that they end.
    """
    samples = run.samples.filter(pl.col("series") == series)
    table = samples.pivot(on="entity", index="time_s", values="value").sort("time_s").fill_nan(0).fill_null(0)
    names = sorted(name for name in table.columns if name != "time_s")
    times = table["time_s"].to_numpy()
    every = float(times[1] - times[0])
    count = round(width_s / every)
    after = table.filter(pl.col("time_s") > start_s + every / 2).select(names).to_numpy().T
    bins = after.shape[1] // count
    return names, after[:, : bins * count].reshape(len(names), bins, count).mean(axis=2)


def fairness(rates: Floats) -> float:
    """Jain's index of each average (column), averaged."""
    return float(np.mean([jain_index(column) for column in rates.T])) if rates.size else float("nan")


def steady(flows: pl.DataFrame, edge: float = 0.1) -> pl.DataFrame:
    """The flows that arrive in the middle of a run: not in its first or last tenth, when it fills and drains."""
    first, last = (float(value) for value in (flows["start_s"].min(), flows["start_s"].max()))  # type: ignore[arg-type]
    span = last - first
    return flows.filter(pl.col("start_s").is_between(first + edge * span, last - edge * span))


def port(run: Run, name: str) -> dict[str, Any]:
    """The row of a port."""
    return run.ports.row(by_predicate=pl.col("port") == name, named=True)


def data_drops(run: Run) -> int:
    """Data packets lost anywhere, for whatever reason."""
    return int(run.ports.select(pl.col("drops_buffer") + pl.col("drops_loss") + pl.col("drops_down")).sum().item())


def books_balance(run: Run) -> bool:
    """True if all that was sent was delivered, dropped or is in flight; the engine refuses a run otherwise."""
    return all(balanced(run.summary[book]) for book in ("packets", "bytes", "credits"))


def balanced(book: dict[str, int]) -> bool:
    """True if one book balances. Credits that were used or wasted are a part of those delivered."""
    return book["sent"] == sum(value for key, value in book.items() if key not in ("sent", "used", "wasted"))


def incast(run: Run, senders: int, traffic: str = "incast") -> dict[str, Any]:
    """The rounds of an incast: goodput averaged over those that ended, timeouts, drops, held acknowledgements."""
    table = metrics.rounds(run.flows.filter(pl.col("traffic") == traffic), senders)
    ended = table.filter(pl.col("unfinished") == 0)
    held = [shim["acks_held_max"] for shim in run.summary["shims"] if shim["traffic"] == traffic]
    return {
        "rounds": ended.height,
        "rounds_cut_off": table.height - ended.height,
        "goodput_bps": metrics.mean(ended["goodput_bps"].to_numpy()),
        "goodput_min_bps": float(ended["goodput_bps"].to_numpy().min()) if ended.height else float("nan"),
        "timeout_ratio": metrics.timeout_ratio(table),
        "timeouts": int(table["timeouts"].sum()),
        "drops": data_drops(run),
        "acks_held_max": max(held, default=0),
    }


def holds_until(points: list[int], values: list[float], share: float = 0.9) -> int | None:
    """The last point of a sweep before the value first falls below `share` of its highest so far; None if never."""
    best = 0.0
    for index, value in enumerate(values):
        if value < share * best:
            return points[index - 1]
        best = max(best, value)
    return None


def first_above(points: list[int], values: list[float], limit: float = 0.0) -> int | None:
    """The first point of a sweep whose value exceeds the limit; None if there is none."""
    return next((point for point, value in zip(points, values, strict=True) if value > limit), None)


def queues(run: Run) -> dict[str, float]:
    """Queues at the switches in bytes: averages over the time of arrivals, of three sets of ports, and the maximum.

    The integral over the whole run counts, divided by the time until the last flow arrives. What is sent after that
    does not thin the average out, as a few large flows at the end of a short run would.
    """
    ports = run.ports.filter(~pl.col("tier").str.starts_with("host"))
    arrivals_s = float(run.flows["start_s"].max())  # type: ignore[arg-type]
    busy = float(run.summary["simulated_s"]) / arrivals_s if arrivals_s > 0 else 1.0
    means = ports["queue_mean_bytes"] * busy
    up = ports.with_columns(means.alias("mean")).filter(pl.col("tier") == "tor->agg")["mean"]
    return {
        "queue_mean": float(np.mean(means.to_numpy())),
        "queue_mean_up": float(np.mean(up.to_numpy())) if up.len() else float("nan"),
        "queue_mean_worst": float(np.max(means.to_numpy())),
        "queue_max": float(np.max(ports["queue_max_bytes"].to_numpy())),
        "arrivals_s": arrivals_s,
    }


def cost(run: Run) -> dict[str, float]:
    """The cost of a run: flows, link transmissions in millions, simulated and CPU seconds."""
    return {
        "flows": int(run.summary["flows_started"]),
        "finished": int(run.summary["flows_completed"]),
        "M_link_tx": float(run.summary["link_transmissions"]) / 1e6,
        "simulated_s": float(run.summary["simulated_s"]),
        "cpu_s": float(run.summary["measured"]["cpu_s"]),
    }
