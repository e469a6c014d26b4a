"""The speed-up of flows when links go from 10 to 40 Gbps: the average completion time at 10 Gbps over that at 40 Gbps,
by size class (S below 10 KB, M below 100 KB, L below 1 MB, XL), for ExpressPass, RCP, DCTCP, DX and HULL, on
the 192-host tree at a load of 0.6, with the Web Search and Web Server workloads.

Unstated, and chosen here:

* **Flows**: 600 (Web Search) and 4,000 (Web Server) a run at quick scale, 100,000 at full scale as in Fig. 19; the
  same flows, four times as dense in time, at 40 Gbps. Those that arrive in the first and last tenth are left out.
* **DCTCP at 40 Gbps**: K = 260 frames, g = 1/16. HULL and DX scale by their own rules.
* **ExpressPass**: alpha = w_init = 1/16 as the section states.
* **Stacks**: every flow opens its connection with a handshake; first windows of two segments (`stacks = "equal"`).
* **Seeds**: five; the ratio is that of the same flows under the two rates.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
from matplotlib.figure import Figure as Picture

from clearway import metrics
from clearway.reproduce import judge, stats
from clearway.reproduce.claims import Finding, claim
from clearway.reproduce.expresspass.fig19 import PAPER_NAMES
from clearway.reproduce.expresspass.realistic import BUCKETS, COLORS, FULL, WORKLOADS, scenario
from clearway.reproduce.figure import Figure, Job, Tables
from clearway.reproduce.look import Look, grid, legend
from clearway.reproduce.quantities import steady
from clearway.result import Run

FLOWS = {"web-search": 600, "web-server": 4_000}
RATES = (10, 40)
TRANSPORTS: dict[str, dict[str, Any]] = {
    "expresspass": {"name": "expresspass", "alpha": 0.0625, "w_init": 0.0625},
    "rcp": {"name": "rcp"},
    "dctcp": {"name": "dctcp", "g": 0.0625},
    "dx": {"name": "dx"},
    "hull": {"name": "hull"},
}


def jobs(scale: str) -> list[Job]:
    """Both workloads and rates under every transport."""
    return [
        Job(
            {"workload": workload, "rate": rate, "transport": name, "seed": seed},
            {
                **scenario("fig21", transport, workload, 0.6, FLOWS[workload] if scale == "quick" else FULL, rate),
                "seed": seed,
                "stacks": "equal",
            },
        )
        for workload in FLOWS
        for rate in RATES
        for name, transport in TRANSPORTS.items()
        for seed in (stats.SEEDS if scale == "quick" else stats.SEEDS[:1])
    ]


def measure(_: Job, run: Run) -> Tables:
    """The mean completion time of each size class, of the flows that arrive in the middle of the run."""
    flows = metrics.with_bucket(metrics.completed(steady(run.flows)))
    means = {
        f"fct_{short}": float(np.mean(part["fct_s"].to_numpy())) if part.height else float("nan")
        for bucket, short in BUCKETS.items()
        for part in [flows.filter(pl.col("bucket") == bucket)]
    }
    return {"rows": pl.DataFrame([means])}


def speed_up(tables: Tables, workload: str, transport: str, size: str) -> stats.Estimate:
    """The mean completion time at 10 Gbps over that at 40 Gbps."""
    slow, fast = (
        stats.per_seed(tables["rows"], f"fct_{size}", workload=workload, transport=transport, rate=rate)
        for rate in RATES
    )
    return stats.paired_ratio(slow, fast)


def sizes(tables: Tables, workload: str) -> list[str]:
    """The size classes that every run of a workload has flows of."""
    part = tables["rows"].filter(pl.col("workload") == workload)
    return [short for short in BUCKETS.values() if not part[f"fct_{short}"].is_nan().any()]


def summarise(tables: Tables) -> Tables:
    """Speed-ups, means over the seeds."""
    rows = [
        {
            "workload": WORKLOADS[workload],
            "class": size,
            **{name: speed_up(tables, workload, name, size).mean for name in TRANSPORTS},
        }
        for workload in FLOWS
        for size in sizes(tables, workload)
    ]
    return {**tables, "shown": pl.DataFrame(rows)}


def check(tables: Tables) -> list[Finding]:
    """The verdicts on the figure's claims."""
    cells = [(workload, size) for workload in FLOWS for size in sizes(tables, workload)]
    ups = {(*cell, name): speed_up(tables, *cell[:1], name, cell[1]) for cell in cells for name in TRANSPORTS}
    ours = {cell: ups[*cell, "expresspass"] for cell in cells}
    least = min(ours.values(), key=lambda one: one.mean)
    most = max(ours.values(), key=lambda one: one.mean)
    best = {
        cell: judge.both(
            *(judge.above(ours[cell], ups[*cell, name].mean, 0.1) for name in TRANSPORTS if name != "expresspass")
        )
        for cell in cells
        if cell != ("web-server", "L")
    }
    here = claim("expresspass", "fig21-speedup-expresspass")
    behind = [f"{workload} {size}" for (workload, size), holds in best.items() if holds is False]
    note = f"others gain more: {', '.join(behind)}" if behind else "the most of all transports in all cases"
    found = [judge.number(here, {"min": least, "max": most}, trend=not behind, form=".2f", note=note)]

    dctcp = {size: ups["web-search", size, "dctcp"] for size in sizes(tables, "web-search")}
    here = claim("expresspass", "fig21-speedup-dctcp")
    under = [judge.below(dctcp[size], here.number(f"{size}_max"), here.tolerance) for size in ("S", "M", "L")]
    values = {"XL": dctcp["XL"], **{f"{size}_max": dctcp[size] for size in ("S", "M", "L")}}
    text = ", ".join(f"{size}: {one:.2f}" for size, one in dctcp.items())
    within = judge.both(judge.inside(values["XL"], *here.band("XL")), *under)
    if within:
        found.append(judge.statement(here, text, {"XL within tolerance, S, M and L below 2": within}, seeds=5))
    else:
        larger = judge.above(dctcp["XL"], max(dctcp[size].mean for size in ("S", "M")))
        found.append(judge.number(here, values, trend=judge.both(larger, *under), form=".2f", note="Web Search"))

    here = claim("expresspass", "fig21-speedup-ordering")
    conditions = {
        f"{name}: XL gains more than S (Web Search)": judge.above(
            ups["web-search", "XL", name], ups["web-search", "S", name].mean, here.tolerance
        )
        for name in TRANSPORTS
    }
    large = {name: ups["web-server", "L", name] for name in TRANSPORTS}
    conditions["RCP gains most for large flows of Web Server"] = judge.above(
        large["rcp"], max(one.mean for name, one in large.items() if name != "rcp"), here.tolerance
    )
    rest = max(ups["web-search", "XL", name].mean for name in ("dx", "hull"))
    others = min(ups["web-search", "XL", name].mean for name in ("expresspass", "rcp", "dctcp"))
    conditions["DX and HULL gain least (XL, Web Search)"] = rest <= others * (1 + here.tolerance)
    text = "; ".join(
        f"{PAPER_NAMES[name]}: S {ups['web-search', 'S', name].mean:.2f}, XL {ups['web-search', 'XL', name].mean:.2f}"
        for name in TRANSPORTS
    )
    found.append(judge.statement(here, text, conditions, seeds=5))
    return found


