"""Incast at the edge on the paper's testbed (Figs. 5, 7, 8; Table I), simulated: 38 hosts at a switch of 1 Gbps,
several connections per host, barrier-synchronised rounds, 150 KB at the congested port, base RTT 100 us, K 10 packets,
PAC's threshold from 80 KB, first windows of 3 segments, ICTCP's least window 2 segments and gamma2 0.5, least timeout
200 ms, 20 rounds. Goodput and the share of rounds with at least one timeout.

Unstated, and chosen here:

* **Volumes** (PAC-18): 32 KB per connection (the text names 32 KB "per server"), 64 KB per connection, and 2 MB in
  total.
* **Connections** go around the 37 other hosts.
* **Random delay**: as in Fig. 13, 0 to 10 us at a host for each packet. The testbed's own is not known, nor is its
  background traffic; offloads are not simulated.
* **Start**: all at once, each round over new connections.
"""

from __future__ import annotations

from typing import Any

import polars as pl
from matplotlib.figure import Figure as Picture

from clearway.reproduce.claims import Finding, claim, verdict
from clearway.reproduce.figure import Figure, Job, Tables
from clearway.reproduce.look import Look
from clearway.reproduce.pac import common
from clearway.reproduce.pac.common import (
    ABOUT_READINGS,
    collapse,
    first_timeout,
    least,
    mbps,
    never_halves,
    plot,
    point,
    within,
)

SENDERS = (3, 5, 10, 15, 20, 24, 28, 32, 34, 36, 38, 40, 44, 48, 52, 56, 60, 70, 80, 90, 100)
WORKLOADS = {
    "32 KB each": {"size": "32 KB"},
    "64 KB each": {"size": "64 KB"},
    "2 MB in total": {"total": "2 MB"},
}
TRANSPORTS: dict[str, dict[str, Any]] = {
    **common.readings({"profile": "testbed"}),
    "dctcp": {"name": "dctcp", "profile": "pac-testbed", "g": 0.0625, "handshake": True},
    "ictcp": {"name": "ictcp", "profile": "testbed", "handshake": True},
}


def jobs(scale: str) -> list[Job]:
    """Every workload, transport and number of connections; PAC's readings with one workload."""
    found = []
    for workload, volume in WORKLOADS.items():

        def scenario(transport: dict[str, Any], senders: int, volume: dict[str, str] = volume) -> dict[str, Any]:
            rounds = common.ROUNDS[scale]
            star = common.star(38)
            return common.incast(star, transport, senders=senders, rounds=rounds, buffer="150 KB", **volume)

        names = [name for name in TRANSPORTS if workload == "64 KB each" or not name.startswith("pac,")]
        found += common.jobs({name: TRANSPORTS[name] for name in names}, SENDERS, scenario, workload=workload)
    return found


def summarise(tables: Tables) -> Tables:
    """For reading."""
    return {**tables, "shown": common.shown(tables["rows"], "workload")}


