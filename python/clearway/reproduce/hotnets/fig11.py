"""Data mining at a load of 0.6 on the 192-host tree at 10 and 40 Gbps: completion times by size, queues (Table 1),
losses, and what credits are wasted (sec. 4); web search for the claims that name it. ExpressPass '16, DCTCP, HULL
and DX. And the shuffle of Fig. 8.

Unstated, and chosen here:

* **Flows**: the paper states no number. 20,000 of data mining and of web search, five seeds, would take nine hours, so
  the scale `paper` has 1/150, 1/56 and 1/14 of the 20,000 flows of data mining, and web search with as many bytes. At
  quick scale 300 and 400 flows. Those that arrive in the first and last tenth are left out of completion times. Classes
  are the paper's: below 100 KB, to 10 MB, above. A 99th percentile is that of all seeds' flows together, and is stated
  where they are 1,000.
* **Load**: the paper does not say of which links. It is that of its authors' script (`load_of = "ns2"`).
* **Stacks**: every flow opens its connection with a handshake; first windows of two segments; least timeouts of 200
  us.
* **Queues** are of switch ports: the average over all ports and the run, the maximum of any.
* **Losses** are frames that a full buffer drops. **Wasted credits** reached a sender that had nothing left to send.
* **Shuffle**: that of [ExpressPass '17, Fig. 17](expresspass-fig17.md), with the least timeout of 200 us that this
  paper states, all 8 tasks and half of that share of the bytes; times are scaled up. Three seeds of DCTCP, one of
  ExpressPass. At quick scale 2 tasks and 62.5 KB. DCTCP's hosts have a FIFO, as in ns-2 (E17-27). It also runs with
  the least timeout of ns-2, 200 ms, of which it has the same share as of the bytes.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl
from matplotlib.figure import Figure as Picture

from clearway import metrics
from clearway.report.style import OWN
from clearway.reproduce import judge, stats
from clearway.reproduce.claims import Finding, claim
from clearway.reproduce.expresspass import fig17
from clearway.reproduce.expresspass.realistic import FEW, SCRIPT, Times, p99_ratio, scenario
from clearway.reproduce.figure import Figure, Job, Tables
from clearway.reproduce.hotnets.common import ABOUT, EXPRESSPASS, RTO
from clearway.reproduce.look import Look, grid
from clearway.reproduce.quantities import data_drops, queues, steady
from clearway.result import Run

TRANSPORTS: dict[str, dict[str, Any]] = {
    "ExpressPass": EXPRESSPASS,
    "DCTCP": {"name": "dctcp", "g": 0.0625, **RTO},
    "HULL": {"name": "hull", **RTO},
    "DX": {"name": "dx", **RTO},
}
RIVALS = ("DCTCP", "HULL", "DX")
#: DCTCP's shuffle with one change, the least timeout of ns-2; the transport and the hosts of all shuffles.
LATE = "DCTCP, RTO 200 ms"
WINDOW: dict[str, Any] = {**TRANSPORTS["DCTCP"], "initial_window": 2}
SHUFFLES: dict[str, tuple[dict[str, Any], dict[str, str]]] = {
    "ExpressPass": (EXPRESSPASS, {}),
    "DCTCP": (WINDOW, fig17.FIFO),
    LATE: (WINDOW, fig17.FIFO),
}
RATES = (10, 40)
#: Flows of a run at quick scale.
FLOWS = {"data-mining": 300, "web-search": 400}
#: Flows of each workload at the size 1.
WHOLE = 20_000
CLASSES = {"small": (0.0, 100e3), "medium": (100e3, 10e6), "large": (10e6, float("inf"))}
MEAN_KB = {"data-mining": 7410.0, "web-search": 1650.0}


def jobs(scale: str) -> list[Job]:
    """The runs at quick scale, or of 20,000 flows and the whole shuffle."""
    if scale == "quick":
        return runs(FLOWS) + shuffles(fig17.TASKS["quick"], fig17.SIZE["quick"], stats.SEEDS)
    whole = {"data-mining": WHOLE, "web-search": WHOLE}
    return runs(whole) + shuffles(fig17.TASKS["paper"], fig17.SIZE["paper"], FEW)


def at(size: float) -> list[Job]:
    """The runs at a smaller size: that share of data mining, as many bytes of web search, and a shorter shuffle."""
    search = min(WHOLE, round(size * WHOLE * MEAN_KB["data-mining"] / MEAN_KB["web-search"]))
    flows = {"data-mining": round(size * WHOLE), "web-search": search}
    return runs(flows) + shuffles(fig17.TASKS["paper"], round(size / 2 * fig17.SIZE["paper"]), FEW)


def runs(flows: Mapping[str, int]) -> list[Job]:
    """Data mining at both rates, and web search at 10 Gbps."""
    cases = [("data-mining", 10), ("data-mining", 40), ("web-search", 10)]
    return [
        job(flows, workload, rate, name, seed)
        for workload, rate in cases
        for name in TRANSPORTS
        for seed in stats.SEEDS
    ]


def job(flows: Mapping[str, int], workload: str, rate: int, name: str, seed: int) -> Job:
    """One run of Fig. 11."""
    body = scenario("hotnets-fig11", TRANSPORTS[name], workload, 0.6, flows[workload], rate, SCRIPT)
    return Job(
        {"case": workload, "rate": rate, "transport": name, "seed": seed, "tasks": 0, "bytes": 0},
        {**body, "seed": seed, "stacks": "equal"},
    )


def shuffles(tasks: int, size_bytes: int, seeds: Sequence[int]) -> list[Job]:
    """The shuffle under each transport, and DCTCP's with one change."""
    return [
        Job(
            {"case": "shuffle", "rate": 10, "transport": name, "seed": seed, "tasks": tasks, "bytes": size_bytes},
            {
                "name": "hotnets-fig08",
                "seed": seed,
                "topology": fig17.STAR,
                "switch": {"buffer": fig17.BUFFER},
                "host": host,
                "transport": transport | (fig17.late(tasks, size_bytes) if name == LATE else {}),
                "traffic": [fig17.shuffle(tasks, size_bytes)],
            },
        )
        for name, (transport, host) in SHUFFLES.items()
        for seed in (seeds[:1] if name == "ExpressPass" and tasks == fig17.TASKS["paper"] else seeds)
    ]


