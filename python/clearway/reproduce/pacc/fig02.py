"""The burst of [Fig. 1](pacc-fig01.md), flow by flow: the throughput of the long flow (#1) and of the nine short ones
(#2 to #10) into one receiver, and how many notifications each sender got, from 600 to 800 us.

Unstated, and chosen here:

* **Throughput**: bytes on the wire of the data that arrived from 640 to 800 us, when all ten flows have data in the
  queue ("stable value"). Throughput from 600 us on is in the table too.
* **A difference of 60 %**: between the long flow and the mean of the short ones, as a share of the greater.
* **Close to the fair share**: of the flow that is farthest from it on average over the draws.
* **Peaks**: the greatest throughput of each flow in 40 us; their difference is that of the largest and the smallest.
* **Notifications**: CNPs. HPCC's code has none, so under `hpcc-ns3` (PACC-25, PACC-27) DCQCN's are acknowledgements
  which say that their data was marked. Counted is what reached the sender by 800 us, when the run ends.
* **Which hosts**: drawn as in Fig. 1, 10 draws (full: 50). Verdicts stand on the mean of the draws with its interval.
"""

from __future__ import annotations

import numpy as np
import polars as pl
from matplotlib.figure import Figure as Picture

from clearway.report.style import own
from clearway.reproduce import judge, stats
from clearway.reproduce.claims import Finding, claim
from clearway.reproduce.figure import Figure, Job, Tables
from clearway.reproduce.look import Look, grid, legend
from clearway.reproduce.pacc import arithmetic
from clearway.reproduce.pacc.burst import DRAWS, MEASURED, bursts, over_draws, spread, under
from clearway.reproduce.pacc.setup import ABOUT_SETUP, DEFAULT, FRAME, PAYLOAD, READING, READINGS
from clearway.reproduce.quantities import binned
from clearway.result import Run

#: The two that the paper compares, under each reading, and what isolates causes.
NAMES = (
    *dict.fromkeys(names[paper] for names in (DEFAULT, *READINGS.values()) for paper in ("DCQCN", "PACC")),
    "dcqcn, marks of HPCC's code",
    "pacc, print",
    "pacc, alpha from start",
    "pacc, T 8 us",
)
#: Gbps on the wire of a byte of payload per second.
WIRE = 8e-9 * FRAME / PAYLOAD
FAIR_GBPS = 2.5
#: The names of the paper of the two that it compares.
BOTH = {"DCQCN": "dcqcn", "PACC": "pacc"}


def jobs(scale: str) -> list[Job]:
    """All transports that hear of notifications."""
    return [job(name, draw) for name in NAMES for draw in range(DRAWS[scale])]


def job(name: str, draw: int) -> Job:
    """One run, until 800 us."""
    samples = [{"name": part, "what": "throughput", "traffic": part, "every": "10 us"} for part in ("long", "burst")]
    body = bursts(MEASURED[name], draw, size="64 KB", stop="800 us", sample=samples)
    return Job({"transport": name, "draw": draw}, body)


def measure(_: Job, run: Run) -> Tables:
    """Throughput and notifications of each flow into the bottleneck."""
    flows = run.flows.filter(pl.col("dst") == "h0").sort("start_s", "flow")
    rates = []
    for part in ("long", "burst"):
        names, table = binned(run, part, 600e-6, 10e-6)
        at = {name: index for index, name in enumerate(names)}
        count = 1 if part == "long" else len(names)
        rates += [table[at[f"{part}/{number}"]] * FRAME / PAYLOAD / 1e9 for number in range(count)]
    rows = [
        {
            "flow": number + 1,
            "gbps": float(rate[4:].mean()),
            "gbps_from_600": float(rate.mean()),
            "peak_gbps": float(np.max(rate.reshape(-1, 4).mean(axis=1))),
            "notices": int(flows["notices"][number]),
        }
        for number, rate in enumerate(rates)
    ]
    return {"flows": pl.DataFrame(rows)}


