"""The number of credits that must fit into a port's queue. 2 to 32 flows come from different ports and leave by one;
the paper shows the share of the link that stays unused against the credit queue's size, with feedback, and says that
eight are enough. The credit loss at steady state, the target of the feedback, is measured in the same runs.

Unstated, and chosen here:

* **Network**: a star; every sender and every receiver's traffic crosses one port of 10 Gbps, 25 us a link and so 100
  us there and back. Beside it 25 us there and back, what the testbed has on average. Flows start at random within 1 ms
  and are measured for 100 ms (quick: 20 ms) from 10 ms on.
* **Enough** means that more credits gain less than one percentage point of what data can take, with the worst number of
  flows, as on [the page of the earlier paper](hotnets-fig04.md).
* **Credit loss**: credits dropped by ports over credits sent, over the whole run.
"""

from __future__ import annotations

import polars as pl
from matplotlib.figure import Figure as Picture
from matplotlib.ticker import PercentFormatter

from clearway.reproduce import judge, stats
from clearway.reproduce.claims import Finding, claim
from clearway.reproduce.figure import Figure, Job, Tables
from clearway.reproduce.look import Look, grid, powers
from clearway.reproduce.quantities import CEILING, data_drops
from clearway.result import Run

QUEUES = (1, 2, 4, 8, 16, 32)
FLOWS = (2, 4, 8, 16, 32)
READINGS = {"default": {}, "printed": {"feedback": "sigcomm17-printed"}, "25 us": {}}
#: Delay of a link in us: two of them there and two back.
DELAY_US = {"default": 25, "printed": 25, "25 us": 6.25}
FROM_MS, SPAN_MS = 10, {"quick": 20, "paper": 100}


def jobs(scale: str) -> list[Job]:
    """Every size and number of flows with the default law, at both round trips; the printed law at eight credits."""
    found = [
        job(scale, reading, flows, queue, seed)
        for reading in ("default", "25 us")
        for flows in FLOWS
        for queue in QUEUES
        for seed in stats.SEEDS
    ]
    return found + [job(scale, "printed", flows, 8, seed) for flows in FLOWS for seed in stats.SEEDS]


def job(scale: str, reading: str, flows: int, queue: int, seed: int) -> Job:
    """The job of one run."""
    return Job(
        {"reading": reading, "flows": flows, "queue": queue, "seed": seed},
        {
            "name": "fig09",
            "seed": seed,
            "stop": f"{FROM_MS + SPAN_MS[scale]} ms",
            "topology": {
                "kind": "star",
                "hosts": flows + 1,
                "rate": "10 Gbps",
                "delay": f"{DELAY_US[reading]} us",
            },
            "switch": {"credit_queue": queue},
            "transport": {"name": "expresspass", **READINGS[reading]},
            "traffic": [
                {
                    "name": "flows",
                    "kind": "long",
                    "pairs": [[f"h{i + 1}", "h0"] for i in range(flows)],
                    "spread": "1 ms",
                }
            ],
            "sample": [{"name": "rate", "what": "rate", "every": "1 ms", "ports": ["s0->h0"]}],
        },
    )


def measure(_: Job, run: Run) -> Tables:
    """The share that stays unused of what data can take; credits lost; data lost."""
    used = run.samples.filter(pl.col("time_s") > FROM_MS * 1.01e-3)["value"].to_numpy().mean() / (10e9 * CEILING)
    book = run.summary["credits"]
    lost = int(run.ports["drops_credit"].sum())
    return {"rows": pl.DataFrame([{"unused": 1 - used, "loss": lost / book["sent"], "drops": data_drops(run)}])}


def summarise(tables: Tables) -> Tables:
    """The share unused by flows and size, means over the seeds."""
    default = tables["rows"].filter(pl.col("reading") == "default")
    means = default.group_by("flows", "queue", maintain_order=True).agg(
        (100 * pl.col("unused").mean()).round(2).alias("unused")
    )
    shown = means.pivot(on="queue", index="flows", values="unused")
    return {**tables, "means": means, "shown": shown}


def unused(tables: Tables, flows: int, queue: int, reading: str = "default") -> stats.Estimate:
    """The share unused, in per cent."""
    return stats.over_seeds(tables["rows"], 100 * pl.col("unused"), flows=flows, queue=queue, reading=reading)


def least_used(tables: Tables, queue: int, reading: str = "default") -> list[float]:
    """The share unused with the worst number of flows, in per cent, one a seed."""
    expression = 100 * pl.col("unused")
    of_flows = [
        stats.per_seed(tables["rows"], expression, flows=flows, queue=queue, reading=reading) for flows in FLOWS
    ]
    return [max(one) for one in zip(*of_flows, strict=True)]


def mean_of(worst: dict[int, list[float]]) -> dict[int, float]:
    """The mean over the seeds, by size of the queue."""
    return {queue: stats.estimate(values).mean for queue, values in worst.items()}


