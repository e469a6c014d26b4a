"""Four long PAC flows from four hosts to a fifth at one switch of 1 Gbps, simulated; they join at 1, 10, 20 and 30 s
and leave at 40, 50, 60 and 70 s.

Unstated, and chosen here:

* **Who leaves first**: who came first. **Averages** over 200 ms (quick: times and averages divided by 5). Five seeds.
* **Quickly**: the flows' shares over the first second after a change, beside those over a whole phase.
* **Aggregate**: the least average while the set of flows stays the same, without the 200 ms around a change.
* Table I's settings, base RTT 100 us, random delays of 0 to 10 us, the testbed's frames as in [Fig. 7](pac-fig07.md).
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl
from matplotlib.figure import Figure as Picture
from numpy.typing import NDArray

from clearway.reproduce import judge
from clearway.reproduce.claims import Finding, claim
from clearway.reproduce.figure import Figure, Job, Tables
from clearway.reproduce.look import Look, grid, legend
from clearway.reproduce.pac import common
from clearway.reproduce.stats import SEEDS, Estimate, estimate
from clearway.result import Run

JOIN, LEAVE = (1, 10, 20, 30), (40, 50, 60, 70)
READINGS = ("pac", "pac, eq. (6)", "pac, code")


def scenario(unit: float, transport: Mapping[str, Any], seed: int) -> dict[str, Any]:
    """Four flows; `unit` is what a second of the paper's lasts."""
    flows = [
        {
            "src": f"h{index + 1}",
            "dst": "h0",
            "start": f"{1e3 * unit * join:g} ms",
            "stop": f"{1e3 * unit * leave:g} ms",
        }
        for index, (join, leave) in enumerate(zip(JOIN, LEAVE, strict=True))
    ]
    return {
        "name": "fig12",
        "topology": common.star(5),
        "switch": {"buffer": "150 KB", "marking": "10 packets"},
        "host": {"processing_delay": common.DELAY},
        "transport": dict(transport),
        "traffic": [{"name": "flows", "kind": "flows", "list": flows}],
        "sample": [{"name": "rate", "what": "throughput", "every": f"{200 * unit:g} ms"}],
        "network": common.TESTBED_FRAMES,
        "seed": seed,
    }


def jobs(scale: str) -> list[Job]:
    """Three readings, each with five seeds."""
    unit = {"quick": 0.2, "paper": 1.0}[scale]
    settings = common.readings({"profile": "testbed"}, READINGS)
    return [
        Job({"transport": name, "unit_s": unit, "seed": seed}, scenario(unit, settings[name], seed))
        for name in READINGS
        for seed in SEEDS
    ]


def measure(_: Job, run: Run) -> Tables:
    """The samples of throughput."""
    series = run.samples.filter(pl.col("series") == "rate").select("time_s", "entity", "value")
    return {"series": series}


def summarise(tables: Tables) -> Tables:
    """Aggregate and share by the set of active flows."""
    rows = []
    for (name, unit, seed), part in tables["series"].group_by("transport", "unit_s", "seed", maintain_order=True):
        assert isinstance(unit, float)
        changes = sorted(unit * at for at in (*JOIN, *LEAVE))
        for begin, end in pairwise(changes):
            inside = part.filter((pl.col("time_s") > begin + 0.39 * unit) & (pl.col("time_s") < end + 0.01 * unit))
            total = inside.group_by("time_s").agg(pl.col("value").sum())["value"].to_numpy()
            active = sum(unit * join <= begin + 1e-9 for join in JOIN) - sum(unit * at <= begin + 1e-9 for at in LEAVE)
            means = np.sort(inside.group_by("entity").agg(pl.col("value").mean())["value"].to_numpy())[-active:]
            rows.append(
                {
                    "transport": name,
                    "seed": seed,
                    "from_s": begin,
                    "flows": active,
                    "least_total_Mbps": round(float(total.min()) / 1e6, 1),
                    "mean_total_Mbps": round(float(total.mean()) / 1e6, 1),
                    "least_share": round(float(means.min() / means.sum() * active), 3),
                    "largest_share": round(float(means.max() / means.sum() * active), 3),
                }
            )
    phases = pl.DataFrame(rows)
    least = pl.col("least_total_Mbps", "least_share").min()
    shown = phases.group_by("transport", "from_s", "flows", maintain_order=True).agg(
        least, pl.col("mean_total_Mbps").mean().round(1), pl.col("largest_share").max()
    )
    return {**tables, "phases": phases, "shown": shown}


def worst(tables: Tables, name: str, column: str) -> Estimate:
    """The least (or largest) value of a column in any phase, over the seeds."""
    part = tables["phases"].filter(pl.col("transport") == name)
    best = max if column == "largest_share" else min
    return estimate([best(float(value) for value in part.filter(pl.col("seed") == seed)[column]) for seed in SEEDS])


