"""The speed-up of flows when links go from 10 to 40 Gbps: the average completion time at 10 Gbps over that at 40 Gbps,
by size class (S below 10 KB, M below 100 KB, L below 1 MB, XL), for ExpressPass, RCP, DCTCP, DX and HULL, on
the 192-host tree at a load of 0.6, with the Web Search and Web Server workloads.

Unstated, and chosen here:

* **Flows**: 600 (Web Search) and 4,000 (Web Server) a run at quick scale; runs of the scale `paper` are cut as those
  of [Fig. 19](expresspass-fig19.md) are, to 14,200 and 100,000 flows and three seeds. The same flows, four times as
  dense in time, at 40 Gbps. Those that arrive in the first and last tenth are left out.
* **DCTCP at 40 Gbps**: K = 260 frames, g = 1/16. HULL and DX scale by their own rules.
* **ExpressPass**: alpha = w_init = 1/16 as the section states.
* **DX** tells no queue below 1 us of delay at either rate. At 40 Gbps these are three frames, at 10 Gbps not one. So
  there it also runs with 250 ns, which are as many frames as 1 us at 10 Gbps.
* **Stacks**: every flow opens its connection with a handshake; first windows of two segments (`stacks = "equal"`).
* **Seeds**: five; the ratio is that of the same flows under the two rates.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl
from matplotlib.figure import Figure as Picture

from clearway import metrics
from clearway.reproduce import judge, stats
from clearway.reproduce.claims import Finding, claim
from clearway.reproduce.expresspass.fig19_cells import PAPER_NAMES
from clearway.reproduce.expresspass.realistic import BUCKETS, COLORS, FEW, WORKLOADS, flows_at, scenario
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
#: DX with one change at 40 Gbps: an accuracy of as many frames as at 10 Gbps, where it is plain DX.
FINE = "dx, 250 ns"
AT: dict[int, dict[str, dict[str, Any]]] = {
    10: TRANSPORTS,
    40: TRANSPORTS | {FINE: {"name": "dx", "accuracy": "250 ns"}},
}


def jobs(scale: str) -> list[Job]:
    """The runs at quick scale, or of the paper's flows."""
    return runs(FLOWS, stats.SEEDS) if scale == "quick" else at(1)


def at(size: float) -> list[Job]:
    """The runs at a smaller size than the paper's."""
    return runs({workload: flows_at(workload, size) for workload in FLOWS}, FEW)


def runs(flows: Mapping[str, int], seeds: Sequence[int]) -> list[Job]:
    """Both workloads and rates under every transport; at the higher rate also what isolates a cause."""
    return [
        Job(
            {"workload": workload, "rate": rate, "transport": name, "seed": seed},
            {
                **scenario("fig21", transport, workload, 0.6, flows[workload], rate),
                "seed": seed,
                "stacks": "equal",
            },
        )
        for workload in FLOWS
        for rate in RATES
        for name, transport in AT[rate].items()
        for seed in seeds
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
    return stats.paired_ratio(*times(tables, workload, size, transport))


def times(tables: Tables, workload: str, size: str, transport: str) -> list[list[float]]:
    """The mean completion times of a class at both rates, one a seed."""
    slow = "dx" if transport == FINE else transport
    return [
        stats.per_seed(tables["rows"], f"fct_{size}", workload=workload, transport=name, rate=rate)
        for name, rate in zip((slow, transport), RATES, strict=True)
    ]


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
            **{name: speed_up(tables, workload, name, size).mean for name in AT[40]},
        }
        for workload in FLOWS
        for size in sizes(tables, workload)
    ]
    return {**tables, "shown": pl.DataFrame(rows)}


def gains(tables: Tables, workload: str, size: str, transport: str) -> list[float]:
    """The speed-up of a class, one a seed."""
    return [a / b for a, b in zip(*times(tables, workload, size, transport), strict=True)]


def overall(tables: Tables, transport: str) -> list[float]:
    """The geometric mean of the speed-ups of all classes, one a seed."""
    of = [gains(tables, workload, size, transport) for workload in FLOWS for size in sizes(tables, workload)]
    return [float(np.exp(np.mean(np.log(values)))) for values in zip(*of, strict=True)]


def check(tables: Tables) -> list[Finding]:
    """The verdicts on the figure's claims."""
    return [check_ours(tables), check_dctcp(tables), check_order(tables)]


