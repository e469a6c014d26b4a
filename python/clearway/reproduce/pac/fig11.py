"""Round-trip times under PAC on the paper's testbed, by the number of connections, and how many ACKs wait at the
receiver (section IV-A: 100 connections of 64 KB, mean over 10 runs of the maximum).

Unstated, and chosen here:

* **Volume**: 64 KB per connection. **Runs**: 10 seeds of one round each (quick: 4), 38 hosts as in Fig. 7.
* **What is measured**: the paper reads microsecond timestamps at the receiver, one value a packet. Here it is one value
  an acknowledgement, taken at the sender: from when the data left to when its acknowledgement comes, the time for which
  PAC holds it included. Acknowledgements that PAC drops, as the flow's last one says all, have none.
"""

from __future__ import annotations

from typing import Any

import polars as pl
from matplotlib.figure import Figure as Picture
from matplotlib.ticker import LogLocator

from clearway.metrics import rtt_percentiles
from clearway.reproduce.claims import Finding, claim, verdict
from clearway.reproduce.figure import Figure, Job, Tables
from clearway.reproduce.look import Look, grid
from clearway.reproduce.measures import incast
from clearway.reproduce.pac import common
from clearway.result import Run

SENDERS = (10, 20, 40, 60, 80, 100)
TRANSPORTS: dict[str, dict[str, Any]] = {
    name: transport
    for name, transport in common.readings({"profile": "testbed"}).items()
    if name in ("pac", "pac, no marks", "pac, eq. (6)", "pac, handshake")
}
#: The default with least timeouts that are usual in datacenters, which the paper says PAC's delay does not reach.
LOW = {f"pac, {least}": TRANSPORTS["pac"] | {"rto_min": least} for least in ("10 ms", "5 ms")}
SEEDS = {"quick": 4, "full": 10}


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
        common.star(38), (TRANSPORTS | LOW)[name], senders=senders, rounds=1, buffer="150 KB", size="64 KB"
    )
    scenario["seed"] = seed
    scenario["sample"] = [{"name": "rtt", "what": "rtt"}]
    return Job({"transport": name, "senders": senders, "seed": seed}, scenario)


def measure(job: Job, run: Run) -> Tables:
    """Percentiles and the longest ACK queue."""
    p50, p99 = rtt_percentiles(run.samples, (50, 99))
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


def check(tables: Tables) -> list[Finding]:
    """The claims."""
    at = {row["transport"]: row for row in tables["means"].filter(pl.col("senders") == 100).iter_rows(named=True)}
    here = claim("pac", "fig11-rtt-100-connections")
    p50, p99 = 1e3 * at["pac"]["rtt_p50_s"], 1e3 * at["pac"]["rtt_p99_s"]
    note = "; ".join(
        f"{name}: {1e3 * row['rtt_p50_s']:.1f} and {1e3 * row['rtt_p99_s']:.1f}"
        for name, row in at.items()
        if name in TRANSPORTS and name != "pac"
    )
    holds = here.holds(p50, "p50") and here.holds(p99, "p99")
    found = [Finding(here, f"p50 {p50:.2f}, p99 {p99:.2f} ms", verdict(holds), note)]

    here = claim("pac", "sec4a-ack-buffering")
    held = {name: row["acks_held_max"] for name, row in at.items()}
    note = "; ".join(f"{name}: {value:.0f}" for name, value in held.items() if name in TRANSPORTS and name != "pac")
    found.append(Finding(here, f"{held['pac']:.0f} ACKs", verdict(here.holds(held["pac"])), note))

    here = claim("pac", "abstract-no-spurious-timeout")
    count = {name: at[name]["timeouts"] + at[name]["retransmits"] for name in ("pac", *LOW)}
    text = ", ".join(f"{value} ({name.removeprefix('pac, ')})" for name, value in count.items()).replace(
        "pac", "200 ms"
    )
    lost = sum(at[name]["drops"] for name in count)
    note = f"timeouts and segments sent again, by least timeout; {lost} segments were lost; p99 of the RTT {p99:.1f} ms"
    found.append(Finding(here, text, verdict(not any(count.values())), note))
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
            line = look.line(common.COLORS[transport])
            place.plot(part["senders"], part[name] * scale, ms=4, lw=1.6, label=transport, **line)
        place.plot([100], [paper[name] * scale], ls="", marker="o", ms=8, mfc="none", mec=look.ink, label="the paper")
        place.set(title=title, xlabel="connections")
        place.set_yscale("log")
        place.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        place.yaxis.set_major_formatter(lambda y, _: f"{y:,g}")
        place.minorticks_off()
    handles, labels = axes[0].get_legend_handles_labels()
    picture.legend(handles, labels, loc="outside lower center", ncols=5, fontsize=9, handlelength=2.8)
    return {"rtt": picture}


READING = """\
**Does not.** At 100 connections the median is 2.2 times the paper's, the 99th percentile 4.5 times, and 1.7 times as
many ACKs wait.

**Why: windows.** The round robin lets each of N flows release an ACK once in N segments' time, 1.31 ms for 100
connections at 890 Mbps; so a flow's round-trip time is that times its window. Seen with five seeds: the window of all
live flows, sampled every ms, has a mean of 3.0 segments and a 99th percentile of 11.8, and 1.31 ms times these are
3.9 ms (our mean is 3.8) and 15.5 ms (our 99th percentile). By the same arithmetic the paper's 1.3 ms is a median
window of one segment, and its 3.6 ms one of three, its own eq. (9). A window below two segments needs a timeout, which
it has not; so either its flows were not all active at once, or its round-trip times leave a part of the wait out. We
can't tell which.

**What does not matter**, tried one at a time with the same seeds: a single level of priority (99th percentile 15.3 ms
instead of 15.6), a first window of two segments (15.0 ms). Large windows are those of flows that took long to meet
their first mark: PAC's hold does not stop slow start. Without marks at all ("no marks") the median is 15.6 ms.

**No timeout and no segment sent again** at 100 connections, with a least timeout of 200, 10 and 5 ms, although the 99th
percentile is above two of them: the timer grows with the round-trip times that it measures.
"""

FIGURE = Figure(
    name="pac/fig11",
    title="PAC, Fig. 11: round-trip times under PAC, and ACKs that wait",
    doc=__doc__ + "\n" + common.ABOUT_READINGS,
    jobs=jobs,
    measure=measure,
    summarise=summarise,
    check=check,
    draw=draw,
    shown={"shown": "Means over the runs."},
    captions={
        "rtt": "Round-trip times of single acknowledgements and the longest queue of ACKs, means over the runs; "
        "circles: the paper's"
    },
    reading=READING,
)
