"""Three workloads arrive at a load of 0.6 in a tree of 192 hosts (8 cores, 16 aggregation switches, 32 ToRs, 3:1
oversubscribed) at 40 Gbps, 1 us a link and 1 us at a host, 384.5 KB a port. Half of the hosts are EC4 (or
ExpressPass), half DCTCP. The paper shows the average and the 99th percentile of completion times of all flows, by
size.

Unstated, and chosen here:

* Web Search, Cache Follower and Data Mining are the three (EC4-12); "heavy" is above 1 MB (XL), by another reading
  above 100 KB (L and XL, EC4-20).
* **Flows**: 4,300 of Cache Follower, so that more than 1,000 are heavy, 500 of Web Search, 200 of Data Mining with 12
  seeds, since few of its flows have most of its bytes; five times as many beyond quick scale. A 99th percentile is
  stated where 1,000 flows stand behind it.
* What EC4's losses depend on is run besides, under Web Search; with K = 20 frames, which satisfies eq. (1) at 40 Gbps
  as well, under all workloads, and for all three cases; and with a least timeout of DCTCP of 1 ms in place of 10 ms.
"""

from __future__ import annotations

from typing import Any

import polars as pl
from matplotlib.figure import Figure as Picture

from clearway import metrics, units
from clearway.reproduce import judge, stats
from clearway.reproduce.claims import Finding, claim
from clearway.reproduce.ec4.common import EC4, SWITCH, mean, of_seeds
from clearway.reproduce.ec4.realistic import ABOUT, CASES, COLD, COLORS, NAMES, scenario, steady
from clearway.reproduce.figure import Figure, Job, Tables
from clearway.reproduce.look import Look, grid, legend
from clearway.reproduce.quantities import data_drops
from clearway.result import Run

LOAD = 0.6
FLOWS = {"web-search": 500, "cache-follower": 4_300, "data-mining": 200}
#: Seeds, where five do not decide.
SEEDS = {"data-mining": range(1, 13)}
#: Changes that EC4's losses may depend on: its half, the other, the switch.
ISOLATED: dict[str, tuple[dict[str, Any], dict[str, Any], dict[str, Any]]] = {
    "ec4 everywhere": (EC4, EC4, {}),
    "from 1/16 of the rate": ({**EC4, "initial_rate": 0.0625}, COLD, {}),
    "K 50": (EC4, COLD, {"marking": "50 packets"}),
}
#: One change for all cases and workloads: what DCTCP is then, and what the switches have.
SMALL_K, SHORT = ", K 20", ", 1 ms"
EVERYWHERE: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    SMALL_K: (COLD, {"marking": "20 packets"}),
    SHORT: ({**COLD, "rto_min": "1 ms"}, {}),
}
SIZES = ("S", "M", "L", "XL", "all")
HEAVY = "XL"


def jobs(scale: str) -> list[Job]:
    """Every workload, case and seed, and what isolates EC4's losses."""
    times = 5 if scale == "paper" else 1
    found = []
    for workload, flows in FLOWS.items():
        for seed in SEEDS.get(workload, stats.SEEDS):
            for case, made in CASES.items():
                params = {"workload": workload, "case": case, "seed": seed}
                found.append(Job(params, scenario(made, workload, LOAD, flows * times, seed)))
            for also, (other, switch) in EVERYWHERE.items() if seed in stats.SEEDS else ():
                for case, made in (CASES | {"dctcp": other}).items():
                    params = {"workload": workload, "case": f"{case}{also}", "seed": seed}
                    args = (workload, LOAD, flows * times, seed, other, {**SWITCH, **switch})
                    found.append(Job(params, scenario(made, *args)))
    for seed in stats.SEEDS:
        for case, (made, other, switch) in ISOLATED.items():
            params = {"workload": "web-search", "case": case, "seed": seed}
            flows = FLOWS["web-search"] * times
            made_so = scenario(made, "web-search", LOAD, flows, seed, other, {**SWITCH, **switch})
            found.append(Job(params, made_so))
    return found