def check_ours(tables: Tables) -> Finding:
    """The range of ExpressPass's gains, and that they exceed those of the others."""
    cells = [(workload, size) for workload in FLOWS for size in sizes(tables, workload)]
    ours = {cell: speed_up(tables, cell[0], "expresspass", cell[1]) for cell in cells}
    least, most = (pick(ours.values(), key=lambda one: one.mean) for pick in (min, max))

    def quantities(dx: str) -> dict[str, judge.Measured]:
        over = {
            f"gain over that of {PAPER_NAMES[name]}, {WORKLOADS[cell[0]]} {cell[1]}": stats.paired_ratio(
                gains(tables, *cell, "expresspass"), gains(tables, *cell, dx if name == "dx" else name)
            )
            for cell in cells
            for name in TRANSPORTS
            if name != "expresspass" and cell != ("web-server", "L")
        }
        return {"min": least, "max": most, **over}

    found = {name: judge.estimate_of(value) for name, value in quantities("dx").items() if name not in ("min", "max")}
    lowest = min(found, key=lambda name: found[name].mean)
    here = claim("expresspass", "fig21-speedup-expresspass")
    note = f"{lowest}: {found[lowest]:.2f}"
    return judge.judge(here, quantities("dx"), form=".2f", note=note, cause=fine(quantities))


def fine(quantities: Callable[[str], dict[str, judge.Measured]]) -> judge.Change:
    """The evidence that DX's accuracy decides: the quantities of a claim where it is as many frames at both rates."""
    return judge.Change(
        "DX tells no queue below 1 us of delay at either rate, so that at 40 Gbps three frames wait unseen and its "
        "links stay fuller; there it has 250 ns here, as many frames as at 10 Gbps.",
        quantities(FINE),
    )


def check_dctcp(tables: Tables) -> Finding:
    """DCTCP's gains: XL of Web Search, and the larger of the two workloads for each smaller class."""
    of = {
        size: max(
            (speed_up(tables, workload, "dctcp", size) for workload in FLOWS if size in sizes(tables, workload)),
            key=lambda one: one.mean,
        )
        for size in BUCKETS.values()
    }
    xl = gains(tables, "web-search", "XL", "dctcp")
    more = {
        f"XL over {size} of {WORKLOADS[workload]}": stats.paired_ratio(xl, gains(tables, workload, size, "dctcp"))
        for workload in FLOWS
        for size in sizes(tables, workload)
        if size != "XL"
    }
    here = claim("expresspass", "fig21-speedup-dctcp")
    return judge.judge(here, {**of, **more}, form=".2f", note="of S, M and L the larger of the two workloads")


def check_order(tables: Tables) -> Finding:
    """The sizes and the transports that gain most."""

    def quantities(dx: str) -> dict[str, judge.Measured]:
        runs = {name: dx if name == "dx" else name for name in TRANSPORTS}
        found: dict[str, judge.Measured] = {
            f"large over small, {WORKLOADS[workload]}, {PAPER_NAMES[name]}": stats.paired_ratio(
                gains(tables, workload, sizes(tables, workload)[-1], run), gains(tables, workload, "S", run)
            )
            for workload in FLOWS
            for name, run in runs.items()
        }
        for name in TRANSPORTS:
            if name != "rcp":
                found[f"RCP over {PAPER_NAMES[name]}, Web Server L"] = stats.paired_ratio(
                    *(gains(tables, "web-server", "L", runs[one]) for one in ("rcp", name))
                )
        for first in ("expresspass", "rcp", "dctcp"):
            for last in ("dx", "hull"):
                pair, two = f"{PAPER_NAMES[first]} over {PAPER_NAMES[last]}", (runs[first], runs[last])
                found[f"{pair} in Web Search XL"] = stats.paired_ratio(
                    *(gains(tables, "web-search", "XL", one) for one in two)
                )
                found[f"{pair} in all classes"] = stats.paired_ratio(*(overall(tables, one) for one in two))
        return found

    text = "; ".join(
        f"{PAPER_NAMES[name]}: S {speed_up(tables, 'web-search', name, 'S').mean:.2f}, "
        f"XL {speed_up(tables, 'web-search', name, 'XL').mean:.2f}, "
        f"all classes {float(np.exp(np.mean(np.log(overall(tables, name))))):.2f}"
        for name in TRANSPORTS
    )
    here = claim("expresspass", "fig21-speedup-ordering")
    return judge.judge(here, quantities("dx"), text=text, note="S, XL: Web Search", cause=fine(quantities))


def facts(tables: Tables) -> dict[str, object]:
    """The numbers that the prose names."""
    return {
        f"{name.replace(', 250 ns', '_fine')}_{workload.replace('-', '_')}_{size}": speed_up(
            tables, workload, name, size
        )
        for name in AT[40]
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
    at=at,
    sizes=(1 / 512, 1 / 128, 1 / 32),
    measure=measure,
    summarise=summarise,
    check=check,
    facts=facts,
    draw=draw,
    claims=("fig21-speedup-expresspass", "fig21-speedup-dctcp", "fig21-speedup-ordering"),
    shown={"shown": "Mean completion time at 10 Gbps over that at 40 Gbps, means over the seeds."},
    captions={"speed-up": "What four times the link rate gains, by size class"},
)
