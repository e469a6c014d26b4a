"""A shaper that releases ACKs at a fixed rate, 40K, 60K and 80K a second, 64 KB per connection, 1 Gbps, on the paper's
testbed, simulated: why ACKs must be released by what they trigger.

Unstated, and chosen here:

* **Connections** stay open over the rounds, so that what a sender learned of the network, its slow-start threshold,
  outlives a round; Linux keeps it for new connections to a known host as well. "new": connections that know nothing.
* **Rounds**: five seeds of 20; the first 5, in which slow start still ends for the first time, are left out.
* **Buffer**: 100 KB, the paper's "around 100 KB per port"; also 150 KB, which section V uses.
* **Connections**: up to 36. From 37 on, windows of two segments do not fit into 100 KB and a round trip (eq. (1)),
  however slowly ACKs come.
* **Hosts**: 38; base RTT 100 us; random delays of 0 to 10 us; TCP options of 12 B.
* **TCP**: New Reno, first windows of 3 segments, least timeout 200 ms, no ECN. SYN-ACKs are shaped too.

"pac" is PAC in the same setting over new connections, its ECN mark at 10 packets.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl
from matplotlib.figure import Figure as Picture

from clearway import metrics
from clearway.reproduce import judge, quantities
from clearway.reproduce.claims import Finding, claim
from clearway.reproduce.figure import Figure, Job, Tables
from clearway.reproduce.look import Look
from clearway.reproduce.pac import common
from clearway.reproduce.pac.common import CAPACITY, each, mbps, plot
from clearway.reproduce.stats import Estimate
from clearway.result import Run

SENDERS = (4, 8, 12, 16, 20, 24, 28, 32, 36)
#: Number of senders from which on the shaper decides, not the round trip of a few flows.
FEW = 8
BUFFERS = ("100 KB", "150 KB")
RATES = {"40K/s": 40_000, "60K/s": 60_000, "80K/s": 80_000}
#: Rounds that are run, and those at the start that don't count.
ROUNDS, START = 20, 5


def jobs(scale: str) -> list[Job]:
    """Rates and buffers; at the full scale also new connections. PAC once."""
    shapers = {
        name: {"name": "ack-shaper", "profile": "testbed", "acks_per_second": rate} for name, rate in RATES.items()
    }
    found = []
    for buffer in BUFFERS:
        for kind in ("open", "new") if scale == "paper" or buffer == BUFFERS[0] else ("open",):

            def scenario(
                transport: Mapping[str, Any], senders: int, buffer: str = buffer, kind: str = kind
            ) -> dict[str, Any]:
                return common.incast(
                    common.star(38),
                    {**transport, "handshake": kind == "new"},
                    senders=senders,
                    rounds=ROUNDS,
                    buffer=buffer,
                    network=common.TESTBED_FRAMES,
                    size="64 KB",
                    connections="persistent" if kind == "open" else "per-round",
                )

            transports = dict(shapers)
            if kind == "new" and buffer == BUFFERS[0]:
                transports["pac"] = {"name": "pac", "profile": "testbed"}
            found += common.jobs(transports, SENDERS, scenario, buffer=buffer, kind=kind)
    return found


def measure(job: Job, run: Run) -> Tables:
    """The rounds after the start."""
    table = metrics.rounds(run.flows, job.params["senders"]).slice(START)
    row = {
        "goodput_bps": metrics.mean(table["goodput_bps"].to_numpy()),
        "timeout_ratio": metrics.timeout_ratio(table),
        "timeouts": int(table["timeouts"].sum()),
        "drops": quantities.data_drops(run),
    }
    return {"rows": pl.DataFrame([row])}


def part(tables: Tables, buffer: str = BUFFERS[0], kind: str = "open") -> pl.DataFrame:
    """The rows of a setting."""
    return tables["rows"].filter((pl.col("buffer") == buffer) & (pl.col("kind") == kind))


def summarise(tables: Tables) -> Tables:
    """Means over the seeds, as the page shows them, beside the tables of the runs."""
    return {**tables, "shown": common.shown(tables["rows"], "buffer", "kind")}


def mean(one: pl.DataFrame, name: str) -> float:
    """A measure averaged over the numbers of connections of one seed's sweep."""
    return float(one[name].to_numpy().mean())


def mean_goodput(one: pl.DataFrame) -> float:
    """The goodput averaged over the numbers of connections of one seed's sweep, in bit/s."""
    return mean(one, "goodput_bps")


def average(rows: pl.DataFrame, transport: str, name: str = "goodput_bps") -> Estimate:
    """A measure averaged over the numbers of connections from `FEW` on."""
    found = each(rows.filter(pl.col("senders") >= FEW), transport, lambda one: mean(one, name))
    return found.scaled(1e-6) if name == "goodput_bps" else found


def wasted(rows: pl.DataFrame, transport: str) -> Estimate:
    """The capacity of the link that the average goodput leaves unused, in Mbps."""
    return average(rows, transport).minus(CAPACITY).scaled(-1)


