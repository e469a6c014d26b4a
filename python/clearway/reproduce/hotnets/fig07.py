"""Two flows start one by one at 10 and at 100 Gbps; how long until both are within 10 % of their share, for
ExpressPass (each RTT averaged) and DCTCP (10 RTTs averaged; K = 65, g = 0.0625 and K = 650, g = 0.01976). As
[ExpressPass '17, Fig. 16](expresspass-fig16.md), whose measure this is.

Unstated, and chosen here:

* **First rate**: half of the link's, the default; the link's and 1/16 of it beside it.
* **Converged**: the first RTT (for DCTCP the first 10) in which both are within 10 % of their share, counted from the
  moment at which the second flow asks. The first such that starts three in a row is shown beside.
* **When the second flow joins**: at five offsets within an RTT (DCTCP: over more than a saw tooth of its window).
"""

from __future__ import annotations

import math
from typing import Any

import polars as pl
from matplotlib.figure import Figure as Picture

from clearway.report.style import OWN
from clearway.reproduce import judge, stats
from clearway.reproduce.claims import Finding, claim
from clearway.reproduce.expresspass import fig16
from clearway.reproduce.figure import Figure, Job, Tables
from clearway.reproduce.hotnets.common import ABOUT, EXPRESSPASS, RTO
from clearway.reproduce.look import Look, grid
from clearway.reproduce.quantities import CEILING
from clearway.result import Run

RATES = (10, 100)
ALPHAS = {"1": 1.0, "1/2": 0.5, "1/16": 0.0625}
#: The default first rate.
DEFAULT = "alpha 1/2"


def jobs(_: str) -> list[Job]:
    """ExpressPass with three first rates, and DCTCP, at both rates and five offsets."""
    found = []
    for rate in RATES:
        for seed in stats.SEEDS:
            start = 50 * fig16.RTT_US + (seed - 1) * fig16.RTT_US // len(stats.SEEDS)
            found += [
                job(rate, f"alpha {name}", seed, start, {**EXPRESSPASS, "alpha": a}, 100) for name, a in ALPHAS.items()
            ]
            marking, g, before, after, step = fig16.DCTCP[rate]
            start = before * fig16.RTT_US + (seed - 1) * 4 * step
            dctcp = job(rate, "dctcp", seed, start, {"name": "dctcp", "g": g, **RTO}, after)
            found.append(Job(dctcp.params, {**dctcp.scenario, "switch": {"marking": marking}}))
    return found


def job(rate: int, name: str, seed: int, start_us: int, transport: dict[str, Any], rtts: int) -> Job:
    """The job of one run."""
    params = {
        "rate_gbps": rate,
        "transport": name,
        "seed": seed,
        "offset": 1,
        "start_us": start_us,
        "averaged_rtts": 10 if name == "dctcp" else 1,
        "ceiling": 1.0 if name == "dctcp" else CEILING,
    }
    return Job(params, {**fig16.scenario(rate, transport, start_us, rtts), "seed": seed})


def measure(job: Job, run: Run) -> Tables:
    """The measurements of Fig. 16 of the later paper."""
    return {"rows": fig16.measure(job, run)["rows"]}


def rtts(tables: Tables, rate: int, name: str, what: str = "first_rtts") -> stats.Estimate:
    """RTTs until both flows have their share; a run that never gets there makes it NaN."""
    return stats.over_seeds(tables["rows"], what, rate_gbps=rate, transport=name)


def summarise(tables: Tables) -> Tables:
    """Means over the offsets."""
    rows = [
        {
            "Gbps": rate,
            "transport": name,
            "RTTs": rtts(tables, rate, name).mean,
            "RTTs_held": rtts(tables, rate, name, "held_rtts").mean,
        }
        for rate in RATES
        for name in [*(f"alpha {a}" for a in ALPHAS), "dctcp"]
    ]
    return {**tables, "shown": pl.DataFrame(rows)}


def per_offset(tables: Tables, rate: int, name: str) -> list[float]:
    """RTTs until both flows have their share, one an offset."""
    return stats.per_seed(tables["rows"], "first_rtts", rate_gbps=rate, transport=name)


def ratio(tables: Tables, rate: int) -> stats.Estimate:
    """DCTCP over ExpressPass, paired by offset."""
    return stats.paired_ratio(per_offset(tables, rate, "dctcp"), per_offset(tables, rate, DEFAULT))


def longer(tables: Tables, name: str) -> stats.Estimate:
    """The time of a transport at 100 Gbps over that at 10 Gbps, paired by offset."""
    return stats.paired_ratio(*(per_offset(tables, rate, name) for rate in (100, 10)))


