"""How many senders a window-based scheme could support at best: all windows fixed at one segment, 64 KB per sender,
1 Gbps, buffers of 80 and 100 KB, on the paper's testbed.

Unstated, and chosen here:

* **Base RTT**: 100 us; **hosts**: 38, as in Fig. 7; random delays of 0 to 10 us.
* **Supported**: the last number of senders before goodput first falls below 90 % of its highest.
* **Rounds**: 20 (quick: 5) over new connections.
* **KB**: 1,000 B on the wire, of which a full frame takes 1,538.
"""

from __future__ import annotations

from typing import Any

from matplotlib.figure import Figure as Picture

from clearway.reproduce.claims import Finding, claim, verdict
from clearway.reproduce.figure import Figure, Job, Tables
from clearway.reproduce.look import Look
from clearway.reproduce.pac import common
from clearway.reproduce.pac.common import collapse, first_timeout, plot, point, within

SENDERS = (4, 8, 16, 24, 32, *range(40, 91, 2), 100)
BUFFERS = {"80K": "80 KB", "100K": "100 KB"}
TRANSPORT = {"name": "fixed-window", "profile": "pac-testbed", "handshake": True}


def jobs(scale: str) -> list[Job]:
    """Both buffers."""

    def scenario(buffer: str, senders: int) -> dict[str, Any]:
        rounds, star = common.ROUNDS[scale], common.star(38)
        return common.incast(star, TRANSPORT, senders=senders, rounds=rounds, buffer=BUFFERS[buffer], size="64 KB")

    return [
        Job({"transport": f"buffer {name}", "senders": senders}, scenario(name, senders))
        for senders in SENDERS
        for name in BUFFERS
    ]


def check(tables: Tables) -> list[Finding]:
    """The claim."""
    rows = tables["rows"]
    here = claim("pac", "fig02-one-mss-sender-limit")
    last = {name: collapse(rows, f"buffer {name}") for name in BUFFERS}
    first = {name: first_timeout(rows, f"buffer {name}") for name in BUFFERS}
    holds = all(within(last[name], here.number(name), here.tolerance) for name in BUFFERS)
    text = ", ".join(f"{name}: {point(value)}" for name, value in last.items())
    note = "first timeouts: " + ", ".join(f"{name} at {point(value)}" for name, value in first.items())
    note += "; eq. (1): 80K: 60, 100K: 73 with frames of 1,538 B"
    return [Finding(here, text, verdict(holds), note)]


def draw(tables: Tables, look: Look) -> dict[str, Picture]:
    """Goodput and timeouts."""
    return {"goodput": plot(look, {"A window of one segment": tables["rows"]}, (4, 8, 16, 32, 64, 100), 1000)}


READING = """\
**Agrees** within the tolerance of 20 %: the limit is the buffer and a round trip in frames, as eq. (1) says. Ours is
nearer to eq. (1) than the paper's own measurement, which equals the buffer divided by 1.6 KB (PAC-15): the testbed's
switch may count more per packet, and its servers have other traffic.
"""

FIGURE = Figure(
    name="pac/fig02",
    title="PAC, Fig. 2: senders that a window of one segment supports",
    doc=__doc__,
    jobs=jobs,
    measure=common.measure,
    summarise=common.summarise,
    check=check,
    draw=draw,
    shown={"shown": "Goodput in Mbps, mean of the rounds; a star: timeouts in at least one round."},
    captions={"goodput": "Goodput and share of rounds with timeouts, all windows fixed at one segment"},
    reading=READING,
)
