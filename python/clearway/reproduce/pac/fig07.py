"""Incast at the edge on the paper's testbed (Figs. 5, 7, 8; Table I), simulated: 38 hosts at a switch of 1 Gbps,
several connections per host, barrier-synchronised rounds, 150 KB at the congested port, base RTT 100 us, K 10 packets,
PAC's threshold from 80 KB, first windows of 3 segments, ICTCP's least window 2 segments and gamma2 0.5, least timeout
200 ms. Goodput and the share of rounds with at least one timeout.

Unstated, and chosen here:

* **Volumes** (PAC-18): 32 KB per connection, 64 KB per connection, and 2 MB in total. Claims that name none are judged
  at 64 KB. The one that says "32KB per server" is judged by these words: a server has three connections (sec. IV-B),
  which share 32 KB.
* **Frames**: ACKs of 66 B as in sec. IV-A, so TCP options of 12 B, and 1,448 B of payload in a frame.
* **Rounds**: the paper's 20; five seeds of 4 (quick: 1), each over new connections that start at once.
* **Connections** go around the 37 other hosts.
* **Random delay**: as in Fig. 13, 0 to 10 us at a host for each packet. The testbed's own is not known, nor is its
  background traffic; offloads are not simulated.
* **Where goodput starts to fall**: as in [Fig. 13](pac-fig13.md), in steps of one connection around it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import polars as pl
from matplotlib.figure import Figure as Picture

from clearway.reproduce import judge
from clearway.reproduce.claims import Finding, claim
from clearway.reproduce.figure import Figure, Job, Tables
from clearway.reproduce.look import Look
from clearway.reproduce.pac import common
from clearway.reproduce.pac.common import (
    ABOUT_READINGS,
    fall,
    first_timeout,
    least,
    mbps,
    plot,
    timeouts,
)
from clearway.reproduce.stats import Estimate, estimate

SENDERS = (3, 5, 10, 15, 20, 24, 28, 36, 44, 52, 60, 80, 100)
#: Further numbers of senders for window-based schemes: one by one around the fall.
AROUND = range(25, 60)
BUFFER = "150 KB"
FRAMES = common.TESTBED_FRAMES
WORKLOADS = {
    "32 KB each": {"size": "32 KB"},
    "64 KB each": {"size": "64 KB"},
    "2 MB in total": {"total": "2 MB"},
}
#: "10 connections at 32KB per server", with three connections at each.
PER_SERVER = {"size": "10667 B"}
#: The workload at which claims are judged that name none.
MAIN = "64 KB each"
WINDOWS = {
    "dctcp": {"name": "dctcp", "profile": "pac-testbed", "g": 0.0625, "handshake": True},
    "ictcp": {"name": "ictcp", "profile": "testbed", "handshake": True},
}
TRANSPORTS: dict[str, dict[str, Any]] = {**common.readings({"profile": "testbed"}), **WINDOWS}


def jobs(scale: str) -> list[Job]:
    """Every workload, transport and number of connections; PAC's readings and the fine steps with one workload."""
    found = []
    for workload, volume in (WORKLOADS | {"32 KB per server": PER_SERVER}).items():

        def scenario(transport: Mapping[str, Any], senders: int, volume: Mapping[str, str] = volume) -> dict[str, Any]:
            return common.incast(
                common.star(38),
                transport,
                senders=senders,
                rounds=common.ROUNDS[scale],
                buffer=BUFFER,
                network=FRAMES,
                **volume,
            )

        chosen = {name: one for name, one in TRANSPORTS.items() if workload == MAIN or not name.startswith("pac,")}
        near = sorted({*SENDERS, *AROUND})
        coarse = list(SENDERS) if workload in WORKLOADS else [10]
        senders = {name: near if name in WINDOWS and workload == MAIN else coarse for name in chosen}
        found += common.jobs(chosen, senders, scenario, workload=workload)
    return found


def summarise(tables: Tables) -> Tables:
    """Means over the seeds, as the page shows them, beside the tables of the runs."""
    rows = tables["rows"]
    coarse = rows.filter(pl.col("senders").is_in(SENDERS))
    near = rows.filter(
        (pl.col("workload") == MAIN) & pl.col("transport").is_in(list(WINDOWS)) & pl.col("senders").is_in(AROUND)
    )
    return {**tables, "shown": common.shown(coarse, "workload"), "near": common.shown(near)}