def check(tables: Tables) -> list[Finding]:
    """The claims, at 64 KB each where the paper says nothing."""
    parts = {name: tables["rows"].filter(pl.col("workload") == name) for name in WORKLOADS}
    rows = parts["64 KB each"]
    here = claim("pac", "fig07-pac-no-collapse-at-100")
    at = {name: mbps(part, "pac", 100) for name, part in parts.items()}
    text = f"{at['64 KB each']:.0f} Mbps at 100 connections"
    falls = [name for name, part in parts.items() if not never_halves(part, "pac")]
    note = "; ".join(f"{name}: {value:.0f}" for name, value in at.items() if name != "64 KB each")
    note += "; readings at 64 KB: " + ", ".join(
        f"{name} {mbps(rows, name, 100):.0f}" for name in TRANSPORTS if name.startswith("pac,")
    )
    note += f"; least from 36 on {least(rows, 'pac', 36):.0f}"
    found = [Finding(here, text, verdict(here.holds(at["64 KB each"]) and not falls), note)]

    here = claim("pac", "fig07-collapse-points")
    last = {name: {work: collapse(part, name) for work, part in parts.items()} for name in ("ictcp", "dctcp")}
    holds = within(last["ictcp"]["64 KB each"], here.number("ICTCP"), here.tolerance)
    holds = holds and within(last["dctcp"]["64 KB each"], here.number("DCTCP"), here.tolerance)
    text = ", ".join(f"{name.upper()} {point(by['64 KB each'])}" for name, by in last.items())
    note = "; ".join(
        f"{work}: " + ", ".join(f"{name.upper()} {point(by[work])}" for name, by in last.items())
        for work in WORKLOADS
        if work != "64 KB each"
    )
    found.append(Finding(here, f"last before the fall: {text}", verdict(holds), note))

    here = claim("pac", "fig07-goodput-10-connections")
    ten = {name: mbps(parts["32 KB each"], name, 10) for name in ("pac", "dctcp")}
    holds = here.holds(ten["pac"], "PAC") and here.holds(ten["dctcp"], "DCTCP")
    text = f"PAC {ten['pac']:.0f}, DCTCP {ten['dctcp']:.0f} Mbps"
    note = f"DCTCP is {ten['dctcp'] - ten['pac']:.0f} Mbps ahead, in the paper 22"
    found.append(Finding(here, text, verdict(holds), note))

    here = claim("pac", "fig07-ordering")
    order = [collapse(rows, name) or 1_000 for name in ("pac", "ictcp", "dctcp")]
    text = f"PAC beyond 100, ICTCP {order[1]}, DCTCP {order[2]}" if order[0] == 1_000 else str(order)
    found.append(Finding(here, text, verdict(order[0] > order[1] > order[2])))

    here = claim("pac", "fig08-timeout-ratio-edge")
    ratio = tables["rows"].filter(pl.col("transport") == "pac")["timeout_ratio"].to_numpy().max()
    first = first_timeout(rows, "dctcp")
    holds = ratio == 0 and within(first, here.number("DCTCP_starts_at"), here.tolerance)
    note = "; ".join(f"{work}: DCTCP {point(first_timeout(part, 'dctcp'))}" for work, part in parts.items())
    text = f"PAC at most {100 * ratio:.0f} % of rounds, DCTCP from {point(first)} on"
    found.append(Finding(here, text, verdict(holds), note))
    return found


def draw(tables: Tables, look: Look) -> dict[str, Picture]:
    """Workloads, and readings."""
    main = tables["rows"].filter(pl.col("transport").is_in(["pac", "dctcp", "ictcp"]))
    parts = {name: main.filter(pl.col("workload") == name) for name in WORKLOADS}
    readings = tables["rows"].filter((pl.col("workload") == "64 KB each") & pl.col("transport").str.starts_with("pac"))
    ticks = (3, 5, 10, 20, 40, 100)
    return {
        "goodput": plot(look, parts, ticks, 1000),
        "readings": plot(look, {"Readings of PAC, 64 KB each": readings}, ticks, 1000),
    }


READING = """\
**Agrees.** The order PAC, ICTCP, DCTCP; ICTCP's 48 connections exactly; PAC never times out and has 880 to 910 Mbps
from 28 connections on, where the paper has around 900; goodput with 10 connections of 32 KB within 12 % of both
numbers.

**Does not: DCTCP's 36.** It falls after 28 connections and times out from 32 on. Eq. (7) gives 35 with frames of
1,538 B; less the 10 segments that the first unmarked acknowledgements let out it gives 31. On the testbed starts may
scatter more.

**Which readings matter.** Round-trip times that contain PAC's own delay ("handshake", the paper's default) make the
control interval grow with the queue of ACKs, and cost 80 Mbps at 100 connections ([Fig. 13](pac-fig13.md)). Eq. (6)
has 730 Mbps and no timeouts; together with round-trip times of handshakes it collapses (33 Mbps at 100 connections),
as does print.
"""

FIGURE = Figure(
    name="pac/fig07",
    title="PAC, Fig. 7 and 8: incast at the edge, goodput and timeouts",
    doc=__doc__ + "\n" + ABOUT_READINGS,
    jobs=jobs,
    measure=common.measure,
    summarise=summarise,
    check=check,
    draw=draw,
    shown={"shown": "Goodput in Mbps, mean of the rounds; a star: timeouts in at least one round."},
    captions={
        "goodput": "Goodput and share of rounds with timeouts, by workload",
        "readings": "The readings of PAC, 64 KB per connection",
    },
    reading=READING,
)
