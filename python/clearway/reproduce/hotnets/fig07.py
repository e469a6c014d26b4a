"""Two flows start one by one at 10 and at 100 Gbps; how long until both are within 10 % of their share, for
ExpressPass (each RTT averaged) and DCTCP (10 RTTs averaged; K = 65, g = 0.0625 and K = 650, g = 0.01976). As
[ExpressPass '17, Fig. 16](expresspass-fig16.md), whose measure this is.

Unstated, and chosen here:

* **First rate**: half of the link's, the default; the link's and 1/16 of it beside it.
* **Converged**: by [the one criterion](../verdicts.md#when-flows-have-converged), with the windows of
  [Fig. 16](expresspass-fig16.md). The paper's own words, "the time when two flows are within 10% of the fair-share",
  leave open whether they stay there. Read to the letter (E16-8) it is the first average of an RTT (DCTCP: of 10) in
  which both are.
* **When the second flow joins**: at 20 offsets (quick: 5) within an RTT (DCTCP: over more than a saw tooth of its
  window).
"""

from __future__ import annotations

import math

import polars as pl
from matplotlib.figure import Figure as Picture

from clearway.report.style import OWN
from clearway.reproduce import judge, stats
from clearway.reproduce.claims import Finding, claim
from clearway.reproduce.convergence import never, quotient, times, words
from clearway.reproduce.expresspass import fig16
from clearway.reproduce.figure import Figure, Job, Tables
from clearway.reproduce.hotnets.common import ABOUT, EXPRESSPASS, RTO
from clearway.reproduce.look import Look, grid
from clearway.result import Run

RATES = (10, 100)
ALPHAS = {"1": 1.0, "1/2": 0.5, "1/16": 0.0625}
#: The default first rate.
DEFAULT = "alpha 1/2"
HELD, FIRST = "held_rtts", "first_rtts"


def jobs(scale: str) -> list[Job]:
    """ExpressPass with three first rates, and DCTCP, at both rates and all offsets."""
    found = []
    count = fig16.OFFSETS[scale]
    for rate in RATES:
        for seed in range(1, count + 1):
            start = 50 * fig16.RTT_US + (seed - 1) * fig16.RTT_US // count
            for name, alpha in ALPHAS.items():
                made = fig16.job(rate, f"alpha {name}", {**EXPRESSPASS, "alpha": alpha}, seed - 1, start, 100)
                found.append(made)
            marking, g, before, after, step = fig16.DCTCP[rate]
            start = before * fig16.RTT_US + (seed - 1) * 20 * step // count
            dctcp, window = {"name": "dctcp", "g": g, **RTO}, fig16.saw_tooth_rtts(rate)
            made = fig16.job(rate, "dctcp", dctcp, seed - 1, start, after, averaged=10, window=window)
            found.append(Job(made.params, {**made.scenario, "switch": {"marking": marking}}))
    return found


def measure(job: Job, run: Run) -> Tables:
    """The measurements of Fig. 16 of the later paper."""
    return {"rows": fig16.measure(job, run)["rows"]}


def per_offset(tables: Tables, rate: int, name: str, which: str = HELD) -> list[float]:
    """RTTs until both flows have their share, one an offset; NaN if they never do."""
    return stats.per_seed(tables["rows"], which, rate_gbps=rate, transport=name)


def rtts(tables: Tables, rate: int, name: str, which: str = HELD) -> stats.Estimate:
    """RTTs until both flows have their share."""
    return times(per_offset(tables, rate, name, which))


def summarise(tables: Tables) -> Tables:
    """Medians over the offsets."""
    rows = [
        {
            "Gbps": rate,
            "transport": name,
            "RTTs": words(rtts(tables, rate, name)),
            "runs that never do": never(per_offset(tables, rate, name)),
            "RTTs until the first average": words(rtts(tables, rate, name, FIRST)),
        }
        for rate in RATES
        for name in [*(f"alpha {a}" for a in ALPHAS), "dctcp"]
    ]
    return {**tables, "shown": pl.DataFrame(rows)}


def ratio(tables: Tables, rate: int, name: str = DEFAULT, which: str = HELD) -> stats.Estimate:
    """DCTCP over ExpressPass, paired by offset."""
    return quotient(*(per_offset(tables, rate, one, which) for one in ("dctcp", name)))


def longer(tables: Tables, name: str, which: str = HELD) -> stats.Estimate:
    """The time of a transport at 100 Gbps over that at 10 Gbps, paired by offset."""
    return quotient(*(per_offset(tables, rate, name, which) for rate in (100, 10)))


def wider(tables: Tables, name: str = DEFAULT, which: str = HELD) -> stats.Estimate:
    """DCTCP's time over that of ExpressPass at 100 Gbps, over the same at 10 Gbps; paired by offset."""
    wide, narrow = (ratio(tables, rate, name, which).draws for rate in (100, 10))
    return quotient(wide, [one or math.nan for one in narrow])