def measure(job: Job, run: Run) -> Tables:  # noqa: ARG001
    """Completion times by size, of all flows and of each half; losses."""
    rows: list[dict[str, Any]] = []
    for half in ("all", "compared", "windows"):
        chosen = run.flows if half == "all" else run.flows.filter(pl.col("traffic") == half)
        flows = metrics.with_bucket(metrics.completed(steady(chosen)))
        for size in SIZES:
            part = flows if size == "all" else flows.filter(pl.col("bucket").str.starts_with(f"{size} "))
            fct = part["fct_s"].to_numpy()
            p99 = stats.percentile(fct, 99)
            rows.append({"half": half, "size": size, "flows": len(fct), "mean_s": metrics.mean(fct), "p99_s": p99})
    lost = {
        "drops": float(data_drops(run)),
        "timeouts": float(run.flows["timeouts"].sum()),
        "queue_max": float(metrics.switch_ports(run.ports)["queue_max_bytes"].max()) / 1e3,  # type: ignore[arg-type]
    }
    return {"sizes": pl.DataFrame(rows), "rows": pl.DataFrame([lost])}


def summarise(tables: Tables) -> Tables:
    """Average and 99th percentile as text, and losses; means over seeds."""
    of_all = tables["sizes"].filter(pl.col("case").is_in(list(CASES)))
    average = of_all.group_by("workload", "half", "size", "case", maintain_order=True).agg(
        pl.col("flows").mean(), pl.col("mean_s").mean(), pl.col("p99_s").mean()
    )
    shown = pl.DataFrame(
        {
            "workload": NAMES[part["workload"][0]],
            "class": part["size"][0],
            "of": {"all": "all", "compared": "those compared", "windows": "DCTCP's half"}[part["half"][0]],
            "flows_a_seed": round(part["flows"][0]),
            **{row["case"]: text(row["mean_s"], row["p99_s"]) for row in part.iter_rows(named=True)},
        }
        for part in average.partition_by("workload", "half", "size", maintain_order=True)
        if part["half"][0] == "all" or part["size"][0] == "all"
    )
    losses = (
        tables["rows"]
        .group_by("workload", "case", maintain_order=True)
        .agg(
            pl.col("drops").mean().round(0),
            pl.col("timeouts").mean().round(1),
            pl.col("queue_max").max().alias("maximum_queue_KB"),
        )
    )
    return {**tables, "shown": shown, "losses": losses}


def text(mean_s: float, p99_s: float) -> str:
    """`1.3 ms / 20 ms`; the percentile only where there are flows enough."""
    return units.seconds(mean_s) + ("" if p99_s != p99_s else f" / {units.seconds(p99_s)}")


def sizes(tables: Tables) -> Tables:
    """The table of sizes under the name that the estimates read."""
    return {"rows": tables["sizes"]}


def over(tables: Tables, name: str, workload: str, case: str, base: str, size: str) -> stats.Estimate:
    """A measure of all flows of a size over another case's, paired by seed."""
    one, other = (
        of_seeds(sizes(tables), name, workload=workload, case=each, half="all", size=size) for each in (case, base)
    )
    return stats.paired_ratio(one, other)


def check(tables: Tables) -> list[Finding]:
    """The verdicts on the figure's claims."""
    return [check_average(tables), check_tail(tables), check_loss(tables)]


def check_average(tables: Tables) -> Finding:
    """The verdict on the averages of both mixes over DCTCP's alone."""

    def averages(also: str = "") -> dict[str, stats.Estimate]:
        return {
            f"{short}, {NAMES[w]}": over(tables, "mean_s", w, f"{case}{also}", f"dctcp{also}", "all")
            for case, short in (("ec4", "EC4"), ("expresspass", "ExpressPass"))
            for w in NAMES
        }

    found = averages()
    of = {
        short: ", ".join(f"{name} {found[f'{short}, {name}'].text('.2f')}" for name in NAMES.values())
        for short in ("EC4", "ExpressPass")
    }
    words = "; ".join(f"{short} + DCTCP: {text}" for short, text in of.items())
    here = claim("ec4", "fig08-average-fct")
    cause = judge.Change(
        "Flows wait for the timeouts of packets that full buffers dropped, and the paper does not state DCTCP's least "
        "timeout: it is 10 ms here, and 1 ms with the change.",
        averages(SHORT),
    )
    return judge.judge(here, found, text=f"over DCTCP alone: {words}", cause=cause)


