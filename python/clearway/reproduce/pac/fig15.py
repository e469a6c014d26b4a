"""The number of senders that PAC supports at 1 Gbps: a fixed total volume, divided over up to 2,816 senders; else as
[Fig. 13](pac-fig13.md).

Unstated, and what decides the answer here, so it is swept:

* **How synchronous the SYNs are.** Each sender opens its connection after a random time of up to 0, 1, 2.5 or 5 ms. 0
  is Fig. 13's setting.
* **Total volume**: 4, 16 and 64 MB. With 4 MB each of 1,600 senders has 2.5 KB, two segments.

SYNs (and ACKs) have the 66 B that the paper counts; data has ns-2's frames.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl
from matplotlib.figure import Figure as Picture

from clearway.reproduce import judge
from clearway.reproduce.claims import Finding, claim
from clearway.reproduce.figure import Figure, Job, Tables
from clearway.reproduce.look import Look
from clearway.reproduce.pac import common, fig13
from clearway.reproduce.pac.common import draws, fall, falls_at, least, mbps, plot, point
from clearway.reproduce.stats import SEEDS, Estimate, paired_ratio

SENDERS = (100, 400, 800, 1200, 1600, 1800, 2048, 2304, 2560, 2816)
TOTALS = ("4 MB", "16 MB", "64 MB")
SPREADS = ("0 ms", "1 ms", "2.5 ms", "5 ms")
TRANSPORTS: dict[str, dict[str, Any]] = {**common.readings({"profile": "ns2-1g"}), **fig13.WINDOWS}
#: Number of senders at which the readings are compared; at quick scale nothing else is run over all spreads.
TOTAL = "16 MB"
#: The paper's frames.
FRAMES = {"overhead": "40 B", "wire_min": "66 B"}
#: The paper's number of senders.
CLAIMED = 1600


def jobs(scale: str) -> list[Job]:
    """PAC over all settings, the others where the SYNs come within 5 ms, and DCTCP and ICTCP where they fall."""
    found = []
    for total in TOTALS if scale == "paper" else (TOTAL,):
        for spread in SPREADS:
            found += several(scale, {"pac": TRANSPORTS["pac"]}, total, spread)
    rest = {name: transport for name, transport in TRANSPORTS.items() if name != "pac"}
    found += several(scale, rest, TOTAL, SPREADS[-1])
    senders = range(25, 48)
    near = common.jobs(
        fig13.WINDOWS, senders, lambda one, count: fig13.scenario(scale, "96 KB", one, count), total="-", spread="0 ms"
    )
    return found + near


def several(scale: str, transports: dict[str, dict[str, Any]], total: str, spread: str) -> list[Job]:
    """A setting over all numbers of senders."""
    return common.jobs(
        transports,
        SENDERS,
        lambda transport, senders: scenario(scale, transport, senders, total, spread),
        total=total,
        spread=spread,
    )


def scenario(scale: str, transport: Mapping[str, Any], senders: int, total: str, spread: str) -> dict[str, Any]:
    """Rounds of one setting."""
    return common.incast(
        common.star(senders + 1, delay="23.84 us"),
        transport,
        senders=senders,
        rounds={"quick": 1, "paper": 2}[scale],
        buffer="96 KB",
        network=FRAMES,
        total=total,
        spread=spread,
    )


def chosen(rows: pl.DataFrame, **values: str | int) -> pl.DataFrame:
    """The rows of a setting."""
    return rows.filter(*(pl.col(key) == value for key, value in values.items()))


def summarise(tables: Tables) -> Tables:
    """Means over the seeds, as the page shows them, beside the tables of the runs."""
    rows = tables["rows"]
    middle = chosen(rows, total=TOTAL, spread=SPREADS[-1])
    settings = chosen(rows, transport="pac").with_columns(
        pl.concat_str("total", "spread", separator=", ").alias("transport")
    )
    return {**tables, "shown": common.shown(middle), "settings": common.shown(settings)}


def settings(rows: pl.DataFrame) -> list[tuple[str, str]]:
    """Total and spread of all that was run of PAC."""
    found = chosen(rows, transport="pac").select("total", "spread").unique(maintain_order=True)
    return [(str(total), str(spread)) for total, spread in found.iter_rows()]


def lost(rows: pl.DataFrame) -> Estimate:
    """The first number of senders with a packet lost: the mean over the seeds, NaN if a seed has none."""

    def first(one: pl.DataFrame) -> float | None:
        hit = one.filter(pl.col("drops") > 0)["senders"]
        return float(hit[0]) if hit.len() else None

    return common.each(rows, "pac", first)


def check(tables: Tables) -> list[Finding]:
    """The verdicts on the figure's claims."""
    rows = tables["rows"]
    at = {one: chosen(rows, transport="pac", total=one[0], spread=one[1]) for one in settings(rows)}
    begins = {one: lost(part) for one, part in at.items()}
    good = {one: mbps(part, "pac", CLAIMED) for one, part in at.items()}
    open_ = "how synchronous the SYNs are"

    here = claim("pac", "fig15-first-timeouts")
    text = "; ".join(f"{', '.join(one)}: {point(value)}" for one, value in begins.items())
    found = [judge.undecidable(here, open_, measured=f"first losses (total, spread): {text}")]

    # One unknown and two statements: where losses begin as the paper says, the unknown is what it must have been.
    low, high = here.band()
    fitting = [one for one, value in begins.items() if low <= value.low and value.high <= high]
    text = "; ".join(f"{', '.join(one)}: {value:.0f}" for one, value in good.items())
    here, times = claim("pac", "fig15-goodput-1600-senders"), claim("pac", "abstract-40x-more-senders")
    if not fitting:
        found.append(judge.undecidable(here, open_, measured=text))
        found.append(judge.undecidable(times, open_))
    else:
        worst = min(fitting, key=lambda one: good[one].mean)
        note = f"where losses begin as the paper says: {' and '.join(', '.join(one) for one in fitting)}; all: {text}"
        measured: dict[str, judge.Measured] = {"value": good[worst], "first losses, senders": begins[worst]}
        found.append(judge.judge(here, measured, form=".0f", note=note))
        found.append(judge.judge(times, more(rows, good[worst]), form=".1f", note=ends(rows)))

    burst = 2000 * 66 / 1e3
    over = chosen(rows, transport="pac", total=TOTAL, spread="0 ms", senders=2048)["drops"].to_numpy().mean()
    note = f"96 KB hold 1,454 of 66 B; of 2,048 senders at once {over:.0f} packets are lost"
    found.append(judge.arithmetic(claim("pac", "sec5e-syn-burst-limit"), burst, note=note))
    return found