def summarise(tables: Tables) -> Tables:
    """A row for each run, and the table for reading."""
    rows = []
    for (name, drawn), part in tables["flows"].group_by("transport", "draw", maintain_order=True):
        long = part.filter(pl.col("flow") == 1)
        short = part.filter(pl.col("flow") > 1)
        one, other = float(long["gbps"].item()), float(short["gbps"].mean())  # type: ignore[arg-type]
        total = float(part["gbps"].sum())
        peaks = part["peak_gbps"].to_numpy()
        rows.append(
            {
                "transport": name,
                "draw": drawn,
                "long_gbps": one,
                "short_gbps": other,
                "short_min_gbps": float(short["gbps"].min()),  # type: ignore[arg-type]
                "short_max_gbps": float(short["gbps"].max()),  # type: ignore[arg-type]
                "difference": abs(one - other) / max(one, other),
                "total_gbps": total,
                "total_from_600_gbps": float(part["gbps_from_600"].sum()),
                "peaks": float(peaks.max() - peaks.min()) / total,
                "unfair_gbps": float((part["gbps"] - FAIR_GBPS).abs().max()),  # type: ignore[arg-type]
                "long_notices": int(long["notices"].item()),
                "short_notices": float(short["notices"].mean()),  # type: ignore[arg-type]
                "most_notices": int(part["notices"].max()),  # type: ignore[arg-type]
                "least_notices": int(part["notices"].min()),  # type: ignore[arg-type]
            }
        )
    table = pl.DataFrame(rows)
    shown = []
    for name in dict.fromkeys(table["transport"]):
        part = of(table, name)
        shown.append(
            {
                "transport": name,
                "long flow (Gbps)": spread(part["long_gbps"], 2),
                "short flows, mean (Gbps)": spread(part["short_gbps"], 2),
                "least short (Gbps)": spread(part["short_min_gbps"], 2),
                "most short (Gbps)": spread(part["short_max_gbps"], 2),
                "difference (%)": spread(100 * part["difference"]),
                "all (Gbps)": spread(part["total_gbps"], 2),
                "all from 600 us (Gbps)": spread(part["total_from_600_gbps"], 2),
                "difference of peaks / all (%)": spread(100 * part["peaks"], 1),
                "notifications of the long flow": spread(part["long_notices"]),
                "of a short one, mean": spread(part["short_notices"], 1),
            }
        )
    return {**tables, "rows": table, "shown": pl.DataFrame(shown)}


def of(rows: pl.DataFrame, name: str) -> pl.DataFrame:
    """The draws of a transport."""
    return rows.filter(pl.col("transport") == name)


def values(tables: Tables, name: str, column: str) -> list[float]:
    """A measure of a transport, one value a draw."""
    return [float(value) for value in of(tables["rows"], name).sort("draw")[column]]


def check(tables: Tables) -> list[Finding]:
    """The verdicts on the figure's claims."""
    return [
        check_unfair(tables),
        check_fair(tables),
        check_differences(tables),
        check_total(tables),
        check_cnps(tables),
    ]


def over(tables: Tables, one: tuple[str, str], other: tuple[str, str]) -> stats.Estimate:
    """A measure of a transport over one of another, paired by draw."""
    return stats.paired_ratio(values(tables, *one), values(tables, *other))


def check_unfair(tables: Tables) -> Finding:
    """The distance between DCQCN's long flow and its short ones, and between the short ones."""

    def quantities(names: dict[str, str]) -> dict[str, judge.Measured]:
        dcqcn = names["DCQCN"]
        return {
            "value": over_draws(100 * of(tables["rows"], dcqcn)["difference"]),
            "short flows, most over least": over(tables, (dcqcn, "short_max_gbps"), (dcqcn, "short_min_gbps")),
            "notifications, most over least": over(tables, (dcqcn, "most_notices"), (dcqcn, "least_notices")),
        }

    cause = judge.Calculation(
        f"By its paper DCQCN halves a rate at most, and again no sooner than {arithmetic.CNP_US} us later, while "
        f"bursts leave their hosts within {arithmetic.sent_after_us():.0f} us: were the long flow notified as early as "
        f"can be and no short one at all, it would have {arithmetic.unfair_percent():.0f} % less than they."
    )
    here = claim("pacc", "fig02-dcqcn-unfairness")
    return judge.judge(here, quantities(DEFAULT), reading=READING, readings=under(quantities), cause=cause)


def check_fair(tables: Tables) -> Finding:
    """The flow under PACC that is farthest from its share, and how far it is beside the one under DCQCN."""

    def quantities(names: dict[str, str]) -> dict[str, judge.Measured]:
        pacc = of(tables["rows"], names["PACC"])
        each = [over_draws(pacc[column]) for column in ("long_gbps", "short_min_gbps", "short_max_gbps")]
        return {
            "value": max(each, key=lambda one: abs(one.mean - FAIR_GBPS)),
            "distance over DCQCN's": over(tables, (names["PACC"], "unfair_gbps"), (names["DCQCN"], "unfair_gbps")),
        }

    far = ", ".join(f"{name} {over_draws(of(tables['rows'], name)['unfair_gbps']).mean:.2f}" for name in BOTH.values())
    note = (
        f"the flow that is farthest away; that of each draw on average: {far} Gbps; PACC's period ends after all "
        "bursts have left their hosts, so that a queue shared by equals makes the shares"
    )
    here = claim("pacc", "fig02a-pacc-fair-share")
    return judge.judge(here, quantities(DEFAULT), form=".2f", note=note, reading=READING, readings=under(quantities))


