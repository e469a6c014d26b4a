"""The paper's ns-2 simulations at 1 Gbps, Table II: goodput of PAC, DCTCP and ICTCP against the number of senders, each
with one connection, all at one switch. Buffer 96 KB, base RTT 120 us, least timeout 200 ms, DCTCP's K 10 packets and
g 1/16, ICTCP's gamma2 0.15, first windows of 2 segments, New Reno under PAC and ICTCP, no delayed ACKs.

Unstated, and chosen here:

* **Volume** (PAC-18): 64 KB per sender, the volume that the paper names for Figs. 2 and 3.
* **Rounds**: five seeds of 4 (quick: 1), 10 ms apart, each over new connections whose handshake counts; goodput is the
  mean over rounds of all bytes by the time from the start to the last arrival.
* **Random delay**: 0 to 10 us at a host for each packet, uniform.
* **Start**: all senders of a round open their connection at the same instant.
* **Frames**: ns-2's, a payload and 40 B; the buffer counts these.
* **ECN** (PAC-20): New Reno under PAC reacts to marks as in RFC 3168.
* **Where goodput starts to fall**: the first number of senders with less than 90 % of the highest goodput so far, in
  steps of one sender around it; a mean over the seeds.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl
from matplotlib.figure import Figure as Picture

from clearway.reproduce import judge, stats
from clearway.reproduce.claims import Finding, claim
from clearway.reproduce.figure import Figure, Job, Tables
from clearway.reproduce.look import Look
from clearway.reproduce.pac import common
from clearway.reproduce.pac.common import ABOUT_READINGS, fall, least, most, plot, point

SENDERS = (4, 8, 16, 24, 32, 40, 60, 80, 100, 150, 200, 300, 400)
WINDOWS = {
    "dctcp": {"name": "dctcp", "profile": "pac-ns2", "g": 0.0625, "handshake": True},
    "ictcp": {"name": "ictcp", "profile": "ns2", "handshake": True},
}
TRANSPORTS: dict[str, dict[str, Any]] = {**common.readings({"profile": "ns2-1g"}), **WINDOWS}
#: Further numbers of senders for window-based schemes: one by one around the fall.
AROUND = {"96 KB": range(25, 48), "150 KB": range(40, 66)}
#: DCTCP and ICTCP also at the testbed's buffer, for what the paper says of the difference.
LARGER = "150 KB"
#: The number of senders from which on DCTCP and ICTCP have collapsed: the next beyond the paper's 40.
BEYOND = 60


def points(name: str, buffer: str) -> list[int]:
    """The numbers of senders of a transport."""
    if name not in WINDOWS:
        return list(SENDERS)
    coarse = SENDERS if buffer != LARGER else (8, 16, 32)
    return sorted({*coarse, *AROUND[buffer]})


def scenario(scale: str, buffer: str, transport: Mapping[str, Any], senders: int) -> dict[str, Any]:
    """Rounds at the paper's switch."""
    return common.incast(
        common.star(senders + 1, delay="23.84 us"),
        transport,
        senders=senders,
        rounds=common.ROUNDS[scale],
        buffer=buffer,
        network=common.NS2_FRAMES,
        size="64 KB",
    )


def jobs(scale: str) -> list[Job]:
    """Every transport and number of senders."""
    found = []
    for buffer, transports in (("96 KB", TRANSPORTS), (LARGER, WINDOWS)):
        senders = {name: points(name, buffer) for name in transports}

        def one(transport: Mapping[str, Any], count: int, buffer: str = buffer) -> dict[str, Any]:
            return scenario(scale, buffer, transport, count)

        found += common.jobs(transports, senders, one, buffer=buffer)
    return found


def summarise(tables: Tables) -> Tables:
    """For reading: what all transports were run at."""
    rows = tables["rows"]
    small = rows.filter((pl.col("buffer") == "96 KB") & pl.col("senders").is_in(SENDERS))
    near = rows.filter(pl.col("transport").is_in(list(WINDOWS)) & ~pl.col("senders").is_in(SENDERS))
    return {**tables, "shown": common.shown(small), "near": common.shown(near, "buffer")}