def facts(tables: Tables) -> dict[str, object]:
    """The numbers that the prose names."""
    return {
        f"{name}_{workload.replace('-', '_')}_{size}": speed_up(tables, workload, name, size)
        for name in TRANSPORTS
        for workload in FLOWS
        for size in sizes(tables, workload)
    }


def draw(tables: Tables, look: Look) -> dict[str, Picture]:
    """Speed-ups by workload and size class."""
    picture, axes = grid(1, 2, width=9.6, height=2.9, sharey=True)
    for place, workload in zip(axes, FLOWS, strict=True):
        part = tables["shown"].filter(pl.col("workload") == WORKLOADS[workload])
        for number, name in enumerate(TRANSPORTS):
            places = [spot + 0.16 * (number - 2) for spot in range(part.height)]
            place.bar(places, part[name], width=0.15, color=look.color(COLORS[name]), label=PAPER_NAMES[name])
        place.set_xticks(range(part.height), part["class"].to_list())
        place.set(title=WORKLOADS[workload])
    axes[0].set_ylabel("FCT at 10 Gbps / at 40 Gbps")
    legend(picture, axes[0], columns=5)
    return {"speed-up": picture}


FIGURE = Figure(
    name="expresspass/fig21",
    title="ExpressPass '17, Fig. 21: from 10 to 40 Gbps",
    doc=__doc__ or "",
    jobs=jobs,
    measure=measure,
    summarise=summarise,
    check=check,
    facts=facts,
    draw=draw,
    claims=("fig21-speedup-expresspass", "fig21-speedup-dctcp", "fig21-speedup-ordering"),
    shown={"shown": "Mean completion time at 10 Gbps over that at 40 Gbps, means over the seeds."},
    captions={"speed-up": "What four times the link rate gains, by size class"},
)