def check_differences(tables: Tables) -> Finding:
    """The difference of peaks under both."""

    def quantities(names: dict[str, str]) -> dict[str, judge.Measured]:
        peaks: dict[str, judge.Measured] = {
            paper: over_draws(100 * of(tables["rows"], names[paper])["peaks"]) for paper in BOTH
        }
        return {**peaks, "PACC over DCQCN": over(tables, (names["PACC"], "peaks"), (names["DCQCN"], "peaks"))}

    note = "the paper's quotients give a tenth of its percentages (PACC-14); which peaks it means is open"
    cause = judge.Calculation(
        f"PACC first decides {arithmetic.NEXT_PERIOD_US} us after the bursts begin, when they have all left their "
        f"hosts: {arithmetic.arrives_kb():.0f} KB are on their way, of which the port sends "
        f"{arithmetic.leaves_kb():.0f} until 800 us, so what is measured is the same as without PACC."
    )
    here = claim("pacc", "fig02a-throughput-peak-difference")
    return judge.judge(here, quantities(DEFAULT), note=note, reading=READING, readings=under(quantities), cause=cause)


def check_total(tables: Tables) -> Finding:
    """The traffic that the bottleneck carries under both."""
    totals = {paper: over_draws(of(tables["rows"], name)["total_gbps"]) for paper, name in BOTH.items()}
    note = "on the wire; the port is busy throughout in both"
    return judge.judge(claim("pacc", "fig02a-total-throughput"), totals, form=".2f", note=note, reading=READING)


def check_cnps(tables: Tables) -> Finding:
    """The flow with most notifications under PACC over that with least under DCQCN."""

    def quantities(names: dict[str, str]) -> dict[str, judge.Measured]:
        most, least = (names["PACC"], "most_notices"), (names["DCQCN"], "least_notices")
        return {"most under PACC over least under DCQCN": over(tables, most, least)}

    dcqcn, pacc = of(tables["rows"], "dcqcn"), of(tables["rows"], "pacc")
    text = (
        f"the flow with most under PACC has {spread(pacc['most_notices'])}, that with least under DCQCN "
        f"{spread(dcqcn['least_notices'])}"
    )
    note = (
        "DCQCN's receiver sends a CNP each 50 us at most, four or five in 200 us; under PACC-25 and PACC-27 marked "
        "ACKs count"
    )
    here = claim("pacc", "fig02b-cnp-count-ordering")
    return judge.judge(here, quantities(DEFAULT), text=text, note=note, reading=READING, readings=under(quantities))


def facts(tables: Tables) -> dict[str, object]:
    """Numbers that the prose names: ranges over draws."""
    rows = tables["rows"]
    named: dict[str, object] = {"most_unfair": arithmetic.unfair_percent()}
    for name in NAMES:
        key, part = name.replace(", ", "_").replace("'s", "").replace(" ", "_").replace("-", "_"), of(rows, name)
        for column, digits in (("long_gbps", 2), ("short_gbps", 2), ("least_notices", 0), ("most_notices", 0)):
            named[f"{key}_{column}"] = spread(part[column], digits)
        named[f"{key}_difference"] = spread(100 * part["difference"])
        for column in ("long_notices", "short_notices"):
            named[f"{key}_{column}"] = spread(part[column])
    return named


def draw(tables: Tables, look: Look) -> dict[str, Picture]:
    """Throughput and notifications of each flow."""
    picture, (left, right) = grid(1, 2, height=3.0)
    names = {**own("dcqcn", "pacc"), "pacc, print": 0}
    for index, (name, color) in enumerate(names.items()):
        part = of(tables["flows"], name).group_by("flow").agg(pl.col("gbps", "notices").mean()).sort("flow")
        at = part["flow"].to_numpy() + 0.27 * (index - 1)
        left.bar(at, part["gbps"], 0.25, color=look.color(color), label=name)
        right.bar(at, part["notices"], 0.25, color=look.color(color), label=name)
    left.axhline(FAIR_GBPS, color=look.muted, lw=0.9, ls=":")
    left.set_ylabel("throughput in Gbps")
    right.set_ylabel("notifications")
    for axes in (left, right):
        axes.set_xticks(range(1, 11), [f"#{number}" for number in range(1, 11)])
        axes.set_xlabel("flow (#1 is the long one)")
    legend(picture, left, 3)
    return {"flows": picture}


FIGURE = Figure(
    name="pacc/fig02",
    title="PACC, Fig. 2: a burst onto a long flow, flow by flow",
    doc=__doc__ + "\n" + ABOUT_SETUP,
    jobs=jobs,
    measure=measure,
    summarise=summarise,
    check=check,
    facts=facts,
    draw=draw,
    claims=(
        "fig02-dcqcn-unfairness",
        "fig02a-pacc-fair-share",
        "fig02a-throughput-peak-difference",
        "fig02a-total-throughput",
        "fig02b-cnp-count-ordering",
    ),
    shown={"shown": "Median of the draws, least and most in brackets; 640 to 800 us."},
    captions={"flows": "Throughput of each flow from 640 to 800 us, and notifications by 800 us (mean of the draws)"},
)
