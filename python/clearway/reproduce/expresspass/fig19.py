"""Flows of four workloads (Table 2) arrive at random between the 192 hosts of a tree that is oversubscribed 3:1 at its
ToRs: 10 Gbps, 4 us a link, 1 us at a host, 384.5 KB a port. Fig. 19 shows the average and the 99th percentile of
completion times by size (S below 10 KB, M below 100 KB, L below 1 MB, XL) at a load of 0.6 of the ToR uplinks, Table
3 the average and the maximum queue at 0.2, 0.4 and 0.6, both for ExpressPass, RCP, DCTCP, DX and HULL.

Unstated, and chosen here:

* **Number of flows**: the paper's 100,000 a run would take hours. So runs are cut to 1/1404, 1/468 and 1/117 of the
  749 GB of its Data Mining, and Web Server to at most twice that: at the largest these are all 100,000 flows of Web
  Server, 9,100 of Cache Follower, 3,900 of Web Search and 860 of Data Mining, with three seeds. At quick scale 2,500,
  400, 200 and 60 flows, so that every run has a similar number of packets. Flows that arrive in the first and
  last tenth of a run are left out of completion times. A class counts where every run has ten of its flows. The 99th
  percentile is that of all seeds' flows together, and is stated where they are 1,000.
* **Sizes**: the distributions in the authors' published files. Their mean sizes set the arrival rate.
* **ExpressPass**: alpha = w_init = 1/16 (stated); 1/2 beside it at 0.6.
* **Stacks are equal**: a handshake for each flow, windows from two segments, as the paper's ns-2 has them
  (`stacks = "equal"`). Neither is stated, and both decide the times of short flows. So at 0.6 DCTCP also runs with its
  *own* stack: connections that stand, and ten segments (RFC 6928).
* **Windows** have no limit. ns-2's TCP has one of 20 segments where a script sets none. So DCTCP and HULL run with it
  too, at quick scale at 0.6 only.
* **RCP** asks for its rate with a SYN. DCTCP: K = 65 frames, g = 1/16. HULL: phantom queues at 0.95. DX: 1 us of
  accuracy. Their other constants are on their pages in `docs/protocols`.
* **Least timeout** 10 ms.
* **Average queue**: the paper does not say of which ports. All output ports of switches decide; those from ToRs up
  (where the load is set) stand beside. Both are the integral over the run divided by the time in which flows arrive:
  the paper's long runs have few packets after the last arrival, ours many. The frame being sent does not count.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

import numpy as np
import polars as pl
from matplotlib.figure import Figure as Picture
from matplotlib.patches import Patch

from clearway import metrics
from clearway.reproduce import judge, stats
from clearway.reproduce.claims import Finding, claim
from clearway.reproduce.expresspass.fig19_cells import (
    BESIDE,
    HALF,
    LOADS,
    OTHERS,
    OWN,
    PAPER_NAMES,
    SMALL,
    SMALL_RUNS,
    TRANSPORTS,
    case,
    cells,
    classes,
    instead,
    late,
    mean,
    named,
    per_seed,
    slower,
    span,
    with_windows,
)
from clearway.reproduce.expresspass.fig19_queues import check_queues, growth, over_arrivals
from clearway.reproduce.expresspass.realistic import (
    BUCKETS,
    COLORS,
    FEW,
    WORKLOADS,
    all_flows_at,
    p99_ratio,
    scenario,
    tail_ratio,
)
from clearway.reproduce.figure import Figure, Job, Tables
from clearway.reproduce.look import Look, grid, legend
from clearway.reproduce.quantities import cost, data_drops, queues, steady
from clearway.result import Run

#: Flows of a run at quick scale: about as many packets in each.
FLOWS = {"web-server": 2_500, "cache-follower": 400, "web-search": 200, "data-mining": 60}


def jobs(scale: str) -> list[Job]:
    """The runs at quick scale, or of the paper's flows."""
    return runs(FLOWS, stats.SEEDS, few=True) if scale == "quick" else at(1)


def at(size: float) -> list[Job]:
    """The runs at a smaller size than the paper's."""
    return runs(all_flows_at(size), FEW, few=False)