def measure(job: Job, run: Run) -> Tables:
    """Completion times by class, queues, losses, wasted credits; quantiles of the shuffle; times of small flows."""
    row: dict[str, float] = {"drops": float(data_drops(run)), "median": 0.0, "p99": 0.0, "max": 0.0}
    shuffled = job.params["case"] == "shuffle"
    middle = metrics.completed(run.flows if shuffled else steady(run.flows))
    if shuffled:
        fct = middle["fct_s"].to_numpy()
        row |= {"median": float(np.median(fct)), "p99": stats.percentile(fct, 99), "max": float(fct.max())}
    for name, (least, most) in CLASSES.items():
        fct = middle.filter(pl.col("size_bytes").is_between(least, most, closed="left"))["fct_s"].to_numpy()
        row |= {f"{name}_mean": metrics.mean(fct), f"{name}_flows": len(fct)}
    found = queues(run)
    row |= {
        "queue_mean": found["queue_mean"] / 1e3,
        "queue_max": found["queue_max"] / 1e3,
        "wasted": float(run.flows["credits_wasted"].sum()) / run.flows.height,
        "timeouts": float(run.flows["timeouts"].sum()),
    }
    kept = not shuffled and job.params["case"] == "data-mining"
    small = middle.filter((pl.col("size_bytes") < CLASSES["small"][1]) & pl.lit(kept)).select("fct_s")
    return {"rows": pl.DataFrame([row]), "small": small}


def of(tables: Tables, value: str | pl.Expr, case: str, name: str, rate: int = 10) -> stats.Estimate:
    """A measure over the seeds."""
    return stats.over_seeds(tables["rows"], value, case=case, transport=name, rate=rate)


def seeds(tables: Tables, value: str, case: str, name: str, rate: int = 10) -> list[float]:
    """A measure, one a seed."""
    return stats.per_seed(tables["rows"], value, case=case, transport=name, rate=rate)


def slower(tables: Tables, name: str, size: str, rate: int) -> stats.Estimate:
    """Another transport's mean completion time over ExpressPass's, on the same flows."""
    theirs, ours = (seeds(tables, f"{size}_mean", "data-mining", one, rate) for one in (name, "ExpressPass"))
    return stats.paired_ratio(theirs, ours)


