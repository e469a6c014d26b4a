"""Round-trip times under PAC on the paper's testbed, simulated, by the number of connections, and how many ACKs wait at
the receiver (section IV-A: 100 connections of 64 KB, mean over 10 runs of the maximum).

Unstated, and chosen here:

* **Volume**: 64 KB per connection. **Runs**: 10 seeds of one round each (quick: 5), hosts and frames as in Fig. 7.
* **What is measured**: the paper reads microsecond timestamps at the receiver, one value a packet. Here it is one value
  an acknowledgement, taken at the sender: from when the data left to when its acknowledgement comes, the time for which
  PAC holds it included. Acknowledgements that PAC drops, as the flow's last one says all, have none.

"windows of 2" does not let a mark reduce a window below two segments (RFC 5681), where the testbed's kernel, Linux
2.6.38, goes down to one; "turns" serves flows of a level in turns, as sec. III-D says, where the authors' module serves
them in the order in which their acknowledgements came.
"""

from __future__ import annotations

from typing import Any

import polars as pl
from matplotlib.figure import Figure as Picture
from matplotlib.ticker import LogLocator

from clearway.metrics import rtt_percentiles
from clearway.report.style import own
from clearway.reproduce import judge
from clearway.reproduce.claims import Finding, claim
from clearway.reproduce.figure import Figure, Job, Tables
from clearway.reproduce.look import Look, grid, legend
from clearway.reproduce.pac import common
from clearway.reproduce.quantities import incast
from clearway.reproduce.stats import Estimate, enough, estimate
from clearway.result import Run

SENDERS = (30, 40, 60, 80, 100)
TESTBED = {"profile": "testbed"}
TRANSPORTS: dict[str, dict[str, Any]] = {
    **common.readings(TESTBED, ("pac", "pac, turns", "pac, eq. (6)", "pac, code")),
    "pac, windows of 2": {"name": "pac", **TESTBED, "min_cwnd": 2},
    "pac, turns, windows of 2": {"name": "pac", **TESTBED, "min_cwnd": 2, "discipline": "round-robin"},
}
#: The default with least timeouts that are usual in datacenters, which the paper says PAC's delay does not reach.
LOW = {
    f"{name}, {least}": TRANSPORTS[name] | {"rto_min": least}
    for name in ("pac", "pac, windows of 2")
    for least in ("10 ms", "5 ms")
}
SEEDS = {"quick": 5, "paper": 10}
#: Bytes of an ACK, which the paper counts (sec. IV-A).
ACK = 66
COLORS = {**own("pac"), "pac, turns": 5, "pac, eq. (6)": 3, "pac, code": 8, "pac, windows of 2": 6,
          "pac, turns, windows of 2": 7}  # fmt: skip


def jobs(scale: str) -> list[Job]:
    """Every reading, number of connections and seed."""
    return [
        job(name, senders, seed)
        for name in (*TRANSPORTS, *LOW)
        for senders in (SENDERS if name in TRANSPORTS else SENDERS[-1:])
        for seed in range(1, 1 + SEEDS[scale])
    ]


def job(name: str, senders: int, seed: int) -> Job:
    """One run of one round."""
    scenario = common.incast(
        common.star(38),
        (TRANSPORTS | LOW)[name],
        senders=senders,
        rounds=1,
        buffer="150 KB",
        network=common.TESTBED_FRAMES,
        size="64 KB",
    )
    scenario["seed"] = seed
    scenario["sample"] = [{"name": "rtt", "what": "rtt"}]
    return Job({"transport": name, "senders": senders, "seed": seed}, scenario)


def measure(job: Job, run: Run) -> Tables:
    """Percentiles and the longest ACK queue."""
    p50, p99 = rtt_percentiles(run.samples, (50, 99))
    if not enough(run.samples.height, 99):
        p99 = float("nan")
    again = int(run.flows["retransmits"].sum())
    row = incast(run, job.params["senders"]) | {"rtt_p50_s": p50, "rtt_p99_s": p99, "retransmits": again}
    return {"rows": pl.DataFrame([row])}


def summarise(tables: Tables) -> Tables:
    """Means over the seeds."""
    means = (
        tables["rows"]
        .group_by("transport", "senders", maintain_order=True)
        .agg(
            pl.col("rtt_p50_s", "rtt_p99_s", "acks_held_max", "goodput_bps").mean(),
            pl.col("timeouts", "retransmits", "drops").sum(),
        )
    )
    shown = means.select(
        "transport",
        "senders",
        (1e3 * pl.col("rtt_p50_s")).round(2).alias("p50_ms"),
        (1e3 * pl.col("rtt_p99_s")).round(2).alias("p99_ms"),
        pl.col("acks_held_max").round(0).alias("most_ACKs_held"),
        (pl.col("goodput_bps") / 1e6).round(0).alias("goodput_Mbps"),
        "timeouts",
        "retransmits",
        "drops",
    )
    return {**tables, "means": means, "shown": shown}


def at_100(tables: Tables, name: str, column: str, scale: float = 1.0) -> Estimate:
    """A measure at 100 connections, over the seeds."""
    part = tables["rows"].filter((pl.col("transport") == name) & (pl.col("senders") == 100))
    return estimate([scale * float(value) for value in part[column]])


def spurious(tables: Tables, name: str) -> int:
    """Timeouts and segments sent again at 100 connections, in all runs: no segment is lost."""
    part = tables["rows"].filter((pl.col("transport") == name) & (pl.col("senders") == 100))
    return int(part["timeouts"].sum()) + int(part["retransmits"].sum())


