"""Metrics of a run, as functions on its data frames: the public ones, which mean the same for every scenario.

Times are in seconds, sizes in bytes, rates in bits per second, as the columns' names say.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from clearway import few, tables
from clearway.few import Array
from clearway.lazy import WhenUsed

if TYPE_CHECKING:
    import numpy as np
    import polars as pl
else:
    np = WhenUsed("numpy")
    pl = WhenUsed("polars")

#: Size buckets of the ExpressPass paper (Fig. 19): name, least size, first size that is too large, in bytes.
BUCKETS: tuple[tuple[str, float, float], ...] = (
    ("S (< 10 KB)", 0, 10e3),
    ("M (10-100 KB)", 10e3, 100e3),
    ("L (100 KB-1 MB)", 100e3, 1e6),
    ("XL (> 1 MB)", 1e6, float("inf")),
)

#: Values that must lie beyond a percentile before it is stated without a remark.
BEYOND = 10
#: Flows that a 99th percentile needs for that.
P99_FLOWS = 100 * BEYOND

#: Most values whose percentiles are found without NumPy, which takes longer to begin than to sort so few.
FEW = 1000

#: The columns of flows that `fct_by_size` reads.
FCT = ("size_bytes", "fct_s", "slowdown")


def completed(flows: pl.DataFrame) -> pl.DataFrame:
    """The flows that were delivered in full."""
    return flows.filter(pl.col("fct_s").is_not_nan())


def with_bucket(flows: pl.DataFrame) -> pl.DataFrame:
    """The flows with a column `bucket`: their size bucket."""
    edges = [above for _, _, above in BUCKETS[:-1]]
    names = pl.Series([name for name, _, _ in BUCKETS])
    index = np.searchsorted(edges, flows["size_bytes"].to_numpy(), side="right")
    return flows.with_columns(names.gather(index).alias("bucket"))


def fct_by_size(flows: pl.DataFrame) -> pl.DataFrame:
    """FCT and slowdown by size bucket: a row for each bucket that has flows, then one for all flows.

    Columns: `bucket`, `flows` (that completed), `unfinished`, `mean_s`, `p50_s`, `p99_s`, `slowdown_mean`,
    `slowdown_p99`. Unfinished flows count nowhere but in `unfinished`. Percentiles lie between the two nearest
    flows, in proportion (NumPy's default).
    """
    rows = []
    for name, least, above in BUCKETS:
        part = flows.lazy().filter(pl.col("size_bytes") >= least, pl.col("size_bytes") < above)
        if (found := part.select("fct_s", "slowdown").collect()).height:
            rows.append(fct_row(name, found))
    return pl.DataFrame([*rows, fct_row("all", flows)])


def fct_row(bucket: str, flows: pl.DataFrame) -> dict[str, object]:
    """One row of `fct_by_size`."""
    done = flows["fct_s"].is_not_nan()
    fct, slowdown = (flows[name].filter(done).to_numpy() for name in ("fct_s", "slowdown"))
    return {
        "bucket": bucket,
        "flows": len(fct),
        "unfinished": flows.height - len(fct),
        "mean_s": mean(fct),
        "p50_s": percentile(fct, 50),
        "p99_s": percentile(fct, 99),
        "slowdown_mean": mean(slowdown),
        "slowdown_p99": percentile(slowdown, 99),
    }


def fct_rows(size: Array, fct: Array, slowdown: Array) -> list[dict[str, Any]]:
    """The rows of `fct_by_size`, of the columns `FCT` of some flows, without a data frame.

    A data frame of a few flows takes ten times as long as their numbers.
    """
    rows = []
    for name, least, above in BUCKETS:
        within = (size >= least) & (size < above)
        if within.any():
            rows.append(times_row(name, fct[within], slowdown[within]))
    return [*rows, times_row("all", fct, slowdown)]


def times_row(bucket: str, fct: Array, slowdown: Array) -> dict[str, Any]:
    """One row of `fct_rows`: of flows with these completion times, NaN where one is unfinished, and slowdowns."""
    done = ~few.are_nan(fct)
    times, slow = fct[done], slowdown[done]
    p50, p99 = percentiles(times, (50, 99))
    return {
        "bucket": bucket,
        "flows": len(times),
        "unfinished": len(fct) - len(times),
        "mean_s": few.mean(times),
        "p50_s": p50,
        "p99_s": p99,
        "slowdown_mean": few.mean(slow),
        "slowdown_p99": percentiles(slow, (99,))[0],
    }


def percentiles(values: Array, percents: Sequence[float]) -> list[float]:
    """Several percentiles, to the last bit those of `percentile`, in a tenth of the time where values are few."""
    if not len(values):
        return [float("nan")] * len(percents)
    if len(values) > FEW:
        return [percentile(values, percent) for percent in percents]
    ordered = sorted(values.tolist())
    found = []
    for percent in percents:
        place = (len(ordered) - 1) * (percent / 100)
        below = int(place)
        least, most, part = ordered[below], ordered[min(below + 1, len(ordered) - 1)], place - below
        # NumPy goes from the nearer of the two.
        step = most - least
        found.append(least + step * part if part < 0.5 else most - step * (1 - part))
    return found


def mean(values: np.ndarray) -> float:
    """The mean; NaN of nothing."""
    return float(np.mean(values)) if len(values) else float("nan")


def percentile(values: np.ndarray, percent: float) -> float:
    """The percentile; NaN of nothing."""
    return float(np.percentile(values, percent)) if len(values) else float("nan")


def jain_index(rates: Iterable[float]) -> float:
    """Jain's fairness index, (sum x)^2 / (n sum x^2): 1 if all are equal, 1/n if one has all. NaN of nothing."""
    x = np.asarray(list(rates), dtype=float)
    squares = float(len(x) * np.sum(x * x))
    return float(np.sum(x)) ** 2 / squares if squares > 0 else float("nan")


def convergence_time(
    times_s: Iterable[float],
    rates: Iterable[float],
    fair_share: float,
    *,
    tolerance: float = 0.1,
    hold_s: float = 0.0,
) -> float:
    """The first time at which a rate is within `tolerance` of its fair share and stays there for `hold_s`.

    `times_s` rise. With `hold_s = 0` it is the first time within the band, which a rate may leave again. NaN if that
    never happens, or if the series ends before it was held for long enough.
    """
    times, values = np.asarray(list(times_s), float), np.asarray(list(rates), float)
    inside = np.abs(values - fair_share) <= tolerance * fair_share
    entered: float | None = None
    for time, within in zip(times, inside, strict=True):
        if not within:
            entered = None
            continue
        entered = time if entered is None else entered
        # Times are multiples of the interval, rounded to a float: half a femtosecond is no difference.
        if time - entered >= hold_s - 5e-16:
            return float(entered)
    return float("nan")


def credit_waste(flows: pl.DataFrame) -> float:
    """Credits that reached a sender with nothing left to send, as a share of all that reached one.

    That is wasted / (used + wasted), over all flows. NaN without credits.
    """
    used, wasted = int(flows["credits_used"].sum()), int(flows["credits_wasted"].sum())
    return wasted / (used + wasted) if used + wasted else float("nan")


def wasted_share(used: int, wasted: int) -> float:
    """The credits that found nothing to send as a share of all that arrived; NaN without credits."""
    return wasted / (used + wasted) if used + wasted else float("nan")


def switch_ports(ports: pl.DataFrame) -> pl.DataFrame:
    """The output ports of switches, without those of hosts."""
    return ports.filter(~pl.col("tier").str.starts_with("host"))


def payload_shares(ports: pl.DataFrame, window_s: float) -> pl.DataFrame:
    """The share of the window of measurement in which the links of each tier carried payload.

    Columns: `tier`, `links` (ports that send this way), `payload_share` (bytes of flows sent, retransmissions included,
    by what all links of the tier could send) and `payload_share_max` (that of its busiest port). NaN over no time.
    """
    sent, could = 8 * pl.col("window_data_bytes"), pl.col("rate_bps") * (window_s if window_s > 0 else float("nan"))
    return ports.group_by("tier", maintain_order=True).agg(
        pl.len().alias("links"),
        (sent.sum() / could.sum()).alias("payload_share"),
        (sent / could).max().alias("payload_share_max"),
    )


def drops(ports: tables.Table) -> dict[str, int]:
    """Packets dropped, by reason: the sums of the columns `drops_*`."""
    found = [name for name in tables.names(ports) if name.startswith("drops_")]
    return {name.removeprefix("drops_"): total(ports, name) for name in found}


def total(table: tables.Table, name: str) -> int:
    """The sum of a column of counts."""
    return int(tables.values(table, name).sum())


def largest(ports: tables.Table, name: str, *, of_switches: bool = False) -> float:
    """The largest value of a column, of all ports or of those of switches; NaN of nothing."""
    found = tables.values(ports, name)
    return few.largest(found[are_of_switches(ports)] if of_switches else found)


def worst_port(ports: tables.Table, name: str) -> tuple[int, str]:
    """The largest value of a column of counts among the ports of switches, and the first by name of those with it.

    Without such ports, 0 and no name.
    """
    row = worst_row(ports, name)
    if row is None:
        return 0, ""
    return int(tables.values(ports, name)[row]), tables.texts_at(ports, "port", [row])[0]


def worst_row(ports: tables.Table, name: str) -> int | None:
    """The row of `worst_port`; None without ports of switches."""
    at = few.true_places(are_of_switches(ports))
    return first_largest(ports, name, at) if len(at) else None


def first_largest(ports: tables.Table, name: str, among: Array) -> int:
    """The row with the largest value of a column among some rows, of several the first by the port's name."""
    found = tables.values(ports, name).take(among)
    rows = among[found == found.max()].tolist()
    return int(min(zip(tables.texts_at(ports, "port", rows), rows, strict=True))[1])


def are_of_switches(ports: tables.Table) -> Array:
    """For each output port whether it is of a switch."""
    if isinstance(ports, tables.Held):
        tiers = [not name.startswith("host") for name in ports.texts("tier")]
        return few.looked_up(ports.values("tier"), tiers)
    return (~ports["tier"].str.starts_with("host")).to_numpy()


def rounds(flows: pl.DataFrame, senders: int) -> pl.DataFrame:
    """Barrier-synchronised rounds of an incast: a row for each that began.

    `flows` are its answers; `senders` of them make a round, in the order of their starts. Columns: `round`,
    `start_s`, `unfinished` (answers that did not arrive), `duration_s` (from the first start to the last arrival),
    `bytes`, `goodput_bps` (bytes by duration), `timeouts` (of all its answers). Duration and goodput are NaN if an
    answer did not arrive.
    """
    ends = pl.col("start_s") + pl.col("fct_s")
    # polars takes NaN for the greatest number, so the duration of an unfinished round is NaN.
    return (
        flows.sort("start_s", "flow")
        .with_columns((pl.int_range(pl.len()) // senders).alias("round"))
        .group_by("round", maintain_order=True)
        .agg(
            pl.col("start_s").min(),
            pl.col("fct_s").is_nan().sum().cast(pl.Int64).alias("unfinished"),
            pl.when(pl.col("fct_s").is_nan().any())
            .then(float("nan"))
            .otherwise(ends.max() - pl.col("start_s").min())
            .alias("duration_s"),
            pl.col("size_bytes").sum().alias("bytes"),
            pl.col("timeouts").sum(),
        )
        .with_columns((8 * pl.col("bytes") / pl.col("duration_s")).alias("goodput_bps"))
    )


def timeout_ratio(table: pl.DataFrame) -> float:
    """The share of rounds (of `rounds`) with at least one timeout; NaN of none."""
    return mean((table["timeouts"] > 0).to_numpy())


def rtt_percentiles(samples: pl.DataFrame, percents: Iterable[float]) -> list[float]:
    """Percentiles of round-trip times, one of each acknowledgement (samples of `rtt`), in seconds."""
    values = samples.filter(pl.col("quantity") == "rtt_s")["value"].to_numpy()
    return [percentile(values, percent) for percent in percents]
