"""Fairness over several bottlenecks, as [ExpressPass '17, Fig. 11](expresspass-fig11.md); and sec. 2.2's limitation:
hosts of different link speeds.

Unstated, and chosen here: as there. N = 1 to 32 (paper: to 256); "close" means within the claim's tolerance of the
max-min share 1/(N+1) (printed 1/N, which counts flow 0 too, E16-3). Beside the default, whose credits have 84 B and
whose full credit queue drops the one that arrives: credits of random size, as the later paper draws them, and a full
queue that drops at random (E17-32), each the only change. Different speeds: two flows over a link of 10 Gbps, one
between hosts with links of 10 Gbps, one between hosts with 40 Gbps.
"""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import takewhile

import polars as pl
from matplotlib.figure import Figure as Picture

from clearway.report.style import OWN
from clearway.reproduce import judge, stats
from clearway.reproduce.claims import Finding, claim
from clearway.reproduce.expresspass import fig11
from clearway.reproduce.expresspass.common import dumbbell
from clearway.reproduce.figure import Figure, Job, Tables
from clearway.reproduce.hotnets.common import ABOUT, EXPRESSPASS, NAIVE, RANDOM_DROPS
from clearway.reproduce.look import Look, grid, powers
from clearway.result import Run

SIZES, DROPS = "random sizes", "random drops"
TRANSPORTS = {
    "default": EXPRESSPASS,
    "naive-credit": NAIVE,
    SIZES: EXPRESSPASS | {"randomize_size": True},
    DROPS: EXPRESSPASS | RANDOM_DROPS,
}
LABELS = {"default": "ExpressPass '16", "naive-credit": "naive"}
CLOSE_UNTIL = 4


def jobs(scale: str) -> list[Job]:
    """The jobs of Fig. 11 of the later paper, and two flows of different hosts."""
    several = [job for job in fig11.jobs(scale) if job.params["what"] == "bottlenecks"]
    found = [under(job, job.params["reading"]) for job in several]
    found += [under(job, name) for name in (SIZES, DROPS) for job in several if job.params["reading"] == "default"]
    return found + [speeds(rate, seed) for rate in (10, 40) for seed in stats.SEEDS]


def under(job: Job, name: str) -> Job:
    """A job of the later paper's figure with one of this figure's transports."""
    scenario = {**job.scenario, "name": "hotnets-fig06", "transport": TRANSPORTS[name]}
    return replace(job, params={**job.params, "reading": name}, scenario=scenario)


def speeds(rate: int, seed: int) -> Job:
    """Two flows, the second between hosts with links of `rate` Gbps."""
    links = [{"link": ends, "rate": f"{rate} Gbps"} for ends in (["h1", "s0"], ["h3", "s1"])]
    return Job(
        {"what": "speeds", "reading": "default", "flows": rate, "seed": seed},
        {
            "name": "hotnets-speeds",
            "seed": seed,
            "stop": f"{fig11.FROM_MS + fig11.SPAN_MS} ms",
            "topology": dumbbell(2, "10 Gbps"),
            "link": links,
            "transport": EXPRESSPASS,
            "traffic": [{"name": "flows", "kind": "long", "spread": "2 ms"}],
            "sample": [{"name": "throughput", "what": "throughput", "every": "1 ms"}],
        },
    )


def measure(job: Job, run: Run) -> Tables:
    """The measurements of the later paper's figure."""
    return fig11.measure(job, run)


def ratio(tables: Tables, count: int, reading: str = "default") -> stats.Estimate:
    """Flow 0's share over its max-min share."""
    value = pl.col("flow0") * (count + 1)
    return stats.over_seeds(tables["rows"], value, what="bottlenecks", flows=count, reading=reading)


def counts(tables: Tables) -> list[int]:
    """The numbers of flows that were run."""
    return sorted(tables["rows"].filter(pl.col("what") == "bottlenecks")["flows"].unique().to_list())


def summarise(tables: Tables) -> Tables:
    """Means over the seeds."""
    rows = [{"N": n, **{name: ratio(tables, n, name).mean for name in TRANSPORTS}} for n in counts(tables)]
    return {**tables, "shown": pl.DataFrame(rows)}


def per_seed(tables: Tables, count: int, reading: str = "default") -> list[float]:
    """Flow 0's share over its max-min share, one a seed."""
    value = pl.col("flow0") * (count + 1)
    return stats.per_seed(tables["rows"], value, what="bottlenecks", flows=count, reading=reading)


