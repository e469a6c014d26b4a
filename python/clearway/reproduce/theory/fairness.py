"""N = 4, 8, 16, 32 long flows share a link, under every transport that Clearway has. Jain's index of what they get.

Chosen here:

* **Network**: a dumbbell of 10 Gbps with 100 us of propagation there and back, buffers of 384.5 KB.
* **Starts** at random within 10 ms. Measured over the last 200 ms of 300 ms (full: 900 ms of 1 s): the index of the
  means over that time, and the average of the index of every 20 ms.
* **Host delay**: none, and 0 to 2.4 us for each packet, twice the time of a full frame on the wire. Without it,
  everything is periodic, and who loses at a full queue is a matter of phase (Floyd and Jacobson, *On Traffic Phase
  Effects in Packet-Switched Gateways*, 1992); packets of real hosts are not that regular.
* **Parameters**: the defaults of each transport. ExpressPass also with alpha = w_init = 1/2 (E17-2), naive credits
  also with jitter that adds up from gap to gap (`jitter_around = "gap"`).
"""

from __future__ import annotations

from typing import Any

import polars as pl
from matplotlib.figure import Figure as Picture

from clearway import _clearway
from clearway.reproduce.claims import Finding, claim, verdict
from clearway.reproduce.expresspass.common import dumbbell
from clearway.reproduce.figure import Figure, Job, Tables
from clearway.reproduce.look import Look, grid, legend
from clearway.reproduce.measures import binned, fairness, port
from clearway.result import Run

FLOWS = (4, 8, 16, 32)
STOP_MS = {"quick": 300, "full": 1000}
WARM_UP_MS = 100
#: Loads without congestion control have no shares.
LEFT_OUT = ("blast",)
DELAYS: dict[str, Any] = {"none": "0 s", "0-2.4 us": {"uniform": ["0 s", "2.4 us"]}}
#: Transports whose fairness a paper speaks of.
CLAIMED = ("ideal", "expresspass", "rcp", "dctcp")


def transports() -> dict[str, dict[str, Any]]:
    """All that are registered."""
    found: dict[str, dict[str, Any]] = {
        one["name"]: {"name": one["name"]} for one in _clearway.transports() if one["name"] not in LEFT_OUT
    }
    return {
        **found,
        "expresspass, 1/2": {"name": "expresspass", "w_init": 0.5},
        "naive-credit, gap": {"name": "naive-credit", "jitter_around": "gap"},
    }


def jobs(scale: str) -> list[Job]:
    """Every transport and number of flows."""
    return [
        Job(
            {"transport": name, "host_delay": label, "flows": flows},
            {
                "name": "fairness",
                "stop": f"{STOP_MS[scale]} ms",
                "topology": dumbbell(flows, "10 Gbps"),
                "switch": {"buffer": "384.5 KB"},
                "host": {"processing_delay": delay},
                "transport": transport,
                "traffic": [{"name": "flows", "kind": "long", "spread": "10 ms"}],
                "sample": [{"name": "throughput", "what": "throughput", "every": "20 ms"}],
            },
        )
        for name, transport in transports().items()
        for label, delay in DELAYS.items()
        for flows in FLOWS
    ]


def measure(job: Job, run: Run) -> Tables:  # noqa: ARG001
    """Fairness, utilisation, queue."""
    _, rates = binned(run, "throughput", 0.1, 0.02)
    row = {
        "jain": fairness(rates.mean(axis=1, keepdims=True)),
        "jain_20ms": fairness(rates),
        "goodput": float(rates.sum(axis=0).mean()) / 10e9,
        "queue_mean_KB": float(port(run, "s0->s1")["queue_mean_bytes"]) / 1e3,
    }
    return {"rows": pl.DataFrame([row])}