def check(tables: Tables) -> list[Finding]:
    """The verdicts on the figure's claims."""
    here = claim("pac", "fig12-long-term-goodput")
    total = {name: worst(tables, name, "least_total_Mbps") for name in READINGS}
    note = "; ".join(f"{name}: {total[name].mean:.0f}" for name in READINGS[1:])
    found = [judge.judge(here, total["pac"], form=".0f", note=note)]
    here = claim("pac", "fig12-long-term-fairness")
    low, high = worst(tables, "pac", "least_share"), worst(tables, "pac", "largest_share")
    first, last = soon(tables, "pac")
    text = f"shares from {low:.3f} to {high:.3f} of the fair one over a phase, {first:.3f} to {last:.3f} over its "
    text += "first second"
    measured = {
        "phase, least share": low,
        "phase, largest share": high,
        "first second, least share": first,
        "first second, largest share": last,
    }
    return [*found, judge.judge(here, measured, text=text)]


def soon(tables: Tables, name: str) -> tuple[Estimate, Estimate]:
    """The least and the largest share of the fair one over the first second of any phase, over the seeds."""
    least, largest = [], []
    for seed in SEEDS:
        part = tables["series"].filter((pl.col("transport") == name) & (pl.col("seed") == seed))
        unit = float(part["unit_s"][0])
        shares = [shares_of(part, unit, change) for change in sorted((*JOIN, *LEAVE))[:-1]]
        least.append(min(float(one.min()) for one in shares))
        largest.append(max(float(one.max()) for one in shares))
    return estimate(least), estimate(largest)


def shares_of(part: pl.DataFrame, unit: float, change: int) -> NDArray[np.float64]:
    """The shares of the active flows of a run in the second after a change, over the fair one."""
    inside = part.filter(pl.col("time_s").is_between(unit * (change + 0.01), unit * (change + 1.01)))
    means = np.sort(inside.group_by("entity").agg(pl.col("value").mean())["value"].to_numpy())[-active(change) :]
    return np.asarray(means / means.mean())


def active(change: int) -> int:
    """The number of flows after a change, which is one of `JOIN` and `LEAVE`."""
    return sum(join <= change for join in JOIN) - sum(leave <= change for leave in LEAVE)


def facts(tables: Tables) -> dict[str, object]:
    """The numbers that the prose names."""
    return {
        "least": worst(tables, "pac", "least_total_Mbps"),
        "low": worst(tables, "pac", "least_share").mean,
        "high": worst(tables, "pac", "largest_share").mean,
        "soon_low": soon(tables, "pac")[0],
        "soon_high": soon(tables, "pac")[1],
        "eq6": worst(tables, "pac, eq. (6)", "least_total_Mbps").mean,
        "eq6_mean": worst(tables, "pac, eq. (6)", "mean_total_Mbps").mean,
        "code": worst(tables, "pac, code", "least_total_Mbps").mean,
        "code_mean": worst(tables, "pac, code", "mean_total_Mbps").mean,
    }


def draw(tables: Tables, look: Look) -> dict[str, Picture]:
    """Throughput of each flow, and of all."""
    picture, axes = grid(1, len(READINGS), width=12.0, height=3.0, sharey=True)
    for place, name in zip(axes, READINGS, strict=True):
        part = tables["series"].filter((pl.col("transport") == name) & (pl.col("seed") == SEEDS[0]))
        for index, flow in enumerate(sorted(part["entity"].unique())):
            rows = part.filter(pl.col("entity") == flow)
            style = look.line(index) | {"marker": "", "lw": 1.4, "label": f"flow {index + 1}"}
            place.plot(rows["time_s"], rows["value"] / 1e6, **style)
        total = part.group_by("time_s").agg(pl.col("value").sum()).sort("time_s")
        place.plot(total["time_s"], total["value"] / 1e6, color=look.ink, lw=1.0, label="all")
        place.set(title=name, xlabel="time in s")
    axes[0].set_ylabel("throughput in Mbps")
    axes[0].set_ylim(0, 1000)
    legend(picture, axes[0], 5)
    return {"throughput": picture}


FIGURE = Figure(
    name="pac/fig12",
    title="PAC, Fig. 12: four long flows join and leave",
    doc=__doc__ + "\n" + common.ABOUT_READINGS,
    jobs=jobs,
    measure=measure,
    summarise=summarise,
    check=check,
    draw=draw,
    claims=("fig12-long-term-goodput", "fig12-long-term-fairness"),
    facts=facts,
    shown={
        "shown": "Between two changes: least and mean total, and the flows' shares of the fair one, over all seeds."
    },
    captions={"throughput": "Throughput of each flow and of all, first seed"},
)