def runs(flows: Mapping[str, int], seeds: Sequence[int], *, few: bool) -> list[Job]:
    """Every workload, load, transport and seed; those beside at the highest load, and small windows unless `few`."""
    equal = {name: (transport, "equal") for name, transport in TRANSPORTS.items()}
    beside = {load: BESIDE if load == LOADS[-1] else {} if few else SMALL_RUNS for load in LOADS}
    return [
        Job(
            {"workload": workload, "load": load, "transport": name, "seed": seed},
            {
                **scenario("fig19", transport, workload, load, flows[workload]),
                "seed": seed,
                "stacks": stacks,
            },
        )
        for workload in WORKLOADS
        for load in LOADS
        for name, (transport, stacks) in (equal | beside[load]).items()
        for seed in seeds
    ]


def measure(job: Job, run: Run) -> Tables:
    """Mean completion times by class, queues, cost; completion times of all flows at the highest load."""
    flows = metrics.with_bucket(metrics.completed(steady(run.flows))).select(
        pl.col("bucket").replace_strict(BUCKETS).alias("size"), "fct_s"
    )
    of = {size: flows.filter(pl.col("size") == size)["fct_s"].to_numpy() for size in BUCKETS.values()}
    row = {
        **cost(run),
        **queues(run),
        "queue_mean_arrivals": over_arrivals(run),
        "drops": data_drops(run),
        "timeouts": int(run.flows["timeouts"].sum()),
        "credit_waste": metrics.credit_waste(run.flows),
        **{f"fct_{size}": float(np.mean(values)) if len(values) else float("nan") for size, values in of.items()},
        **{f"flows_{size}": len(values) for size, values in of.items()},
    }
    return {"rows": pl.DataFrame([row]), "flows": flows if job.params["load"] == LOADS[-1] else flows.clear()}


def summarise(tables: Tables) -> Tables:
    """Mean completion times at 0.6, queues beside the paper's, and what runs cost."""
    shown = pl.DataFrame(
        {
            "workload": WORKLOADS[workload],
            "class": size,
            "flows_a_run": round(mean(tables, f"flows_{size}", workload, "expresspass").mean),
            **{f"{name}_ms": mean(tables, f"fct_{size}", workload, name).mean * 1e3 for name in (*TRANSPORTS, *BESIDE)},
        }
        for workload, size in cells(tables, tuple(BUCKETS.values()))
    )
    average, most = (claim("expresspass", f"table3-{name}-queue") for name in ("average", "max"))
    table3 = pl.DataFrame(
        {
            "workload": workload,
            "load": load,
            "transport": name,
            "paper_average_KB": average.number(case(workload, load, name)),
            "over_arrivals_KB": mean(tables, "queue_mean_arrivals", workload, name, load).mean / 1e3,
            "all_ports_KB": mean(tables, "queue_mean", workload, name, load).mean / 1e3,
            "ToR_uplinks_KB": mean(tables, "queue_mean_up", workload, name, load).mean / 1e3,
            "paper_maximum_KB": most.number(case(workload, load, name)),
            "maximum_KB": mean(tables, "queue_max", workload, name, load).mean / 1e3,
            "drops": mean(tables, "drops", workload, name, load).mean,
            "timeouts": mean(tables, "timeouts", workload, name, load).mean,
        }
        for workload in WORKLOADS
        for load in LOADS
        for name in TRANSPORTS
    )
    costs = (
        tables["rows"]
        .group_by("workload", maintain_order=True)
        .agg(
            pl.len().alias("runs"),
            pl.col("flows").max().alias("flows_a_run"),
            pl.col("M_link_tx").sum().round(0),
            pl.col("cpu_s").sum().round(1),
        )
    )
    return {**tables, "shown": shown, "table3": table3, "cost": costs}


def extremes(values: dict[tuple[str, str], stats.Estimate]) -> tuple[tuple[str, str], tuple[str, str]]:
    """The cells of the least and the largest."""
    return min(values, key=lambda one: values[one].mean), max(values, key=lambda one: values[one].mean)


def extremes_text(values: dict[tuple[str, str], stats.Estimate]) -> str:
    """`0.96 (Data Mining S) to 2.1 (Web Search M)`."""
    return " to ".join(f"{values[one].mean:.2f} ({named(one)})" for one in extremes(values))


