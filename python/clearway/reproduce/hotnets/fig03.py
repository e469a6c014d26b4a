"""Utilisation of the least used link of a parking lot with one to six bottlenecks, with feedback and without, as
[ExpressPass '17, Fig. 10](expresspass-fig10.md).

Unstated, and chosen here: 10 Gbps, 4 us a link, 40 ms (full: 100 ms) after 10 ms of start-up, five seeds. A full
credit queue drops the credit that arrives; one that drops at random (E17-32) is run beside it.
"""

from __future__ import annotations

import polars as pl
from matplotlib.figure import Figure as Picture
from matplotlib.ticker import PercentFormatter

from clearway.report.style import OWN
from clearway.reproduce import judge, stats
from clearway.reproduce.claims import Finding, claim
from clearway.reproduce.expresspass import fig10
from clearway.reproduce.figure import Figure, Job, Tables
from clearway.reproduce.hotnets.common import ABOUT, EXPRESSPASS, NAIVE, RANDOM_DROPS
from clearway.reproduce.look import Look, grid
from clearway.reproduce.quantities import CEILING
from clearway.result import Run

TRANSPORTS = {
    "feedback": EXPRESSPASS,
    "naive": NAIVE,
    "feedback, random drops": EXPRESSPASS | RANDOM_DROPS,
    "naive, random drops": NAIVE | RANDOM_DROPS,
}
BOTTLENECKS = (1, 2, 3, 4, 5, 6)
SPAN_MS = {"quick": 40, "paper": 100}


def jobs(scale: str) -> list[Job]:
    """Both, for each number of bottlenecks and seed."""
    return [
        Job(
            {"transport": name, "bottlenecks": count, "seed": seed, "ceiling": CEILING},
            fig10.scenario("hotnets-fig03", transport, count, seed, SPAN_MS[scale]),
        )
        for name, transport in TRANSPORTS.items()
        for count in BOTTLENECKS
        for seed in stats.SEEDS
    ]


def measure(job: Job, run: Run) -> Tables:
    """The measurements of Fig. 10 of the later paper."""
    return fig10.measure(job, run)


def used(tables: Tables, transport: str, count: int) -> stats.Estimate:
    """Utilisation of the least used link, in per cent of what data can take."""
    value = 100 * pl.col("utilisation_min")
    return stats.over_seeds(tables["rows"], value, transport=transport, bottlenecks=count)


def summarise(tables: Tables) -> Tables:
    """Means over the seeds."""
    rows = [
        {"transport": name, **{str(count): used(tables, name, count).mean for count in BOTTLENECKS}}
        for name in TRANSPORTS
    ]
    return {**tables, "shown": pl.DataFrame(rows)}


def over(tables: Tables, ours: tuple[str, int], other: tuple[str, int]) -> stats.Estimate:
    """The utilisation of one case over that of another, paired by seed."""
    return stats.paired_ratio(*(per_seed(tables, *case) for case in (ours, other)))


def per_seed(tables: Tables, transport: str, count: int) -> list[float]:
    """Utilisation of the least used link, one a seed."""
    return stats.per_seed(tables["rows"], "utilisation_min", transport=transport, bottlenecks=count)


def slower(tables: Tables) -> stats.Estimate:
    """The share of the utilisation at two bottlenecks that is left at six: with feedback over without."""
    kept = {
        name: [six / two for six, two in zip(per_seed(tables, name, 6), per_seed(tables, name, 2), strict=True)]
        for name in TRANSPORTS
    }
    return stats.paired_ratio(kept["feedback"], kept["naive"])


def check(tables: Tables) -> list[Finding]:
    """The verdicts on the figure's claims."""
    found = []
    for name, other in (("feedback", "naive"), ("naive", "feedback")):
        values = {case: used(tables, name, int(case)) for case in ("2", "6")}
        against = {
            f"over {other}, {count} bottlenecks": over(tables, (name, count), (other, count)) for count in (2, 6)
        }
        falls = {"six over two": over(tables, (name, 6), (name, 2))}
        more = {"six over two, over the same without": slower(tables)} if name == "feedback" else {}
        here = claim("hotnets", f"fig03-parking-lot-{name}")
        beside = ", ".join(f"{used(tables, f'{name}, random drops', count):.1f}" for count in (2, 6))
        quantities = {**values, **against, **falls, **more}
        found.append(judge.judge(here, quantities, form=".1f", note=f"with random drops: {beside} %"))
    return found


def facts(tables: Tables) -> dict[str, object]:
    """The numbers that the prose names."""
    found: dict[str, object] = {}
    for name in TRANSPORTS:
        short = name.replace(", random drops", "_random")
        found |= {f"{short}_{count}": used(tables, name, count) for count in (2, 6)}
    return found


def draw(tables: Tables, look: Look) -> dict[str, Picture]:
    """Utilisation against the number of bottlenecks."""
    picture, (axes,) = grid(1, 1, width=6.4, height=2.8)
    paper = {"feedback": {2: 96.7, 6: 92.2}, "naive": {2: 83.3, 6: 60.0}}
    for name, transport in TRANSPORTS.items():
        line = look.line(OWN[transport["name"]]) | ({"ls": "--"} if name not in paper else {})
        axes.plot(BOTTLENECKS, [used(tables, name, n).mean for n in BOTTLENECKS], label=name, **line)
        points = paper.get(name, {})
        axes.plot(list(points), list(points.values()), "*", ms=11, color=look.ink)
    axes.yaxis.set_major_formatter(PercentFormatter())
    axes.set(title="Utilisation of the least used link", xlabel="bottlenecks", ylim=(0, 103))
    axes.legend(frameon=False)
    return {"utilisation": picture}


FIGURE = Figure(
    name="hotnets/fig03",
    title="ExpressPass '16, Fig. 3: utilisation over one to six bottlenecks",
    doc=(__doc__ or "") + "\n" + ABOUT,
    jobs=jobs,
    measure=measure,
    summarise=summarise,
    check=check,
    facts=facts,
    draw=draw,
    claims=("fig03-parking-lot-feedback", "fig03-parking-lot-naive"),
    shown={"shown": "Utilisation of the least used link in per cent of what data can take, by bottlenecks."},
    captions={"utilisation": "Utilisation against the number of bottlenecks; stars are the paper's numbers"},
)
