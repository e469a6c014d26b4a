"""Utilisation against the size of the credit queue, with feedback, over a dumbbell; and Jain's index against the
jitter of credits (Fig. 5, which the text calls Fig. 5 as well as the former).

Unstated, and chosen here:

* **Flows**: 2 to 32 in Fig. 4, each from a host of its own, 10 Gbps, 100 us there and back; measured for 20 ms from
  10 ms on. Fig. 5: 2, 8 and 64 flows (paper: also 1,024), throughput in each millisecond of 6 ms from 3 ms on.
* **Feedback** in Fig. 5: off, and schedules of credits that coincide, as in the
  [later paper's figure](expresspass-fig06.md), which gives the jitter in ns (E17-31). With feedback beside it, 8 and 64
  flows.
* **Maxes out**: the least size from which on larger ones gain less than one percentage point, with the worst number
  of flows.
* **Worst under-utilisation**: of the worst number of flows with 16 credits.
"""

from __future__ import annotations

import numpy as np
import polars as pl
from matplotlib.figure import Figure as Picture
from matplotlib.ticker import PercentFormatter

from clearway.reproduce import judge, stats
from clearway.reproduce.claims import Finding, claim
from clearway.reproduce.expresspass import fig06, fig09
from clearway.reproduce.expresspass.common import dumbbell
from clearway.reproduce.figure import Figure, Job, Tables
from clearway.reproduce.hotnets.common import ABOUT, EXPRESSPASS, NAIVE
from clearway.reproduce.look import Look, grid, powers
from clearway.result import Run

QUEUES = (1, 2, 4, 8, 16, 32, 128)
FLOWS = (2, 8, 32)
JITTERS = (0.0, 0.01, 0.08)
MANY = {"quick": (2, 8, 64), "paper": (2, 8, 64, 1024)}


def jobs(scale: str) -> list[Job]:
    """The jobs of both sweeps."""
    found = [queue_job(scale, flows, queue, seed) for flows in FLOWS for queue in QUEUES for seed in stats.SEEDS]
    cases = [(fig06.FULL, flows) for flows in MANY[scale]] + [(fig06.FEEDBACK, flows) for flows in fig06.BESIDE]
    return found + [
        jitter_job(sent, flows, jitter, seed) for sent, flows in cases for jitter in JITTERS for seed in stats.SEEDS
    ]


def queue_job(scale: str, flows: int, queue: int, seed: int) -> Job:
    """A run of Fig. 4."""
    return Job(
        {"figure": "queue", "law": "feedback", "flows": flows, "queue": queue, "jitter": 0.01, "seed": seed},
        {
            "name": "hotnets-fig04",
            "seed": seed,
            "stop": f"{fig09.FROM_MS + fig09.SPAN_MS[scale]} ms",
            "topology": dumbbell(flows, "10 Gbps"),
            "switch": {"credit_queue": queue},
            "transport": EXPRESSPASS,
            "traffic": [{"name": "flows", "kind": "long", "spread": "1 ms"}],
            "sample": [{"name": "rate", "what": "rate", "every": "1 ms", "ports": ["s0->s1"]}],
        },
    )


def jitter_job(sent: str, flows: int, jitter: float, seed: int) -> Job:
    """A run of Fig. 5, with this paper's credit queue."""
    job = fig06.one_link(sent, flows, jitter, seed)
    own = NAIVE if sent == fig06.FULL else EXPRESSPASS
    transport = {**own, "jitter": jitter, **({"randomize_size": False} if own is NAIVE else {})}
    params = {"figure": "jitter", "sent": sent, "flows": flows, "queue": 16, "jitter": jitter, "seed": seed}
    return Job(params, {**job.scenario, "name": "hotnets-fig05", "transport": transport})


def measure(job: Job, run: Run) -> Tables:
    """The measurements of the later paper's figures."""
    if job.params["figure"] == "queue":
        return {"queues": fig09.measure(job, run)["rows"]}
    return {"jitters": fig06.measure(job, run)["rows"]}


def unused(tables: Tables, flows: int, queue: int) -> stats.Estimate:
    """The share unused, in per cent."""
    return stats.over_seeds(tables["queues"], 100 * pl.col("unused"), flows=flows, queue=queue)


def worst(tables: Tables, queue: int) -> stats.Estimate:
    """The value at the number of flows where it is worst."""
    return max((unused(tables, flows, queue) for flows in FLOWS), key=lambda one: one.mean)


def index(tables: Tables, flows: int, jitter: float, sent: str = fig06.FULL) -> stats.Estimate:
    """Jain's index over 1 ms."""
    return stats.over_seeds(tables["jitters"], "jain_1ms", sent=sent, flows=flows, jitter=jitter)


def many(tables: Tables) -> list[int]:
    """The numbers of flows of Fig. 5 that were run."""
    return sorted(tables["jitters"].filter(pl.col("sent") == fig06.FULL)["flows"].unique().to_list())


