"""N = 4 and 32 long flows (full: 4, 8, 16, 32) share a link between switches, under every transport that Clearway has
and that controls such a link. Jain's index of what they get.

Chosen here:

* **Network**: a dumbbell of 10 Gbps with 100 us of propagation there and back, buffers of 384.5 KB.
* **Lossy**: nobody stops senders before a buffer overflows, whatever the transport asks for.
* **Starts** at random within 10 ms, with five seeds. Measured over the last 100 ms of 200 ms (full: 900 ms of 1 s): the
  index of the means over that time, and the average of the index of every 20 ms.
* **Host delay**: none, and 0 to 2.4 us for each packet, twice the time of a full frame on the wire. Without it,
  everything is periodic, and who loses at a full queue is a matter of phase (Floyd and Jacobson, *On Traffic Phase
  Effects in Packet-Switched Gateways*, 1992); packets of real hosts are not that regular.
* **Parameters**: the defaults of each transport. ExpressPass also with alpha = w_init = 1/2 (E17-2), naive credits also
  with credits that all have 84 B.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars as pl
from matplotlib.figure import Figure as Picture

from clearway import _clearway
from clearway.reproduce import judge, stats
from clearway.reproduce.claims import Finding, claim
from clearway.reproduce.expresspass.common import HALF, dumbbell
from clearway.reproduce.figure import Figure, Job, Tables
from clearway.reproduce.look import Look, grid, legend
from clearway.reproduce.quantities import binned, fairness, port
from clearway.reproduce.stats import SEEDS, Estimate
from clearway.result import Run

FLOWS = {"quick": (4, 32), "paper": (4, 8, 16, 32)}
STOP_MS = {"quick": 200, "paper": 1000}
WARM_UP_MS = 100
#: Loads without congestion control have no shares, and receivers that pull at the rate of their own link control no
#: other.
LEFT_OUT = ("blast", "rocev2", "ndp", "eqds", "uec-rccc")
DELAYS: dict[str, Any] = {"none": "0 s", "0-2.4 us": {"uniform": ["0 s", "2.4 us"]}}
#: Transports whose fairness a paper speaks of.
CLAIMED = ("ideal", "expresspass", "rcp", "dctcp")


def transports() -> dict[str, dict[str, Any]]:
    """All registered transports that control a link between switches, by name."""
    found: dict[str, dict[str, Any]] = {
        one["name"]: {"name": one["name"]} for one in _clearway.transports() if one["name"] not in LEFT_OUT
    }
    return {
        **found,
        "expresspass, 1/2": {"name": "expresspass", **HALF},
        "naive-credit, 84 B": {"name": "naive-credit", "randomize_size": False},
    }


def jobs(scale: str) -> list[Job]:
    """Every transport and number of flows."""
    return [
        Job(
            {"transport": name, "host_delay": label, "flows": flows, "seed": seed},
            {
                "name": "fairness",
                "seed": seed,
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
        for flows in FLOWS[scale]
        for seed in SEEDS
    ]


def measure(job: Job, run: Run) -> Tables:  # noqa: ARG001
    """The fairness, the utilisation and the queue of a run."""
    _, rates = binned(run, "throughput", 0.1, 0.02)
    row = {
        "jain": fairness(rates.mean(axis=1, keepdims=True)),
        "jain_20ms": fairness(rates),
        "goodput": float(rates.sum(axis=0).mean()) / 10e9,
        "queue_mean_KB": float(port(run, "s0->s1")["queue_mean_bytes"]) / 1e3,
    }
    return {"rows": pl.DataFrame([row])}


def numbers(tables: Tables) -> list[int]:
    """The numbers of flows of these runs."""
    return sorted(tables["rows"]["flows"].unique())


def of(tables: Tables, transport: str, host_delay: str, flows: int, column: str = "jain") -> Estimate:
    """A measure over seeds."""
    part = tables["rows"].filter(
        (pl.col("transport") == transport) & (pl.col("host_delay") == host_delay) & (pl.col("flows") == flows)
    )
    return stats.estimate([float(value) for value in part[column]])


def summarise(tables: Tables) -> Tables:
    """A row for each transport, means over seeds; the least index of all seeds beside them."""
    rows = []
    for name in tables["rows"]["transport"].unique(maintain_order=True):
        for label in DELAYS:
            row: dict[str, Any] = {"transport": name, "host_delay": label}
            for column, title, form in (
                ("jain", "Jain", ".3f"),
                ("jain_20ms", "of 20 ms", ".3f"),
                ("goodput", "goodput", ".3f"),
            ):
                for flows in numbers(tables):
                    row[f"{title} {flows}"] = of(tables, name, label, flows, column).text(form)
            rows.append(row)
    return {**tables, "shown": pl.DataFrame(rows)}


def least(tables: Tables, transport: str, column: str = "jain", delays: Sequence[str] = tuple(DELAYS)) -> Estimate:
    """The index where it is least, over the numbers of flows and the host delays."""
    cells = [of(tables, transport, label, flows, column) for label in delays for flows in numbers(tables)]
    return min(cells, key=lambda one: one.mean)


def check(tables: Tables) -> list[Finding]:
    """The verdicts on what papers say."""
    found = []
    for name in CLAIMED:
        here = claim("theory", f"fairness-{name}")
        note = f"where it is least; of every 20 ms: {least(tables, name, 'jain_20ms').mean:.4f}"
        if name == "expresspass":
            note += f"; alpha = w_init = 1/2: {least(tables, 'expresspass, 1/2').mean:.4f}"
        apart = judge.Change(
            "Without delays at hosts flows stay in step, and keep for long what slow start gave them. "
            "With 0 to 2.4 us for each packet they do not.",
            least(tables, name, delays=["0-2.4 us"]),
        )
        found.append(judge.judge(here, least(tables, name), form=".4f", note=note, cause=apart))
    return found


def facts(tables: Tables) -> dict[str, object]:
    """Numbers that the prose names: `pacc_32`, `pacc_delay_32` with host delay."""
    named: dict[str, object] = {}
    for name in tables["rows"]["transport"].unique():
        key = name.replace(", ", "_").replace(" ", "_").replace("-", "_").replace("/", "_")
        for flows in numbers(tables):
            named[f"{key}_{flows}"] = of(tables, name, "none", flows).mean
            named[f"{key}_delay_{flows}"] = of(tables, name, "0-2.4 us", flows).mean
            named[f"{key}_delay_{flows}_used"] = of(tables, name, "0-2.4 us", flows, "goodput").mean
        named[f"{key}_least"] = least(tables, name).mean
    return named


def draw(tables: Tables, look: Look) -> dict[str, Picture]:
    """A row of dots for each transport: the index by number of flows."""
    names: list[str] = tables["rows"]["transport"].unique(maintain_order=True).to_list()
    picture, axes = grid(1, 2, width=10.0, height=0.27 * len(names) + 0.6, sharey=True)
    for place, label in zip(axes, DELAYS, strict=True):
        for i, flows in enumerate(numbers(tables)):
            part = tables["rows"].filter((pl.col("flows") == flows) & (pl.col("host_delay") == label))
            part = part.group_by("transport", maintain_order=True).agg(pl.col("jain").mean())
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


FIGURE = Figure(
    name="theory/fairness",
    title="Jain's index of 4 to 32 equal long flows, by transport",
    doc=__doc__,
    jobs=jobs,
    measure=measure,
    summarise=summarise,
    check=check,
    facts=facts,
    draw=draw,
    claims=("fairness-ideal", "fairness-expresspass", "fairness-rcp", "fairness-dctcp"),
    shown={
        "shown": "Jain's index of the means of the whole time, the average of that of every 20 ms, and the share of "
        "the link that is payload, by number of flows."
    },
    captions={"jain": "Jain's index of the shares of 4 to 32 long flows"},
)