def check_tail(tables: Tables) -> Finding:
    """The verdict on ExpressPass's 99th percentile over EC4's: of heavy flows, and beside that of lighter ones."""
    here = claim("ec4", "fig08-p99-fct-heavy-flows")
    gains = {
        (w, size): [
            a / b for a, b in zip(*(tail(tables, w, case, size) for case in ("expresspass", "ec4")), strict=True)
        ]
        for w in NAMES
        for size in SIZES[:-1]
        if enough(tables, w, size)
    }
    words = ", ".join(f"{NAMES[w]}, {size} {stats.geometric(gain).text('.2f')}" for (w, size), gain in gains.items())
    note = "heavy is XL, above 1 MB; classes of which a run has 1,000 flows"
    readings = {"heavy is above 100 KB, L and XL (EC4-20)": heavier(gains, ("L", HEAVY))}
    text = f"ExpressPass's over EC4's: {words}"
    return judge.judge(here, heavier(gains, (HEAVY,)), text=text, note=note, readings=readings)


def heavier(gains: dict[tuple[str, str], list[float]], heavy: tuple[str, ...]) -> dict[str, judge.Measured]:
    """EC4's gains in heavy flows, and those over its gains in lighter ones, where these classes count as heavy."""
    found: dict[str, judge.Measured] = {}
    for (w, size), gain in gains.items():
        if size in heavy:
            found[f"heavy, {NAMES[w]}, {size}"] = stats.geometric(gain)
            found |= {
                f"heavy over class {lighter}, {NAMES[w]}, {size}": stats.paired_ratio(gain, gains[w, lighter])
                for lighter in SIZES[:-1]
                if lighter not in heavy and (w, lighter) in gains
            }
    return found


def check_loss(tables: Tables) -> Finding:
    """The verdict on EC4's losses at a load of 0.6."""
    here = claim("ec4", "abstract-no-overflow-at-load-0.6")
    counts = "; ".join(
        f"{case} "
        + ", ".join(
            f"{mean(tables, 'drops', workload=w, case=case).mean:,.0f} "
            f"({mean(tables, 'timeouts', workload=w, case=case).mean:.1f})"
            for w in NAMES
        )
        for case in CASES
    )
    note = f"the workload that loses most; drops (timeouts) by workload: {counts}"
    cause = judge.Change(
        "K, which the paper does not state for 40 Gbps, is 100 frames as at 10 Gbps; here it is 20.",
        losses(tables, SMALL_K),
    )
    return judge.judge(here, losses(tables), form=",.0f", note=note, cause=cause)


def losses(tables: Tables, also: str = "") -> dict[str, judge.Measured]:
    """EC4's drops under the workload that loses most, and its timeouts over ExpressPass's."""
    lost = [mean(tables, "drops", workload=w, case=f"ec4{also}") for w in NAMES]
    timeouts = stats.paired_ratio(*totals(tables, "timeouts", also))
    return {"value": max(lost, key=lambda one: one.mean), "timeouts over ExpressPass's": timeouts}


def totals(tables: Tables, name: str, also: str = "") -> tuple[list[float], list[float]]:
    """Losses over all workloads by seed, of EC4 and of ExpressPass beside DCTCP."""
    ours, theirs = (
        [
            sum(of_seeds(tables, name, workload=w, case=f"{case}{also}")[index] for w in NAMES)
            for index in range(len(stats.SEEDS))
        ]
        for case in ("ec4", "expresspass")
    )
    return ours, theirs


def tail(tables: Tables, workload: str, case: str, size: str) -> list[float]:
    """The 99th percentiles of a class by seed; NaN where there are too few flows."""
    return of_seeds(sizes(tables), "p99_s", workload=workload, case=case, half="all", size=size)