def late(tables: Tables, name: str, rate: int) -> list[Times]:
    """Completion times of small flows, an array for each seed."""
    part = tables["small"].filter((pl.col("transport") == name) & (pl.col("rate") == rate)).sort("seed")
    return [one["fct_s"].to_numpy() for one in part.partition_by("seed", maintain_order=True)]


def tail(tables: Tables, name: str, rate: int) -> stats.Estimate:
    """Another transport's 99th percentile of small flows over ExpressPass's; NaN of too few flows."""
    return p99_ratio(late(tables, name, rate), late(tables, "ExpressPass", rate))


def summarise(tables: Tables) -> Tables:
    """Means over the seeds."""
    fct = [
        {
            "Gbps": rate,
            "class": size,
            **{name: of(tables, 1e3 * pl.col(f"{size}_mean"), "data-mining", name, rate).mean for name in TRANSPORTS},
        }
        for rate in RATES
        for size in CLASSES
    ]
    queue = [
        {
            "transport": name,
            "average_KB": of(tables, "queue_mean", "data-mining", name).mean,
            "maximum_KB": of(tables, "queue_max", "data-mining", name).mean,
            "frames_lost,_data_mining": of(tables, "drops", "data-mining", name).mean,
            "frames_lost,_web_search": of(tables, "drops", "web-search", name).mean,
        }
        for name in TRANSPORTS
    ]
    return {**tables, "fct": pl.DataFrame(fct), "table1": pl.DataFrame(queue)}


def check(tables: Tables) -> list[Finding]:
    """The verdicts on the figure's claims."""
    return [*completion(tables), *occupancy(tables), *credits_and_loss(tables), *shuffled(tables)]


def completion(tables: Tables) -> list[Finding]:
    """The verdicts on Fig. 11, completion times."""
    over = {
        f"{size}, {rate} Gbps, {name}": slower(tables, name, size, rate)
        for size in CLASSES
        for rate in RATES
        for name in RIVALS
    }

    def text(size: str, *rates: int) -> str:
        parts = [", ".join(f"{name} {over[f'{size}, {rate} Gbps, {name}']:.2f}" for name in RIVALS) for rate in rates]
        said = "; ".join(f"{rate} Gbps: {part}" for rate, part in zip(rates, parts, strict=True))
        return f"mean over ExpressPass's: {said}"

    def part(size: str) -> dict[str, judge.Measured]:
        return {name: value for name, value in over.items() if name.startswith(size)}

    here = claim("hotnets", "fig11-fct-small-flows")
    both = [tail(tables, name, rate) for name in ("HULL", "DX") for rate in RATES]
    tails = sorted(both, key=lambda one: one.mean)
    if any(math.isnan(one.mean) for one in both):
        few = "enough flows for a 99th percentile, which the paper's size has"
        found = [judge.undecidable(here, few, measured=text("small", 10))]
    else:
        found = [judge.judge(here, {"min": tails[0], "max": tails[-1], **part("small")}, form=".2f")]
    here = claim("hotnets", "fig11-fct-small-flow-ordering")
    note = "on average; the 99th percentile at the paper's size"
    found.append(judge.judge(here, part("small"), text=text("small", *RATES), note=note))
    here = claim("hotnets", "fig11-fct-medium-flows")
    medium = {name: value for name, value in part("medium").items() if name != "medium, 40 Gbps, DX"}
    found.append(judge.judge(here, medium, text=text("medium", *RATES)))
    here = claim("hotnets", "fig11-fct-large-flows")
    ours = stats.paired_ratio(*(seeds(tables, "large_mean", "data-mining", name) for name in ("ExpressPass", "DCTCP")))
    large = {name: over[f"large, 10 Gbps, {name}"] for name in ("HULL", "DX")}
    found.append(judge.judge(here, {"value": ours.minus(1).scaled(100), **large}, form=".0f", note=text("large", 10)))
    here = claim("hotnets", "fig11-speedup-40g")
    gain = {
        name: [
            slow / fast
            for slow, fast in zip(
                *(seeds(tables, "medium_mean", "data-mining", name, rate) for rate in RATES), strict=True
            )
        ]
        for name in TRANSPORTS
    }
    said = "100 KB to 10 MB, 10 over 40 Gbps: " + ", ".join(
        f"{name} {stats.geometric(values):.2f}" for name, values in gain.items()
    )
    more = {f"gain over that of {name}": stats.paired_ratio(gain["ExpressPass"], gain[name]) for name in RIVALS}
    return [*found, judge.judge(here, more, text=said)]


