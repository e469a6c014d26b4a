"""As [Fig. 13](pac-fig13.md) at 10 Gbps, Table II: buffer 375 KB, base RTT 80 us, K 65 packets. What Fig. 13 leaves
open is left open here too, and chosen alike: 64 KB per sender, 20 rounds (quick: 5) over new connections, random
delays of 0 to 10 us.
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
    never_halves,
    plot,
    point,
    within,
)

SENDERS = (8, 16, 32, 64, 96, 112, 120, 128, 136, 144, 152, 160, 176, 192, 224, 256, 320, 400)
TRANSPORTS: dict[str, dict[str, Any]] = {
    **common.readings({"profile": "ns2-10g"}),
    "dctcp": {"name": "dctcp", "profile": "pac-ns2", "g": 0.0625, "handshake": True},
    "ictcp": {"name": "ictcp", "profile": "ns2", "handshake": True},
}


def jobs(scale: str) -> list[Job]:
    """Every transport and number of senders."""

    def scenario(transport: dict[str, Any], senders: int) -> dict[str, Any]:
        return common.incast(
            common.star(senders + 1, "10 Gbps", "19.35 us"),
            transport,
            senders=senders,
            rounds=common.ROUNDS[scale],
            buffer="375 KB",
            marking="65 packets",
            size="64 KB",
        )

    return common.jobs(TRANSPORTS, SENDERS, scenario)


def check(tables: Tables) -> list[Finding]:
    """The claims."""
    rows = tables["rows"]
    here = claim("pac", "fig14-10g-collapse-points")
    last = {name: collapse(rows, name) for name in ("dctcp", "ictcp")}
    holds = within(last["dctcp"], here.number("DCTCP"), here.tolerance)
    holds = holds and within(last["ictcp"], here.number("ICTCP"), here.tolerance)
    text = f"last before the fall: DCTCP {point(last['dctcp'])}, ICTCP {point(last['ictcp'])}"
    first = ", ".join(f"{name} {point(first_timeout(rows, name))}" for name in ("pac", "dctcp", "ictcp"))
    note = f"first timeouts: {first}"
    found = [Finding(here, text, verdict(holds), note)]

    here = claim("pac", "fig14-pac-ordering")
    low = {name: least(rows, name, 176) for name in TRANSPORTS}
    high = {
        name: max(rows.filter((pl.col("transport") == name) & (pl.col("senders") >= 176))["goodput_bps"]) / 1e6
        for name in ("dctcp", "ictcp")
    }
    text = f"from 176 senders on: PAC at least {low['pac']:,.0f}, DCTCP at most {high['dctcp']:,.0f}, "
    text += f"ICTCP at most {high['ictcp']:,.0f} Mbps"
    note = "; ".join(f"{name}: at least {low[name]:,.0f}" for name in TRANSPORTS if name.startswith("pac,"))
    found.append(Finding(here, text, verdict(low["pac"] > 2 * max(high.values()) and never_halves(rows, "pac")), note))
    return found


def draw(tables: Tables, look: Look) -> dict[str, Picture]:
    """The paper's three, and PAC's readings."""
    rows = tables["rows"]
    parts = {
        "PAC, DCTCP, ICTCP": rows.filter(pl.col("transport").is_in(["pac", "dctcp", "ictcp"])),
        "Readings of PAC": rows.filter(pl.col("transport").str.starts_with("pac")),
    }
    return {"goodput": plot(look, parts, (8, 16, 32, 64, 128, 200, 400), 10, "Gbps")}


READING = """\
**Agrees.** DCTCP and ICTCP hold four times the senders that they hold at 1 Gbps, and collapse between 120 and 136.
For DCTCP the closed form of [Fig. 13](pac-fig13.md) gives 121, and 130 with frames of 1,460 B. PAC keeps 8.6 to
9.2 Gbps from 64 senders to 400, without a timeout.

**Senders send whole segments.** A window of two segments grows by half a segment with each acknowledgement, so every
second one lets out two. Eq. (3) counts one and a half for each, which is right on average only; and a round robin takes
all flows at the same half. Seen with 400 senders: as the threshold jumped from 200 to 375 KB, 175 KB of estimated
traffic let out 260 KB within 20 us and filled the buffer; 11 of 154 MB came that were no longer expected. Now the half
that did not come is remembered and expected with the next acknowledgement (`ledger.rs`). Before that PAC lost packets
from 176 senders on, and waited for timeouts of 200 ms.

**Eq. (6)** has no such memory, and times out from 144 senders on. **As printed** (first windows not controlled) PAC
collapses with DCTCP.
"""

FIGURE = Figure(
    name="pac/fig14",
    title="PAC, Fig. 14: goodput against the number of senders at 10 Gbps",
    doc=__doc__ + "\n" + ABOUT_READINGS,
    jobs=jobs,
    measure=common.measure,
    summarise=common.summarise,
    check=check,
    draw=draw,
    shown={"shown": "Goodput in Mbps, mean of the rounds; a star: timeouts in at least one round."},
    captions={"goodput": "Goodput (mean of the rounds) and share of rounds with timeouts"},
    reading=READING,
)