def close_until(tables: Tables, slack: float, reading: str = "default") -> list[float]:
    """The most flows up to which flow 0 has its max-min share, within so much of it; one a seed."""
    found = []
    for shares in zip(*(per_seed(tables, n, reading) for n in counts(tables)), strict=True):
        near = takewhile(lambda one: abs(one[1] - 1) <= slack, zip(counts(tables), shares, strict=True))
        found.append(max((float(n) for n, _ in near), default=0.0))
    return found


def quantities(tables: Tables, reading: str) -> dict[str, judge.Measured]:
    """The quantities of the claim under one of the transports with feedback."""
    slack, most = claim("hotnets", "fig06-multibottleneck-fairness").tolerance, counts(tables)[-1]
    ours, naive = per_seed(tables, most, reading), per_seed(tables, most, "naive-credit")
    way = [math.log(max(a, 1e-3)) / math.log(b) for a, b in zip(ours, naive, strict=True)]
    return {
        "close_until_flows": stats.estimate(close_until(tables, slack, reading)),
        **{f"share with {n} flows": ratio(tables, n, reading) for n in counts(tables) if n <= CLOSE_UNTIL},
        "part of the way to naive credits": stats.estimate(way),
        "over naive credits": stats.paired_ratio(ours, naive),
    }


def check(tables: Tables) -> list[Finding]:
    """The verdicts on the figure's claims."""
    here, most = claim("hotnets", "fig06-multibottleneck-fairness"), counts(tables)[-1]
    text = "flow 0 over its max-min share: " + ", ".join(f"{n}: {ratio(tables, n):.2f}" for n in counts(tables))
    note = f"naive at {most}: {ratio(tables, most, 'naive-credit'):.1f}"
    drops = quantities(tables, DROPS)
    cause = [
        judge.Change(
            "Credits of 84 B keep one order at a full drop-tail queue, which locks flows out. Random sizes, with which "
            "the later paper mends this, break the order",
            quantities(tables, SIZES),
        ),
        judge.Change("A full drop-tail queue drops by the order of arrivals. One that drops at random does not", drops),
    ]
    readings = {'credit_drop = "random"': drops}
    found = [judge.judge(here, quantities(tables, "default"), text=text, note=note, readings=readings, cause=cause)]
    equal, unequal = (stats.over_seeds(tables["rows"], "jain", what="speeds", flows=rate) for rate in (10, 40))
    here = claim("hotnets", "sec22-unequal-link-speeds-unfair")
    less = stats.paired_ratio(*(stats.per_seed(tables["rows"], "jain", what="speeds", flows=n) for n in (40, 10)))
    text = f"Jain {equal:.3f} between equal hosts, {unequal:.3f} with 10 and 40 Gbps"
    return [*found, judge.judge(here, {"unequal over equal": less}, text=text)]


def facts(tables: Tables) -> dict[str, object]:
    """The numbers that the prose names."""
    most = counts(tables)[-1]
    return {
        "four": ratio(tables, 4),
        "most": most,
        "at_most": ratio(tables, most),
        "naive": ratio(tables, most, "naive-credit"),
        **{f"four_{name.split()[1]}": ratio(tables, 4, name) for name in (SIZES, DROPS)},
        **{f"most_{name.split()[1]}": ratio(tables, most, name) for name in (SIZES, DROPS)},
        "equal": stats.over_seeds(tables["rows"], "jain", what="speeds", flows=10),
        "unequal": stats.over_seeds(tables["rows"], "jain", what="speeds", flows=40),
    }


def draw(tables: Tables, look: Look) -> dict[str, Picture]:
    """Flow 0's share over its max-min share, against N."""
    picture, (axes,) = grid(1, 1, width=6.0, height=2.8)
    for name, transport in TRANSPORTS.items():
        line = look.line(OWN[transport["name"]]) | {SIZES: {"ls": ":"}, DROPS: {"ls": "--"}}.get(name, {})
        axes.plot(tables["shown"]["N"], tables["shown"][name], label=LABELS.get(name, name), ms=4, **line)
    powers(axes, counts(tables))
    axes.axhline(1, color=look.muted, lw=1)
    axes.set(title="Flow 0's throughput over its max-min share", xlabel="N", ylim=(0, None))
    axes.legend(frameon=False)
    return {"flow0": picture}


FIGURE = Figure(
    name="hotnets/fig06",
    title="ExpressPass '16, Fig. 6: fairness over several bottlenecks; hosts of different speeds",
    doc=(__doc__ or "") + "\n" + ABOUT,
    jobs=jobs,
    measure=measure,
    summarise=summarise,
    check=check,
    facts=facts,
    draw=draw,
    claims=("fig06-multibottleneck-fairness", "sec22-unequal-link-speeds-unfair"),
    shown={"shown": "Flow 0's throughput over its max-min share, means over the seeds."},
    captions={"flow0": "How much more than its max-min share flow 0 gets"},
)
