"""The shuffle of MapReduce: 40 hosts on one switch at 10 Gbps, 8 tasks each, and every task sends 1 MB to every task of
the other hosts, so that each host sends and receives 2,496 flows. The paper shows the distribution of completion
times.

Unstated, and chosen here:

* **Size**: 1 MB is 10^6 B. The paper's size takes an hour for each run of ExpressPass, so the scale `paper` has all
  8 tasks with 1/64, 1/32 and 1/8 of the bytes, and times are scaled up in proportion. Fewer bytes and not fewer
  tasks, since the number of flows at a host is what this figure is about: 2,496 windows of two segments are 7.7 MB,
  twenty times a buffer; those of 2 tasks, 156 flows, are 0.5 MB. Three seeds of DCTCP and one of ExpressPass, whose
  times differ by less than 1 % between seeds. At quick scale 2 tasks a host send 62.5 KB to each other task, with five
  seeds.
* **Delay** 4 us a link (as in the other networks of the paper), none at hosts; buffers of 384.5 KB.
* **Starts**: at random within the first millisecond. All at once would be a burst that no two hosts could time.
* **alpha and w_init**: the defaults, 1/2 and 1/16.
* **DCTCP** as in ns-2, which the paper used (E17-27): K = 65 frames, g = 0.0625, windows from two segments, a least
  timeout of 200 ms, and hosts whose card is a FIFO that drops and marks, like any other queue of ns-2 (`host.queue`).
  With a share of the bytes the least timeout is that share of 200 ms, so that it is the same part of all times.
* **Beside it**, one change each: a host's flows share its card by *turns*, a packet each, and none is lost there;
  windows from *ten segments* (RFC 6928); *new connections*: each flow opens one, as ns-2's FullTcp does, and what is
  lost before the first round trip is known is sent again after ns-2's first timeout of 3 s, or that share of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl
from matplotlib.figure import Figure as Picture
from matplotlib.ticker import LogLocator

from clearway import metrics
from clearway.report.style import own
from clearway.reproduce import judge, stats
from clearway.reproduce.claims import Finding, claim
from clearway.reproduce.expresspass.realistic import FEW
from clearway.reproduce.figure import Figure, Job, Tables
from clearway.reproduce.look import Look, done_and_left, grid, legend
from clearway.reproduce.quantities import cost, data_drops
from clearway.result import Run

STAR: dict[str, Any] = {"kind": "star", "hosts": 40, "rate": "10 Gbps", "delay": "4 us"}
BUFFER = "384.5 KB"
#: The card of a host of ns-2: a queue like that of a port of the switch.
FIFO = {"queue": BUFFER}
TASKS = {"quick": 2, "paper": 8}
SIZE = {"quick": 62_500, "paper": 1_000_000}
#: Bytes of a flow at smaller sizes than the paper's, by their share of its bytes.
SMALLER = {1 / 64: 15_625, 1 / 32: 31_250, 1 / 8: 125_000}
#: DCTCP with one change of the set-up by the source.
TURNS, TEN, NEW = "dctcp, turns", "dctcp, ten segments", "dctcp, new connections"
TRANSPORTS: dict[str, dict[str, Any]] = {
    "expresspass": {"name": "expresspass"},
    "dctcp": {"name": "dctcp", "g": 0.0625, "initial_window": 2},
    TURNS: {"name": "dctcp", "g": 0.0625, "initial_window": 2},
    TEN: {"name": "dctcp", "g": 0.0625, "initial_window": 10},
    NEW: {"name": "dctcp", "g": 0.0625, "initial_window": 2, "handshake": True},
}
#: Timeouts of ns-2 in microseconds: the least, and the first of a connection (`rtxcur_init_`).
RTO_US, FIRST_US = 200_000, 3_000_000
COLORS = {**own("expresspass", "dctcp"), TURNS: 7, TEN: 6, NEW: 5}


def fewer(tasks: int, size_bytes: int) -> float:
    """The factor by which the bytes of a run are fewer than the paper's."""
    return (TASKS["paper"] / tasks) ** 2 * SIZE["paper"] / size_bytes


def jobs(scale: str) -> list[Job]:
    """The runs at quick scale, or of all tasks and bytes of the paper."""
    return runs(TASKS[scale], SIZE[scale], stats.SEEDS if scale == "quick" else FEW)


def at(size: float) -> list[Job]:
    """The runs at a smaller size than the paper's."""
    return runs(TASKS["paper"], SMALLER[size], FEW)