def summarise(tables: Tables) -> Tables:
    """A row for each transport."""
    columns = [
        pl.col(name).filter(pl.col("flows") == flows).first().round(digits).alias(f"{label} {flows}")
        for name, label, digits in (("jain", "Jain", 4), ("jain_20ms", "of 20 ms", 4), ("goodput", "goodput", 3))
        for flows in FLOWS
    ]
    return {**tables, "shown": tables["rows"].group_by("transport", "host_delay", maintain_order=True).agg(columns)}


def least(tables: Tables, transport: str, column: str = "jain") -> float:
    """The least index of a transport, over the numbers of flows and both host delays."""
    return float(tables["rows"].filter(pl.col("transport") == transport)[column].to_numpy().min())


def check(tables: Tables) -> list[Finding]:
    """What papers say."""
    found = []
    for name in CLAIMED:
        here = claim("theory", f"fairness-{name}")
        whole, short = least(tables, name), least(tables, name, "jain_20ms")
        note = f"of every 20 ms: {short:.4f}"
        if name == "expresspass":
            note += f"; alpha = w_init = 1/2: {least(tables, 'expresspass, 1/2'):.4f}"
        found.append(Finding(here, f"at least {whole:.4f}", verdict(here.holds(whole)), note))
    return found


def draw(tables: Tables, look: Look) -> dict[str, Picture]:
    """A row of dots for each transport: the index by number of flows."""
    names: list[str] = tables["rows"]["transport"].unique(maintain_order=True).to_list()
    picture, axes = grid(1, 2, width=10.0, height=0.27 * len(names) + 0.6, sharey=True)
    for place, label in zip(axes, DELAYS, strict=True):
        for i, flows in enumerate(FLOWS):
            part = tables["rows"].filter((pl.col("flows") == flows) & (pl.col("host_delay") == label))
            y = [names.index(name) + (i - 1.5) * 0.15 for name in part["transport"]]
            line = {**look.line((0, 1, 2, 6)[i]), "ls": ""}
            place.plot(part["jain"], y, label=f"{flows} flows", ms=5, **line)
        place.set_xlim(0, 1.03)
        place.set_title("no host delay" if label == "none" else f"host delay {label}")
        place.set_xlabel("Jain's index of the shares")
    axes[0].set_yticks(range(len(names)), names)
    axes[0].invert_yaxis()
    legend(picture, axes[0], columns=4)
    return {"jain": picture}


READING = """\
* **ExpressPass, RCP and ideal** share equally at any number of flows, with and without host delay, as the paper says.
* **DCTCP** has at least 0.9 everywhere; the low one is 4 flows in step without host delay, which keep for long what
  slow start gave them. HULL, DX and the ExpressPass of 2016 are near 1. Of these at 4 to 32 flows their papers state
  no number that we have.
* **New Reno and CUBIC without host delay** are no fault of theirs: the index is 1/N, one flow has everything. Its
  packets arrive at the pace at which the full queue empties, so each finds the place that the last left, and the
  others never do: the phase effect of Floyd and Jacobson. With 2.4 us of random delay at hosts the index is above
  0.97. The test `equal_long_flows_share_a_link_under_every_transport` holds that.
* **Naive credits** without feedback do the same at the credit limiter: whose credits come right after a token take
  all. That is why ExpressPass has jitter (its Fig. 6), which our default measures from a fixed schedule, so that
  phases never drift. Host delay does not help, as receivers pace credits by a timer of their own. Jitter that adds up
  (`gap`) lets phases drift; its row shows how far that helps. Feedback makes either harmless.
"""

FIGURE = Figure(
    name="theory/fairness",
    title="Jain's index of 4 to 32 equal long flows, by transport",
    doc=__doc__,
    jobs=jobs,
    measure=measure,
    summarise=summarise,
    check=check,
    draw=draw,
    shown={
        "shown": "Jain's index of the means of the whole time, the average of that of every 20 ms, and the share of "
        "the link that is payload, by number of flows."
    },
    captions={"jain": "Jain's index of the shares of 4 to 32 long flows"},
    reading=READING,
)
