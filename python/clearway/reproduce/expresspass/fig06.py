"""The jitter of credits that fairness needs (Fig. 6 a), and the purpose of random credit sizes (sec. 3.1). The paper
varies the number of flows over one bottleneck and the jitter, and shows Jain's index of the throughput in
each millisecond; and it says that host jitter alone is not enough where credits of several switches compete.

Unstated, and chosen here:

* **Rate and round trip**: 10 Gbps, 100 us.
* **Feedback**: off, so that every flow sends credits at the full rate (E17-31): a jitter of 13 ns at 10 GbE, which the
  paper gives for 0.01, is one of the gap at that rate. With feedback beside it, 8 and 64 flows that start within 2 ms.
* **Starts**: one gap between credits after another, so that all flows' schedules coincide; sec. 3.1 speaks of
  synchronised arrival. Measured for 6 ms from 3 ms on; with feedback for 20 ms from 20 ms on.
* **Sizes of credits**: the figure is about jitter, so credits have 84 B there.
* **Flows**: 2, 8, 64 (paper: also 256 and 1,024).
* **Several switches**: hosts at four switches send over one link to receivers whose credits come by four other
  switches. With feedback; 512 flows, so that credit queues "are not drained for a long period of time" although a
  flow's rate falls to one credit a round trip, and 32 flows beside them. Fairness of credit drops is Jain's index of
  the share of each flow's credits that passed.
"""

from __future__ import annotations

from typing import Any

import polars as pl
from matplotlib.figure import Figure as Picture

from clearway.metrics import jain_index
from clearway.reproduce import judge, stats
from clearway.reproduce.claims import Finding, claim
from clearway.reproduce.expresspass.common import dumbbell
from clearway.reproduce.figure import Figure, Job, Tables
from clearway.reproduce.look import Look, grid, powers
from clearway.reproduce.quantities import binned, fairness
from clearway.result import Run

JITTERS = (0.0, 0.01, 0.02, 0.04, 0.08)
FLOWS = {"quick": (2, 8, 64), "paper": (2, 8, 64, 256, 1024)}
SIZES = {"84 B": False, "76 to 92 B": True}
#: The gap between credits at the full rate of 10 Gbps: the time of a full frame and a credit.
GAP_US = 1.2976
#: Ways of sending credits: transport, start and length of the measurement in ms.
SENT: dict[str, tuple[str, int, int]] = {
    "at the full rate": ("naive-credit", 3, 6),
    "with feedback": ("expresspass", 20, 20),
}
FULL, FEEDBACK = SENT
#: Numbers of flows and jitters that are run with feedback beside the figure.
BESIDE, BESIDE_JITTERS = (8, 64), (0.0, 0.01)
#: Numbers of flows whose credits come by several switches: the one that is judged, and one beside it.
LARGE, SMALL = 512, 32
TREE = {
    "kind": "leaf-spine",
    "leaves": 8,
    "spines": 1,
    "hosts_per_leaf": 8,
    "rate": "10 Gbps",
    "delay": "4 us",
    "uplink_rate": "10 Gbps",
    "uplink_delay": "4 us",
}


def jobs(scale: str) -> list[Job]:
    """The sweep over jitter, and several switches with either size."""
    found = [
        one_link(FULL, flows, jitter, seed) for flows in FLOWS[scale] for jitter in JITTERS for seed in stats.SEEDS
    ]
    found += [
        one_link(FEEDBACK, flows, jitter, seed) for flows in BESIDE for jitter in BESIDE_JITTERS for seed in stats.SEEDS
    ]
    return found + [several(flows, size, seed) for flows in (LARGE, SMALL) for size in SIZES for seed in stats.SEEDS]


def one_link(sent: str, flows: int, jitter: float, seed: int) -> Job:
    """A run of flows over one link, with credits of 84 B."""
    transport = {"name": SENT[sent][0], "jitter": jitter, "randomize_size": False}
    traffic: dict[str, Any] = {"name": "flows", "kind": "long", "spread": "2 ms"}
    if sent == FULL:
        starts = [f"{round(i * GAP_US, 4)} us" for i in range(flows)]
        pairs = [{"src": f"h{i}", "dst": f"h{flows + i}", "start": start} for i, start in enumerate(starts)]
        traffic = {"name": "flows", "kind": "flows", "list": pairs}
    params = {"network": "one link", "sent": sent, "flows": flows, "jitter": jitter, "size": "84 B", "seed": seed}
    return job(params, dumbbell(flows, "10 Gbps"), transport, traffic)