def check(tables: Tables) -> list[Finding]:
    """The verdicts on the figure's claims."""
    lost = tables["rows"].filter(pl.col("transport").str.starts_with("expresspass"))["drops"]
    here = claim("expresspass", "sec1-zero-data-loss")
    zero = judge.judge(here, int(lost.sum()), note=f"in {lost.len()} runs")
    return [*check_means(tables), *check_order(tables), *check_queues(tables), zero]


def at_half(tables: Tables, of: Callable[[Tables], dict[str, judge.Measured]]) -> judge.Change:
    """The change of ExpressPass's first rate, for quantities of completion times."""
    says = (
        "Section 6.3 sets alpha and w_init to 1/16, so that credits begin at a sixteenth of the link's rate; at 1/2 "
        "short flows wait less for them, and large flows lose more to waste."
    )
    return judge.Change(says, of(instead(tables, {"expresspass": HALF})))


def check_means(tables: Tables) -> list[Finding]:
    """Fig. 19, averages against DCTCP."""
    found = []
    for name, among in (("small-medium", ("S", "M")), ("large", ("L", "XL"))):
        here = claim("expresspass", f"fig19-average-fct-{name}")
        of = partial(short_means if name == "small-medium" else ends, among=among)
        ratios = {cell: slower(tables, cell, "dctcp") for cell in cells(tables, among)}
        own = {cell: slower(tables, cell, OWN) for cell in ratios}
        first = {cell: slower(tables, cell, HALF) for cell in ratios}
        least, most = extremes(ratios)
        note = (
            f"{named(least)}, {named(most)}; DCTCP with its own stack: {extremes_text(own)}; ExpressPass at 1/2 over "
            f"1/16: {extremes_text(first)}"
        )
        causes = [at_half(tables, of), with_windows(tables, of)]
        found.append(judge.judge(here, of(tables), form=".2f", note=note, cause=causes))
    return found


def ends(tables: Tables, among: Sequence[str]) -> dict[str, judge.Measured]:
    """The least and the largest of DCTCP's mean times over ExpressPass's."""
    ratios = {cell: slower(tables, cell, "dctcp") for cell in cells(tables, among)}
    least, most = extremes(ratios)
    return {"min": ratios[least], "max": ratios[most]}


def short_means(tables: Tables, among: Sequence[str]) -> dict[str, judge.Measured]:
    """DCTCP's times of short flows over ExpressPass's: ends, each class, and how tails compare with means."""
    of = cells(tables, among)
    faster = {f"mean, {named(cell)}": slower(tables, cell, "dctcp") for cell in of}
    return {**ends(tables, among), **faster, **tail_gaps(tables, of)}


def tail_gaps(tables: Tables, of: list[tuple[str, str]]) -> dict[str, stats.Estimate]:
    """The gap to DCTCP at the 99th percentile over that of the means, for the cells that have one."""
    found = {cell: tail_ratio(late(tables, cell, "dctcp"), late(tables, cell, "expresspass")) for cell in of}
    return {f"99th percentile over mean, {named(cell)}": one for cell, one in found.items() if not np.isnan(one.mean)}


def check_order(tables: Tables) -> list[Finding]:
    """Fig. 19, the order of transports and of workloads."""
    here = claim("expresspass", "fig19-transport-ordering")
    quantities = order(tables)
    short = {name: one for name, one in quantities.items() if "short" in name}
    large = {name: one for name, one in quantities.items() if "large" in name}
    text = f"other over ExpressPass: short flows {span(short)}, large flows of DCTCP and RCP {span(large)}"
    note = "the 99th percentile where a class has 1,000 flows"
    found = [judge.judge(here, quantities, text=text, note=note, cause=at_half(tables, order))]
    here = claim("expresspass", "fig19-web-server-worst")
    relative = {workload: versus_others(tables, workload) for workload in WORKLOADS}
    text = ", ".join(f"{WORKLOADS[name]} {stats.estimate(values).mean:.2f}" for name, values in relative.items())
    note = "ExpressPass over the median of the others, geometric mean over the classes"
    return [*found, judge.judge(here, worse(tables), text=text, note=note, cause=at_half(tables, worse))]