def summarise(tables: Tables) -> Tables:
    """Means over the seeds."""
    queue = [{"flows": n, **{str(size): unused(tables, n, size).mean for size in QUEUES}} for n in FLOWS]
    cases = [(fig06.FULL, n) for n in many(tables)] + [(fig06.FEEDBACK, n) for n in fig06.BESIDE]
    jitter = [
        {"credits": sent, "flows": n, **{f"{j:g}": index(tables, n, j, sent).mean for j in JITTERS}}
        for sent, n in cases
    ]
    return {**tables, "queue": pl.DataFrame(queue), "jitter": pl.DataFrame(jitter)}


def maxes_out(tables: Tables) -> list[float]:
    """The least size that larger ones improve by less than a point, one a seed."""
    worst_of = {
        size: [max(of_seed) for of_seed in zip(*(per_seed(tables, flows, size) for flows in FLOWS), strict=True)]
        for size in QUEUES
    }
    return [
        float(next(size for size in QUEUES if worst_of[size][i] < min(values[i] for values in worst_of.values()) + 1))
        for i in range(len(stats.SEEDS))
    ]


def per_seed(tables: Tables, flows: int, queue: int) -> list[float]:
    """The share unused in per cent, one a seed."""
    return stats.per_seed(tables["queues"], 100 * pl.col("unused"), flows=flows, queue=queue)


def check(tables: Tables) -> list[Finding]:
    """The verdicts on the figure's claims."""
    at, sixteen = stats.estimate(maxes_out(tables)), worst(tables, 16)
    found = [
        judge.judge(
            claim("hotnets", "fig04-credit-queue-size"),
            {
                "maxes_out": at,
                "worst_under_utilization": sixteen,
                "one credit less 16": worst(tables, 1).minus(sixteen.mean),
            },
            text=f"maxes out at {at.mean:.0f} credits; at most {sixteen.mean:.1f} % unused with 16",
        )
    ]
    counts = many(tables)
    near = {f"{n} flows, jitter {jitter:g}": index(tables, n, jitter) for n in counts for jitter in JITTERS if jitter}
    gains = {
        f"{n} flows over those without jitter": stats.paired_ratio(
            *(
                stats.per_seed(tables["jitters"], "jain_1ms", sent=fig06.FULL, flows=n, jitter=jitter)
                for jitter in (0.01, 0.0)
            )
        )
        for n in counts
    }
    text = "; ".join(
        f"{n} flows: {index(tables, n, 0.0):.2f} without, {index(tables, n, 0.01):.2f} with 0.01" for n in counts
    )
    beside = (f"{n}: {index(tables, n, 0.01, fig06.FEEDBACK):.2f}" for n in fig06.BESIDE)
    found.append(
        judge.judge(
            claim("hotnets", "fig05-jitter-fairness"),
            {**near, **gains},
            text=text,
            reading=fig06.FULL,
            note=f"with feedback and 0.01: {', '.join(beside)}",
            cause=judge.Calculation(fig06.best_index()),
        )
    )
    return found


def facts(tables: Tables) -> dict[str, object]:
    """The numbers that the prose names."""
    return {
        "at": round(float(np.median(maxes_out(tables)))),
        "sixteen": worst(tables, 16),
        "one": worst(tables, 1),
        "without": index(tables, 8, 0.0),
        "with_": index(tables, 8, 0.01),
        "with_64": index(tables, 64, 0.01),
        "uniform_64": fig06.uniform(64),
        "feedback_without": index(tables, 8, 0.0, fig06.FEEDBACK),
        "feedback_with": index(tables, 8, 0.01, fig06.FEEDBACK),
    }


def draw(tables: Tables, look: Look) -> dict[str, Picture]:
    """The picture of both sweeps."""
    picture, axes = grid(1, 2, width=9.4, height=2.8)
    for number, flows in enumerate(FLOWS):
        values = [unused(tables, flows, size).mean for size in QUEUES]
        axes[0].plot(QUEUES, values, label=f"{flows} flows", ms=4, **look.line(number))
    powers(axes[0], list(QUEUES))
    axes[0].yaxis.set_major_formatter(PercentFormatter())
    axes[0].set(title="Unused share of what data can take", xlabel="credits that fit into the queue", ylim=(0, None))
    for number, flows in enumerate(many(tables)):
        values = [index(tables, flows, jitter).mean for jitter in JITTERS]
        axes[1].plot(JITTERS, values, label=f"{flows} flows", ms=4, **look.line(number))
    axes[1].set(title="Jain's index over 1 ms", xlabel="jitter / gap", ylim=(0, 1.03))
    axes[0].legend(frameon=False)
    axes[1].legend(frameon=False)
    return {"sweeps": picture}


FIGURE = Figure(
    name="hotnets/fig04",
    title="ExpressPass '16, Fig. 4 and 5: size of the credit queue, and jitter",
    doc=(__doc__ or "") + "\n" + ABOUT,
    jobs=jobs,
    measure=measure,
    summarise=summarise,
    check=check,
    facts=facts,
    draw=draw,
    claims=("fig04-credit-queue-size", "fig05-jitter-fairness"),
    shown={
        "queue": "Share of what data can take that stays unused, in per cent, by size of the credit queue.",
        "jitter": "Jain's index over 1 ms by jitter.",
    },
    captions={"sweeps": "The size of the credit queue, and the jitter of credits"},
)
