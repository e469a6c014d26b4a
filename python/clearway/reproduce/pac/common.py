"""The common ground of the paper's figures: networks, transports and their readings, tables, pictures."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Picture
from matplotlib.ticker import PercentFormatter

import clearway
from clearway.report.style import own
from clearway.reproduce import quantities
from clearway.reproduce.figure import Job, Tables
from clearway.reproduce.look import Look, grid
from clearway.reproduce.quantities import holds_until
from clearway.reproduce.stats import SEEDS, Estimate, estimate, paired_ratio
from clearway.result import Run

#: Rounds of a run. Each of the five seeds runs as many, so that the full scale has the paper's 20.
ROUNDS = {"quick": 1, "paper": 4}
#: Kept at every host, for each packet: the paper's "random delay", whose distribution it does not say.
DELAY = {"uniform": ["0 s", "10 us"]}
#: Keys that a profile sets for a network, and not as a reading of the protocol.
NETWORK = ("buffer", "initial_window", "min_cwnd", "rto_min", "rtt_initial")
#: Bytes that ns-2 adds to a payload, and its least packet: IP and TCP, no Ethernet.
NS2_FRAMES = {"overhead": "40 B", "wire_min": "40 B"}
#: The testbed's: its ACKs have 66 B (sec. IV-A), 12 of which are TCP options, and data has these too.
TESTBED_FRAMES = {"payload": "1448 B", "overhead": "90 B", "wire_min": "90 B"}
#: Mbps of payload that 1 Gbps can carry in the testbed's full frames.
CAPACITY = 1e3 * 1448 / 1538


def profile(name: str) -> dict[str, Any]:
    """The settings of a profile of `pac` that concern the protocol, to be used on any network."""
    (pac,) = (one for one in clearway.transports() if one["name"] == "pac")
    (values,) = (one["values"] for one in pac["profiles"] if one["name"] == name)
    return {key: value for key, value in values.items() if key not in NETWORK}


#: Readings of `pac` by name: what they change of the default.
READINGS: dict[str, dict[str, Any]] = {
    "pac": {},
    "pac, eq. (6)": {"correction": "throughput"},
    "pac, turns": {"discipline": "round-robin"},
    "pac, handshake": {"rtt_method": "handshake"},
    "pac, no eq. (2)": {"adaptive": False},
    "pac, no marks": {"ecn": False},
    "pac, print": profile("print"),
    "pac, code": profile("code"),
}
#: Readings that the figures of goodput show.
SHOWN = ("pac", "pac, eq. (6)", "pac, no marks", "pac, print", "pac, code")

COLORS = {
    **own("pac", "dctcp", "ictcp"),
    "pac, eq. (6)": 3,
    "pac, no marks": 6,
    "pac, turns": 5,
    "pac, print": 0,
    "pac, code": 8,
    "pac, background blind": 3,
    "dctcp, background blind": 4,
    "40K/s": 2,
    "60K/s": 4,
    "80K/s": 3,
    "buffer 80K": 1,
    "buffer 100K": 2,
    "4 MB": 0,
    "16 MB": 2,
    "64 MB": 3,
}

ABOUT_READINGS = """\
Readings of PAC that are run beside each other ([its page](../protocols/pac.md) argues for the default):

* **pac**: our default: SYN-ACKs are held and first windows counted; what a release triggered is known from
  timestamps to have come, or given up; the control interval is the round trip from a release to its answer; the
  threshold does not fall below 0.6 of the buffer; acknowledgements of a level leave in the order in which they came.
* **pac, eq. (6)**: the same with the paper's correction of the estimate.
* **pac, no marks**: the default with senders that take no part in ECN, so that the threshold stays at the buffer.
* **pac, print**: profile `print`: eq. (6), the printed test for the end of slow start (PAC-6), turns of flows, blocking
  as in Algorithm 1 (PAC-9), round-trip times of handshakes and PAC's delay, and no control of first windows.
* **pac, code**: profile `code`: what the kernel module of the paper's authors does.