def enough(tables: Tables, workload: str, size: str) -> bool:
    """True if every run has flows enough for a 99th percentile of a class."""
    return not any(v != v for case in ("ec4", "expresspass") for v in tail(tables, workload, case, size))


def facts(tables: Tables) -> dict[str, object]:
    """Numbers of the prose: averages over DCTCP alone, drops and timeouts by case (`i0` and on: what is isolated)."""
    found: dict[str, object] = {}
    short = {"web-search": "ws", "cache-follower": "cf", "data-mining": "dm"}
    for workload, name in short.items():
        for case, base in (("ec4", "dctcp"), ("expresspass", "dctcp")):
            found[f"{case}_{name}"] = over(tables, "mean_s", workload, case, base, "all").mean
        for short_name, also in (("k20", SMALL_K), ("short", SHORT)):
            found[f"{short_name}_{name}"] = over(tables, "mean_s", workload, f"ec4{also}", f"dctcp{also}", "all").mean
        for case in CASES:
            found[f"drops_{case}_{name}"] = mean(tables, "drops", workload=workload, case=case).mean
            found[f"timeouts_{case}_{name}"] = mean(tables, "timeouts", workload=workload, case=case).mean
    for index, case in enumerate(ISOLATED):
        found[f"drops_i{index}"] = mean(tables, "drops", workload="web-search", case=case).mean
        found[f"timeouts_i{index}"] = mean(tables, "timeouts", workload="web-search", case=case).mean
    for case, made in (("k20", "ec4, K 20"), ("k20_ep", "expresspass, K 20")):
        for workload, name in short.items():
            found[f"drops_{case}_{name}"] = mean(tables, "drops", workload=workload, case=made).mean
    for name, size in (("tail_cf", HEAVY), ("tail_cf_s", "S"), ("tail_cf_l", "L")):
        found[name] = over(tables, "p99_s", "cache-follower", "expresspass", "ec4", size).mean
    for case in CASES:
        for half in ("compared", "windows"):
            at = {"workload": "cache-follower", "case": case, "half": half, "size": "all"}
            found[f"mean_{case}_{half}"] = mean(sizes(tables), "mean_s", **at).mean * 1e3
    return found


def draw(tables: Tables, look: Look) -> dict[str, Picture]:
    """Average by size for each workload, and the percentile where flows suffice."""
    picture, axes = grid(1, 3, width=10.5, height=2.8)
    classes = list(SIZES[:-1])
    for place, workload in zip(axes, NAMES, strict=True):
        for case in CASES:
            values = [
                mean(sizes(tables), "mean_s", workload=workload, case=case, half="all", size=size).mean * 1e3
                for size in classes
            ]
            label = case if case == "dctcp" else f"{case} + dctcp"
            place.plot(range(4), values, label=label, lw=1.6, ms=4, **look.line(COLORS[case]))
        place.set_xticks(range(4), classes)
        place.set(title=f"{NAMES[workload]}, average", yscale="log")
        place.yaxis.set_major_formatter(lambda y, _: f"{y:g}")
        place.minorticks_off()
    axes[0].set_ylabel("FCT (ms)")
    legend(picture, axes[0], columns=4)
    return {"fct": picture}


FIGURE = Figure(
    name="ec4/fig08",
    title="EC4, Fig. 8: completion times of three workloads at 40 Gbps",
    doc=__doc__ + "\n" + ABOUT,
    jobs=jobs,
    measure=measure,
    summarise=summarise,
    check=check,
    facts=facts,
    draw=draw,
    shown={
        "shown": "Average (and 99th percentile, where a run has 1,000 flows) by size, by what half of the hosts speak "
        "(the others: DCTCP); means over seeds.",
        "losses": "Losses of all traffic; means over seeds. After the first three cases: EC4 with one thing changed, "
        "and both with K = 20 frames.",
    },
    captions={"fct": "Completion times of all flows by size (S below 10 KB, M below 100 KB, L below 1 MB, XL)"},
    claims=("fig08-average-fct", "fig08-p99-fct-heavy-flows", "abstract-no-overflow-at-load-0.6"),
)
