"""Shares of long flows on one link, and its use, under the default law of ExpressPass, over a grid of flows, link
rates and round-trip times. No paper shows it.

* **Grid**: 2 to 64 flows, each between hosts of its own, over a link of 10, 40 or 100 Gbps, with a propagation delay of
  25 or 100 us there and back.
* **Starts**: all flows together, or 1 ms apart.
* **Measured**: for 20 ms from 10 ms after the last start: the use of what data can take beside credits of 84 B, and
  Jain's index over each of the two windows of 10 ms. Under the default also Jain's index over 400 round trips, which
  are 10 ms at 25 us and 40 ms at 100 us: in the window that begins 10 ms and 400 round trips after the last start.
* **Requirement**: use and Jain's index over 10 ms at least 0.95 in every cell in which a flow's equal share is one
  credit a round trip or more. Where the index falls short of it, the bound is on the index over 400 round trips.
* **Other laws**: the law of the authors' ns-2 code, the decrease as printed, and the default with one or two changes:
  flows that start together. The paper states 0.1 for `target_loss` and 0.01 for `w_min`. It studies jitter from 0.01 to
  0.08 and states no value, and its queues are drop-tail.
* **Seeds**: three at quick scale, five at the others.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import polars as pl
from matplotlib.figure import Figure as Picture

from clearway.reproduce import stats
from clearway.reproduce.figure import Figure, Job, Tables
from clearway.reproduce.look import Look, grid, legend, powers
from clearway.reproduce.quantities import CEILING, CREDIT, FRAME, PAYLOAD, binned, fairness
from clearway.result import Run

FLOWS = (2, 4, 8, 16, 32, 64)
RATES = (10, 40, 100)
ROUND_TRIPS = (25, 100)
STARTS = ("together", "1 ms apart")
SEEDS = {"quick": (1, 2, 3), "paper": stats.SEEDS}
#: The least use of what data can take, and the least Jain index over 10 ms.
REQUIRED = 0.95
#: The end of the time that flows have to settle after the last start, and of the measurement, in milliseconds.
SETTLED, END = 10, 30
#: Round trips of the long window in which the default law must be fair in every cell.
LONG = 400
#: Laws beside the default, each as the parameters that it changes.
LAWS: dict[str, dict[str, Any]] = {
    "default": {},
    "law of the ns-2 code": {"feedback": "ns2"},
    "decrease as printed": {"feedback": "sigcomm17-printed"},
    "jitter 0.1 around the gap": {"jitter": 0.1, "jitter_around": "gap"},
    "jitter 0.5 around the gap": {"jitter": 0.5, "jitter_around": "gap"},
    "a full queue drops any credit": {"credit_drop": "random"},
    "target_loss 0.05": {"target_loss": 0.05},
    "w_min 0.02": {"w_min": 0.02},
    "w_min 0.02 and jitter 0.1 around the gap": {"w_min": 0.02, "jitter": 0.1, "jitter_around": "gap"},
}
#: Laws in which more is left to chance, by the names of their numbers in the prose.
MORE_CHANCE = {
    "jitter": "jitter 0.1 around the gap",
    "more": "jitter 0.5 around the gap",
    "any": "a full queue drops any credit",
}
Cell = tuple[int, int, int]
#: The cell in which few flows stay unequal because their credits keep in step.
LOCKED: Cell = (100, 100, 4)


def cells() -> Iterator[Cell]:
    """Every rate in Gbps, round trip in us and number of flows."""
    return ((rate, rtt, flows) for rate in RATES for rtt in ROUND_TRIPS for flows in FLOWS)


def credits_a_round_trip(rate: int, rtt: int, flows: int) -> float:
    """The credits that pass in a round trip without queues, for each flow."""
    return rate * 1e9 * rtt * 1e-6 / (8 * (CREDIT + FRAME)) / flows


def jobs(scale: str) -> list[Job]:
    """Every cell under every law with flows that start together, and under the default with those that do not."""
    settings = [("default", starts) for starts in STARTS] + [(law, STARTS[0]) for law in LAWS if law != "default"]
    return [job(law, starts, cell, seed) for law, starts in settings for cell in cells() for seed in SEEDS[scale]]


def job(law: str, starts: str, cell: Cell, seed: int) -> Job:
    """Long flows over one link."""
    rate, rtt, flows = cell
    apart = 0 if starts == STARTS[0] else 1
    pairs = [{"src": f"h{i}", "dst": f"h{flows + i}", "start": f"{apart * i} ms"} for i in range(flows)]
    topology = {
        "kind": "dumbbell",
        "pairs": flows,
        "rate": f"{rate} Gbps",
        "delay": f"{rtt / 8} us",
        "bottleneck_rate": f"{rate} Gbps",
        "bottleneck_delay": f"{rtt / 4} us",
    }
    end = max(END, SETTLED + 2 * long_ms(rtt)) if law == "default" else END
    body = {
        "name": "law",
        "seed": seed,
        "stop": f"{apart * (flows - 1) + end} ms",
        "topology": topology,
        "transport": {"name": "expresspass", **LAWS[law]},
        "traffic": [{"name": "flows", "kind": "flows", "list": pairs}],
        "sample": [{"name": "throughput", "what": "throughput", "every": "1 ms"}],
    }
    params = {"law": law, "starts": starts, "Gbps": rate, "round_trip_us": rtt, "flows": flows, "seed": seed}
    return Job(params, body)


def long_ms(rtt: int) -> int:
    """The milliseconds of the long window, for a round trip in us."""
    return LONG * rtt // 1000


def measure(job: Job, run: Run) -> Tables:
    """The use of the link, Jain's index over 10 ms and, if the run lasts so long, over the second 400 round trips."""
    last_s = max(float(run.flows["start_s"].max()), 0.0)  # type: ignore[arg-type]
    rates = binned(run, "throughput", last_s + SETTLED * 1e-3, 10e-3)[1][:, : (END - SETTLED) // 10]
    most = job.params["Gbps"] * 1e9 * CEILING * PAYLOAD / FRAME
    window = long_ms(job.params["round_trip_us"])
    later = binned(run, "throughput", last_s + (SETTLED + window) * 1e-3, window * 1e-3)[1]
    row = {"use": float(rates.sum(axis=0).mean()) / most, "jain": fairness(rates), "jain_long": fairness(later)}
    return {"rows": pl.DataFrame([row])}


def of(tables: Tables, value: str, law: str, starts: str, cell: Cell) -> stats.Estimate:
    """A measure over the seeds."""
    rate, rtt, flows = cell
    where = {"law": law, "starts": starts, "Gbps": rate, "round_trip_us": rtt, "flows": flows}
    return stats.over_seeds(tables["rows"], value, **where)


def passes(tables: Tables, law: str, starts: str, cell: Cell) -> bool:
    """True if the means of a cell are as required."""
    return all(of(tables, value, law, starts, cell).mean >= REQUIRED for value in ("use", "jain"))


def as_required(tables: Tables, cell: Cell) -> bool:
    """True if the default law does what is required in a cell, whenever flows start."""
    return all(passes(tables, "default", starts, cell) for starts in STARTS)


def summarise(tables: Tables) -> Tables:
    """Every cell of the default, and a row for each law."""
    rows = [
        {
            "Gbps": cell[0],
            "round_trip_us": cell[1],
            "flows": cell[2],
            "credits_a_round_trip_and_flow": f"{credits_a_round_trip(*cell):.1f}",
            **{
                f"{name},_{starts.replace(' ', '_')}": of(tables, value, "default", starts, cell).text(".3f")
                for starts in STARTS
                for value, name in (("use", "use"), ("jain", "Jain"))
            },
            "as_required": "yes" if as_required(tables, cell) else "no",
            **{
                f"Jain_over_{LONG}_round_trips,_{starts.replace(' ', '_')}": of(
                    tables, "jain_long", "default", starts, cell
                ).text(".3f")
                for starts in STARTS
            },
        }
        for cell in cells()
    ]
    laws = [row_of_law(tables, law) for law in LAWS]
    return {**tables, "cells": pl.DataFrame(rows), "laws": pl.DataFrame(laws)}


def row_of_law(tables: Tables, law: str) -> dict[str, object]:
    """The least values of a law with flows that start together."""
    found = {cell: [of(tables, value, law, STARTS[0], cell).mean for value in ("use", "jain")] for cell in cells()}
    return {
        "law": law,
        "least_use": f"{min(use for use, _ in found.values()):.3f}",
        "least_Jain": f"{min(jain for _, jain in found.values()):.3f}",
        "mean_use": f"{sum(use for use, _ in found.values()) / len(found):.3f}",
        "mean_Jain": f"{sum(jain for _, jain in found.values()) / len(found):.3f}",
        "cells_below_0.95": sum(not passes(tables, law, STARTS[0], cell) for cell in found),
    }


def facts(tables: Tables) -> dict[str, object]:
    """The numbers that the prose names."""
    found: dict[str, object] = {"cells": len(list(cells()))}
    for short, starts in zip(("together", "apart"), STARTS, strict=True):
        for value in ("use", "jain"):
            least = min(cells(), key=lambda cell: of(tables, value, "default", starts, cell).mean)
            found[f"{value}_{short}"] = of(tables, value, "default", starts, least)
            found[f"{value}_{short}_cell"] = name_of(least)
        wrong = [name_of(cell) for cell in cells() if not passes(tables, "default", starts, cell)]
        found[f"wrong_{short}"] = len(wrong)
        found[f"wrong_{short}_cells"] = "; ".join(wrong) or "none"
    for starts in STARTS:
        least = min(cells(), key=lambda cell: of(tables, "jain_long", "default", starts, cell).mean)
        short = "together" if starts == STARTS[0] else "apart"
        found[f"long_{short}"] = of(tables, "jain_long", "default", starts, least)
        found[f"long_{short}_cell"] = name_of(least)
        fair = [cell for cell in cells() if of(tables, "jain_long", "default", starts, cell).mean >= REQUIRED]
        found[f"long_{short}_fair"] = len(fair)
    locked = of(tables, "jain", "jitter 0.1 around the gap", STARTS[0], LOCKED)
    found |= {"locked": of(tables, "jain", "default", STARTS[0], LOCKED), "unlocked": locked}
    few = [cell for cell in cells() if credits_a_round_trip(*cell) < 1]
    found["few"] = " and ".join(name_of(cell) for cell in few)
    found["few_jain"] = min(of(tables, "jain", "default", starts, cell).mean for cell in few for starts in STARTS)
    found["bound"] = min(random_choice(cell) for cell in few)
    found["credits_64"] = credits_a_round_trip(10, 100, 64)
    laws = {law: row_of_law(tables, law) for law in LAWS}
    best = min(laws, key=lambda law: int(str(laws[law]["cells_below_0.95"])))
    found |= {"best": best, "best_wrong": laws[best]["cells_below_0.95"]}
    found["printed_unused"] = 100 * (1 - float(str(laws["decrease as printed"]["least_use"])))
    both = "w_min 0.02 and jitter 0.1 around the gap"
    found["both_cells"] = "; ".join(name_of(cell) for cell in cells() if not passes(tables, both, STARTS[0], cell))
    for short, law in MORE_CHANCE.items():
        found[f"{short}_jain"] = float(str(laws[law]["least_Jain"]))
        found[f"{short}_wrong"] = laws[law]["cells_below_0.95"]
    return found


def random_choice(cell: Cell) -> float:
    """Jain's index over 10 ms if every frame were of a flow chosen at random."""
    rate, _, flows = cell
    frames = rate * 1e9 * 10e-3 / (8 * (CREDIT + FRAME)) / flows
    return 1 / (1 + (1 - 1 / flows) / frames)


def name_of(cell: Cell) -> str:
    """A cell as prose names it."""
    rate, rtt, flows = cell
    return f"{flows} flows at {rate} Gbps and {rtt} us"


def draw(tables: Tables, look: Look) -> dict[str, Picture]:
    """Use and Jain's index against the number of flows, a panel for each round trip, a line for each rate."""
    picture, axes = grid(2, 2, width=9.2, height=2.6, sharex=True, sharey=True)
    shown = (("use", "use of what data can take"), ("jain", "Jain's index over 10 ms"))
    rows = (axes[:2], axes[2:])
    for row, (value, title) in zip(rows, shown, strict=True):
        for place, rtt in zip(row, ROUND_TRIPS, strict=True):
            for number, rate in enumerate(RATES):
                for starts, style in zip(STARTS, ("-", "--"), strict=True):
                    means = [of(tables, value, "default", starts, (rate, rtt, flows)).mean for flows in FLOWS]
                    line = {**look.line(number), "ls": style}
                    place.plot(FLOWS, means, label=f"{rate} Gbps, {starts}", ms=4, **line)
            place.axhline(REQUIRED, color="gray", linewidth=0.8)
            powers(place, list(FLOWS))
            place.set_title(f"round trip of {rtt} us" if value == "use" else "")
        row[0].set_ylabel(title)
    for place in rows[1]:
        place.set_xlabel("flows")
    axes[0].set_ylim(0.65, 1.02)
    legend(picture, axes[0], columns=3)
    return {"law": picture}


FIGURE = Figure(
    name="ours/law",
    title="The default law of ExpressPass over flows, rates and round-trip times",
    doc=__doc__ or "",
    jobs=jobs,
    measure=measure,
    summarise=summarise,
    check=lambda _: [],
    facts=facts,
    draw=draw,
    shown={
        "cells": "The default law: means over the seeds with 95 % intervals.",
        "laws": "Laws beside each other, flows that start together: the least and the mean over all cells.",
    },
    captions={
        "law": "Use of the link and Jain's index over 10 ms under the default law; the grey line is the requirement"
    },
)
