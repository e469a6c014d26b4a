"""The verdicts on the claims of Fig. 7 to 10, under each reading that was run, and with one thing changed."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import combinations

import polars as pl

from clearway.reproduce import judge, stats
from clearway.reproduce.claims import Finding, claim
from clearway.reproduce.figure import Tables
from clearway.reproduce.pacc.fig07_cells import (
    ALL,
    HUGE,
    LARGE,
    MIDDLE,
    SMALL,
    WORKLOADS,
    best_other,
    cells,
    of,
    over,
    reduced,
    words,
)
from clearway.reproduce.pacc.fig07_runs import CONTROL, WINDOWED
from clearway.reproduce.pacc.setup import DEFAULT, PAPER, READING, READINGS

#: Names of the transports, by what the paper calls them.
Names = Mapping[str, str]
#: From the names of the transports to the quantities of a claim.
Quantities = Callable[[Names], dict[str, judge.Measured]]

#: One thing changed that no reading is: DCQCN alone with a window.
DCQCN_WINDOW = DEFAULT | {"DCQCN": "dcqcn, window"}
WINDOW_SAYS = "PACC has no window, as HPCC has, so that its flows wait in queues of 125 KB and more; here it has one."


def ran(tables: Tables, names: Names) -> bool:
    """True if all of these transports were run."""
    return set(tables["rows"]["transport"]).issuperset(names.values())


def under(tables: Tables, quantities: Quantities) -> dict[str, dict[str, judge.Measured]]:
    """The quantities of a claim under each named reading that is run at this scale, by its name."""
    return {reading: quantities(names) for reading, names in READINGS.items() if ran(tables, names)}


def windows(
    tables: Tables,
    quantities: Quantities,
    *others: tuple[str, Names],
    text: Callable[[Names], str] = lambda _: "",
) -> list[judge.Change]:
    """Evidence: the quantities with a window for PACC alone, or with another thing changed."""
    changes = ((WINDOW_SAYS, READINGS["PACC-29"]), *others)
    return [judge.Change(says, quantities(names), text(names)) for says, names in changes if ran(tables, names)]


def check_averages(tables: Tables) -> list[Finding]:
    """The reductions of the average, by workload and as the abstract has them."""
    found, whole = [], claim("pacc", "abstract-average-fct-reduction-range")
    for name, workload in (("fig07-websearch-average-fct", "WebSearch"), ("fig08-hadoop-average-fct", "FB_Hadoop")):

        def quantities(names: Names, workload: str = workload) -> dict[str, judge.Measured]:
            return {paper: reduced(tables, workload, names[paper], ours=names["PACC"]) for paper in PAPER}

        def overall(names: Names, workload: str = workload) -> dict[str, judge.Measured]:
            values = {paper: reduced(tables, workload, names[paper], ours=names["PACC"]) for paper in PAPER}
            return {"overall": min(values.values(), key=lambda value: value.mean), **values}

        note = f"% less than each, the largest over loads; {beside(tables, workload)}"
        for here, what, words_ in ((claim("pacc", name), quantities, note), (whole, overall, workload)):
            found.append(
                judge.judge(
                    here,
                    what(DEFAULT),
                    form=".1f",
                    note=words_,
                    reading=READING,
                    readings=under(tables, what),
                    cause=windows(tables, what),
                )
            )
    return found


def beside(tables: Tables, workload: str) -> str:
    """The reductions with a window and those of the control, for a remark."""
    texts = []
    for name in (WINDOWED, CONTROL):
        found = {paper: reduced(tables, workload, other, ours=name) for paper, other in PAPER.items()}
        texts.append(f"{name}: " + ", ".join(f"{paper} {value.mean:.1f}" for paper, value in found.items()))
    return "; ".join(texts)


def check_order(tables: Tables) -> Finding:
    """PACC the lowest, TIMELY the highest, HPCC before DCQCN in one workload and behind in the other."""
    here = claim("pacc", "fig07-fig08-ordering")

    def quantities(names: Names) -> dict[str, judge.Measured]:
        found: dict[str, judge.Measured] = {}
        for cell in cells(tables, (ALL,), *names.values()):
            where = words(cell)
            found |= {f"PACC over {paper}, {where}": over(tables, cell, names["PACC"], names[paper]) for paper in PAPER}
            for paper in ("PACC", "DCQCN", "HPCC"):
                found[f"{paper} over the highest, {where}"] = over(tables, cell, names[paper], names["TIMELY"])
            first, second = ("HPCC", "DCQCN") if cell[0] == "WebSearch" else ("DCQCN", "HPCC")
            pair = f"{first} before {second}".lower()
            found[f"{pair}, {where}"] = over(tables, cell, names[first], names[second])
        return found

    def text(names: Names) -> str:
        return f"PACC lowest in {lowest(tables, names, here.tolerance)}"

    return judge.judge(
        here,
        quantities(DEFAULT),
        text=text(DEFAULT),
        note=f"cells: workload, load, statistic; the control: {text(DEFAULT | {'PACC': CONTROL})}",
        reading=READING,
        readings=under(tables, quantities),
        cause=windows(
            tables, quantities, ("DCQCN has no window, as HPCC has; here it has one.", DCQCN_WINDOW), text=text
        ),
    )


def lowest(tables: Tables, names: Names, slack: float, buckets: tuple[str, ...] = (ALL,)) -> str:
    """The number of cells in which PACC is lowest, as text: `2 of 4 cells, at worst 1.21 times another`."""
    ratios = [
        [over(tables, cell, names["PACC"], names[paper]) for paper in PAPER]
        for cell in cells(tables, buckets, *names.values())
    ]
    won = sum(all(one.high <= 1 + slack for one in each) for each in ratios)
    worst = max((one.mean for each in ratios for one in each), default=math.nan)
    return f"{won} of {len(ratios)} cells, at worst {worst:.2f} times another"


def check_similar(tables: Tables) -> Finding:
    """The verdict on whether two transports that differ on average stand in the tail as there."""

    def quantities(names: Names) -> dict[str, judge.Measured]:
        tails: dict[str, judge.Measured] = {}
        for workload, load, _, column in cells(tables, (ALL,), *names.values()):
            if column != "p99_s":
                continue
            for pair in combinations(DEFAULT, 2):
                first, second = sorted(pair, key=lambda paper: sum(of(tables, workload, load, names[paper])))
                if over(tables, (workload, load, ALL, "mean_s"), names[first], names[second]).high <= 1:
                    name = f"tail of {first} over {second}, {workload}, {load}"
                    tails[name] = over(tables, (workload, load, ALL, "p99_s"), names[first], names[second])
        return tails

    tails = quantities(DEFAULT)
    texts = [f"{name.removeprefix('tail of ')} {judge.estimate_of(value).mean:.2f}" for name, value in tails.items()]
    text = f"tails of the {len(tails)} pairs whose averages differ, the lower over the higher: {'; '.join(texts)}"
    return judge.judge(
        claim("pacc", "fig07-fig08-p99-similar"),
        tails,
        text=text,
        reading=READING,
        readings=under(tables, quantities),
        cause=windows(tables, quantities),
    )


def check_classes(tables: Tables) -> list[Finding]:
    """PACC against the best other by class."""
    found, at_middle = [], {**tables, "rows": tables["rows"].filter(pl.col("load") == MIDDLE)}
    for name, bucket in (("fig09-websearch-short-flows", SMALL), ("fig09-websearch-long-flows", LARGE)):

        def quantities(names: Names, bucket: str = bucket, runs: Tables = tables) -> dict[str, judge.Measured]:
            others = [names[paper] for paper in PAPER]
            return {
                case: best_other(runs, "WebSearch", bucket, column, names["PACC"], others)
                for case, column in (("average", "mean_s"), ("tail", "p99_s"))
            }

        def text(names: Names, bucket: str = bucket) -> str:
            return percents(quantities(names, bucket))

        default, control = quantities(DEFAULT), quantities(DEFAULT | {"PACC": CONTROL})
        found.append(
            judge.judge(
                claim("pacc", name),
                default,
                text=percents(default),
                note=f"less than the best other; {CONTROL}: {percents(control)}",
                reading=READING,
                readings=under(tables, quantities),
                cause=[
                    replace(one, before=quantities(DEFAULT, runs=at_middle))
                    for one in windows(tables, quantities, text=text)
                ],
            )
        )
    return found


def percents(values: Mapping[str, judge.Measured]) -> str:
    """The reductions of the average and of the tail, in words."""
    texts = []
    for case, value in values.items():
        found = judge.estimate_of(value)
        none = "unknown, since a 99th percentile takes 1,000 flows of the class"
        texts.append(f"{case}: {none if math.isnan(found.mean) else found.text('.1f', '%')}")
    return ", ".join(texts)


def check_breakdown(tables: Tables) -> Finding:
    """PACC below all others in both classes."""
    here, both = claim("pacc", "fig09-fig10-breakdown-ordering"), (SMALL, LARGE)

    def quantities(names: Names) -> dict[str, judge.Measured]:
        return {
            f"over {paper}, {words(cell)}": over(tables, cell, names["PACC"], names[paper])
            for cell in cells(tables, both, *names.values())
            for paper in PAPER
        }

    def text(names: Names) -> str:
        return f"lowest in {lowest(tables, names, here.tolerance, both)}"

    return judge.judge(
        here,
        quantities(DEFAULT),
        text=text(DEFAULT),
        note=f"cells: workload, load, class, statistic; the control: {text(DEFAULT | {'PACC': CONTROL})}; that PACC is "
        "hardly affected by size is not measured",
        reading=READING,
        readings=under(tables, quantities),
        cause=windows(tables, quantities, text=text),
    )


def check_trends(tables: Tables) -> Finding:
    """The verdict on how the others' times relative to PACC's change with size."""

    def relative(names: Names, workload: str, paper: str, bucket: str) -> list[float]:
        pair = (of(tables, workload, MIDDLE, names[one], bucket) for one in (paper, "PACC"))
        return [a / b for a, b in zip(*pair, strict=True)]

    def quantities(names: Names) -> dict[str, judge.Measured]:
        found: dict[str, judge.Measured] = {}
        for workload in WORKLOADS:
            for paper in PAPER:
                largest, small = (relative(names, workload, paper, bucket) for bucket in (HUGE, SMALL))
                if paper == "HPCC":
                    found[f"HPCC's largest, {workload}"] = stats.geometric(largest)
                else:
                    found[f"{paper}, largest over small, {workload}"] = stats.paired_ratio(largest, small)
        return found

    def middle(values: list[float]) -> str:
        return f"{math.fsum(values) / len(values):.2f}"

    text = "; ".join(
        f"{workload}: "
        + ", ".join(
            f"{paper} {' to '.join(middle(relative(DEFAULT, workload, paper, one)) for one in (SMALL, HUGE))}"
            for paper in PAPER
        )
        for workload in WORKLOADS
    )
    return judge.judge(
        claim("pacc", "fig09-fig10-baseline-trends"),
        quantities(DEFAULT),
        text=text,
        note=f"averages over PACC's at a load of {MIDDLE}: flows {SMALL}, then {HUGE}",
        reading=READING,
        readings=under(tables, quantities),
        cause=windows(tables, quantities),
    )