[All readings over all figures](pac-readings.md).
"""


def readings(settings: Mapping[str, Any], names: Iterable[str] = SHOWN) -> dict[str, dict[str, Any]]:
    """PAC in some readings, with what else is set."""
    return {name: {"name": "pac", **settings, **READINGS[name]} for name in names}


def star(hosts: int, rate: str = "1 Gbps", delay: str = "18.5 us") -> dict[str, Any]:
    """One switch. 18.5 us a link make a base RTT of 100 us with a full frame and its ACK at 1 Gbps."""
    return {"kind": "star", "hosts": hosts, "rate": rate, "delay": delay}


def incast(
    topology: Mapping[str, Any],
    transport: Mapping[str, Any],
    *,
    senders: int,
    rounds: int,
    buffer: str,
    marking: str = "10 packets",
    network: Mapping[str, str] | None = None,
    **traffic: Any,
) -> dict[str, Any]:
    """Barrier-synchronised rounds, over new connections unless `traffic` says otherwise."""
    burst = {
        "name": "incast",
        "kind": "incast",
        "senders": senders,
        "rounds": rounds,
        "connections": "per-round",
        "pause": "10 ms",
    }
    return {
        "name": "incast",
        "topology": dict(topology),
        "switch": {"buffer": buffer, "marking": marking},
        "host": {"processing_delay": DELAY},
        "transport": dict(transport),
        "traffic": [burst | traffic],
        "network": dict(network or {}),
    }


def jobs(
    scenarios: Mapping[str, Mapping[str, Any]],
    senders: Iterable[int] | Mapping[str, Iterable[int]],
    scenario: Callable[[Any, int], dict[str, Any]],
    **params: Any,
) -> list[Job]:
    """A job for each transport, number of senders and seed. `senders` may name the numbers for each transport."""
    points = senders if isinstance(senders, Mapping) else dict.fromkeys(scenarios, tuple(senders))
    return [
        Job({"transport": name, **params, "senders": count, "seed": seed}, scenario(transport, count) | {"seed": seed})
        for name, transport in scenarios.items()
        for count in points[name]
        for seed in SEEDS
    ]


def means(rows: pl.DataFrame, *more: str) -> pl.DataFrame:
    """The rows averaged over their seeds."""
    keys = ["transport", *more, "senders"]
    return rows.group_by(keys, maintain_order=True).agg(pl.col("goodput_bps", "timeout_ratio").mean())


def shown(rows: pl.DataFrame, *more: str) -> pl.DataFrame:
    """Goodput in Mbps by number of senders, a column for each transport; a star marks timeouts."""
    keys = [*more, "senders"]
    text = pl.format(
        "{}{}",
        (pl.col("goodput_bps") / 1e6).round(0).cast(pl.Int64, strict=False),
        pl.when(pl.col("timeout_ratio") > 0).then(pl.lit("*")).otherwise(pl.lit("")),
    )
    table = means(rows, *more).select(*keys, "transport", text.alias("goodput"))
    return table.pivot(on="transport", index=keys, values="goodput").sort(*keys)


def measure(job: Job, run: Run) -> Tables:
    """Goodput and timeouts of the rounds."""
    return {"rows": pl.DataFrame([quantities.incast(run, job.params["senders"])])}


def summarise(tables: Tables) -> Tables:
    """Adds the table for reading."""
    return {**tables, "shown": shown(tables["rows"])}


def of_seeds(rows: pl.DataFrame, transport: str) -> list[pl.DataFrame]:
    """The rows of a transport by number of senders, a table for each seed."""
    part = rows.filter(pl.col("transport") == transport).sort("senders")
    return [part.filter(pl.col("seed") == seed) for seed in SEEDS]


def draws(rows: pl.DataFrame, transport: str, value: Callable[[pl.DataFrame], float | None]) -> list[float]:
    """A number of each seed's sweep; NaN where a seed has none."""
    found = [value(one) for one in of_seeds(rows, transport)]
    return [math.nan if one is None else float(one) for one in found]


def each(rows: pl.DataFrame, transport: str, value: Callable[[pl.DataFrame], float | None]) -> Estimate:
    """The estimate of a number of each seed's sweep; NaN where a seed has none."""
    return estimate(draws(rows, transport, value))


def compared(rows: pl.DataFrame, ours: str, theirs: str, value: Callable[[pl.DataFrame], float | None]) -> Estimate:
    """A number of one transport's sweep over that of another's, paired by seed."""
    return paired_ratio(draws(rows, ours, value), draws(rows, theirs, value))


def column(rows: pl.DataFrame, name: str) -> tuple[list[int], list[float]]:
    """Numbers of senders of one seed's sweep, and a measure at each."""
    return rows["senders"].to_list(), [float(value) for value in rows[name]]


def mbps(rows: pl.DataFrame, transport: str, senders: int) -> Estimate:
    """Goodput in Mbps at a number of senders."""
    return each(rows.filter(pl.col("senders") == senders), transport, lambda one: one["goodput_bps"].item() / 1e6)


def falls_at(one: pl.DataFrame, share: float = 0.9) -> int | None:
    """The number of senders at which goodput first falls below 90 % of its highest so far, in one seed's sweep."""
    points, values = column(one, "goodput_bps")
    last = holds_until(points, values, share)
    return None if last is None else points[points.index(last) + 1]


def fall(rows: pl.DataFrame, transport: str) -> Estimate:
    """The number of senders at which goodput starts to fall: the mean over the seeds."""
    return each(rows, transport, falls_at)


def at(senders: int) -> Callable[[pl.DataFrame], float]:
    """The goodput at a number of senders, in bit/s, of one seed's sweep."""
    return lambda one: float(one.filter(pl.col("senders") == senders)["goodput_bps"].item())