def order(tables: Tables) -> dict[str, judge.Measured]:
    """The times of other transports over those of ExpressPass, by class."""
    quantities: dict[str, judge.Measured] = {}
    for cell in cells(tables, ("S", "M")):
        for other in OTHERS:
            what = f"short flows, {named(cell)}, {PAPER_NAMES[other]}"
            quantities[f"mean of {what}"] = slower(tables, cell, other)
            tail = p99_ratio(late(tables, cell, other), late(tables, cell, "expresspass"))
            if not np.isnan(tail.mean):
                quantities[f"99th percentile of {what}"] = tail
    for cell in cells(tables, ("L", "XL")):
        for other in ("dctcp", "rcp"):
            quantities[f"mean of large flows, {named(cell)}, {PAPER_NAMES[other]}"] = slower(tables, cell, other)
    return quantities


def worse(tables: Tables) -> dict[str, judge.Measured]:
    """ExpressPass's time over the others' in Web Server, over the same ratio in each other workload."""
    relative = {workload: versus_others(tables, workload) for workload in WORKLOADS}
    return {
        f"Web Server over {WORKLOADS[other]}": stats.paired_ratio(relative["web-server"], values)
        for other, values in relative.items()
        if other != "web-server"
    }


def versus_others(tables: Tables, workload: str) -> list[float]:
    """The time of ExpressPass over the median of the others, as geometric mean over the classes, one a seed."""
    return [
        float(np.exp(np.mean([np.log(ours / np.median(others)) for ours, *others in zip(*of_classes, strict=True)])))
        for of_classes in zip(
            *(
                zip(
                    *([*per_seed(tables, f"fct_{size}", workload, name)] for size in classes(tables, workload)),
                    strict=True,
                )
                for name in TRANSPORTS
            ),
            strict=True,
        )
    ]


def facts(tables: Tables) -> dict[str, object]:
    """The numbers that the prose names."""
    short = {cell: slower(tables, cell, "dctcp") for cell in cells(tables, ("S", "M"))}
    large = {cell: slower(tables, cell, "dctcp") for cell in cells(tables, ("L", "XL"))}
    table = tables["table3"]
    ours = table.filter(pl.col("transport") == "expresspass")
    return {
        "short": extremes_text(short),
        "short_own": extremes_text({cell: slower(tables, cell, OWN) for cell in short}),
        "dctcp_over_half": extremes_text(
            {cell: slower(instead(tables, {"expresspass": HALF}), cell, "dctcp") for cell in short}
        ),
        "short_half": extremes_text({cell: slower(tables, cell, HALF) for cell in short}),
        "short_dx": extremes_text({cell: slower(tables, cell, "dx") for cell in short}),
        "large": extremes_text(large),
        "large_half": extremes_text({cell: slower(tables, cell, HALF) for cell in large}),
        "least": ours["maximum_KB"].to_numpy().min(),
        "most": ours["maximum_KB"].to_numpy().max(),
        "average": ours["all_ports_KB"].to_numpy().max(),
        **{f"grown_{name}": growth(tables, name).mean for name in TRANSPORTS},
        **{
            f"small_{name}_{short_name}": mean(tables, "queue_max", workload, SMALL[name]).mean / 1e3
            for name in SMALL
            for workload, short_name in (("web-server", "server"), ("web-search", "search"))
        },
        **{
            f"{name}_{short_name}": table.row(
                by_predicate=(pl.col("transport") == name)
                & (pl.col("workload") == workload)
                & (pl.col("load") == LOADS[-1]),
                named=True,
            )["maximum_KB"]
            for name in ("dctcp", "hull", "rcp")
            for workload, short_name in (("web-server", "server"), ("web-search", "search"))
        },
    }


def draw(tables: Tables, look: Look) -> dict[str, Picture]:
    """Bars of completion times, and the queues against the load."""
    return {"fct": draw_times(tables, look), "queues": draw_queues(tables, look)}