def more(rows: pl.DataFrame, good: Estimate) -> dict[str, judge.Measured]:
    """The paper's 1,600 senders over those at which DCTCP and ICTCP start to fall, and PAC's goodput with them."""
    near = chosen(rows, total="-")
    times = {name: paired_ratio([float(CLAIMED)] * len(SEEDS), draws(near, name, falls_at)) for name in fig13.WINDOWS}
    return {"value": times["dctcp"], "over ICTCP": times["ictcp"], "with 1,600 senders, Mbps": good}


def ends(rows: pl.DataFrame) -> str:
    """The numbers that the ratios are made of, in words."""
    near = chosen(rows, total="-")
    falls = {name: fall(near, name) for name in fig13.WINDOWS}
    return (
        f"1,600 senders, the paper's number, over where DCTCP ({point(falls['dctcp'])}) and ICTCP "
        f"({point(falls['ictcp'])}) start to fall; of ICTCP {CLAIMED / falls['ictcp'].mean:.1f}"
    )


def facts(tables: Tables) -> dict[str, object]:
    """The numbers that the prose names."""
    rows = tables["rows"]
    by = {spread: chosen(rows, transport="pac", total=TOTAL, spread=spread) for spread in SPREADS}
    middle = chosen(rows, total=TOTAL, spread=SPREADS[-1])
    return {
        "sync": mbps(by["0 ms"], "pac", CLAIMED),
        "within_1": mbps(by["1 ms"], "pac", CLAIMED),
        "within_2": mbps(by["2.5 ms"], "pac", CLAIMED),
        "within_5": mbps(by["5 ms"], "pac", CLAIMED),
        "begins_2": lost(by["2.5 ms"]),
        "least_5": least(by["5 ms"], "pac").mean,
        "timeouts_5": common.timeouts(by["5 ms"], "pac"),
        "eq6": mbps(middle, "pac, eq. (6)", CLAIMED),
        "eq6_timeouts": common.timeouts(middle, "pac, eq. (6)"),
        "unmarked": mbps(middle, "pac, no marks", CLAIMED),
        "print": mbps(middle, "pac, print", CLAIMED),
        "code": mbps(middle, "pac, code", CLAIMED),
        "dctcp": mbps(middle, "dctcp", 100),
        "ictcp": mbps(middle, "ictcp", 100),
        "begins_1": lost(by["1 ms"]),
        "begins_0": lost(by["0 ms"]),
    }


def draw(tables: Tables, look: Look) -> dict[str, Picture]:
    """The pictures of goodput by spread of the SYNs, and of the readings."""
    rows = tables["rows"]
    ticks = (100, 400, 800, 1600, 2816)
    by_spread = {
        f"SYNs within {spread}": chosen(rows, transport="pac", spread=spread).with_columns(
            pl.col("total").alias("transport")
        )
        for spread in SPREADS
    }
    middle = chosen(rows, total=TOTAL, spread=SPREADS[-1])
    parts = {
        "PAC, DCTCP, ICTCP": middle.filter(pl.col("transport").is_in(["pac", "dctcp", "ictcp"])),
        "Readings of PAC": middle.filter(pl.col("transport").str.starts_with("pac")),
    }
    return {"settings": plot(look, by_spread, ticks, 1000), "readings": plot(look, parts, ticks, 1000)}


FIGURE = Figure(
    name="pac/fig15",
    title="PAC, Fig. 15: up to 2,816 senders at 1 Gbps",
    doc=__doc__ + "\n" + common.ABOUT_READINGS,
    jobs=jobs,
    measure=common.measure,
    summarise=summarise,
    check=check,
    draw=draw,
    claims=(
        "abstract-40x-more-senders",
        "fig15-goodput-1600-senders",
        "fig15-first-timeouts",
        "sec5e-syn-burst-limit",
    ),
    facts=facts,
    shown={
        "shown": "Goodput in Mbps, 16 MB in total, SYNs within 5 ms; a star: timeouts in at least one round.",
        "settings": "The same of PAC: total volume, time within which SYNs come.",
    },
    captions={
        "settings": "PAC by the total volume and the time within which all SYNs come",
        "readings": "16 MB in total, SYNs within 5 ms",
    },
)