def occupancy(tables: Tables) -> list[Finding]:
    """The verdicts on Table 1, queues."""
    mean = {name: of(tables, "queue_mean", "data-mining", name) for name in TRANSPORTS}
    most = {name: of(tables, "queue_max", "data-mining", name) for name in TRANSPORTS}

    def ratio(what: str, name: str, other: str) -> stats.Estimate:
        return stats.paired_ratio(*(seeds(tables, what, "data-mining", one) for one in (name, other)))

    tenth = ratio("queue_mean", "ExpressPass", "DCTCP")
    shorter = {f"maximum over that of {name}": ratio("queue_max", "ExpressPass", name) for name in RIVALS}
    cells = {f"average/{name}": mean[name] for name in TRANSPORTS} | {f"max/{name}": most[name] for name in TRANSPORTS}
    text = ", ".join(f"{name} {one.mean:.1f} KB" for name, one in most.items())
    other_dx = judge.Unstated(
        "The paper does not state DX's constants; in Table 3 of its later version DX's longest queues are the shorter."
    )
    return [
        judge.judge(
            claim("hotnets", "table1-queue-occupancy"),
            {**cells, **shorter, "average over DCTCP's": tenth},
            cause=judge.Unstated("The paper does not say of which ports, or over what, the averages are."),
        ),
        judge.judge(claim("hotnets", "table1-average-one-tenth"), {"value": tenth}),
        judge.judge(claim("hotnets", "table1-max-queue-ordering"), shorter, text=text, cause=other_dx),
        judge.judge(
            claim("hotnets", "sec1-buffer-8x-less-than-dctcp"),
            ratio("queue_max", "DCTCP", "ExpressPass"),
            form=".1f",
            note="maximum queues, Table 1",
        ),
    ]


def credits_and_loss(tables: Tables) -> list[Finding]:
    """The verdicts on credits and loss in sections 3.3 and 4."""
    lost = {name: of(tables, "drops", "data-mining", name) for name in TRANSPORTS}
    search = {name: of(tables, "drops", "web-search", name) for name in TRANSPORTS}
    here = claim("hotnets", "sec33-losses-by-workload")
    note = "web search: " + ", ".join(f"{name} {one.mean:.0f}" for name, one in search.items())
    losses: dict[str, judge.Measured] = {
        "ExpressPass": stats.exact(lost["ExpressPass"].mean + search["ExpressPass"].mean),
        "others_data_mining": max((lost[name] for name in RIVALS), key=lambda one: one.mean),
        **{f"{name}, web search": search[name] for name in RIVALS},
    }
    cause = judge.Unstated(
        "The paper does not state the capacity of its queues; in the later paper's 384.5 KB little or nothing is lost."
    )
    found = [judge.judge(here, losses, form=".0f", note=note, cause=cause)]
    here = claim("hotnets", "sec4-wasted-credits-per-flow")
    values: dict[str, judge.Measured] = {}
    for words, workload in (("data mining", "data-mining"), ("web search", "web-search")):
        wasted = of(tables, "wasted", workload, "ExpressPass")
        values[f"{words}/credits"] = wasted
        values[f"{words}/share"] = wasted.scaled(100 * 1.46 / MEAN_KB[workload])
    return [*found, judge.judge(here, values, form=".1f", note="share: of the frames of the mean flow")]


def shuffled(tables: Tables) -> list[Finding]:
    """The verdict on Fig. 8, the shuffle."""
    scale = bytes_left_out(tables)
    note = "" if scale == 1 else f"measured with 1/{scale:.0f} of the bytes, and scaled up"
    medians = {name: of(tables, "median", "shuffle", name).scaled(scale) for name in ("DCTCP", "ExpressPass")}
    theirs, ours = (seeds(tables, "median", "shuffle", name) for name in medians)
    medians["DCTCP over ExpressPass"] = stats.paired_ratio(theirs, fig17.as_many(ours, theirs))
    cause = judge.Change(
        "With the stated least timeout of 200 us a flow that lost a window soon returns; with ns-2's default of 200 ms "
        "it falls behind the others.",
        tails(tables, LATE),
    )
    here = claim("hotnets", "fig08-shuffle-tail-ratios")
    return [
        judge.judge(claim("hotnets", "fig08-shuffle-median-fct"), medians, form=".2f", note=note),
        judge.judge(here, tails(tables, "DCTCP"), form=".2f", note=note, cause=cause),
    ]