def check(tables: Tables) -> list[Finding]:
    """The verdicts on the figure's claims."""
    rows, new = part(tables), part(tables, kind="new")
    beyond = rows.filter(pl.col("senders") >= FEW)
    late = {name: common.timeouts(beyond, name) for name in RATES}
    hit = {name: average(rows, name, "timeout_ratio").mean for name in RATES}
    fresh = {name: average(new, name, "timeout_ratio").mean for name in RATES}

    here = claim("pac", "fig03-ack-shaper-40k")
    used = common.most(beyond, "40K/s").scaled(100 / CAPACITY)
    larger = common.most(part(tables, BUFFERS[1]).filter(pl.col("senders") >= FEW), "40K/s").scaled(100 / CAPACITY)
    note = f"{late['40K/s']} timeouts with {FEW} to {SENDERS[-1]} connections; 150 KB: {larger:.0f}; new connections: "
    note += f"{common.most(new, '40K/s').scaled(100 / CAPACITY):.0f}"
    found = [judge.judge(here, {"value": used, "timeouts": late["40K/s"]}, form=".0f", note=note)]

    here = claim("pac", "fig03-ack-shaper-60k-80k")
    note = f"rounds with timeouts over open connections: {100 * hit['60K/s']:.1f} % at 60K, "
    note += (
        f"{100 * hit['80K/s']:.0f} % at 80K, which falls to {common.least(beyond, '80K/s').mean:.0f} Mbps; over new "
    )
    note += f"ones {100 * fresh['40K/s']:.0f} % at 40K, {100 * fresh['60K/s']:.0f} % at 60K, which wastes "
    note += f"{wasted(new, '60K/s').mean:.0f} Mbps"
    opened = judge.Change(
        "Connections stay open here, so that senders know from the rounds before where they lost segments. Over new "
        "ones 60K ACKs a second do leave timeouts, and more of the link is wasted.",
        shaped(new),
    )
    found.append(judge.judge(here, shaped(rows), form=".0f", note=note, cause=opened))
    return [*found, general(new)]


def shaped(rows: pl.DataFrame) -> dict[str, judge.Measured]:
    """The timeouts and the goodput with 60K and 80K ACKs a second in a setting."""
    beyond = rows.filter(pl.col("senders") >= FEW)
    return {
        "wasted_at_60k": wasted(rows, "60K/s"),
        "60K/s, timeouts": common.timeouts(beyond, "60K/s"),
        "80K/s, timeouts": common.timeouts(beyond, "80K/s"),
        "80K/s, least goodput over the best": common.kept(beyond, "80K/s"),
    }


def general(new: pl.DataFrame) -> Finding:
    """The verdict on Fig. 1, over new connections, which alone are run under PAC too."""
    part = new.filter(pl.col("senders") >= FEW)
    lost = {name: int(part.filter(pl.col("transport") == name)["drops"].sum()) for name in ("40K/s", "80K/s", "pac")}
    slow, pac = average(new, "40K/s"), average(new, "pac")
    measured: dict[str, judge.Measured] = {
        "80K/s, frames lost": lost["80K/s"],
        "40K/s, frames lost": lost["40K/s"],
        "goodput, 40K/s over PAC": common.compared(part, "40K/s", "pac", mean_goodput),
        "PAC, frames lost": lost["pac"],
        "PAC, Mbps": pac,
    }
    text = f"frames lost: {lost['80K/s']:,} at 80K/s, {lost['40K/s']} at 40K/s, {lost['pac']} under PAC; goodput: "
    text += f"{slow:.0f} Mbps at 40K/s, {pac:.0f} under PAC"
    return judge.judge(claim("pac", "fig01-general-idea"), measured, text=text, note="over new connections")


def facts(tables: Tables) -> dict[str, object]:
    """The numbers that the prose names."""
    rows, new, larger = part(tables), part(tables, kind="new"), part(tables, BUFFERS[1])
    beyond = rows.filter(pl.col("senders") >= FEW)
    return {
        "slow": average(rows, "40K/s"),
        "slow_most": common.most(beyond, "40K/s").scaled(100 / CAPACITY),
        "middle": average(rows, "60K/s"),
        "wasted": wasted(rows, "60K/s").mean,
        "middle_hit": 100 * average(rows, "60K/s", "timeout_ratio").mean,
        "fast_hit": 100 * average(rows, "80K/s", "timeout_ratio").mean,
        "fast_least": common.least(beyond, "80K/s").mean,
        "new_slow": mbps(new, "40K/s", 16),
        "new_slow_hit": 100 * average(new, "40K/s", "timeout_ratio").mean,
        "new_middle": 100 * average(new, "60K/s", "timeout_ratio").mean,
        "larger_slow": average(larger, "40K/s"),
        "larger_wasted": wasted(larger, "60K/s").mean,
        "new_wasted": wasted(new, "60K/s").mean,
        "new_slow_average": average(new, "40K/s").mean,
        "slow_lost": int(rows.filter(pl.col("transport") == "40K/s")["drops"].sum()),
        "pac": average(new, "pac"),
    }


def draw(tables: Tables, look: Look) -> dict[str, Picture]:
    """The pictures of goodput and timeouts."""
    parts = {f"Buffer {buffer}": part(tables, buffer) for buffer in BUFFERS}
    parts["Buffer 100 KB, new connections"] = part(tables, kind="new")
    return {"goodput": plot(look, parts, (4, 8, 16, 32), 1000)}


FIGURE = Figure(
    name="pac/fig03",
    title="PAC, Fig. 1 and 3: ACKs released at a fixed rate",
    doc=__doc__,
    jobs=jobs,
    measure=measure,
    summarise=summarise,
    check=check,
    draw=draw,
    claims=("fig01-general-idea", "fig03-ack-shaper-40k", "fig03-ack-shaper-60k-80k"),
    facts=facts,
    shown={"shown": "Goodput in Mbps, mean of rounds and seeds; a star: timeouts in at least one round."},
    captions={"goodput": "Goodput and share of rounds with timeouts, by the rate at which ACKs are released"},
)