def runs(tasks: int, size_bytes: int, seeds: Sequence[int]) -> list[Job]:
    """Every transport and seed, but with all tasks one seed of ExpressPass, whose times hardly depend on it."""
    of = {"expresspass": seeds if tasks < TASKS["paper"] else seeds[:1]}
    return [job(name, tasks, size_bytes, seed) for name in TRANSPORTS for seed in of.get(name, seeds)]


def job(name: str, tasks: int, size_bytes: int, seed: int = 1) -> Job:
    """The job of one shuffle."""
    transport = TRANSPORTS[name]
    if name != "expresspass":
        transport = transport | late(tasks, size_bytes)
    if name == NEW:
        transport = transport | {"rto_initial": f"{FIRST_US / fewer(tasks, size_bytes):.0f} us"}
    return Job(
        {"transport": name, "seed": seed, "tasks": tasks, "size_bytes": size_bytes},
        {
            "name": "fig17",
            "seed": seed,
            "topology": STAR,
            "switch": {"buffer": BUFFER},
            "host": {} if name in ("expresspass", TURNS) else FIFO,
            "transport": transport,
            "traffic": [shuffle(tasks, size_bytes)],
        },
    )


def late(tasks: int, size_bytes: int) -> dict[str, str]:
    """The least timeout of ns-2, in proportion to the bytes."""
    return {"rto_min": f"{RTO_US / fewer(tasks, size_bytes):.0f} us"}


def shuffle(tasks: int, size_bytes: int) -> dict[str, Any]:
    """The traffic: so many tasks at a host, so many bytes from each to each of another host."""
    return {"name": "flows", "kind": "shuffle", "tasks": tasks, "size": f"{size_bytes} B", "spread": "1 ms"}


def measure(job: Job, run: Run) -> Tables:  # noqa: ARG001
    """Quantiles of completion times."""
    fct = metrics.completed(run.flows)["fct_s"].to_numpy()
    sent = run.flows.group_by("src").len()["len"]
    share = np.concatenate([np.linspace(0, 0.99, 199), np.linspace(0.99, 1, 101)[1:]])
    row = {
        **cost(run),
        "flows_a_host": int(sent.max()),  # type: ignore[arg-type]
        "median_s": float(np.median(fct)),
        "p99_s": stats.percentile(fct, 99),
        "max_s": float(fct.max()),
        "drops": data_drops(run),
        "timeouts": int(run.flows["timeouts"].sum()),
        "queue_max": int(metrics.switch_ports(run.ports)["queue_max_bytes"].max()),  # type: ignore[arg-type]
    }
    return {
        "rows": pl.DataFrame([row]),
        "points": pl.DataFrame({"share": share, "fct_s": np.quantile(fct, share)}),
    }


def summarise(tables: Tables) -> Tables:
    """Means over the seeds, in milliseconds."""
    times = [(pl.col(f"{name}_s") * 1e3).round(2).alias(f"{name}_FCT_ms") for name in ("median", "p99", "max")]
    groups = tables["rows"].group_by("transport", maintain_order=True)
    shown = groups.agg(
        pl.len().alias("runs"),
        pl.col("flows").first(),
        pl.col("median_s", "p99_s", "max_s").mean(),
        pl.col("drops", "timeouts").sum(),
        (pl.col("queue_max").max() / 1e3).alias("queue_max_KB"),
        pl.col("cpu_s").sum().round(1),
    ).select("transport", "runs", "flows", *times, "drops", "timeouts", "queue_max_KB", "cpu_s")
    first = tables["points"].filter(pl.col("seed") == stats.SEEDS[0])
    return {**tables, "points": first, "shown": shown}


def scaled(tables: Tables, transport: str, column: str) -> stats.Estimate:
    """A time of a transport, as it would be with all of the paper's bytes."""
    row = tables["rows"].row(0, named=True)
    return stats.over_seeds(tables["rows"], column, transport=transport).scaled(fewer(row["tasks"], row["size_bytes"]))


def ratio(tables: Tables, column: str, other: str = "dctcp") -> stats.Estimate:
    """The other's time over that of ExpressPass, paired by seed; over its one run where it has one."""
    theirs, ours = (stats.per_seed(tables["rows"], column, transport=x) for x in (other, "expresspass"))
    return stats.paired_ratio(theirs, as_many(ours, theirs))


def as_many(ours: list[float], theirs: list[float]) -> list[float]:
    """The values of ExpressPass for each seed of the other; its one run stands for all where it has one."""
    return ours * len(theirs) if len(ours) == 1 else ours