def several(flows: int, size: str, seed: int) -> Job:
    """A run of flows whose credits come by several switches."""
    transport = {"name": SENT[FEEDBACK][0], "jitter": 0.01, "randomize_size": SIZES[size]}
    # Hosts 0 to 31 stand at four leaves, 56 to 63 at another, whose link to the spine all flows share.
    pairs = [[f"h{i % 32}", f"h{63 - (i % 8)}"] for i in range(flows)]
    traffic = {"name": "flows", "kind": "long", "spread": "2 ms", "pairs": pairs}
    params = {"network": "several switches", "sent": FEEDBACK, "flows": flows, "jitter": 0.01, "size": size}
    return job({**params, "seed": seed}, TREE, transport, traffic)


def job(params: dict[str, Any], topology: dict[str, Any], transport: dict[str, Any], traffic: dict[str, Any]) -> Job:
    """The job of one run."""
    _, start, span = SENT[params["sent"]]
    return Job(
        params,
        {
            "name": "fig06",
            "seed": params["seed"],
            "stop": f"{start + span} ms",
            "topology": topology,
            "transport": transport,
            "traffic": [traffic],
            "sample": [{"name": "throughput", "what": "throughput", "every": "1 ms"}],
        },
    )


def measure(job: Job, run: Run) -> Tables:
    """Fairness over 1 ms and over the whole time, and of the share of credits that passed."""
    rates = binned(run, "throughput", SENT[job.params["sent"]][1] * 1e-3, 1e-3)[1]
    flows = run.flows.filter(pl.col("credits_sent") > 0)
    passed = ((flows["credits_used"] + flows["credits_wasted"]) / flows["credits_sent"]).to_list()
    row = {
        "jain_1ms": fairness(rates),
        "jain_whole": fairness(rates.mean(axis=1, keepdims=True)),
        "locked_out": int((rates.mean(axis=1) == 0).sum()),
        "jain_passed": jain_index(passed),
        "least_passed": min(passed),
    }
    return {"rows": pl.DataFrame([row])}


def summarise(tables: Tables) -> Tables:
    """Means over the seeds."""
    keys = ["network", "sent", "flows", "jitter", "size"]
    columns = ["jain_1ms", "jain_whole", "locked_out", "jain_passed", "least_passed"]
    shown = tables["rows"].group_by(keys, maintain_order=True).agg(pl.col(columns).mean().round(3))
    return {**tables, "shown": shown}


def index(tables: Tables, flows: int, jitter: float, sent: str = FULL) -> list[float]:
    """Jain's index over 1 ms over one link, one a seed."""
    return stats.per_seed(tables["rows"], "jain_1ms", network="one link", sent=sent, flows=flows, jitter=jitter)


def check(tables: Tables) -> list[Finding]:
    """The verdicts on the figure's claims."""
    rows = tables["rows"].filter((pl.col("network") == "one link") & (pl.col("sent") == FULL))
    counts = sorted(rows["flows"].unique().to_list())
    here = claim("expresspass", "fig06a-jitter-fairness")
    near = {
        f"index, {n} flows, jitter {jitter:g}": stats.estimate(index(tables, n, jitter))
        for n in counts
        for jitter in JITTERS[1:]
    }
    fairer = {
        f"with over without a jitter, {n} flows": stats.paired_ratio(index(tables, n, 0.01), index(tables, n, 0.0))
        for n in counts
    }
    without, little = ({n: stats.estimate(index(tables, n, jitter)) for n in counts} for jitter in (0.0, 0.01))
    text = "; ".join(f"{n} flows: {without[n]:.2f} without, {little[n]:.2f} with a jitter of 0.01" for n in counts)
    beside = "; ".join(
        f"{n}: {' and '.join(f'{stats.estimate(index(tables, n, j, FEEDBACK)):.2f}' for j in BESIDE_JITTERS)}"
        for n in BESIDE
    )
    cause = judge.Calculation(best_index())
    note = f"with feedback, without and with a jitter of 0.01: {beside}"
    found = [judge.judge(here, {**near, **fairer}, text=text, reading=FULL, note=note, cause=cause)]
    here = claim("expresspass", "sec31-credit-size-randomisation")
    fairer = {
        f"{name}, random over fixed sizes": stats.paired_ratio(
            *([max(one, 1e-9) for one in several_switches(tables, LARGE, size, what)] for size in reversed(SIZES))
        )
        for name, what in (("fairness of drops", "jain_passed"), ("credits of the worst flow", "least_passed"))
    }
    text = "; ".join(f"{size}: {of_drops(tables, LARGE, size)}" for size in SIZES)
    note = "; ".join(f"{SMALL} flows, {size}: {of_drops(tables, SMALL, size)}" for size in SIZES)
    return [*found, judge.judge(here, fairer, text=f"{LARGE} flows, {text}", note=note)]


