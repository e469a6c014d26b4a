"""PAC in every reading, over all figures of the paper: what decides the default. One thing at a time departs from the
default; then the paper to the letter (`print`) and its authors' kernel module (`code`), and a sweep of the least
threshold.

Each column is a figure at a point that is hard for PAC, in that figure's setting, five seeds of one round:

* **edge**: [Fig. 7](pac-fig07.md), 100 connections of 64 KB; **p50, p99**: [Fig. 11](pac-fig11.md), the same runs.
* **core**: [Fig. 9](pac-fig09.md), 100 connections; **core, blind**: the same beside a flow that ignores marks.
* **long**: [Fig. 12](pac-fig12.md), the mean total of four flows that join and leave (times divided by 50).
* **1G**: [Fig. 13](pac-fig13.md), the least of 24, 100 and 400 senders. **10G**: [Fig. 14](pac-fig14.md), the least of
  64, 160 and 400 senders. **1,600**: [Fig. 15](pac-fig15.md), 1,600 senders whose SYNs come within 2.5 ms.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import polars as pl
from matplotlib.figure import Figure as Picture

from clearway.metrics import rtt_percentiles
from clearway.reproduce import judge
from clearway.reproduce.claims import Finding, claim
from clearway.reproduce.figure import Figure, Job, Tables
from clearway.reproduce.look import Look, grid, legend
from clearway.reproduce.pac import common, fig09, fig11, fig12, fig13, fig14, fig15
from clearway.reproduce.quantities import incast
from clearway.reproduce.stats import SEEDS, Estimate, estimate, paired_ratio
from clearway.result import Run

#: Columns at which eq. (6) is judged.
PLACES = ("edge", "core")
#: Threshold that each network starts with, in KB.
BUFFERS = {"testbed": 80, "ns2-1g": 96, "ns2-10g": 375}
FLOORS = (0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 1.0)
#: Departures from the default, by the words of the table.
READINGS: dict[str, dict[str, Any]] = {
    "default": {},
    "eq. (6)": {"correction": "throughput"},
    "eq. (6), no eq. (2)": {"correction": "throughput", "adaptive": False},
    "eq. (6) with constants": {"correction": "line-rate"},
    "no correction": {"correction": "throughput", "lambda": 0},
    "eq. (6), no marks": {"correction": "throughput", "ecn": False},
    "no correction, no marks": {"correction": "throughput", "lambda": 0, "ecn": False},
    "no eq. (2)": {"adaptive": False},
    "turns": {"discipline": "round-robin"},
    "handshake's RTT": {"rtt_method": "handshake"},
    "marks alone end slow start": {"phase_test": "marks"},
    "bytes on the wire": {"units": "wire"},
    "no growth in avoidance": {"avoidance_growth": False},
    "first windows pass": {"hold_syn_ack": False},
    "no ACK held beyond 10 ms": {"hold_limit": "10 ms"},
    "blocking": {"blocking": True},
    "print": common.profile("print"),
    "code": common.profile("code"),
}
#: Figure and number of senders of each run, by column.
COLUMNS: dict[str, tuple[str, tuple[int, ...]]] = {
    "edge": ("testbed", (100,)),
    "core": ("testbed", (100,)),
    "core, blind": ("testbed", (100,)),
    "long": ("testbed", (4,)),
    "1G": ("ns2-1g", (24, 100, 400)),
    "10G": ("ns2-10g", (64, 160, 400)),
    "1,600": ("ns2-1g", (1600,)),
}


def transport(profile: str, changes: Mapping[str, Any]) -> dict[str, Any]:
    """PAC on a network, in a reading; `floor` is written as a share of the buffer."""
    found = {"name": "pac", "profile": profile, **changes}
    if "floor" in found:
        found["floor"] = f"{found['floor'] * BUFFERS[profile]:g} KB"
    return found


def scenario(column: str, pac: Mapping[str, Any], senders: int, seed: int) -> dict[str, Any]:
    """One run of a column."""
    if column == "edge":
        return dict(fig11.job("pac", senders, seed).scenario) | {"transport": dict(pac)}
    if column.startswith("core"):
        name = "pac" if column == "core" else "pac, background blind"
        return dict(fig09.job("quick", name, senders, seed).scenario) | {"transport": dict(pac)}
    if column == "long":
        return fig12.scenario(0.02, pac, seed)
    if column == "1,600":
        found = fig15.scenario("quick", pac, senders, fig15.TOTAL, "2.5 ms")
    elif column == "1G":
        found = fig13.scenario("quick", "96 KB", pac, senders)
    else:
        found = fig14.scenario("quick", pac, senders)
    return found | {"seed": seed}


def jobs(_: str) -> list[Job]:
    """Every reading and floor, at every column."""
    floors = {f"floor {floor:g}": {"floor": floor} for floor in FLOORS}
    return [
        Job(
            {"reading": name, "column": column, "senders": count, "seed": seed},
            scenario(column, transport(network, changes), count, seed),
        )
        for name, changes in (READINGS | floors).items()
        for column, (network, senders) in COLUMNS.items()
        for count in senders
        for seed in SEEDS
    ]


def measure(job: Job, run: Run) -> Tables:
    """Goodput, timeouts, and round-trip times where they were sampled."""
    column = job.params["column"]
    row = {"p50_ms": float("nan"), "p99_ms": float("nan"), "timeouts": int(run.flows["timeouts"].sum())}
    if column == "long":
        totals = (
            run.samples.group_by("time_s").agg(pl.col("value").sum()).filter(pl.col("time_s").is_between(0.03, 1.39))
        )
        return {"rows": pl.DataFrame([{"goodput_bps": float(totals["value"].to_numpy().mean()), **row}])}
    found = incast(run, job.params["senders"])
    if column == "edge":
        row["p50_ms"], row["p99_ms"] = (1e3 * value for value in rtt_percentiles(run.samples, (50, 99)))
    return {"rows": pl.DataFrame([{"goodput_bps": found["goodput_bps"], **row, "timeouts": found["timeouts"]}])}


def at(tables: Tables, reading: str, column: str, name: str = "goodput_bps") -> Estimate:
    """A measure of a reading in a column, over the seeds; of goodput, in Mbps, the least of its numbers of senders."""
    part = tables["rows"].filter((pl.col("reading") == reading) & (pl.col("column") == column))
    scale = 1e-6 if name == "goodput_bps" else 1.0
    return estimate([scale * float(part.filter(pl.col("seed") == seed)[name].to_numpy().min()) for seed in SEEDS])


def summarise(tables: Tables) -> Tables:
    """A row for each reading and floor."""
    rows = []
    for reading in tables["rows"]["reading"].unique(maintain_order=True):
        row: dict[str, str] = {"reading": reading}
        for column in COLUMNS:
            part = tables["rows"].filter((pl.col("reading") == reading) & (pl.col("column") == column))
            star = "*" if part["timeouts"].sum() else ""
            mean = at(tables, reading, column).mean
            row[column] = f"none ended{star}" if math.isnan(mean) else f"{mean:.0f}{star}"
        row["p50 ms"] = f"{at(tables, reading, 'edge', 'p50_ms').mean:.2f}"
        row["p99 ms"] = f"{at(tables, reading, 'edge', 'p99_ms').mean:.2f}"
        rows.append(row)
    table = pl.DataFrame(rows)
    swept = pl.col("reading").str.starts_with("floor")
    return {**tables, "shown": table.filter(~swept), "floors": table.filter(swept)}


def check(tables: Tables) -> list[Finding]:
    """The claim on eq. (6), which the default does not have."""
    here = claim("pac", "sec3c-deviation-correction")
    with_, without, own = (
        {place: at(tables, name, place) for place in PLACES} for name in ("eq. (6)", "no correction", "default")
    )
    text = "; ".join(f"{place} {with_[place]:.0f} against {without[place]:.0f} Mbps" for place in PLACES)
    note = "with our own correction, the default: " + ", ".join(f"{place} {own[place]:.0f}" for place in PLACES)
    readings = {"eq. (6) without ECN, PAC-7": corrected(tables, ", no marks")}
    measured = corrected(tables, "")
    return [judge.judge(here, measured, text=text, note=note, reading="eq. (6), PAC-7", readings=readings)]


def corrected(tables: Tables, marks: str) -> dict[str, judge.Measured]:
    """Goodput with eq. (6), and over that without any correction."""
    found: dict[str, judge.Measured] = {}
    for place in PLACES:
        with_, without = (at(tables, f"{name}{marks}", place) for name in ("eq. (6)", "no correction"))
        found[f"{place}, goodput over that without"] = paired_ratio(with_.draws, without.draws)
        found[f"{place}, Mbps"] = with_
    return found


def facts(tables: Tables) -> dict[str, object]:
    """The numbers that the prose names."""
    found: dict[str, object] = {}
    short = {"default": "own", "eq. (6)": "eq6", "eq. (6), no eq. (2)": "eq6_fixed", "no eq. (2)": "fixed",
             "turns": "turns", "print": "print", "code": "code", "first windows pass": "pass", "floor 0.3": "low",
             "handshake's RTT": "shake", "no correction": "none", "eq. (6), no marks": "unmarked",
             "no correction, no marks": "bare"}  # fmt: skip
    for reading, name in short.items():
        for column in COLUMNS:
            found[f"{name}_{column.replace(', ', '_').replace(',', '')}"] = at(tables, reading, column).mean
        found[f"{name}_p50"] = at(tables, reading, "edge", "p50_ms").mean
        found[f"{name}_p99"] = at(tables, reading, "edge", "p99_ms").mean
    return found


def draw(tables: Tables, look: Look) -> dict[str, Picture]:
    """Goodput by the floor."""
    picture, axes = grid(1, 1, width=7.2, height=3.4)
    for index, column in enumerate(COLUMNS):
        rate = 10e3 if column == "10G" else 1e3
        values = [100 * at(tables, f"floor {floor:g}", column).mean / rate for floor in FLOORS]
        axes[0].plot(FLOORS, values, label=column, ms=4, lw=1.6, **look.line(index))
    axes[0].set(xlabel="least threshold, share of the buffer", ylabel="goodput, % of the link", ylim=(0, 100))
    legend(picture, axes[0], 4)
    return {"floors": picture}


FIGURE = Figure(
    name="pac/readings",
    title="PAC: all readings over all figures, and the least threshold",
    doc=__doc__,
    jobs=jobs,
    measure=measure,
    summarise=summarise,
    check=check,
    draw=draw,
    claims=("sec3c-deviation-correction",),
    facts=facts,
    shown={
        "shown": "Goodput in Mbps, means over the seeds; a star: timeouts. Round-trip times in ms.",
        "floors": "The default by its least threshold, as a share of the buffer.",
    },
    captions={"floors": "Goodput of the default by its least threshold; columns as in the table"},
)
