"""255 hosts send 640 KB each to one, at once, over one switch: 100 Gbps, links of 1 us. With priority flow control,
32 MB of shared memory, nothing may be lost; without it, 400 KB at each port, all must reach the application all the
same.

Chosen here: every transport with its defaults; no profile. Full scale sends 6.4 MB each. DCQCN's marks are drawn at
random, so it has five seeds; nothing is drawn under the others.
"""

from __future__ import annotations

import numpy as np
import polars as pl
from matplotlib.figure import Figure as Picture

from clearway.reproduce import judge, stats
from clearway.reproduce.claims import Finding, claim
from clearway.reproduce.figure import Figure, Job, Tables
from clearway.reproduce.look import Look, grid, legend
from clearway.reproduce.stats import SEEDS
from clearway.result import Run

TRANSPORTS = ("rocev2", "dcqcn", "timely", "hpcc", "rdma-dctcp", "pacc")
#: Transports in which something is drawn.
DRAWN = ("dcqcn",)
SENDERS = 255
SIZE = {"quick": "640 KB", "paper": "6400 KB"}
BYTES = {"quick": 640_000, "paper": 6_400_000}
MODES = ("flow control", "go back", "selective repeat")


def jobs(scale: str) -> list[Job]:
    """Every transport with flow control, and without it in both ways of recovery."""
    return [
        Job(
            {"transport": name, "mode": mode, "bytes": BYTES[scale], "seed": seed},
            {
                "name": "incast",
                "seed": seed,
                "topology": {"kind": "star", "hosts": SENDERS + 1, "rate": "100 Gbps", "delay": "1 us"},
                "switch": {"pfc": True, "shared_buffer": "32 MB"} if mode == MODES[0] else {"buffer": "400 KB"},
                "transport": {
                    "name": name,
                    "recovery": "selective-repeat" if mode == MODES[2] else "go-back-n",
                },
                "traffic": [
                    {
                        "name": "burst",
                        "kind": "long",
                        "pairs": [[f"h{src}", f"h{SENDERS}"] for src in range(SENDERS)],
                        "size": SIZE[scale],
                    }
                ],
            },
        )
        for name in TRANSPORTS
        for mode in MODES
        for seed in (SEEDS if name in DRAWN else SEEDS[:1])
    ]


def measure(_: Job, run: Run) -> Tables:
    """The packets lost and repeated, and the pauses."""
    control = run.summary.get("flow_control", {})
    done = run.flows.filter(pl.col("delivered_bytes") == pl.col("size_bytes"))
    row = {
        "dropped": int(run.ports["drops_buffer"].sum()),
        "pauses": int(control.get("pauses", 0)),
        "longest_pause_s": float(control.get("longest_pause_s", 0.0)),
        "retransmits": int(run.flows["retransmits"].sum()),
        "timeouts": int(run.flows["timeouts"].sum()),
        "missing": len(run.flows) - len(done),
        "last_s": float(run.flows["fct_s"].to_numpy().max()),
        "queue_bytes": int(run.ports["queue_max_bytes"].to_numpy().max()),
    }
    return {"rows": pl.DataFrame([row])}


def summarise(tables: Tables) -> Tables:
    """The page's table: means over seeds, with the last completion over the least possible."""
    numbers = [name for name, type_ in tables["rows"].schema.items() if type_.is_numeric() and name != "seed"]
    rows = tables["rows"].group_by("transport", "mode", maintain_order=True).agg(pl.col(numbers).mean())
    # Frames of 1,460 bytes, all through one link, and the way of the last one.
    frames = (pl.col("bytes") / 1460).ceil()
    least = SENDERS * (pl.col("bytes") + 78 * frames) * 8 / 100e9 + 2e-6
    shown = rows.with_columns((pl.col("last_s") / least).alias("over_least")).select(
        "transport",
        "mode",
        pl.col("dropped", "pauses").round(0),
        (pl.col("longest_pause_s") * 1e6).round(1).alias("longest_pause_us"),
        pl.col("retransmits", "timeouts").round(0),
        (pl.col("queue_bytes") / 1e6).round(2).alias("queue_MB"),
        (pl.col("last_s") * 1e3).round(3).alias("last_ms"),
        pl.col("over_least").round(2),
        pl.col("missing").round(0),
    )
    return {**tables, "shown": shown}


def check(tables: Tables) -> list[Finding]:
    """No loss with flow control, nothing missing without."""
    rows = tables["rows"]
    own = tables["shown"].filter(pl.col("mode") == MODES[0])
    pauses = ", ".join(f"{name} {count:,.0f}" for name, count in zip(own["transport"], own["pauses"], strict=True))
    runs = rows.filter(pl.col("mode") == MODES[0])
    lost = stats.exact(float(runs["dropped"].to_numpy().max()))
    note = f"the most of {runs.height} runs; {int(runs['missing'].sum())} flows are missing; pauses: {pauses}"
    found = [judge.judge(claim("rdma", "incast-zero-loss"), lost, form=".0f", note=note)]
    rest = rows.filter(pl.col("mode") != MODES[0])
    least = int(rest["dropped"].to_numpy().min())
    measured: dict[str, judge.Measured] = {
        "value": float(rest["missing"].to_numpy().max()),
        "dropped in the run with the fewest": least,
    }
    note = f"the most of {rest.height} runs; dropped in each: at least {least:,}"
    return [*found, judge.judge(claim("rdma", "incast-recovery"), measured, form=".0f", note=note)]


def facts(tables: Tables) -> dict[str, object]:
    """Numbers that the prose names."""
    named: dict[str, object] = {}
    for row in tables["shown"].iter_rows(named=True):
        key = f"{row['transport']}_{row['mode']}".replace(" ", "_").replace("-", "_")
        named[f"{key}_pauses"] = f"{row['pauses']:,.0f}"
        named[f"{key}_over"] = float(row["over_least"])
    return named


def draw(tables: Tables, look: Look) -> dict[str, Picture]:
    """The picture of when the last flow ends and of what was sent again."""
    picture, places = grid(1, 2, width=9.6, height=3.4)
    at = np.arange(len(TRANSPORTS))
    for index, mode in enumerate(MODES):
        part = tables["shown"].filter(pl.col("mode") == mode)
        where = at + 0.26 * (index - 1)
        places[0].bar(where, part["over_least"], 0.24, color=look.color(index), label=mode)
        places[1].bar(where, part["retransmits"], 0.24, color=look.color(index), label=mode)
    places[0].set(ylabel="last completion / least possible", yscale="log")
    places[1].set(ylabel="packets sent again", yscale="symlog")
    places[1].set_ylim(0, None)
    for place in places:
        place.set_xticks(at, TRANSPORTS, rotation=20)
        place.grid(visible=False, axis="x")
    legend(picture, places[0], columns=3)
    return {"outcome": picture}


FIGURE = Figure(
    name="rdma/incast",
    title="255 to 1: flow control, and life without it",
    doc=__doc__,
    jobs=jobs,
    measure=measure,
    summarise=summarise,
    check=check,
    facts=facts,
    draw=draw,
    claims=("incast-zero-loss", "incast-recovery"),
    shown={"shown": "What was dropped, stopped and sent again. `over_least`: last completion over the least possible."},
    captions={"outcome": "When the last flow ends, and how many packets were sent again"},
)