def kept(rows: pl.DataFrame, transport: str) -> Estimate:
    """Goodput over that at the best smaller number of senders, where this is least in the sweep."""
    sweep = means(rows.filter(pl.col("transport") == transport)).sort("senders")
    points, values = column(sweep, "goodput_bps")
    ratios, best = [], points[0]
    for count, value in zip(points[1:], values[1:], strict=True):
        ratios.append(paired_ratio(draws(rows, transport, at(count)), draws(rows, transport, at(best))))
        best = count if value > values[points.index(best)] else best
    return lowest(ratios)


def ahead(rows: pl.DataFrame, ours: str, theirs: str, start: int) -> Estimate:
    """Goodput over that of another transport with as many senders, where this is least from a number of them on."""
    of = {name: set(rows.filter(pl.col("transport") == name)["senders"]) for name in (ours, theirs)}
    points = sorted(count for count in of[ours] & of[theirs] if count >= start)
    return lowest([compared(rows, ours, theirs, at(count)) for count in points])


def lowest(found: Sequence[Estimate]) -> Estimate:
    """The estimate with the lowest mean; one that is no number, as where no round ended, is lower than any."""
    return min(found, key=lambda one: -math.inf if math.isnan(one.mean) else one.mean)


def first_timeout_of(one: pl.DataFrame) -> int | None:
    """The first number of senders with a timeout, in one seed's sweep."""
    return quantities.first_above(*column(one, "timeout_ratio"))


def first_timeout(rows: pl.DataFrame, transport: str) -> Estimate:
    """The first number of senders with a timeout: the mean over the seeds, NaN if one has none."""
    return each(rows, transport, first_timeout_of)


def timeout_ratio(rows: pl.DataFrame, transport: str) -> float:
    """The share of rounds with timeouts, all seeds together, at the number of senders at which it is largest."""
    return float(means(rows.filter(pl.col("transport") == transport))["timeout_ratio"].to_numpy().max())


def timeouts(rows: pl.DataFrame, transport: str) -> int:
    """Timeouts in all rounds of all seeds."""
    return int(rows.filter(pl.col("transport") == transport)["timeouts"].sum())


def least(rows: pl.DataFrame, transport: str, start: int = 0) -> Estimate:
    """Least goodput in Mbps from a number of senders on."""
    return each(
        rows.filter(pl.col("senders") >= start), transport, lambda one: float(one["goodput_bps"].to_numpy().min()) / 1e6
    )


def most(rows: pl.DataFrame, transport: str, start: int = 0) -> Estimate:
    """Most goodput in Mbps from a number of senders on."""
    return each(rows.filter(pl.col("senders") >= start), transport, lambda one: float(max(one["goodput_bps"])) / 1e6)


def point(found: Estimate) -> str:
    """`36.2 (35.8 to 36.6)`, or `none in the sweep`."""
    return "none in the sweep" if math.isnan(found.mean) else f"{found:.1f}"


def axis(axes: Axes, points: Sequence[int]) -> None:
    """A logarithmic axis of senders that names some."""
    axes.set_xscale("log")
    axes.set_xticks(points, [f"{value:,}" for value in points])
    axes.minorticks_off()


def plot(
    look: Look, parts: Mapping[str, pl.DataFrame], ticks: Sequence[int], top: float, unit: str = "Mbps"
) -> Picture:
    """Goodput above the timeout ratio, against the number of senders, a column of panels for each part."""
    picture, axes = grid(2, len(parts), width=max(6.4, 4.9 * len(parts)), height=2.6, sharex="col", sharey="row")
    scale = {"Mbps": 1e6, "Gbps": 1e9}[unit]
    for index, (title, rows) in enumerate(parts.items()):
        above, below = axes[index], axes[index + len(parts)]
        for name in dict.fromkeys(rows["transport"]):
            part = means(rows.filter(pl.col("transport") == name)).sort("senders")
            style = look.line(COLORS.get(name, 5)) | {"ms": 4, "lw": 1.6, "label": name}
            above.plot(part["senders"], part["goodput_bps"] / scale, **style)
            below.plot(part["senders"], part["timeout_ratio"], **style)
        axis(above, ticks)
        axis(below, ticks)
        above.set_ylim(0, top)
        below.set_ylim(-0.03, 1.05)
        below.yaxis.set_major_formatter(PercentFormatter(1.0))
        above.set_title(title)
        below.set_xlabel("senders")
        if index == 0:
            above.set_ylabel(f"goodput in {unit}")
            below.set_ylabel("rounds with timeouts")
    every = [named for panel in axes for named in zip(*panel.get_legend_handles_labels(), strict=True)]
    handles = {label: handle for handle, label in reversed(every)}
    labels = sorted(handles, key=list(COLORS).index)
    picture.legend(
        [handles[label] for label in labels],
        labels,
        loc="outside lower center",
        ncols=len(labels) if len(labels) <= 5 else 4,
        fontsize=10.5,
        handlelength=2.8,
        columnspacing=2.2,
    )
    return picture
