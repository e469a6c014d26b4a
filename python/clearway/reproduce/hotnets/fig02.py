"""Naive credits over one and several bottlenecks, as [ExpressPass '17, Fig. 3 and 4](expresspass-fig04.md), with this
paper's credit queue of 16; its Flow 3 is the one that crosses link 2 alone, its Flow 1 the long one of the parking lot.

Unstated, and chosen here: as there. 10 Gbps, 4 us a link, 40 ms after 10 ms of start-up, five seeds.
"""

from __future__ import annotations

from dataclasses import replace

import polars as pl

from clearway.reproduce import judge, stats
from clearway.reproduce.claims import Finding, claim
from clearway.reproduce.expresspass import fig04
from clearway.reproduce.figure import Figure, Job, Tables
from clearway.reproduce.hotnets.common import NAIVE, RANDOM_DROPS
from clearway.result import Run

#: Ways of dropping by a full credit queue: the default first.
DROPS = {"naive-credit": NAIVE, "random drops": NAIVE | RANDOM_DROPS}
LONG, SECOND, THIRD = pl.col("first"), pl.col("second"), pl.col("third")


def jobs(scale: str) -> list[Job]:
    """The jobs of Fig. 4 of the later paper, with 16 credits a port."""
    return [
        replace(job, scenario={**job.scenario, "name": "hotnets-fig02", "transport": DROPS[job.params["transport"]]})
        for job in fig04.jobs(scale)
        if job.params["transport"] in DROPS
    ]


def measure(job: Job, run: Run) -> Tables:
    """The measurements of the later paper's figure."""
    return fig04.measure(job, run)


def of(tables: Tables, network: str, expression: pl.Expr, drops: str = "naive-credit") -> stats.Estimate:
    """A measure over the seeds."""
    return stats.over_seeds(tables["rows"], expression, network=network, transport=drops)


def summarise(tables: Tables) -> Tables:
    """Means over the seeds."""
    shown = (
        tables["rows"]
        .group_by("network", "transport", maintain_order=True)
        .agg(pl.col("first", "second", "third").mean().round(3))
    )
    return {**tables, "shown": shown}


def check(tables: Tables) -> list[Finding]:
    """The verdicts on the figure's claims."""
    dropped = pl.col("credits_dropped") / (pl.col("credits_passed") + pl.col("credits_dropped"))
    part, data = of(tables, "one link", dropped), of(tables, "one link", (LONG + SECOND) * 2)
    here = claim("hotnets", "fig01-two-flow-credit-schedule")
    quantities: dict[str, judge.Measured] = {
        "credits_arriving": 4,
        "credits_dropped": round(4 * part.mean),
        "data_packets": round(data.mean),
        "share of credits dropped": part,
        "data over what fits": data.scaled(0.5),
    }
    text = f"of 4 credits {4 * part.mean:.2f} are dropped; {data:.2f} data packets"
    found = [judge.judge(here, quantities, text=text)]
    ratio = of(tables, "multi-bottleneck", 2 * LONG / (SECOND + THIRD))
    found.append(judge.judge(claim("hotnets", "fig02a-naive-multibottleneck-unfairness"), ratio))
    values = {
        "link1_utilization": of(tables, "parking lot", 100 * (LONG + THIRD)),
        "flow1_credits_after_link1": of(tables, "parking lot", 100 * (1 - THIRD)),
        "flow1_credits_after_link2": of(tables, "parking lot", 100 * LONG),
    }
    long, link1 = (of(tables, "parking lot", 100 * one, "random drops") for one in (LONG, LONG + THIRD))
    note = (
        "two flows at the full rate fill link 1 with credits: what the other one leaves there is Flow 1's; "
        f"with random drops {link1:.1f} % of link 1 are used and {long:.1f} % of the credits pass link 2"
    )
    here = claim("hotnets", "fig02b-naive-parking-lot-utilization")
    return [*found, judge.judge(here, values, note=note)]


def facts(tables: Tables) -> dict[str, object]:
    """The numbers that the prose names."""
    return {
        "ratio": of(tables, "multi-bottleneck", 2 * LONG / (SECOND + THIRD)),
        "long": of(tables, "parking lot", 100 * LONG),
        "link1": of(tables, "parking lot", 100 * (LONG + THIRD)),
        "long_random": of(tables, "parking lot", 100 * LONG, "random drops"),
        "link1_random": of(tables, "parking lot", 100 * (LONG + THIRD), "random drops"),
    }


FIGURE = Figure(
    name="hotnets/fig02",
    title="ExpressPass '16, Fig. 1 and 2: naive credits over one and several bottlenecks",
    doc=__doc__ or "",
    jobs=jobs,
    measure=measure,
    summarise=summarise,
    check=check,
    facts=facts,
    draw=lambda *_: {},
    claims=(
        "fig01-two-flow-credit-schedule",
        "fig02a-naive-multibottleneck-unfairness",
        "fig02b-naive-parking-lot-utilization",
    ),
    shown={"shown": "Shares of what data can take of a link; the first flow is the long one. Means over the seeds."},
)
