"""Queues in the network of [Fig. 8](ec4-fig08.md) under Web Search at loads of 0.2, 0.4 and 0.6: average, and 99th
percentile (caption) or maximum (text).

Unstated, and chosen here:

* **The port**: "the bottleneck link switch" are the ToRs' ports up to the aggregation switches, where the load is
  set. Average and percentile are over all of them, from samples every 20 us while flows arrive; the maximum is of
  each packet.
"""

from __future__ import annotations

import numpy as np
import polars as pl
from matplotlib.figure import Figure as Picture

from clearway import metrics
from clearway.reproduce.claims import Finding, claim, verdict
from clearway.reproduce.ec4.realistic import ABOUT, CASES, COLORS, scenario
from clearway.reproduce.figure import Figure, Job, Tables
from clearway.reproduce.look import Look, grid, legend
from clearway.reproduce.measures import cost, data_drops
from clearway.result import Run

LOADS = (0.2, 0.4, 0.6)
WORKLOAD = "web-search"


def jobs(scale: str) -> list[Job]:
    """Every load and case."""
    sample = {"name": "queue", "what": "queue", "every": "20 us"}
    return [
        Job({"load": load, "case": case}, {**scenario(CASES[case], WORKLOAD, load, scale), "sample": [sample]})
        for load in LOADS
        for case in CASES
    ]


def measure(job: Job, run: Run) -> Tables:  # noqa: ARG001
    """Queues of the ToRs' uplinks while flows arrive."""
    up = run.ports.filter(pl.col("tier") == "tor->agg")
    until = float(run.flows["start_s"].max())  # type: ignore[arg-type]
    samples = run.samples.filter(pl.col("entity").is_in(up["port"].to_list()) & (pl.col("time_s") <= until))
    values = samples["value"].to_numpy()
    row = {
        "queue_mean": float(values.mean()),
        "queue_p99": float(np.percentile(values, 99)),
        "queue_max": int(up["queue_max_bytes"].max()),  # type: ignore[arg-type]
        "queue_max_any": int(metrics.switch_ports(run.ports)["queue_max_bytes"].max()),  # type: ignore[arg-type]
        "drops": data_drops(run),
        "timeouts": int(run.flows["timeouts"].sum()),
        **cost(run),
    }
    return {"rows": pl.DataFrame([row])}


def summarise(tables: Tables) -> Tables:
    """Kilobytes, for reading."""
    names = {
        "queue_mean": "average_KB",
        "queue_p99": "p99_KB",
        "queue_max": "maximum_KB",
        "queue_max_any": "maximum_of_any_switch_port_KB",
    }
    columns = [(pl.col(name) / 1e3).round(1).alias(shown) for name, shown in names.items()]
    shown = tables["rows"].select("load", "case", *columns, "drops", "timeouts", pl.col("cpu_s").round(1))
    return {**tables, "shown": shown}


def column(tables: Tables, case: str, name: str) -> list[float]:
    """A measure by rising load, in KB."""
    return [float(value) / 1e3 for value in tables["rows"].filter(pl.col("case") == case).sort("load")[name]]


def check(tables: Tables) -> list[Finding]:
    """The claims."""
    here = claim("ec4", "fig09-expresspass-max-queue")
    most = {case: column(tables, case, "queue_max") for case in CASES}
    text = ", ".join(f"{value:.1f} KB at {load}" for load, value in zip(LOADS, most["expresspass"], strict=True))
    holds = all(here.holds(value, str(load)) for load, value in zip(LOADS, most["expresspass"], strict=True))
    rest = "; ".join(f"{case}: {', '.join(f'{v:.0f}' for v in most[case])}" for case in CASES if case != "expresspass")
    found = [Finding(here, text, verdict(holds), rest)]
    here = claim("ec4", "fig09-ec4-queue-like-dctcp")
    parts, close, below = [], [], []
    for name in ("queue_mean", "queue_p99"):
        ours, alone, other = (column(tables, case, name) for case in ("ec4", "dctcp", "expresspass"))
        label = name.removeprefix("queue_")
        parts.append(
            f"{label}: EC4 {shown(ours)}, DCTCP alone {shown(alone)}, ExpressPass {shown(other)}, "
            f"ns2 {shown(column(tables, 'expresspass, ns2', name))} KB"
        )
        close += [abs(a - b) <= here.tolerance * b for a, b in zip(ours, alone, strict=True)]
        below += [a < b for a, b in zip(ours, other, strict=True)]
    note = f"within 25 % of DCTCP's in {sum(close)} of {len(close)}, below ExpressPass's in {sum(below)}"
    found.append(Finding(here, "; ".join(parts), verdict(all(close) and all(below)), note))
    return found


def shown(values: list[float]) -> str:
    """`1.2 / 3.4 / 5.6`."""
    return " / ".join(f"{value:.3g}" for value in values)


def draw(tables: Tables, look: Look) -> dict[str, Picture]:
    """Average, percentile and maximum against the load."""
    picture, axes = grid(1, 3, width=10.5, height=2.8)
    titles = {"queue_mean": "Average", "queue_p99": "99th percentile", "queue_max": "Maximum"}
    for place, (name, title) in zip(axes, titles.items(), strict=True):
        for case in CASES:
            label = case if case == "dctcp" else f"{case} + dctcp"
            place.plot(LOADS, column(tables, case, name), label=label, lw=1.7, ms=4, **look.line(COLORS[case]))
        place.set_xticks(LOADS)
        place.set(title=f"{title}, ToR uplinks", xlabel="load")
        place.set_ylim(0, None)
    axes[0].set_ylabel("queue (KB)")
    legend(picture, axes[0], columns=4)
    return {"queues": picture}


READING = """\
**Agrees.** With ExpressPass in half of the hosts the maximum is at the buffer's end at each load, as in the paper
(384.5 and 373.5 KB). EC4's average and 99th percentile are below ExpressPass's at each load, and its average is that
of DCTCP alone (3 % above at 0.6) or less.

**Does not.** EC4's 99th percentile is 25 to 38 % above that of DCTCP alone at 0.4 and 0.6, and its maximum is at the
buffer's end too. So is nearly that of DCTCP alone (361 to 377 KB): bursts of first windows fill 250 frames at 40 Gbps
whoever sends them. [Fig. 8](ec4-fig08.md) has what EC4's losses depend on.
"""

FIGURE = Figure(
    name="ec4/fig09",
    title="EC4, Fig. 9: queues under Web Search at 40 Gbps",
    doc=__doc__ + "\n" + ABOUT,
    jobs=jobs,
    measure=measure,
    summarise=summarise,
    check=check,
    draw=draw,
    shown={"shown": "By load and what half of the hosts speak (the others: DCTCP)."},
    captions={"queues": "Queues at the ToRs' ports towards the aggregation switches"},
    reading=READING,
)