def check(tables: Tables) -> list[Finding]:
    """The verdicts on the figure's claims."""
    parts = {name: tables["rows"].filter(pl.col("workload") == name) for name in WORKLOADS}
    rows = parts[MAIN]
    here = claim("pac", "fig05-edge-topology")
    packets = f"{BUFFER} at the congested port, a star of 38 hosts at 1 Gbps, base RTT 100 us"
    found = [judge.given(here, packets, measured=BUFFER)]

    here = claim("pac", "fig07-pac-no-collapse-at-100")
    at = {name: mbps(part, "pac", 100) for name, part in parts.items()}
    note = "; ".join(f"{name}: {value:.0f}" for name, value in at.items() if name != MAIN)
    note += "; least over the best with fewer connections: "
    note += ", ".join(f"{common.kept(part, 'pac'):.2f}" for part in parts.values()) + "; readings: "
    note += ", ".join(f"{name} {mbps(rows, name, 100):.0f}" for name in TRANSPORTS if name.startswith("pac,"))
    steady = {f"{name}, least over the best before": common.kept(part, "pac") for name, part in parts.items()}
    found.append(judge.judge(here, {"value": at[MAIN], **steady}, form=".0f", note=note))

    falls = {name: fall(rows, name) for name in WINDOWS}
    here = claim("pac", "fig07-collapse-points")
    found.append(judge.judge(here, {name.upper(): falls[name] for name in ("ictcp", "dctcp")}, form=".1f"))

    here = claim("pac", "fig07-goodput-10-connections")
    per_server = tables["rows"].filter(pl.col("workload") == "32 KB per server")
    ten = {name: mbps(per_server, name, 10) for name in ("pac", "dctcp")}
    other = {name: mbps(parts["32 KB each"], name, 10) for name in ten}
    note = f"DCTCP is ahead by {lead(per_server):.1f} Mbps; "
    note += f"32 KB per connection: PAC {other['pac']:.0f}, DCTCP {other['dctcp']:.0f}, ahead by "
    note += f"{lead(parts['32 KB each']):.1f}"
    measured: dict[str, judge.Measured] = {name.upper(): value for name, value in ten.items()}
    found.append(judge.judge(here, {**measured, "lead of DCTCP, Mbps": lead(per_server)}, form=".0f", note=note))

    here = claim("pac", "fig07-ordering")
    text = f"PAC {sustained(rows, 'pac')}, ICTCP {sustained(rows, 'ictcp')}, DCTCP {sustained(rows, 'dctcp')}"
    orders = {
        f"{ours.upper()} over {theirs.upper()}": common.compared(rows, ours, theirs, sustains)
        for ours, theirs in (("pac", "ictcp"), ("ictcp", "dctcp"))
    }
    found.append(judge.judge(here, orders, text=text))

    here = claim("pac", "fig08-timeout-ratio-edge")
    count = sum(timeouts(part, "pac") for part in parts.values())
    measured = {
        "PAC_ratio": max(common.timeout_ratio(part, "pac") for part in parts.values()),
        "DCTCP_starts_at": first_timeout(rows, "dctcp"),
    }
    note = f"PAC: {count} timeouts in all rounds of all workloads"
    return [*found, judge.judge(here, measured, form=".1f", note=note)]


def lead(rows: pl.DataFrame) -> Estimate:
    """By how much DCTCP's goodput exceeds PAC's with 10 connections, in Mbps, paired by seed."""
    ours, theirs = (
        common.draws(rows.filter(pl.col("senders") == 10), name, common.at(10)) for name in ("dctcp", "pac")
    )
    return estimate([(one - other) / 1e6 for one, other in zip(ours, theirs, strict=True)])


def sustains(one: pl.DataFrame) -> int:
    """The number of connections at which goodput starts to fall in one seed's sweep, or the last that was run."""
    return common.falls_at(one) or SENDERS[-1]


def sustained(rows: pl.DataFrame, name: str) -> str:
    """That number in words."""
    found = fall(rows, name)
    return f"beyond {SENDERS[-1]}" if math.isnan(found.mean) else f"{found:.1f}"


def facts(tables: Tables) -> dict[str, object]:
    """The numbers that the prose names."""
    parts = {name: tables["rows"].filter(pl.col("workload") == name) for name in WORKLOADS}
    rows, small = parts[MAIN], parts["32 KB each"]
    per_server = tables["rows"].filter(pl.col("workload") == "32 KB per server")
    return {
        "server_pac": mbps(per_server, "pac", 10),
        "server_dctcp": mbps(per_server, "dctcp", 10),
        "lead": lead(per_server),
        "pac_least": least(rows, "pac", 20).mean,
        "pac_most": common.most(rows, "pac", 20).mean,
        "pac_100": mbps(rows, "pac", 100),
        "pac_100_small": mbps(small, "pac", 100),
        "dctcp": fall(rows, "dctcp"),
        "ictcp": fall(rows, "ictcp"),
        "pac_10": mbps(small, "pac", 10),
        "dctcp_10": mbps(small, "dctcp", 10),
        "first": first_timeout(rows, "dctcp"),
        "eq6": mbps(rows, "pac, eq. (6)", 100),
        "print_100": mbps(rows, "pac, print", 100),
        "code_60": mbps(rows, "pac, code", 60),
        "code_100": mbps(rows, "pac, code", 100),
    }


def draw(tables: Tables, look: Look) -> dict[str, Picture]:
    """Workloads, and readings."""
    main = tables["rows"].filter(pl.col("transport").is_in(["pac", "dctcp", "ictcp"]))
    parts = {name: main.filter(pl.col("workload") == name) for name in WORKLOADS}
    readings = tables["rows"].filter((pl.col("workload") == MAIN) & pl.col("transport").str.starts_with("pac"))
    ticks = (3, 5, 10, 20, 40, 100)
    return {
        "goodput": plot(look, parts, ticks, 1000),
        "readings": plot(look, {f"Readings of PAC, {MAIN}": readings}, ticks, 1000),
    }


FIGURE = Figure(
    name="pac/fig07",
    title="PAC, Fig. 7 and 8: incast at the edge, goodput and timeouts",
    doc=__doc__ + "\n" + ABOUT_READINGS,
    jobs=jobs,
    measure=common.measure,
    summarise=summarise,
    check=check,
    draw=draw,
    claims=(
        "fig05-edge-topology",
        "fig07-pac-no-collapse-at-100",
        "fig07-collapse-points",
        "fig07-goodput-10-connections",
        "fig07-ordering",
        "fig08-timeout-ratio-edge",
    ),
    facts=facts,
    shown={
        "shown": "Goodput in Mbps, mean of rounds and seeds; a star: timeouts in at least one round.",
        "near": f"The same around the fall of the window-based schemes, {MAIN}.",
    },
    captions={
        "goodput": "Goodput and share of rounds with timeouts, by workload",
        "readings": "The readings of PAC, 64 KB per connection",
    },
)