def several_switches(tables: Tables, flows: int, size: str, what: str) -> list[float]:
    """A measure of credits that come by several switches, one a seed."""
    return stats.per_seed(tables["rows"], what, network="several switches", flows=flows, size=size)


def of_drops(tables: Tables, flows: int, size: str) -> str:
    """Fairness of drops, and the flows that get nothing, where credits come by several switches."""
    fair, locked = (
        stats.estimate(several_switches(tables, flows, size, what)) for what in ("jain_passed", "locked_out")
    )
    return f"Jain {fair:.3f} of the credits that pass, {locked.mean:.0f} flows get nothing"


def credits_in_ms() -> float:
    """The credits that pass a link of 10 Gbps in a millisecond."""
    return 1e3 / GAP_US


def uniform(flows: int) -> float:
    """Jain's index over 1 ms where credits drop uniformly at random: each flow has m on average, with variance m."""
    each = credits_in_ms() / flows
    return each / (each + 1)


def best_index() -> str:
    """A sentence on the highest index that a millisecond allows."""
    return (
        f"In 1 ms {credits_in_ms():.0f} credits pass a link of 10 Gbps. If drops are uniform at random, Jain's index "
        f"is {uniform(64):.2f} over 64 flows and {uniform(1024):.2f} over 1,024; however they are dropped, it is at "
        f"most {credits_in_ms() / 1024:.2f} over 1,024"
    )


def facts(tables: Tables) -> dict[str, object]:
    """The numbers that the prose names."""
    found: dict[str, object] = {}
    for name, jitter in (("none", 0.0), ("little", 0.01)):
        for flows in BESIDE:
            found[f"{name}_{flows}"] = stats.estimate(index(tables, flows, jitter))
            found[f"{name}_{flows}_feedback"] = stats.estimate(index(tables, flows, jitter, FEEDBACK))
    for name, size in (("fixed", "84 B"), ("random", "76 to 92 B")):
        for flows in (LARGE, SMALL):
            for fact, what in (("locked", "locked_out"), ("fair", "jain_passed")):
                found[f"{fact}_{name}_{flows}"] = stats.estimate(several_switches(tables, flows, size, what)).mean
    return found | {f"uniform_{flows}": uniform(flows) for flows in (64, 1024)}


def draw(tables: Tables, look: Look) -> dict[str, Picture]:
    """Fairness against the number of flows, by jitter."""
    picture, (place,) = grid(1, 1, width=6.4, height=3.0)
    one = tables["shown"].filter((pl.col("network") == "one link") & (pl.col("sent") == FULL)).sort("flows")
    for number, jitter in enumerate(JITTERS):
        part = one.filter(pl.col("jitter") == jitter)
        place.plot(part["flows"], part["jain_1ms"], label=f"jitter {jitter:g}", ms=4, **look.line(number))
    counts = one["flows"].unique(maintain_order=True).to_list()
    place.plot(counts, [uniform(n) for n in counts], ":", color=look.ink, label="uniform drops")
    powers(place, counts)
    place.set(title="Jain's index over 1 ms", xlabel="flows", ylim=(0, 1.03))
    place.legend(frameon=False, fontsize=10)
    return {"fairness": picture}


FIGURE = Figure(
    name="expresspass/fig06",
    title="ExpressPass '17, Fig. 6 (a): jitter and sizes of credits against unfairness",
    doc=__doc__ or "",
    jobs=jobs,
    measure=measure,
    summarise=summarise,
    check=check,
    facts=facts,
    draw=draw,
    claims=("fig06a-jitter-fairness", "sec31-credit-size-randomisation"),
    shown={"shown": "Jain's index of throughput, and of the share of credits that passed, means over the seeds."},
    captions={"fairness": "Fairness over 1 ms against the number of flows, by jitter; dotted: uniform random drops"},
)