def enough(worst: dict[int, float]) -> int:
    """The least size of the queue beyond which no larger one gains a percentage point."""
    return next(queue for queue in QUEUES if all(worst[queue] - worst[more] < 1.0 for more in QUEUES if more > queue))


def beyond_eight(tables: Tables, reading: str) -> dict[str, judge.Measured]:
    """The size that is enough, and what more than eight credits gain."""
    worst = {queue: least_used(tables, queue, reading) for queue in QUEUES}
    gains: dict[str, judge.Measured] = {
        f"gain beyond 8, {queue} credits": stats.estimate(
            [eight - more for eight, more in zip(worst[8], worst[queue], strict=True)]
        )
        for queue in QUEUES
        if queue > 8
    }
    gains["unused with 1 over 8"] = stats.paired_ratio(worst[1], worst[8])
    gains["sufficient_credit_queue"] = enough(mean_of(worst))
    return gains


def check(tables: Tables) -> list[Finding]:
    """The verdicts on the figure's claims."""
    worst = mean_of({queue: least_used(tables, queue) for queue in QUEUES})
    text = ", ".join(f"{queue}: {one:.1f} %" for queue, one in worst.items())
    printed = max((unused(tables, flows, 8, "printed") for flows in FLOWS), key=lambda one: one.mean)
    note = f"worst number of flows; printed law with eight: {printed.mean:.1f} %"
    here = claim("expresspass", "fig09-credit-queue-8-sufficient")
    text = f"{enough(worst)} credits; unused with {text}"
    cause = judge.Change(
        "What a larger queue of credits gains grows with the round trip, which the figure leaves unstated: 100 us "
        "here, and 25 us on average in the paper's testbed.",
        beyond_eight(tables, "25 us"),
    )
    found = [judge.judge(here, beyond_eight(tables, "default"), text=text, note=note, cause=cause)]
    loss = {flows: stats.over_seeds(tables["rows"], "loss", flows=flows, queue=8, reading="default") for flows in FLOWS}
    text = ", ".join(f"{flows} flows: {one:.2f}" for flows, one in loss.items())
    here = claim("expresspass", "sec32-steady-state-credit-loss")
    note = "the authors' code loses as much: `clearway run --set transport.profile=ns2`"
    found.append(judge.undecidable(here, "the number of flows", measured=text, note=note))
    drops = int(tables["rows"]["drops"].sum())
    found.append(judge.judge(claim("expresspass", "sec1-zero-data-loss"), drops, form=".0f"))
    return found


def facts(tables: Tables) -> dict[str, object]:
    """The numbers that the prose names."""
    return {
        "eight": max(unused(tables, flows, 8).mean for flows in FLOWS),
        "one": max(unused(tables, flows, 1).mean for flows in FLOWS),
        "two": max(unused(tables, flows, 2).mean for flows in FLOWS),
        "loss_2": stats.over_seeds(tables["rows"], "loss", flows=2, queue=8, reading="default"),
        "loss_32": stats.over_seeds(tables["rows"], "loss", flows=32, queue=8, reading="default"),
        "gain": stats.estimate([a - b for a, b in zip(least_used(tables, 8), least_used(tables, 32), strict=True)]),
        "printed": max(unused(tables, flows, 8, "printed").mean for flows in FLOWS),
        "short": max(unused(tables, flows, 8, "25 us").mean for flows in FLOWS),
        "gain_short": stats.estimate(
            [a - b for a, b in zip(least_used(tables, 8, "25 us"), least_used(tables, 32, "25 us"), strict=True)]
        ),
    }


def draw(tables: Tables, look: Look) -> dict[str, Picture]:
    """Unused share against the size of the credit queue."""
    picture, (axes,) = grid(1, 1, width=6.4, height=3.0)
    for number, flows in enumerate(FLOWS):
        part = tables["means"].filter(pl.col("flows") == flows).sort("queue")
        axes.plot(part["queue"], part["unused"], label=f"{flows} flows", ms=4, **look.line(number))
    powers(axes, list(QUEUES))
    axes.yaxis.set_major_formatter(PercentFormatter())
    axes.set(title="Unused share of what data can take", xlabel="credits that fit into the queue", ylim=(0, None))
    axes.legend(frameon=False, fontsize=10)
    return {"queue": picture}


FIGURE = Figure(
    name="expresspass/fig09",
    title="ExpressPass '17, Fig. 9: the credits that a port's queue must hold",
    doc=__doc__ or "",
    jobs=jobs,
    measure=measure,
    summarise=summarise,
    check=check,
    facts=facts,
    draw=draw,
    claims=("fig09-credit-queue-8-sufficient", "sec32-steady-state-credit-loss"),
    shown={
        "shown": "Share of what data can take that stays unused, in per cent, by flows and size of the credit queue."
    },
    captions={"queue": "Unused share of the link against the size of the credit queue"},
)