def check(tables: Tables) -> list[Finding]:
    """The verdicts on the figure's claims."""
    growth = longer(tables, "dctcp")
    here = claim("hotnets", "fig07-dctcp-linear-in-capacity")
    text = f"{growth:.1f} times as long at ten times the capacity"
    linear = judge.judge(here, {"DCTCP at 100 Gbps over that at 10 Gbps": growth}, text=text)
    return [*check_ratios(tables), check_few(tables), *(check_time(tables, rate) for rate in RATES), linear]


def check_ratios(tables: Tables) -> list[Finding]:
    """The verdicts on DCTCP's time over that of ExpressPass."""

    def of(*made: str) -> dict[str, judge.Measured]:
        return {"value": ratio(tables, 10, *made)}

    def grows(*made: str) -> dict[str, judge.Measured]:
        return {**of(*made), "gap at 100 Gbps over that at 10 Gbps": wider(tables, *made)}

    first = (DEFAULT, FIRST)
    text = f"{words(ratio(tables, 10))}; ExpressPass never converges in {never(per_offset(tables, 10, DEFAULT))} runs"
    return [
        judge.judge(claim("hotnets", name), what(), text=text, readings={"E16-8": what(*first)}, form=".0f")
        for name, what in (("abstract-80x-faster-than-dctcp", grows), ("fig07-dctcp-ratio-10g", of))
    ]


def check_few(tables: Tables) -> Finding:
    """The verdict on orders of magnitude."""

    def of(which: str = HELD) -> dict[str, stats.Estimate]:
        both = {"ExpressPass": DEFAULT, "DCTCP": "dctcp"}
        return {f"{one}, {rate} Gbps": rtts(tables, rate, is_, which) for rate in RATES for one, is_ in both.items()}

    here = claim("hotnets", "sec1-convergence-order-of-magnitude")
    text = ", ".join(f"{name}: {words(value)}" for name, value in of().items())
    return judge.judge(here, of(), text=text, form=".0f", readings={"E16-8": of(FIRST)})


def check_time(tables: Tables, rate: int) -> Finding:
    """The verdict on RTTs at a rate."""

    def of(name: str, which: str = HELD) -> dict[str, judge.Measured]:
        unchanged = {"over that at 10 Gbps": longer(tables, name, which)} if rate == 100 else {}
        return {"value": rtts(tables, rate, name, which), **unchanged}

    beside = "; ".join(
        f"alpha {a}: " + ", ".join(words(rtts(tables, each, f"alpha {a}", FIRST)) for each in RATES) for a in ALPHAS
    )
    text = f"{words(rtts(tables, rate, DEFAULT))}, in {never(per_offset(tables, rate, DEFAULT))} runs never"
    note = f"first averages at 10, 100 Gbps: {beside}"
    here = claim("hotnets", f"fig07-convergence-{rate}g")
    return judge.judge(here, of(DEFAULT), text=text, form=".1f", note=note, readings={"E16-8": of(DEFAULT, FIRST)})


def facts(tables: Tables) -> dict[str, object]:
    """The numbers that the prose names."""
    return {
        **{f"never_{rate}": never(per_offset(tables, rate, DEFAULT)) for rate in RATES},
        **{f"ours_{rate}": words(rtts(tables, rate, DEFAULT, FIRST)) for rate in RATES},
        **{f"whole_{rate}": words(rtts(tables, rate, "alpha 1", FIRST)) for rate in RATES},
        **{f"theirs_{rate}": words(rtts(tables, rate, "dctcp")) for rate in RATES},
        **{f"theirs_first_{rate}": words(rtts(tables, rate, "dctcp", FIRST)) for rate in RATES},
        "ratio": words(ratio(tables, 10, DEFAULT, FIRST)),
    }


def draw(tables: Tables, look: Look) -> dict[str, Picture]:
    """RTTs by transport and rate: until both flows first have their share, and until they keep it."""
    picture, axes = grid(1, 2, width=8.6, height=2.6, sharey=True)
    names = [*(f"alpha {a}" for a in ALPHAS), "dctcp"]
    colors = [look.color(OWN["dctcp" if name == "dctcp" else "expresspass-hotnets16"]) for name in names]
    for place, rate in zip(axes, RATES, strict=True):
        first, held = ([rtts(tables, rate, name, which).median().mean for name in names] for which in (FIRST, HELD))
        place.bar(names, first, color=colors)
        place.set_yscale("log")
        for at, (low, value) in enumerate(zip(first, held, strict=True)):
            if math.isfinite(value):
                place.plot([at - 0.4, at + 0.4], [value, value], color=look.ink, lw=2)
            else:
                place.text(at, low * 1.15, "never\nkept", ha="center", fontsize=9, color=look.ink)
        place.set(title=f"{rate} Gbps", ylim=(1, 10_000))
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
    shown={"shown": "RTTs until both keep their share, and until the first average in which both have it; medians."},
    captions={"convergence": "RTTs until two flows first have their share (bars) and until they keep it (lines)"},
)
