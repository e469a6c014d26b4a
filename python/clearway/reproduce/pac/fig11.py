"""Round-trip times under PAC on the paper's testbed, by the number of connections, and how many ACKs wait at the
receiver (section IV-A: 100 connections of 64 KB, mean over 10 runs of the maximum).

Unstated, and chosen here:

* **Volume**: 64 KB per connection. **Runs**: 10 seeds of one round each (quick: 4), 38 hosts as in Fig. 7.
* **What is measured**: the paper reads microsecond timestamps at the receiver, one value a packet. Here it is the
  senders' smoothed round-trip time, sampled every 50 us for every live connection. Smoothing takes off extremes.
"""

from __future__ import annotations

from typing import Any

import polars as pl
from matplotlib.figure import Figure as Picture

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
    if name in ("pac", "pac, no marks", "pac, eq. (6)")
}
SEEDS = {"quick": 4, "full": 10}


def jobs(scale: str) -> list[Job]:
    """Every reading, number of connections and seed."""
    return [
        job(name, senders, seed) for name in TRANSPORTS for senders in SENDERS for seed in range(1, 1 + SEEDS[scale])
    ]


def job(name: str, senders: int, seed: int) -> Job:
    """One run of one round."""
    scenario = common.incast(
        common.star(38), TRANSPORTS[name], senders=senders, rounds=1, buffer="150 KB", size="64 KB"
    )
    scenario["seed"] = seed
    scenario["sample"] = [{"name": "rtt", "what": "sender", "every": "50 us"}]
    return Job({"transport": name, "senders": senders, "seed": seed}, scenario)


def measure(job: Job, run: Run) -> Tables:
    """Percentiles and the longest ACK queue."""
    p50, p99 = rtt_percentiles(run.samples, (50, 99))
    row = incast(run, job.params["senders"]) | {"rtt_p50_s": p50, "rtt_p99_s": p99}
    return {"rows": pl.DataFrame([row])}


def summarise(tables: Tables) -> Tables:
    """Means over the seeds."""
    means = (
        tables["rows"]
        .group_by("transport", "senders", maintain_order=True)
        .agg(pl.col("rtt_p50_s", "rtt_p99_s", "acks_held_max", "goodput_bps").mean(), pl.col("timeouts").sum())
    )
    shown = means.select(
        "transport",
        "senders",
        (1e3 * pl.col("rtt_p50_s")).round(2).alias("p50_ms"),
        (1e3 * pl.col("rtt_p99_s")).round(2).alias("p99_ms"),
        pl.col("acks_held_max").round(0).alias("most_ACKs_held"),
        (pl.col("goodput_bps") / 1e6).round(0).alias("goodput_Mbps"),
        "timeouts",
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
        if name != "pac"
    )
    holds = here.holds(p50, "p50") and here.holds(p99, "p99")
    found = [Finding(here, f"p50 {p50:.2f}, p99 {p99:.2f} ms (smoothed)", verdict(holds), note)]

    here = claim("pac", "sec4a-ack-buffering")
    held = {name: row["acks_held_max"] for name, row in at.items()}
    note = "; ".join(f"{name}: {value:.0f}" for name, value in held.items() if name != "pac")
    found.append(Finding(here, f"{held['pac']:.0f} ACKs", verdict(here.holds(held["pac"])), note))

    here = claim("pac", "abstract-no-spurious-timeout")
    count = at["pac"]["timeouts"]
    note = "timeouts at 100 connections, least timeout 200 ms; what fails is that p99 exceeds 10 ms"
    found.append(Finding(here, f"{count}; p99 of the RTT {p99:.1f} ms", verdict(count == 0 and p99 < 10), note))
    return found


def draw(tables: Tables, look: Look) -> dict[str, Picture]:
    """Percentiles and held ACKs by the number of connections."""
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
        place.set(title=title, xlabel="connections")
        place.set_yscale("log")
    handles, labels = axes[0].get_legend_handles_labels()
    picture.legend(handles, labels, loc="outside lower center", ncols=5, fontsize=9, handlelength=2.8)
    return {"rtt": picture}


READING = """\
**Does not.** The median of the smoothed RTT is 2.8 times the paper's and the 99th percentile 3.2 times; about twice
as many ACKs wait. Little's law ties the three: 100 connections share the link, so an RTT of 1.3 ms means 1.1 segments
per connection in flight or waiting, and 3.6 ms (eq. (9)) three. Ours have windows of more than 3 segments: in slow
start windows grow until a first mark, and PAC's hold of an acknowledgement does not stop that. The paper's flows are
at their minimum ("considering ECN is enabled, W should be close to minimal"), so marks reach its senders earlier than
ours. Without marks ("no marks") windows grow freely and the RTT is 9 to 20 ms.

**No timeouts**, and none that PAC's delays cause, with a least timeout of 200 ms. With 10 ms a 99th percentile of
more than 10 ms would not be safe, which the paper claims; not tested here.
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
    captions={"rtt": "Smoothed round-trip times and the longest queue of ACKs, means over the runs"},
    reading=READING,
)