def check(tables: Tables) -> list[Finding]:
    """The verdicts on the figure's claims."""
    rows = tables["rows"].filter(pl.col("buffer") == "96 KB")
    larger = tables["rows"].filter(pl.col("buffer") == LARGER)
    at = {name: fall(rows, name) for name in WINDOWS}
    here = claim("pac", "fig13-1g-collapse-point")
    farther = max(at, key=lambda name: abs(at[name].mean - here.number()))
    note = ", ".join(f"{name.upper()} {point(value)}" for name, value in at.items())
    steady = shape(rows, BEYOND)
    note = f"{note}; the farther one is judged"
    found = [judge.judge(here, {"value": at[farther], **steady}, form=".1f", note=note)]

    low, high = least(rows, "pac", BEYOND), {name: most(rows, name, BEYOND) for name in WINDOWS}
    text = f"from {BEYOND} senders on: PAC at least {low:.0f}, DCTCP at most {high['dctcp']:.0f}, "
    text += f"ICTCP at most {high['ictcp']:.0f} Mbps"
    far = {f"PAC over {name.upper()}": common.ahead(rows, "pac", name, BEYOND) for name in WINDOWS}
    note = "; ".join(
        f"{name}: at least {least(rows, name, BEYOND):.0f}" for name in TRANSPORTS if name.startswith("pac,")
    )
    found.append(judge.judge(claim("pac", "fig13-pac-ordering"), far, text=text, note=note))

    more = {name: fall(larger, name) for name in WINDOWS}
    text = "; ".join(f"{name.upper()}: {point(at[name])} at 96 KB, {point(more[name])} at 150 KB" for name in WINDOWS)
    here = claim("pac", "fig13-buffer-sensitivity")
    proof = (
        "sec. V-A has DCTCP's goodput fall from 36 connections on, on the testbed, and sec. V-E from around 40 on in "
    )
    proof += (
        "ns-2, which is no fewer; eq. (7) too gives 36.1 and (96 + 15) / 3 = 37.0, since first windows have 3 and 2 "
    )
    proof += "segments. With the same first windows of 2 segments both schemes support more with the larger buffer"
    return [*found, judge.contradiction(here, proof, measured=text)]


def shape(rows: pl.DataFrame, beyond: int) -> dict[str, judge.Measured]:
    """The quantities behind the words of Figs. 13 and 14: all start high, and only PAC does not collapse."""

    def best(one: pl.DataFrame) -> float:
        return float(max(one["goodput_bps"]))

    def low(one: pl.DataFrame) -> float:
        return float(one.filter(pl.col("senders") >= beyond)["goodput_bps"].to_numpy().min())

    found: dict[str, judge.Measured] = {"PAC, least over the best before": common.kept(rows, "pac")}
    for name in WINDOWS:
        found[f"{name.upper()}'s best over PAC's"] = common.compared(rows, name, "pac", best)
        found[f"PAC's least beyond, over {name.upper()}'s best"] = stats.paired_ratio(
            common.draws(rows, "pac", low), common.draws(rows, name, best)
        )
        found[f"{name.upper()}, least over the best before"] = common.kept(rows, name)
    return found


def facts(tables: Tables) -> dict[str, object]:
    """The numbers that the prose names."""
    rows = tables["rows"].filter(pl.col("buffer") == "96 KB")
    larger = tables["rows"].filter(pl.col("buffer") == LARGER)
    return {
        "pac_least": least(rows, "pac", 24).mean,
        "pac_most": most(rows, "pac", 24).mean,
        "pac_timeouts": common.timeouts(rows, "pac"),
        "dctcp": fall(rows, "dctcp"),
        "ictcp": fall(rows, "ictcp"),
        "dctcp_larger": fall(larger, "dctcp"),
        "ictcp_larger": fall(larger, "ictcp"),
        "before": most(rows, "dctcp").mean,
        "after": most(rows, "dctcp", 60).mean,
        "eq6_least": least(rows, "pac, eq. (6)", 24).mean,
        "eq6_timeouts": common.timeouts(rows, "pac, eq. (6)"),
        "print_most": most(rows, "pac, print", 60).mean,
        "code_most": most(rows, "pac, code", 60).mean,
    }


def draw(tables: Tables, look: Look) -> dict[str, Picture]:
    """The paper's three, and PAC's readings."""
    rows = tables["rows"].filter(pl.col("buffer") == "96 KB")
    parts = {
        "PAC, DCTCP, ICTCP": rows.filter(pl.col("transport").is_in(["pac", "dctcp", "ictcp"])),
        "Readings of PAC": rows.filter(pl.col("transport").str.starts_with("pac")),
    }
    return {"goodput": plot(look, parts, (4, 8, 16, 40, 100, 200, 400), 1000)}


FIGURE = Figure(
    name="pac/fig13",
    title="PAC, Fig. 13: goodput against the number of senders at 1 Gbps",
    doc=__doc__ + "\n" + ABOUT_READINGS,
    jobs=jobs,
    measure=common.measure,
    summarise=summarise,
    check=check,
    draw=draw,
    claims=("fig13-1g-collapse-point", "fig13-pac-ordering", "fig13-buffer-sensitivity"),
    facts=facts,
    shown={
        "shown": "Goodput in Mbps, mean of rounds and seeds; a star: timeouts in at least one round.",
        "near": "The same around the fall of the window-based schemes.",
    },
    captions={"goodput": "Goodput (mean of rounds and seeds) and share of rounds with timeouts"},
)
