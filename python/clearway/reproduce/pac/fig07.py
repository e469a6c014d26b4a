"""Incast at the edge on the paper's testbed (Figs. 5, 7, 8; Table I), simulated: 38 hosts at a switch of 1 Gbps,
several connections per host, barrier-synchronised rounds, 150 KB at the congested port, base RTT 100 us, K 10 packets,
PAC's threshold from 80 KB, first windows of 3 segments, ICTCP's least window 2 segments and gamma2 0.5, least timeout
200 ms. Goodput and the share of rounds with at least one timeout.

Unstated, and chosen here:

* **Volumes** (PAC-18): 32 KB per connection, 64 KB per connection, and 2 MB in total. Claims that name none are judged
  at 64 KB. The one that says "32KB per server" is judged by these words: a server has three connections (sec. IV-B),
  which share 32 KB.
* **Frames**: ACKs of 66 B as in sec. IV-A, so TCP options of 12 B, and 1,448 B of payload in a frame.
* **Rounds**: the paper's 20; five seeds of 4 (quick: 1), each over new connections that start at once. With 32 KB per
  server 20 seeds of 4, also with random delays of 0 to 0, 15 and 20 us.
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

from clearway.reproduce import judge, stats
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
#: Random delays at hosts up to so many microseconds, for those connections: the testbed's own is not known.
DELAYS = (0, 10, 15, 20)
#: Seeds of those runs, whose difference is small.
MORE_SEEDS = range(1, 21)
#: The workload at which claims are judged that name none.
MAIN = "64 KB each"
#: PAC with senders that ignore marks, so that its threshold stays at the buffer.
BLIND = "pac, no marks"
WINDOWS = {
    "dctcp": {"name": "dctcp", "profile": "pac-testbed", "g": 0.0625, "handshake": True},
    "ictcp": {"name": "ictcp", "profile": "testbed", "handshake": True},
}
#: The transports of which the paper says who leads with few connections.
LEADERS = ("pac", "dctcp")
TRANSPORTS: dict[str, dict[str, Any]] = {**common.readings({"profile": "testbed"}), **WINDOWS}


def jobs(scale: str) -> list[Job]:
    """Every workload, transport and number of connections; PAC's readings and the fine steps with one workload."""
    found = []
    for workload, volume in WORKLOADS.items():

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

        chosen = {name: one for name, one in TRANSPORTS.items() if runs(name, workload)}
        near = sorted({*SENDERS, *AROUND})
        senders = {name: near if name in WINDOWS and workload == MAIN else list(SENDERS) for name in chosen}
        found += common.jobs(chosen, senders, scenario, workload=workload)
    return [*found, *(few(name, delay, seed) for name in LEADERS for delay in DELAYS for seed in MORE_SEEDS)]


def few(name: str, delay: int, seed: int) -> Job:
    """Ten connections that share 32 KB a server; both scales run four rounds, since the difference is small."""
    scenario = common.incast(
        common.star(38), TRANSPORTS[name], senders=10, rounds=4, buffer=BUFFER, network=FRAMES, **PER_SERVER
    )
    scenario["host"] = {"processing_delay": {"uniform": ["0 s", f"{delay} us"]}}
    params = {"transport": name, "workload": per_server(delay), "senders": 10, "seed": seed}
    return Job(params, scenario | {"seed": seed})


def per_server(delay: int) -> str:
    """The name of that workload with random delays up to so many microseconds."""
    return f"32 KB per server, 0 to {delay} us"


#: The delays that all figures of the paper have.
PAPERS = per_server(10)


def runs(name: str, workload: str) -> bool:
    """True for a transport that runs under a workload: readings under one, PAC without marks under all that are its."""
    return workload == MAIN or not name.startswith("pac,") or name == BLIND


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
    blind = judge.Change(
        "With 32 KB each, marks take the windows of a short round down to one segment, most with 5 connections. "
        "Senders that ignore marks show no degradation.",
        supported(parts, BLIND),
    )
    found.append(judge.judge(here, supported(parts, "pac"), form=".0f", note=note, cause=blind))

    falls = {name: fall(rows, name) for name in WINDOWS}
    here = claim("pac", "fig07-collapse-points")
    found.append(judge.judge(here, {name.upper(): falls[name] for name in ("ictcp", "dctcp")}, form=".1f"))

    here = claim("pac", "fig07-goodput-10-connections")
    other = {name: ten(tables, "32 KB each", name) for name in LEADERS}
    note = f"DCTCP is ahead by {lead(tables, PAPERS):.1f} Mbps; "
    note += f"32 KB per connection: PAC {other['pac']:.0f}, DCTCP {other['dctcp']:.0f}, ahead by "
    note += f"{lead(tables, '32 KB each'):.1f}"
    measured: dict[str, judge.Measured] = {name.upper(): ten(tables, PAPERS, name) for name in LEADERS}
    ahead = ", ".join(f"{lead(tables, per_server(delay)).mean:.0f} Mbps with up to {delay} us" for delay in DELAYS)
    open_ = judge.Unstated(f"The paper does not state the random delay of its hosts, on which the lead hangs: {ahead}")
    measured["lead of DCTCP, Mbps"] = lead(tables, PAPERS)
    found.append(judge.judge(here, measured, form=".0f", note=note, cause=open_))

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


def supported(parts: Mapping[str, pl.DataFrame], name: str) -> dict[str, judge.Measured]:
    """Goodput with 100 connections, and how little it falls on the way under each workload."""
    steady = {f"{workload}, least over the best before": common.kept(part, name) for workload, part in parts.items()}
    return {"value": mbps(parts[MAIN], name, 100), **steady}


def ten(tables: Tables, workload: str, name: str) -> Estimate:
    """Goodput with 10 connections in Mbps, over all seeds that were run."""
    return stats.over_seeds(tables["rows"], pl.col("goodput_bps") / 1e6, workload=workload, transport=name, senders=10)


def lead(tables: Tables, workload: str) -> Estimate:
    """By how much DCTCP's goodput exceeds PAC's with 10 connections, in Mbps, paired by seed."""
    theirs, ours = (ten(tables, workload, name).draws for name in LEADERS)
    return estimate([one - other for one, other in zip(ours, theirs, strict=True)])


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
    return {
        "server_pac": ten(tables, PAPERS, "pac"),
        "server_dctcp": ten(tables, PAPERS, "dctcp"),
        "lead": lead(tables, PAPERS),
        **{f"lead_{delay}": lead(tables, per_server(delay)) for delay in DELAYS},
        "blind": common.kept(small, BLIND),
        "small_5": mbps(small, "pac", 5).mean,
        "blind_5": mbps(small, BLIND, 5).mean,
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
