"""The number of senders that a window-based scheme could support at best: all windows fixed at one segment, 64 KB per
sender, 1 Gbps, buffers of 80 and 100 KB, on the paper's testbed, simulated.

Unstated, and chosen here:

* **Base RTT**: 100 us; **hosts**: 38, as in Fig. 7; random delays of 0 to 10 us.
* **Supported**: the last number of senders before goodput first falls below 90 % of its highest, in steps of one.
* **Rounds**: five seeds of 4 (quick: 1) over new connections.
* **KB**: 1,000 B on the wire, of which a full frame takes 1,538.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from matplotlib.figure import Figure as Picture

from clearway.reproduce import judge
from clearway.reproduce.claims import Finding, claim
from clearway.reproduce.figure import Figure, Job, Tables
from clearway.reproduce.look import Look
from clearway.reproduce.pac import common
from clearway.reproduce.pac.common import each, falls_at, first_timeout, plot, point
from clearway.reproduce.stats import Estimate

SENDERS = (4, 8, 16, 24, 32, 40, *range(48, 85), 90, 100)
BUFFERS = {"80K": "80 KB", "100K": "100 KB"}
TRANSPORT = {"name": "fixed-window", "profile": "pac-testbed", "handshake": True}
#: Bytes that a round trip of 100 us carries at 1 Gbps, and those of a full frame.
BDP, FRAME = 12_500, 1538


def jobs(scale: str) -> list[Job]:
    """The jobs of both buffers."""

    def scenario(buffer: Mapping[str, Any], senders: int) -> dict[str, Any]:
        return common.incast(
            common.star(38),
            TRANSPORT,
            senders=senders,
            rounds=common.ROUNDS[scale],
            buffer=buffer["size"],
            network=common.TESTBED_FRAMES,
            size="64 KB",
        )

    return common.jobs({f"buffer {name}": {"size": size} for name, size in BUFFERS.items()}, SENDERS, scenario)


def supported(tables: Tables) -> dict[str, Estimate]:
    """The last number of senders before the fall."""
    return {name: each(tables["rows"], f"buffer {name}", falls_at).minus(1) for name in BUFFERS}


def equation_1(buffer: str) -> float:
    """Eq. (1): the buffer and a round trip in frames."""
    return (float(buffer.split()[0]) * 1e3 + BDP) / FRAME


def check(tables: Tables) -> list[Finding]:
    """The verdicts on the figure's claims."""
    last = supported(tables)
    here = claim("pac", "fig02-one-mss-sender-limit")
    note = "first timeouts: " + ", ".join(
        f"{name} at {point(first_timeout(tables['rows'], f'buffer {name}'))}" for name in BUFFERS
    )
    found = [judge.judge(here, last, form=".1f", note=note)]

    here = claim("pac", "eq1-window-based-sender-limit")
    limits = {name: equation_1(size) for name, size in BUFFERS.items()}
    text = "; ".join(f"{name}: {last[name]:.1f} senders, eq. (1) {limits[name]:.1f}" for name in BUFFERS)
    share = {f"{name}, over eq. (1)": last[name].scaled(1 / limit) for name, limit in limits.items()}
    return [*found, judge.judge(here, share, text=text, note="windows of one segment, frames of 1,538 B")]


def facts(tables: Tables) -> dict[str, object]:
    """The numbers that the prose names."""
    last = supported(tables)
    return {
        "small": last["80K"],
        "large": last["100K"],
        "limit_small": equation_1("80 KB"),
        "limit_large": equation_1("100 KB"),
    }


def draw(tables: Tables, look: Look) -> dict[str, Picture]:
    """The pictures of goodput and timeouts."""
    return {"goodput": plot(look, {"A window of one segment": tables["rows"]}, (4, 8, 16, 32, 64, 100), 1000)}


FIGURE = Figure(
    name="pac/fig02",
    title="PAC, Fig. 2: senders that a window of one segment supports",
    doc=__doc__,
    jobs=jobs,
    measure=common.measure,
    summarise=common.summarise,
    check=check,
    draw=draw,
    claims=("fig02-one-mss-sender-limit", "eq1-window-based-sender-limit"),
    facts=facts,
    shown={"shown": "Goodput in Mbps, mean of rounds and seeds; a star: timeouts in at least one round."},
    captions={"goodput": "Goodput and share of rounds with timeouts, all windows fixed at one segment"},
)
