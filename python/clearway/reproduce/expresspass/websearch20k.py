"""No figure of the paper, but the run that its authors' code takes longest for: 20,000 flows of the web-search
workload on their fat tree of 192 hosts, 3:1 oversubscribed at its ToRs, at a load of 0.6.

Chosen here: the arrival rate from the mean size that their scripts state, alpha = w_init = 1/16 (section 6.3), 1 us
of host delay as in their scripts; beside it their feedback and constants (profiles `ns2`, `ns2-fat-tree`). At quick
scale 2,000 flows. One run, as its CPU time is what it is about.
"""

from __future__ import annotations

import numpy as np
import polars as pl
from matplotlib.figure import Figure as Picture
from matplotlib.ticker import PercentFormatter

from clearway import metrics, units
from clearway.reproduce import judge
from clearway.reproduce.claims import Finding, claim
from clearway.reproduce.expresspass.common import COLORS
from clearway.reproduce.expresspass.realistic import SCRIPT
from clearway.reproduce.figure import Figure, Job, Tables
from clearway.reproduce.look import Look, grid, legend
from clearway.reproduce.quantities import books_balance, data_drops
from clearway.result import Run

TRANSPORTS: dict[str, dict[str, object]] = {
    "expresspass": {"name": "expresspass", "alpha": 0.0625, "w_init": 0.0625},
    "ns2 profile": {"name": "expresspass", "profile": ["ns2", "ns2-fat-tree"]},
}
FLOWS = {"quick": 2_000, "paper": 20_000}


def jobs(scale: str) -> list[Job]:
    """The run, and the one with the authors' feedback."""
    return [
        Job(
            {"transport": name},
            {
                "name": "websearch-20k",
                "stacks": "equal",
                "topology": {"kind": "oversubscribed-fat-tree", "rate": "10 Gbps", "delay": "4 us"},
                "host": {"processing_delay": "1 us"},
                "transport": transport,
                "traffic": [
                    {
                        "name": "web",
                        "kind": "poisson",
                        "load_of": SCRIPT,
                        "workload": "web-search",
                        "load": 0.6,
                        "flows": FLOWS[scale],
                    }
                ],
            },
        )
        for name, transport in TRANSPORTS.items()
    ]


def measure(job: Job, run: Run) -> Tables:  # noqa: ARG001
    """Totals, completion times by size, and points of the distribution of slowdowns."""
    cost, ports = run.summary["measured"], metrics.switch_ports(run.ports)
    row = {
        "started": run.summary["flows_started"],
        "completed": run.summary["flows_completed"],
        "balanced": books_balance(run),
        "drops": data_drops(run),
        "simulated_s": run.summary["simulated_s"],
        "cpu_s": cost["cpu_s"],
        "peak_memory_MB": cost["peak_memory_bytes"] / 1e6,
        "M_link_tx_per_cpu_s": cost["million_link_transmissions_per_cpu_s"],
        "M_link_tx": run.summary["link_transmissions"] / 1e6,
        "queue_max_KB": float(ports["queue_max_bytes"].max()) / 1e3,  # type: ignore[arg-type]
        "credit_waste": metrics.credit_waste(run.flows),
    }
    share = np.linspace(0, 1, 201)
    slowdown = np.quantile(metrics.completed(run.flows)["slowdown"].to_numpy(), share)
    return {
        "rows": pl.DataFrame([row]),
        "sizes": metrics.fct_by_size(run.flows),
        "slowdowns": pl.DataFrame({"share": share, "slowdown": slowdown}),
    }


def summarise(tables: Tables) -> Tables:
    """Times as text, for reading."""
    times = [
        pl.col(name).map_elements(units.seconds, return_dtype=pl.String).alias(name.removesuffix("_s") + "_FCT")
        for name in ("mean_s", "p50_s", "p99_s")
    ]
    columns = ["transport", "bucket", "flows", "unfinished", *times, "slowdown_mean", "slowdown_p99"]
    return {**tables, "shown": tables["sizes"].select(columns)}


def check(tables: Tables) -> list[Finding]:
    """The one claim; the rest has nothing in the paper to be compared with."""
    rows = tables["rows"]
    note = "; ".join(
        f"{row['transport']}: {row['completed']:,} of {row['started']:,} flows finished, the books "
        f"{'balance' if row['balanced'] else 'do not balance'}"
        for row in rows.iter_rows(named=True)
    )
    ours = rows.filter(pl.col("transport") == "expresspass")["drops"]
    return [judge.judge(claim("expresspass", "sec1-zero-data-loss"), int(ours.sum()), note=note)]


def facts(tables: Tables) -> dict[str, object]:
    """The numbers that the prose names."""
    rows = {row["transport"]: row for row in tables["rows"].iter_rows(named=True)}
    means = {
        row["transport"]: row["mean_s"] * 1e3
        for row in tables["sizes"].filter(pl.col("bucket") == "all").iter_rows(named=True)
    }
    ours, theirs = rows["expresspass"], rows["ns2 profile"]
    return {
        "flows": int(ours["completed"]),
        "drops": int(ours["drops"]),
        "queue": ours["queue_max_KB"],
        "waste": 100 * ours["credit_waste"],
        "waste_ns2": 100 * theirs["credit_waste"],
        "mean": means["expresspass"],
        "mean_ns2": means["ns2 profile"],
    }


def by_transport(table: pl.DataFrame) -> dict[str, pl.DataFrame]:
    """The rows of each transport."""
    names: list[str] = table["transport"].unique(maintain_order=True).to_list()
    return {name: table.filter(pl.col("transport") == name) for name in names}


def draw(tables: Tables, look: Look) -> dict[str, Picture]:
    """Distribution of slowdowns."""
    picture, (axes,) = grid(1, 1, width=5.6, height=3.1)
    for name, part in by_transport(tables["slowdowns"]).items():
        line = {**look.line(COLORS[name]), "marker": ""}
        axes.plot(part["slowdown"], part["share"], label=name, **line)
    axes.set(xscale="log", xlabel="slowdown against the idle network", ylabel="share of flows", ylim=(0, 1.01))
    axes.set_xticks([1, 2, 5, 10, 20, 50, 100, 200], ["1", "2", "5", "10", "20", "50", "100", "200"])
    axes.minorticks_off()
    axes.yaxis.set_major_formatter(PercentFormatter(1.0))
    legend(picture, axes)
    return {"slowdown": picture}


FIGURE = Figure(
    name="expresspass/websearch-20k",
    title="20,000 web-search flows on the 192-host tree at a load of 0.6",
    doc=__doc__ or "",
    jobs=jobs,
    measure=measure,
    summarise=summarise,
    check=check,
    facts=facts,
    draw=draw,
    claims=("sec1-zero-data-loss",),
    shown={"rows": "The run.", "shown": "Flow completion times by size."},
    captions={"slowdown": "Slowdown of all flows"},
    alone=True,
)