def check(tables: Tables) -> list[Finding]:
    """The verdicts on the figure's claims."""

    def both(name: str) -> dict[str, Estimate]:
        return {"p50": at_100(tables, name, "rtt_p50_s", 1e3), "p99": at_100(tables, name, "rtt_p99_s", 1e3)}

    here = claim("pac", "fig11-rtt-100-connections")
    note = "; ".join(
        f"{name}: {both(name)['p50'].mean:.2f} and {both(name)['p99'].mean:.2f}" for name in TRANSPORTS if name != "pac"
    )
    found = [judge.judge(here, both("pac"), form=".2f", note=note)]

    here = claim("pac", "sec4a-ack-buffering")
    held = {name: at_100(tables, name, "acks_held_max") for name in TRANSPORTS}
    note = "; ".join(f"{name}: {value.mean:.0f}" for name, value in held.items() if name != "pac")
    space = held["pac"].scaled(ACK / 1e3)
    note = f"{space:.1f} KB; {note}"
    found.append(judge.judge(here, {"value": held["pac"], "space, KB": space}, form=".0f", note=note))

    here = claim("pac", "abstract-no-spurious-timeout")
    again = {name: spurious(tables, name) for name in LOW}
    note = "timeouts and segments sent again, least timeouts of 200 ms (the testbed's) and 10 ms; 5 ms: "
    note += (
        f"{again['pac, 5 ms']} in {tables['rows']['seed'].n_unique()} runs; p99 of the RTT {both('pac')['p99']:.1f} ms"
    )
    two = judge.Change(
        "Marks take windows down to one segment here, as in the testbed's Linux, and round trips then grow faster "
        "than the timer's average. With two segments as the least window, as in RFC 5681, no timer of 5 ms runs out.",
        never_late(tables, "pac, windows of 2"),
    )
    return [*found, judge.judge(here, never_late(tables, "pac"), form=".0f", note=note, cause=two)]


def never_late(tables: Tables, name: str) -> dict[str, judge.Measured]:
    """The segments sent again with least timeouts from 200 ms down to 5 ms, and the round-trip times."""
    return {
        "value": spurious(tables, name) + spurious(tables, f"{name}, 10 ms"),
        "p99 of the RTT, ms": at_100(tables, name, "rtt_p99_s", 1e3),
        "sent again, 5 ms": spurious(tables, f"{name}, 5 ms"),
    }


def facts(tables: Tables) -> dict[str, object]:
    """The numbers that the prose names."""
    found: dict[str, object] = {}
    for short, name in {
        "pac": "pac",
        "turns": "pac, turns",
        "two": "pac, windows of 2",
        "both": "pac, turns, windows of 2",
        "code": "pac, code",
        "eq6": "pac, eq. (6)",
    }.items():
        found[f"{short}_p50"] = at_100(tables, name, "rtt_p50_s", 1e3)
        found[f"{short}_p99"] = at_100(tables, name, "rtt_p99_s", 1e3)
        found[f"{short}_held"] = at_100(tables, name, "acks_held_max")
    found["again_5"] = spurious(tables, "pac, 5 ms")
    found["again_two"] = spurious(tables, "pac, windows of 2, 5 ms")
    found["again_10"] = spurious(tables, "pac, 10 ms")
    found["turn_ms"] = 100 * 1538 * 8 / 1e6
    return found


def draw(tables: Tables, look: Look) -> dict[str, Picture]:
    """Percentiles and held ACKs by the number of connections."""
    rtt = claim("pac", "fig11-rtt-100-connections")
    paper = {"rtt_p50_s": rtt.number("p50") / 1e3, "rtt_p99_s": rtt.number("p99") / 1e3}
    paper["acks_held_max"] = claim("pac", "sec4a-ack-buffering").number()
    picture, axes = grid(1, 3, width=11.0, height=3.0)
    panels = (
        ("RTT, 50th percentile, in ms", "rtt_p50_s", 1e3),
        ("RTT, 99th percentile, in ms", "rtt_p99_s", 1e3),
        ("Most ACKs held", "acks_held_max", 1),
    )
    for place, (title, name, scale) in zip(axes, panels, strict=True):
        for transport in TRANSPORTS:
            part = tables["means"].filter(pl.col("transport") == transport)
            line = look.line(COLORS[transport])
            place.plot(part["senders"], part[name] * scale, ms=4, lw=1.6, label=transport, **line)
        place.plot([100], [paper[name] * scale], ls="", marker="o", ms=8, mfc="none", mec=look.ink, label="the paper")
        place.set(title=title, xlabel="connections")
        place.set_yscale("log")
        place.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        place.yaxis.set_major_formatter(lambda y, _: f"{y:,g}")
        place.minorticks_off()
    legend(picture, axes[0], 5)
    return {"rtt": picture}


FIGURE = Figure(
    name="pac/fig11",
    title="PAC, Fig. 11: round-trip times under PAC, and ACKs that wait",
    doc=__doc__ + "\n" + common.ABOUT_READINGS,
    jobs=jobs,
    measure=measure,
    summarise=summarise,
    check=check,
    draw=draw,
    claims=("fig11-rtt-100-connections", "sec4a-ack-buffering", "abstract-no-spurious-timeout"),
    facts=facts,
    shown={"shown": "Means over the runs."},
    captions={
        "rtt": "Round-trip times of single acknowledgements and the longest queue of ACKs, means over the runs; "
        "circles: the paper's"
    },
)
