"""As [Fig. 13](pac-fig13.md) at 10 Gbps, Table II: buffer 375 KB, base RTT 80 us, K 65 packets. What Fig. 13 leaves
open is left open here too, and chosen alike: 64 KB per sender over new connections, five seeds of 4 rounds (quick: 1),
random delays of 0 to 10 us, ns-2's frames.
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
from clearway.reproduce.pac import common, fig13
from clearway.reproduce.pac.common import ABOUT_READINGS, fall, least, most, plot, point

SENDERS = (8, 16, 32, 64, 96, 128, 160, 200, 256, 320, 400)
WINDOWS = {
    "dctcp": {"name": "dctcp", "profile": "pac-ns2", "g": 0.0625, "handshake": True},
    "ictcp": {"name": "ictcp", "profile": "ns2", "handshake": True},
}
TRANSPORTS: dict[str, dict[str, Any]] = {**common.readings({"profile": "ns2-10g"}), **WINDOWS}
#: Further numbers of senders for window-based schemes: one by one around the fall.
AROUND = range(112, 152)
#: Number of senders at which both have collapsed.
BEYOND = 160


def scenario(scale: str, transport: Mapping[str, Any], senders: int) -> dict[str, Any]:
    """Rounds at the paper's switch."""
    return common.incast(
        common.star(senders + 1, "10 Gbps", "19.384 us"),
        transport,
        senders=senders,
        rounds=common.ROUNDS[scale],
        buffer="375 KB",
        marking="65 packets",
        network=common.NS2_FRAMES,
        size="64 KB",
    )


def jobs(scale: str) -> list[Job]:
    """Every transport and number of senders."""
    near = sorted({*SENDERS, *AROUND})
    senders = {name: near if name in WINDOWS else list(SENDERS) for name in TRANSPORTS}
    return common.jobs(TRANSPORTS, senders, lambda transport, count: scenario(scale, transport, count))


def summarise(tables: Tables) -> Tables:
    """For reading: what all transports were run at."""
    rows = tables["rows"]
    near = rows.filter(pl.col("transport").is_in(list(WINDOWS)) & pl.col("senders").is_in(AROUND))
    return {**tables, "shown": common.shown(rows.filter(pl.col("senders").is_in(SENDERS))), "near": common.shown(near)}


def check(tables: Tables) -> list[Finding]:
    """The verdicts on the figure's claims."""
    rows = tables["rows"]
    at = {name: fall(rows, name) for name in WINDOWS}
    here = claim("pac", "fig14-10g-collapse-points")
    measured: dict[str, judge.Measured] = {"DCTCP": at["dctcp"], "ICTCP": at["ictcp"], **fig13.shape(rows, BEYOND)}
    found = [judge.judge(here, measured, form=".1f")]

    low, high = least(rows, "pac", BEYOND), {name: most(rows, name, BEYOND) for name in WINDOWS}
    text = f"from {BEYOND} senders on: PAC at least {low:,.0f}, DCTCP at most {high['dctcp']:,.0f}, "
    text += f"ICTCP at most {high['ictcp']:,.0f} Mbps; they fall at {point(at['dctcp'])} and {point(at['ictcp'])}"
    measured = {f"PAC over {name.upper()}": common.ahead(rows, "pac", name, BEYOND) for name in WINDOWS}
    measured["PAC, least over the best before"] = common.kept(rows, "pac")
    measured |= {f"{name.upper()}, senders supported": at[name] for name in WINDOWS}
    note = "; ".join(
        f"{name}: at least {least(rows, name, BEYOND):,.0f}" for name in TRANSPORTS if name.startswith("pac,")
    )
    return [*found, judge.judge(claim("pac", "fig14-pac-ordering"), measured, text=text, note=note)]


def facts(tables: Tables) -> dict[str, object]:
    """The numbers that the prose names."""
    rows = tables["rows"]
    return {
        "dctcp": fall(rows, "dctcp"),
        "ictcp": fall(rows, "ictcp"),
        "pac_least": least(rows, "pac", 64).mean / 1e3,
        "pac_most": most(rows, "pac", 64).mean / 1e3,
        "pac_timeouts": common.timeouts(rows, "pac"),
        "eq6_least": least(rows, "pac, eq. (6)", 64).mean / 1e3,
        "eq6_timeouts": common.timeouts(rows, "pac, eq. (6)"),
        "unmarked_least": least(rows, "pac, no marks", 64).mean / 1e3,
        "print_most": most(rows, "pac, print", BEYOND).mean / 1e3,
        "code_most": most(rows, "pac, code", BEYOND).mean / 1e3,
    }


def draw(tables: Tables, look: Look) -> dict[str, Picture]:
    """The paper's three, and PAC's readings."""
    rows = tables["rows"]
    parts = {
        "PAC, DCTCP, ICTCP": rows.filter(pl.col("transport").is_in(["pac", "dctcp", "ictcp"])),
        "Readings of PAC": rows.filter(pl.col("transport").str.starts_with("pac")),
    }
    return {"goodput": plot(look, parts, (8, 16, 32, 64, 128, 200, 400), 10, "Gbps")}


FIGURE = Figure(
    name="pac/fig14",
    title="PAC, Fig. 14: goodput against the number of senders at 10 Gbps",
    doc=__doc__ + "\n" + ABOUT_READINGS,
    jobs=jobs,
    measure=common.measure,
    summarise=summarise,
    check=check,
    draw=draw,
    claims=("fig14-10g-collapse-points", "fig14-pac-ordering"),
    facts=facts,
    shown={
        "shown": "Goodput in Mbps, mean of rounds and seeds; a star: timeouts in at least one round.",
        "near": "The same around the fall of the window-based schemes.",
    },
    captions={"goodput": "Goodput (mean of rounds and seeds) and share of rounds with timeouts"},
)