def check(tables: Tables) -> list[Finding]:
    """The verdicts on the figure's claims."""
    row = tables["rows"].row(0, named=True)
    times = fewer(row["tasks"], row["size_bytes"])
    note = "" if times == 1 else f"with 1/{times:.0f} of the bytes, scaled up in proportion"
    here = claim("expresspass", "fig17-shuffle-flow-count")
    found = [judge.arithmetic(here, 39 * TASKS["paper"] ** 2, note="39 hosts x 8 x 8 tasks")]
    here = claim("expresspass", "fig17-shuffle-median-fct")
    found.append(judge.judge(here, medians(tables, "dctcp"), form=".2f", note=note))
    for name, column in (("p99", "p99_s"), ("max", "max_s")):
        others = (TURNS, TEN, NEW)
        beside = ", ".join(f"{other.partition(', ')[2]} {ratio(tables, column, other):.2f}" for other in others)
        here = claim("expresspass", f"fig17-shuffle-{name}-ratio")
        cause = judge.Change(
            "Connections stand before here. Where each flow opens its own, as ns-2's FullTcp does, a flow that loses "
            "its first packets waits for ns-2's first timeout of 3 s, which doubles.",
            ratio(tables, column, NEW),
        )
        found.append(judge.judge(here, ratio(tables, column), note=beside, cause=cause))
    lost = tables["rows"].filter(pl.col("transport") == "expresspass")["drops"]
    here = claim("expresspass", "sec1-zero-data-loss")
    return [*found, judge.judge(here, int(lost.sum()), note=f"in {lost.len()} runs")]


def medians(tables: Tables, other: str) -> dict[str, judge.Measured]:
    """The medians of the two transports, and their ratio."""
    return {
        "DCTCP": scaled(tables, other, "median_s"),
        "ExpressPass": scaled(tables, "expresspass", "median_s"),
        "DCTCP over ExpressPass": ratio(tables, "median_s", other),
    }


def facts(tables: Tables) -> dict[str, object]:
    """The numbers that the prose names."""
    lossy = tables["rows"].filter(pl.col("transport") == "dctcp")
    names = {"dctcp": "dctcp", "turns": TURNS, "ten": TEN, "new": NEW}
    return {
        "median": scaled(tables, "expresspass", "median_s").mean,
        **{f"median_{short}": scaled(tables, name, "median_s").mean for short, name in names.items()},
        **{f"p99_{short}": ratio(tables, "p99_s", name) for short, name in names.items()},
        **{f"max_{short}": ratio(tables, "max_s", name) for short, name in names.items()},
        "lost": int(lossy["drops"].sum() / lossy.height),
        "timeouts": int(lossy["timeouts"].sum() / lossy.height),
    }


def draw(tables: Tables, look: Look) -> dict[str, Picture]:
    """The distribution, and its tail."""
    picture, axes = grid(1, 2, width=10.0, height=3.2)
    for name in TRANSPORTS:
        part = tables["points"].filter(pl.col("transport") == name)
        done_and_left(axes, part, name, look.line(COLORS[name]))
    axes[0].set(title="Flows that are done", xlabel="FCT (ms)")
    axes[0].set_xlim(0, None)
    axes[1].set(title="Flows that are not", xlabel="FCT (ms)", xscale="log", yscale="log", ylim=(1e-4, 1.1))
    axes[1].yaxis.set_major_formatter(lambda y, _: f"{100 * y:g}%")
    axes[1].xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes[1].xaxis.set_major_formatter(lambda x, _: f"{x:g}")
    axes[1].minorticks_off()
    legend(picture, axes[0], columns=5)
    return {"fct": picture}


FIGURE = Figure(
    name="expresspass/fig17",
    title="ExpressPass '17, Fig. 17: a shuffle among 40 hosts",
    doc=__doc__ or "",
    jobs=jobs,
    at=at,
    sizes=tuple(SMALLER),
    measure=measure,
    summarise=summarise,
    check=check,
    facts=facts,
    draw=draw,
    claims=(
        "fig17-shuffle-flow-count",
        "fig17-shuffle-median-fct",
        "fig17-shuffle-p99-ratio",
        "fig17-shuffle-max-ratio",
    ),
    shown={"shown": "Completion times, means over the runs; drops and timeouts of all."},
    captions={"fct": "Completion times of all flows of the first seed: distribution, and its tail on logarithmic axes"},
)