def draw_times(tables: Tables, look: Look) -> Picture:
    """The average by class, for each workload."""
    picture, axes = grid(2, 2, width=10.4, height=2.5)
    for place, (workload, title) in zip(axes, WORKLOADS.items(), strict=True):
        present = classes(tables, workload)
        spots = np.arange(len(present))
        for i, name in enumerate(TRANSPORTS):
            values = [mean(tables, f"fct_{size}", workload, name).mean * 1e3 for size in present]
            place.bar(spots + (i - 2) * 0.16, values, 0.14, color=look.color(COLORS[name]), lw=0)
        for name, at, marker in ((HALF, -2, "_"), (OWN, 0, "_")):
            values = [mean(tables, f"fct_{size}", workload, name).mean * 1e3 for size in present]
            place.plot(spots + at * 0.16, values, ls="", marker=marker, ms=9, mew=2, color=look.ink)
        place.set_yscale("log")
        place.set_xlim(-0.6, 3.6)
        place.set_xticks(spots, present)
        place.grid(visible=False, axis="x")
        place.yaxis.set_major_formatter(lambda y, _: f"{y:g}")
        place.minorticks_off()
        place.set(title=title, ylabel="FCT (ms)")
    handles = [Patch(color=look.color(COLORS[name]), label=PAPER_NAMES[name], lw=0) for name in TRANSPORTS]
    picture.legend(handles=handles, loc="outside lower center", ncols=5, fontsize=10.5)
    return picture


def draw_queues(tables: Tables, look: Look) -> Picture:
    """Average and maximum queue against the load: lines are ours, hollow markers the paper's."""
    picture, axes = grid(2, len(WORKLOADS), width=11.2, height=2.5, sharey="row")
    names = ["expresspass", "rcp", "dctcp", "dx", "hull"]
    for row, (ours, theirs) in enumerate((("all_ports_KB", "paper_average_KB"), ("maximum_KB", "paper_maximum_KB"))):
        for place, (workload, title) in zip(axes[row * 4 : row * 4 + 4], WORKLOADS.items(), strict=True):
            for name in names:
                part = tables["table3"].filter((pl.col("workload") == workload) & (pl.col("transport") == name))
                color, line = look.color(COLORS[name]), look.line(COLORS[name])
                place.plot(part["load"], part[ours], label=name, lw=1.6, ms=4, **line)
                marks = {"marker": line["marker"], "mec": color, "mfc": "none", "ms": 7, "ls": ""}
                place.plot(part["load"], part[theirs], **marks)
            place.set_yscale("log")
            place.set_ylim(*((1e-3, 40), (6, 600))[row])
            place.set_xticks(list(LOADS))
            place.set_xlim(0.13, 0.67)
            place.yaxis.set_major_formatter(lambda y, _: f"{y:g}")
            place.minorticks_off()
            if row == 0:
                place.set_title(title)
            else:
                place.set_xlabel("load")
    axes[0].set_ylabel("average queue (KB)")
    axes[4].set_ylabel("maximum queue (KB)")
    legend(picture, axes[0], 5)
    return picture


FIGURE = Figure(
    name="expresspass/fig19",
    title="ExpressPass '17, Fig. 19 and Table 3: four workloads on 192 hosts at 10 Gbps",
    doc=__doc__ or "",
    jobs=jobs,
    at=at,
    sizes=(1 / 1404, 1 / 468, 1 / 117),
    measure=measure,
    summarise=summarise,
    check=check,
    facts=facts,
    draw=draw,
    claims=(
        "fig19-average-fct-small-medium",
        "fig19-average-fct-large",
        "fig19-transport-ordering",
        "fig19-web-server-worst",
        "table3-average-queue",
        "table3-max-queue",
        "table3-average-queue-ordering",
        "table3-max-queue-load-independent",
        "sec1-buffer-8x-less-than-dctcp",
    ),
    shown={
        "shown": "Mean flow completion times at a load of 0.6, means over the seeds. Stacks are equal, but in the last "
        "column.",
        "table3": "Queues: two readings of the average beside the paper's, and maxima; means over the seeds.",
        "cost": "What the runs cost.",
    },
    captions={
        "fct": "Mean completion times at a load of 0.6, equal stacks. Dashes: ExpressPass at 1/2, and DCTCP with its "
        "own stack",
        "queues": "Average (all switch ports) and maximum queue against the load: ours (lines), the paper's Table 3 "
        "(hollow)",
    },
)