def bytes_left_out(tables: Tables) -> float:
    """The factor by which the shuffle's bytes are fewer than the paper's."""
    row = tables["rows"].filter(pl.col("case") == "shuffle").row(0, named=True)
    return fig17.fewer(row["tasks"], row["bytes"])


def tails(tables: Tables, name: str) -> dict[str, judge.Measured]:
    """The tail of the shuffle under DCTCP over that under ExpressPass, and how the gap grows towards the slowest."""
    over = {}
    for what in ("p99", "max"):
        theirs, ours = (seeds(tables, what, "shuffle", one) for one in (name, "ExpressPass"))
        over[what] = [slow / fast for slow, fast in zip(theirs, fig17.as_many(ours, theirs), strict=True)]
    ratios: dict[str, judge.Measured] = {what: stats.geometric(values) for what, values in over.items()}
    return ratios | {"max over p99": stats.paired_ratio(over["max"], over["p99"])}


def facts(tables: Tables) -> dict[str, object]:
    """The numbers that the prose names."""
    found: dict[str, object] = {}
    for name in RIVALS:
        for size in CLASSES:
            found[f"{size}_{name}"] = slower(tables, name, size, 10)
    for name in TRANSPORTS:
        found[f"mean_{name}"] = of(tables, "queue_mean", "data-mining", name)
        found[f"max_{name}"] = of(tables, "queue_max", "data-mining", name)
    found["mining"] = of(tables, "wasted", "data-mining", "ExpressPass")
    scale = bytes_left_out(tables)
    for short, name in (("stated", "DCTCP"), ("late", LATE)):
        found[f"median_{short}"] = of(tables, "median", "shuffle", name).scaled(scale).mean
        found |= {f"{what.replace(' ', '_')}_{short}": one for what, one in tails(tables, name).items()}
    found["median"] = of(tables, "median", "shuffle", "ExpressPass").scaled(scale).mean
    found["search"] = of(tables, "wasted", "web-search", "ExpressPass")
    return found


def draw(tables: Tables, look: Look) -> dict[str, Picture]:
    """Mean completion times by class."""
    picture, axes = grid(1, 2, width=9.2, height=2.8, sharey=True)
    for place, rate in zip(axes, RATES, strict=True):
        part = tables["fct"].filter(pl.col("Gbps") == rate)
        for number, name in enumerate(TRANSPORTS):
            places = [spot + 0.2 * (number - 1.5) for spot in range(part.height)]
            place.bar(places, part[name], width=0.19, color=look.color(OWN[TRANSPORTS[name]["name"]]), label=name)
        place.set_xticks(range(part.height), ["< 100 KB", "to 10 MB", "> 10 MB"])
        place.set_yscale("log")
        place.set(title=f"Data mining, {rate} Gbps")
    axes[0].set_ylabel("mean FCT, ms")
    axes[1].legend(frameon=False, fontsize=10)
    return {"fct": picture}


FIGURE = Figure(
    name="hotnets/fig11",
    title="ExpressPass '16, Fig. 8, 11 and Table 1: data mining on 192 hosts, and a shuffle",
    doc=(__doc__ or "") + "\n" + ABOUT,
    jobs=jobs,
    at=at,
    sizes=(1 / 150, 1 / 56, 1 / 14),
    measure=measure,
    summarise=summarise,
    check=check,
    facts=facts,
    draw=draw,
    claims=(
        "fig11-fct-small-flows",
        "fig11-fct-small-flow-ordering",
        "fig11-fct-medium-flows",
        "fig11-fct-large-flows",
        "fig11-speedup-40g",
        "table1-queue-occupancy",
        "table1-average-one-tenth",
        "table1-max-queue-ordering",
        "sec1-buffer-8x-less-than-dctcp",
        "sec33-losses-by-workload",
        "sec4-wasted-credits-per-flow",
        "fig08-shuffle-median-fct",
        "fig08-shuffle-tail-ratios",
    ),
    shown={
        "fct": "Mean completion times of data mining in ms, means over the seeds.",
        "table1": "Queues of switch ports in data mining at 10 Gbps, and frames lost.",
    },
    captions={"fct": "Mean completion times of data mining by size, at 10 and 40 Gbps"},
)