def wider(tables: Tables) -> stats.Estimate:
    """DCTCP's time over that of ExpressPass at 100 Gbps, over the same at 10 Gbps; paired by offset."""
    gaps = [
        [a / b for a, b in zip(*(per_offset(tables, rate, name) for name in ("dctcp", DEFAULT)), strict=True)]
        for rate in (100, 10)
    ]
    return stats.paired_ratio(*gaps)


def check(tables: Tables) -> list[Finding]:
    """The verdicts on the figure's claims."""
    ours = {rate: rtts(tables, rate, DEFAULT) for rate in RATES}
    theirs = {rate: rtts(tables, rate, "dctcp") for rate in RATES}
    slower = ratio(tables, 10)
    found = [
        judge.judge(
            claim("hotnets", "abstract-80x-faster-than-dctcp"),
            {"value": slower, "gap at 100 Gbps over that at 10 Gbps": wider(tables)},
            form=".0f",
        ),
        judge.judge(
            claim("hotnets", "sec1-convergence-order-of-magnitude"),
            {
                **{f"ExpressPass, {rate} Gbps": one for rate, one in ours.items()},
                **{f"DCTCP, {rate} Gbps": one for rate, one in theirs.items()},
            },
            text=f"{ours[10]:.1f} and {ours[100]:.1f} RTTs; DCTCP {theirs[10]:.0f} and {theirs[100]:.0f}",
        ),
    ]
    beside = "; ".join(
        f"alpha {a}: {rtts(tables, 10, f'alpha {a}').mean:.1f}, {rtts(tables, 100, f'alpha {a}').mean:.1f}"
        for a in ALPHAS
    )
    for rate in RATES:

        def of(name: str, rate: int = rate) -> dict[str, judge.Measured]:
            unchanged = {"over that at 10 Gbps": longer(tables, name)} if rate == 100 else {}
            return {"value": rtts(tables, rate, name), **unchanged}

        note = f"10, 100 Gbps: {beside}"
        readings = {f"alpha {a}": of(f"alpha {a}") for a in ALPHAS if f"alpha {a}" != DEFAULT}
        here = claim("hotnets", f"fig07-convergence-{rate}g")
        found.append(judge.judge(here, of(DEFAULT), form=".1f", note=note, readings=readings))
    found.append(judge.judge(claim("hotnets", "fig07-dctcp-ratio-10g"), slower, form=".0f"))
    growth = longer(tables, "dctcp")
    here = claim("hotnets", "fig07-dctcp-linear-in-capacity")
    text = f"{growth:.1f} times as long at ten times the capacity"
    found.append(judge.judge(here, {"DCTCP at 100 Gbps over that at 10 Gbps": growth}, text=text))
    return found


def facts(tables: Tables) -> dict[str, object]:
    """The numbers that the prose names."""
    return {
        **{f"ours_{rate}": rtts(tables, rate, DEFAULT) for rate in RATES},
        **{f"whole_{rate}": rtts(tables, rate, "alpha 1") for rate in RATES},
        **{f"theirs_{rate}": rtts(tables, rate, "dctcp") for rate in RATES},
        "ratio": ratio(tables, 10),
    }


def draw(tables: Tables, look: Look) -> dict[str, Picture]:
    """RTTs by transport and rate."""
    picture, axes = grid(1, 2, width=8.6, height=2.6, sharey=True)
    ours, theirs = OWN["expresspass-hotnets16"], OWN["dctcp"]
    for place, rate in zip(axes, RATES, strict=True):
        part = tables["shown"].filter(pl.col("Gbps") == rate)
        values = [0 if math.isnan(value) else value for value in part["RTTs"].to_list()]
        colors = [look.color(theirs if name == "dctcp" else ours) for name in part["transport"]]
        place.bar(part["transport"], values, color=colors)
        place.set_yscale("log")
        place.set(title=f"{rate} Gbps")
    axes[0].set_ylabel("RTTs")
    return {"convergence": picture}


FIGURE = Figure(
    name="hotnets/fig07",
    title="ExpressPass '16, Fig. 7: convergence at 10 and 100 Gbps",
    doc=(__doc__ or "") + "\n" + ABOUT,
    jobs=jobs,
    measure=measure,
    summarise=summarise,
    check=check,
    facts=facts,
    draw=draw,
    claims=(
        "abstract-80x-faster-than-dctcp",
        "sec1-convergence-order-of-magnitude",
        "fig07-convergence-10g",
        "fig07-convergence-100g",
        "fig07-dctcp-ratio-10g",
        "fig07-dctcp-linear-in-capacity",
    ),
    shown={"shown": "RTTs until both flows are within 10 % of their share, means over five offsets."},
    captions={"convergence": "RTTs until two flows share a link"},
)
