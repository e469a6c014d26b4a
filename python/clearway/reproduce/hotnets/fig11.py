"""Data mining at a load of 0.6 on the 192-host tree at 10 and 40 Gbps: completion times by size, queues (Table 1),
losses, and what credits are wasted (sec. 4); web search for the claims that name it. ExpressPass '16, DCTCP, HULL
and DX. And the shuffle of Fig. 8.

Unstated, and chosen here:

* **Flows**: 300 of data mining and 400 of web search a run at quick scale (full: 20,000), five seeds. Those that
  arrive in the first and last tenth are left out of completion times. Classes are the paper's: below 100 KB, to 10
  MB, above. A 99th percentile is stated at full scale only: quick runs have too few flows.
* **Stacks**: every flow opens its connection with a handshake; first windows of two segments; least timeouts of 200
  us.
* **Queues** are of switch ports: the average over all ports and the run, the maximum of any.
* **Losses** are frames that a full buffer drops. **Wasted credits** reached a sender that had nothing left to send.
* **Shuffle**: that of [ExpressPass '17, Fig. 17](expresspass-fig17.md): at quick scale 4 tasks a host and 125 KB,
  whose times are scaled up by the bytes; full: 8 tasks and 1 MB.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
from matplotlib.figure import Figure as Picture

from clearway import metrics
from clearway.report.style import OWN
from clearway.reproduce import judge, stats
from clearway.reproduce.claims import Finding, claim
from clearway.reproduce.expresspass import fig17
from clearway.reproduce.expresspass.realistic import scenario
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
RATES = (10, 40)
FLOWS = {"data-mining": {"quick": 300, "full": 20_000}, "web-search": {"quick": 400, "full": 20_000}}
CLASSES = {"small": (0.0, 100e3), "medium": (100e3, 10e6), "large": (10e6, float("inf"))}
MEAN_KB = {"data-mining": 7410.0, "web-search": 1650.0}


def jobs(scale: str) -> list[Job]:
    """Data mining at both rates, web search at 10 Gbps, and the shuffle."""
    cases = [("data-mining", 10), ("data-mining", 40), ("web-search", 10)]
    found = [
        job(scale, workload, rate, name, seed)
        for workload, rate in cases
        for name in TRANSPORTS
        for seed in stats.SEEDS
    ]
    return found + [shuffle(scale, name, seed) for name in ("ExpressPass", "DCTCP") for seed in stats.SEEDS]


def job(scale: str, workload: str, rate: int, name: str, seed: int) -> Job:
    """One run of Fig. 11."""
    body = scenario("hotnets-fig11", TRANSPORTS[name], workload, 0.6, FLOWS[workload][scale], rate)
    return Job(
        {"case": workload, "rate": rate, "transport": name, "seed": seed, "bytes": 0},
        {**body, "seed": seed, "stacks": "equal"},
    )


def shuffle(scale: str, name: str, seed: int) -> Job:
    """The job of one shuffle."""
    body = fig17.job("dctcp", fig17.TASKS[scale], fig17.SIZE[scale], seed).scenario
    return Job(
        {"case": "shuffle", "rate": 10, "transport": name, "seed": seed, "bytes": fig17.SIZE[scale]},
        {**body, "name": "hotnets-fig08", "transport": TRANSPORTS[name]},
    )


def measure(job: Job, run: Run) -> Tables:
    """Completion times by class, queues, losses, wasted credits; quantiles of the shuffle."""
    row: dict[str, float] = {"drops": float(data_drops(run)), "median": 0.0, "p99": 0.0, "max": 0.0}
    done = metrics.completed(run.flows)
    if job.params["case"] == "shuffle":
        fct = done["fct_s"].to_numpy()
        row |= {"median": float(np.median(fct)), "p99": stats.percentile(fct, 99), "max": float(fct.max())}
        for name in CLASSES:
            row |= {f"{name}_mean": 0.0, f"{name}_p99": 0.0}
        return {"rows": pl.DataFrame([row | {"queue_mean": 0.0, "queue_max": 0.0, "wasted": 0.0}])}
    middle = metrics.completed(steady(run.flows))
    for name, (least, most) in CLASSES.items():
        fct = middle.filter(pl.col("size_bytes").is_between(least, most, closed="left"))["fct_s"].to_numpy()
        row |= {f"{name}_mean": metrics.mean(fct), f"{name}_p99": stats.percentile(fct, 99)}
    found = queues(run)
    row |= {
        "queue_mean": found["queue_mean"] / 1e3,
        "queue_max": found["queue_max"] / 1e3,
        "wasted": float(run.flows["credits_wasted"].sum()) / run.flows.height,
    }
    return {"rows": pl.DataFrame([row])}


def of(tables: Tables, value: str | pl.Expr, case: str, name: str, rate: int = 10) -> stats.Estimate:
    """A measure over the seeds."""
    return stats.over_seeds(tables["rows"], value, case=case, transport=name, rate=rate)


def seeds(tables: Tables, value: str, case: str, name: str, rate: int = 10) -> list[float]:
    """A measure, one a seed."""
    return stats.per_seed(tables["rows"], value, case=case, transport=name, rate=rate)


def slower(tables: Tables, name: str, size: str, rate: int, what: str = "mean") -> stats.Estimate:
    """Another transport's completion time over ExpressPass's, on the same flows."""
    theirs, ours = (seeds(tables, f"{size}_{what}", "data-mining", one, rate) for one in (name, "ExpressPass"))
    return stats.paired_ratio(theirs, ours)


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
    rows = {
        (size, rate): {name: slower(tables, name, size, rate) for name in list(TRANSPORTS)[1:]}
        for size in CLASSES
        for rate in RATES
    }
    text = {key: ", ".join(f"{name} {one:.2f}" for name, one in found.items()) for key, found in rows.items()}
    here = claim("hotnets", "fig11-fct-small-flows")
    tails = {name: slower(tables, name, "small", 10, "p99") for name in ("HULL", "DX")}
    shortest = judge.both(*(judge.above(one, 1.0, 0.1) for rate in RATES for one in rows["small", rate].values()))
    if all(one.mean == one.mean for one in tails.values()):
        worst = {
            "min": min(tails.values(), key=lambda one: one.mean),
            "max": max(tails.values(), key=lambda one: one.mean),
        }
        found = [judge.number(here, worst, trend=shortest, form=".2f")]
    else:
        state = {"shortest on average": shortest}
        text_ = f"mean over ExpressPass's at 10 Gbps: {text['small', 10]}"
        found = [judge.undecidable(here, "nothing, but a 99th percentile needs the full scale", measured=text_)]
        if shortest is False:
            found = [judge.statement(here, text_, state, seeds=5)]
    here = claim("hotnets", "fig11-fct-small-flow-ordering")
    conditions = {
        f"{rate} Gbps: shorter than {name}": judge.above(one, 1.0, here.tolerance)
        for rate in RATES
        for name, one in rows["small", rate].items()
    }
    said = "mean over ExpressPass's: " + "; ".join(f"{rate} Gbps: {text['small', rate]}" for rate in RATES)
    found.append(judge.statement(here, said, conditions, seeds=5, note="on average; the 99th percentile at full scale"))
    here = claim("hotnets", "fig11-fct-medium-flows")
    conditions = {
        f"{rate} Gbps: shorter than {name}": judge.above(one, 1.0, here.tolerance)
        for rate in RATES
        for name, one in rows["medium", rate].items()
        if (name, rate) != ("DX", 40)
    }
    said = "mean over ExpressPass's: " + "; ".join(f"{rate} Gbps: {text['medium', rate]}" for rate in RATES)
    found.append(judge.statement(here, said, conditions, seeds=5))
    here = claim("hotnets", "fig11-fct-large-flows")
    ours = stats.paired_ratio(*(seeds(tables, "large_mean", "data-mining", name) for name in ("ExpressPass", "DCTCP")))
    percent = stats.Estimate(100 * (ours.mean - 1), 100 * (ours.low - 1), 100 * (ours.high - 1), ours.seeds)
    faster = judge.both(*(judge.above(rows["large", 10][name], 1.0, 0.1) for name in ("HULL", "DX")))
    found.append(
        judge.number(here, percent, trend=faster, form=".0f", note=f"others over ExpressPass: {text['large', 10]}")
    )
    here = claim("hotnets", "fig11-speedup-40g")
    gain = {
        name: stats.paired_ratio(*(seeds(tables, "medium_mean", "data-mining", name, rate) for rate in RATES))
        for name in TRANSPORTS
    }
    conditions = {
        f"more than {name}": judge.above(gain["ExpressPass"], gain[name].mean, here.tolerance)
        for name in list(gain)[1:]
    }
    said = "100 KB to 10 MB, 10 over 40 Gbps: " + ", ".join(f"{name} {one:.2f}" for name, one in gain.items())
    return [*found, judge.statement(here, said, conditions, seeds=5)]


def occupancy(tables: Tables) -> list[Finding]:
    """The verdicts on Table 1, queues."""
    mean = {name: of(tables, "queue_mean", "data-mining", name) for name in TRANSPORTS}
    most = {name: of(tables, "queue_max", "data-mining", name) for name in TRANSPORTS}
    here = claim("hotnets", "table1-queue-occupancy")
    values = {f"average/{name}": mean[name] for name in TRANSPORTS} | {f"max/{name}": most[name] for name in TRANSPORTS}
    lowest = judge.below(most["ExpressPass"], min(one.low for name, one in most.items() if name != "ExpressPass"), 0.2)
    tenth = stats.paired_ratio(*(seeds(tables, "queue_mean", "data-mining", name) for name in ("ExpressPass", "DCTCP")))
    found = [judge.number(here, values, trend=judge.both(lowest, judge.below(tenth, 0.5)))]
    found.append(judge.number(claim("hotnets", "table1-average-one-tenth"), tenth, trend=judge.below(tenth, 0.5)))
    text = ", ".join(f"{name} {one.mean:.1f} KB" for name, one in most.items())
    found.append(
        judge.statement(claim("hotnets", "table1-max-queue-ordering"), text, {"ExpressPass lowest": lowest}, seeds=5)
    )
    eight = stats.paired_ratio(*(seeds(tables, "queue_max", "data-mining", name) for name in ("DCTCP", "ExpressPass")))
    here = claim("hotnets", "sec1-buffer-8x-less-than-dctcp")
    return [
        *found,
        judge.number(here, eight, trend=judge.above(eight, 2.0), form=".1f", note="maximum queues, Table 1"),
    ]


def credits_and_loss(tables: Tables) -> list[Finding]:
    """The verdicts on credits and loss in sections 3.3 and 4."""
    lost = {name: of(tables, "drops", "data-mining", name) for name in TRANSPORTS}
    search = {name: of(tables, "drops", "web-search", name) for name in TRANSPORTS}
    here = claim("hotnets", "sec33-losses-by-workload")
    others = max((one for name, one in lost.items() if name != "ExpressPass"), key=lambda one: one.mean)
    ours = stats.exact(lost["ExpressPass"].mean + search["ExpressPass"].mean)
    note = "web search: " + ", ".join(f"{name} {one.mean:.0f}" for name, one in search.items())
    trend = judge.both(judge.below(ours, 0.0), judge.above(stats.exact(search["DCTCP"].mean), 1.0))
    found = [
        judge.number(here, {"ExpressPass": ours, "others_data_mining": others}, trend=trend, form=".0f", note=note)
    ]
    here = claim("hotnets", "sec4-wasted-credits-per-flow")
    values = {}
    for words, workload in (("data mining", "data-mining"), ("web search", "web-search")):
        wasted = of(tables, "wasted", workload, "ExpressPass")
        values[f"{words}/credits"] = wasted
        values[f"{words}/share"] = wasted.scaled(100 * 1.46 / MEAN_KB[workload])
    few = judge.both(*(judge.below(one, 10) for case, one in values.items() if case.endswith("share")))
    return [*found, judge.number(here, values, trend=few, form=".1f", note="share: of the frames of the mean flow")]


def shuffled(tables: Tables) -> list[Finding]:
    """The verdict on Fig. 8, the shuffle."""
    full = fig17.SIZE["full"] == tables["rows"].filter(pl.col("case") == "shuffle")["bytes"][0]
    scale = 1.0 if full else fig17.fewer(fig17.TASKS["quick"], fig17.SIZE["quick"])
    note = "" if full else f"measured with 1/{scale:.0f} of the bytes, and scaled up"
    medians = {name: of(tables, "median", "shuffle", name).scaled(scale) for name in ("DCTCP", "ExpressPass")}
    ratio = {
        what: stats.paired_ratio(*(seeds(tables, what, "shuffle", name) for name in ("DCTCP", "ExpressPass")))
        for what in ("median", "p99", "max")
    }
    close = judge.inside(ratio["median"], 0.75, 1.25)
    found = [judge.number(claim("hotnets", "fig08-shuffle-median-fct"), medians, trend=close, form=".2f", note=note)]
    tails = {what: ratio[what] for what in ("p99", "max")}
    trend = judge.both(judge.above(tails["p99"], 1.0), judge.above(tails["max"], tails["p99"].mean))
    here = claim("hotnets", "fig08-shuffle-tail-ratios")
    return [*found, judge.number(here, tails, trend=trend, form=".2f", note=note)]


def facts(tables: Tables) -> dict[str, object]:
    """The numbers that the prose names."""
    found: dict[str, object] = {}
    for name in list(TRANSPORTS)[1:]:
        for size in CLASSES:
            found[f"{size}_{name}"] = slower(tables, name, size, 10)
    for name in TRANSPORTS:
        found[f"mean_{name}"] = of(tables, "queue_mean", "data-mining", name)
        found[f"max_{name}"] = of(tables, "queue_max", "data-mining", name)
    found["mining"] = of(tables, "wasted", "data-mining", "ExpressPass")
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
