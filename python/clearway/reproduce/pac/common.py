"""What the figures of the paper share: networks, transports and their readings, tables, pictures."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Picture
from matplotlib.ticker import PercentFormatter

from clearway.reproduce import measures
from clearway.reproduce.figure import Job, Tables
from clearway.reproduce.look import Look, grid
from clearway.reproduce.measures import first_above, holds_until
from clearway.result import Run

ROUNDS = {"quick": 5, "full": 20}
#: Kept at every host, for each packet: the paper's "random delay", whose distribution it does not say.
DELAY = {"uniform": ["0 s", "10 us"]}

#: Departures of the default readings of `pac` from the paper's print, taken back (docs/protocols/pac.md).
PRINTED: dict[str, Any] = {
    "correction": "throughput",
    "phase_test": "falls",
    "blocking": True,
    "hold_syn_ack": False,
    "rtt_method": "handshake",
}
EQUATION_6: dict[str, Any] = {"correction": "throughput"}
HANDSHAKE: dict[str, Any] = {"rtt_method": "handshake"}
NO_MARKS: dict[str, Any] = {"ecn": False}

COLORS = {
    "pac": 2,
    "dctcp": 1,
    "ictcp": 4,
    "pac, eq. (6)": 3,
    "pac, no marks": 6,
    "pac, handshake": 5,
    "pac, as printed": 7,
    "pac, eq. (6), no marks": 8,
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
  timestamps to have come, or given up; marks alone end slow start in PAC's eyes; the control interval is the round
  trip from a release to its answer.
* **pac, eq. (6)**: the same with the paper's correction of the estimate.
* **pac, no marks**: the default with senders that take no part in ECN, so that the threshold stays at the buffer.
* **pac, eq. (6), no marks**: both.
* **pac, handshake**: the default with the paper's other way to obtain round-trip times, that of the flow's first plus
  the delay that PAC adds: control intervals grow with the queue of ACKs.
* **pac, as printed**: eq. (6), the printed test for the end of slow start (PAC-6), blocking as in Algorithm 1 (PAC-9),
  round-trip times of handshakes and PAC's delay, and no control of first windows.
"""


def readings(settings: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """PAC in all readings, with what else is set."""
    pac = {"name": "pac", **settings}
    return {
        "pac": pac,
        "pac, eq. (6)": pac | EQUATION_6,
        "pac, no marks": pac | NO_MARKS,
        "pac, eq. (6), no marks": pac | EQUATION_6 | NO_MARKS,
        "pac, handshake": pac | HANDSHAKE,
        "pac, as printed": pac | PRINTED,
    }


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
    **traffic: Any,
) -> dict[str, Any]:
    """Barrier-synchronised rounds over new connections."""
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
    }


def jobs(scenarios: Mapping[str, Mapping[str, Any]], senders: Iterable[int], scenario: Any, **params: Any) -> list[Job]:
    """A job for each transport and number of senders."""
    return [
        Job({"transport": name, **params, "senders": count}, scenario(transport, count))
        for count in senders
        for name, transport in scenarios.items()
    ]


def shown(rows: pl.DataFrame, *more: str) -> pl.DataFrame:
    """Goodput in Mbps by number of senders, a column for each transport; a star marks timeouts."""
    keys = [*more, "senders"]
    text = pl.format(
        "{}{}",
        (pl.col("goodput_bps") / 1e6).round(0).cast(pl.Int64, strict=False),
        pl.when(pl.col("timeout_ratio") > 0).then(pl.lit("*")).otherwise(pl.lit("")),
    )
    table = rows.select(*keys, "transport", text.alias("goodput"))
    return table.pivot(on="transport", index=keys, values="goodput").sort(*keys)


def measure(job: Job, run: Run) -> Tables:
    """Goodput and timeouts of the rounds."""
    return {"rows": pl.DataFrame([measures.incast(run, job.params["senders"])])}


def summarise(tables: Tables) -> Tables:
    """Adds the table for reading."""
    return {**tables, "shown": shown(tables["rows"])}


def column(rows: pl.DataFrame, transport: str, name: str) -> tuple[list[int], list[float]]:
    """Numbers of senders, and a measure at each."""
    part = rows.filter(pl.col("transport") == transport).sort("senders")
    return part["senders"].to_list(), [float(value) for value in part[name]]


def mbps(rows: pl.DataFrame, transport: str, senders: int) -> float:
    """Goodput at a number of senders."""
    part = rows.filter((pl.col("transport") == transport) & (pl.col("senders") == senders))
    return float(part["goodput_bps"].item()) / 1e6


def collapse(rows: pl.DataFrame, transport: str, share: float = 0.9) -> int | None:
    """The last number of senders before goodput first falls below 90 % of its highest so far."""
    return holds_until(*column(rows, transport, "goodput_bps"), share)


def never_halves(rows: pl.DataFrame, transport: str) -> bool:
    """Whether goodput never falls below half of its highest so far: it may decline, but does not collapse."""
    return collapse(rows, transport, 0.5) is None


def first_timeout(rows: pl.DataFrame, transport: str) -> int | None:
    """The first number of senders with a timeout in any round."""
    return first_above(*column(rows, transport, "timeout_ratio"))


def least(rows: pl.DataFrame, transport: str, start: int = 0) -> float:
    """Least goodput in Mbps from a number of senders on."""
    points, values = column(rows, transport, "goodput_bps")
    return min(value for point, value in zip(points, values, strict=True) if point >= start) / 1e6


def within(measured: int | None, expected: float, tolerance: float) -> bool:
    """Whether a point of a sweep is the claimed one within tolerance."""
    return measured is not None and abs(measured - expected) <= tolerance * expected


def point(measured: int | None) -> str:
    """`36`, or `none`."""
    return "none in the sweep" if measured is None else f"{measured:,}"


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
            part = rows.filter(pl.col("transport") == name).sort("senders")
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
        fontsize=9,
        handlelength=2.8,
        columnspacing=2.2,
    )
    return picture
