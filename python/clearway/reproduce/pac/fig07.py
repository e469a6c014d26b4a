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
    holds_everywhere,
    least,
    mbps,
    plot,
    point,
    timeouts,
)

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
    found = [judge.number(here, float(BUFFER.split()[0]), form=".0f", note=packets)]

    here = claim("pac", "fig07-pac-no-collapse-at-100")
    at = {name: mbps(part, "pac", 100) for name, part in parts.items()}
    steady = all(holds_everywhere(part, "pac", 0.9) for part in parts.values())
    note = "; ".join(f"{name}: {value:.0f}" for name, value in at.items() if name != MAIN)
    note += f"; no workload degrades: {'yes' if steady else 'no'}; readings: "
    note += ", ".join(f"{name} {mbps(rows, name, 100):.0f}" for name in TRANSPORTS if name.startswith("pac,"))
    found.append(judge.number(here, at[MAIN], trend=steady, form=".0f", note=note))

    falls = {name: fall(rows, name) for name in WINDOWS}
    here = claim("pac", "fig07-collapse-points")
    order = judge.above(falls["ictcp"], falls["dctcp"].high)
    found.append(
        judge.number(here, {name.upper(): falls[name] for name in ("ictcp", "dctcp")}, trend=order, form=".1f")
    )

    here = claim("pac", "fig07-goodput-10-connections")
    per_server = tables["rows"].filter(pl.col("workload") == "32 KB per server")
    ten = {name: mbps(per_server, name, 10) for name in ("pac", "dctcp")}
    ahead = judge.above(ten["dctcp"], ten["pac"].high)
    other = {name: mbps(parts["32 KB each"], name, 10) for name in ten}
    note = f"32 KB per connection: PAC {other['pac']:.0f}, DCTCP {other['dctcp']:.0f}"
    found.append(judge.number(here, {n.upper(): ten[n] for n in ("pac", "dctcp")}, trend=ahead, form=".0f", note=note))

    here = claim("pac", "fig07-ordering")
    text = f"PAC beyond 100, ICTCP {point(falls['ictcp'])}, DCTCP {point(falls['dctcp'])}"
    orders = {"PAC > ICTCP": holds_everywhere(rows, "pac", 0.9), "ICTCP > DCTCP": order}
    found.append(judge.statement(here, text, orders, seeds=5))

    here = claim("pac", "fig08-timeout-ratio-edge")
    first = first_timeout(rows, "dctcp")
    count = sum(timeouts(part, "pac") for part in parts.values())
    measured: dict[str, judge.Measured] = {"PAC_ratio": float(count > 0), "DCTCP_starts_at": first}
    found.append(judge.number(here, measured, form=".1f", note=f"PAC: {count} timeouts in all rounds of all workloads"))
    return found


def facts(tables: Tables) -> dict[str, object]:
    """The numbers that the prose names."""
    parts = {name: tables["rows"].filter(pl.col("workload") == name) for name in WORKLOADS}
    rows, small = parts[MAIN], parts["32 KB each"]
    per_server = tables["rows"].filter(pl.col("workload") == "32 KB per server")
    return {
        "server_pac": mbps(per_server, "pac", 10),
        "server_dctcp": mbps(per_server, "dctcp", 10),
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
