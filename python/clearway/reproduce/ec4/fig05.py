"""Flows of EC4 (or ExpressPass) join DCTCP flows. The paper shows throughput in time, (a) to (e) for `omega_mid` from
too small to too large, (f) and (g) ExpressPass beside DCTCP and DCTCP alone, (h) all EC4 (the text's labels of (f)
and (g) can't both be right, EC4-10).

Unstated, and chosen here:

* **Flows**: one and one, and four and four. The second half joins at 20 ms; the run ends at 140 ms.
* **omega_mid**: 0.02 for (a), 0.04, 0.05, 0.06 for (b) to (d), 0.1 for (e).
* **Fair**: both halves have converged to half of what all get in the last 40 ms, by [the one
  criterion](../verdicts.md#when-flows-have-converged), in windows of 2 ms, one period of DCTCP's saw tooth.
  **Settled**: the same around what each half itself gets in the last 40 ms.
* **All EC4, all ExpressPass**: the mean over 20 seeds of 100 in windows of 1 ms, since all is over in milliseconds and
  the halves of eight flows swing by more than 10 % from one to the next.
* Times are medians over the seeds, "never" if half of them never get there.
* The sweep is also run with K = 25 and 35 frames, without HIGH mode, with K = 25 besides, and with Algorithm 1 to the
  letter; and the default with other least timeouts of DCTCP.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import numpy as np
import polars as pl
from matplotlib.figure import Figure as Picture

from clearway.reproduce import judge, stats
from clearway.reproduce.claims import Finding, claim
from clearway.reproduce.convergence import Joining, quotient, together
from clearway.reproduce.ec4.common import (
    ABOUT,
    COLORS,
    DCTCP,
    EC4,
    EXPRESSPASS,
    FAIR_K,
    NO_HIGH,
    NS2,
    PRINTED,
    SMALL_K,
    SWITCH,
    dumbbell,
    half,
    mean,
    of_seeds,
    ratio,
    throughput,
)
from clearway.reproduce.figure import Figure, Job, Tables
from clearway.reproduce.look import Look, grid, legend
from clearway.reproduce.quantities import PAYLOAD
from clearway.result import Run

OMEGAS = (0.02, 0.04, 0.05, 0.06, 0.1)
GOOD = (0.04, 0.05, 0.06)
ENDS = (GOOD[0], GOOD[-1])
JOIN_S, END_S, LAST_S = 0.02, 0.14, 0.10
COUNTS = (2, 8)
#: A window of the criterion of convergence, and the time between two samples.
WINDOW_S, EVERY_S = 2e-3, 2e-4
#: Seeds of which the mean is taken where all flows are of one protocol.
GROUP = 20
#: Sweeps of omega_mid: their label, EC4 as changed, the switch.
SWEEPS: dict[str, tuple[dict[str, object], dict[str, object]]] = {
    "default": (EC4, SWITCH),
    "K 25": (EC4, SMALL_K),
    "K 35": (EC4, FAIR_K),
    "no HIGH mode": ({**EC4, **NO_HIGH}, SWITCH),
    "no HIGH mode, K 25": ({**EC4, **NO_HIGH}, SMALL_K),
    "printed": (PRINTED, SWITCH),
}
#: Sweeps that change one thing, and what that shows.
CAUSES = {
    "no HIGH mode": "EC4 takes the link for empty between two marks of DCTCP's saw tooth; here it has no HIGH mode.",
    "K 35": "At K = 100 frames marks are too rare to hold EC4 back; here K is 35.",
}
TIMEOUTS = ("1 ms", "30 ms")
#: Name -> who joins, who is there, the switch.
PAIRS: dict[str, tuple[dict[str, object], dict[str, object], dict[str, object]]] = {
    **{
        f"{label}, {omega:g}": ({**made, "omega_mid": omega}, DCTCP, switch)
        for label, (made, switch) in SWEEPS.items()
        for omega in OMEGAS
    },
    **{f"default, least timeout {each}": (EC4, {**DCTCP, "rto_min": each}, SWITCH) for each in TIMEOUTS},
    "expresspass + dctcp": (EXPRESSPASS, DCTCP, SWITCH),
    "expresspass, ns2 + dctcp": (NS2, DCTCP, SWITCH),
    "dctcp alone": (DCTCP, DCTCP, SWITCH),
    "dctcp alone, K 35": (DCTCP, DCTCP, FAIR_K),
    "all ec4": (EC4, EC4, SWITCH),
    "all expresspass": (EXPRESSPASS, EXPRESSPASS, SWITCH),
}
PANELS = (
    "default, 0.02",
    "default, 0.05",
    "default, 0.1",
    "no HIGH mode, 0.02",
    "no HIGH mode, 0.05",
    "no HIGH mode, 0.1",
    "expresspass + dctcp",
    "dctcp alone",
    "all ec4",
)


def jobs(scale: str) -> list[Job]:
    """Every pair and seed."""
    few, many = (stats.SEEDS if scale == "quick" else range(1, 25)), range(1, 101)
    return [
        Job(
            {"pair": name, "flows": flows, "seed": seed},
            {
                "name": "fig05",
                "seed": seed,
                "stop": f"{END_S * 1e3:.0f} ms",
                "topology": dumbbell(flows),
                "switch": switch,
                "traffic": [half("joins", made, start="20 ms"), half("there", there, second=True)],
                "sample": throughput("joins", "there", every="200 us"),
            },
        )
        for name, (made, there, switch) in PAIRS.items()
        for flows in COUNTS
        for seed in (many if name.startswith("all ") else few)
    ]


def measure(job: Job, run: Run) -> Tables:
    """The times at which both halves are fair and settled; their throughput in time for the pictures."""
    total = run.samples.group_by("series", "time_s").agg(pl.col("value").sum()).sort("series", "time_s")
    table = total.pivot(on="series", index="time_s", values="value").sort("time_s").fill_null(0)
    rates = table.filter(pl.col("time_s") > JOIN_S + 1e-4).select("joins", "there").to_numpy().T
    last = rates[:, -round((END_S - LAST_S) / 200e-6) :].mean(axis=1)
    row: dict[str, float] = {
        "joins_bps": float(last[0]),
        "there_bps": float(last[1]),
        "both_bps": float(last.sum()),
        "ratio": float(last[0] / max(last[1], 1.0)),
        "timeouts": float(run.flows["timeouts"].sum()),
    }
    before = table.filter(pl.col("time_s") > JOIN_S - WINDOW_S + 1e-4).select("joins", "there").to_numpy().T
    half_bps = max(float(last.mean()), 1.0)
    equal = Joining(before / half_bps, EVERY_S, WINDOW_S, half_bps / (8 * PAYLOAD))
    row["fair_s"] = equal.held(WINDOW_S)
    own = Joining(before / np.maximum(last, 1.0)[:, None], EVERY_S, WINDOW_S, half_bps / (8 * PAYLOAD))
    row["settled_s"] = own.held(WINDOW_S)
    drawn = job.params["seed"] == stats.SEEDS[0] and job.params["flows"] == COUNTS[0] and job.params["pair"] in PANELS
    joining = pl.DataFrame({"joining": equal.rates[0], "other": equal.rates[1]})
    return {
        "rows": pl.DataFrame([row]),
        "points": table if drawn else table.clear(),
        "alike": joining if job.params["pair"].startswith("all ") else joining.clear(),
    }


def summarise(tables: Tables) -> Tables:
    """Milliseconds: medians over seeds."""
    columns = {"fair_s": "fair_ms", "settled_s": "settled_ms"}
    shown = (
        tables["rows"]
        .group_by("pair", "flows", maintain_order=True)
        .agg(
            (pl.col("joins_bps").mean() / 1e9).round(2).alias("joining_Gbps"),
            (pl.col("there_bps").mean() / 1e9).round(2).alias("other_Gbps"),
            pl.col("ratio").mean().round(2),
            *(
                (pl.col(name).fill_nan(math.inf).median() * 1e3).round(1).alias(label)
                for name, label in columns.items()
            ),
            pl.col("timeouts").mean().round(1).alias("timeouts_a_seed"),
        )
    )
    shown = shown.with_columns(
        pl.when(pl.col(name).is_infinite()).then(None).otherwise(pl.col(name)).alias(name) for name in columns.values()
    )
    return {**tables, "shown": shown}


def median(tables: Tables, name: str, pair: str, flows: int) -> float:
    """The median of a time over seeds; NaN counts as later than all, and so may be the median."""
    middle = float(np.median(np.nan_to_num(of_seeds(tables, name, pair=pair, flows=flows), nan=math.inf)))
    return math.nan if math.isinf(middle) else middle


def share_reached(tables: Tables, name: str, pair: str, flows: int) -> stats.Estimate:
    """The share of seeds that get there at all."""
    return stats.estimate([float(not math.isnan(value)) for value in of_seeds(tables, name, pair=pair, flows=flows)])


def times_ms(tables: Tables, name: str, pair: str, flows: int) -> list[float]:
    """A time in ms, one value a seed; infinite where it is never."""
    return [math.inf if math.isnan(value) else 1e3 * value for value in of_seeds(tables, name, pair=pair, flows=flows)]


def crossing(tables: Tables, label: str, flows: int, at: float = 1.0) -> float:
    """The omega_mid at which the ratio is `at`, on straight lines between logarithms; NaN if the sweep has none."""
    measured = [mean(tables, "ratio", pair=f"{label}, {omega:g}", flows=flows).mean for omega in OMEGAS]
    x, y = np.log(OMEGAS), np.log(measured) - math.log(at)
    for i in range(len(OMEGAS) - 1):
        if y[i] < 0 <= y[i + 1]:
            return float(np.exp(x[i] - y[i] * (x[i + 1] - x[i]) / (y[i + 1] - y[i])))
    return math.nan


def fair_omega(flows: int, k_packets: int = 100) -> float:
    """The omega_mid of equal shares where marks cut both protocols alike (see the page), for half of the flows each."""
    each, frames = flows / 2, 28 + k_packets
    return 2 * each / (frames * (2 * each - 1))


def ms(value_s: float) -> str:
    """A time as text, such as `3.2 ms`, or `never`."""
    return "never" if math.isnan(value_s) else f"{value_s * 1e3:.1f} ms"


def check(tables: Tables) -> list[Finding]:
    """The verdicts on the figure's claims."""
    checks = (check_sweep, check_range, check_converged, check_faster, check_expresspass, check_alone)
    return [one(tables) for one in checks]


def check_sweep(tables: Tables) -> Finding:
    """The verdict on how fair the mix is, by `omega_mid`."""
    sweep = {
        label: "; ".join(
            f"{flows} flows "
            + ", ".join(f"{mean(tables, 'ratio', pair=f'{label}, {o:g}', flows=flows).mean:.2f}" for o in OMEGAS)
            for flows in COUNTS
        )
        for label in SWEEPS
    }

    def of(label: str) -> dict[str, judge.Measured]:
        found: dict[str, judge.Measured] = {
            f"fair with {omega:g}, {flows} flows": share_reached(tables, "fair_s", f"{label}, {omega:g}", flows)
            for omega in OMEGAS
            for flows in COUNTS
        }
        for flows in COUNTS:
            slow, fast = (times_ms(tables, "fair_s", f"{label}, {omega:g}", flows) for omega in ENDS)
            found[f"time with {ENDS[0]:g} over {ENDS[1]:g}, {flows} flows"] = quotient(slow, fast)
        return found

    text = f"ratio with omega_mid {', '.join(map(str, OMEGAS))}: {sweep['default']}"
    note = "; ".join(f"{label}: {sweep[label]}" for label in ("K 25", "K 35", "no HIGH mode"))
    here = claim("ec4", "fig05-omega-mid-sweep")
    return judge.judge(here, of("default"), text=text, note=note, cause=changes(of))


def changes(of: Callable[[str], Mapping[str, judge.Measured]]) -> list[judge.Change]:
    """The changes that might be the cause, one at a time."""
    return [judge.Change(says, of(label)) for label, says in CAUSES.items()]


def check_range(tables: Tables) -> Finding:
    """The verdict on the `omega_mid` at which the ratio crosses 1 and the edges of what is fair."""
    here = claim("ec4", "sec3c-omega-mid-range")
    bounds = {"min": 0.8, "max": 1.25, "used": 1.0}

    def of(label: str) -> dict[str, judge.Measured]:
        return {name: crossing(tables, label, 2, at) for name, at in bounds.items()}

    other = ", ".join(f"{crossing(tables, 'no HIGH mode', 2, at):.3f}" for at in bounds.values())
    note = f"the omega_mid with a ratio of 0.8, 1.25 and 1, 2 flows (nan: none); no HIGH mode: {other}"
    return judge.judge(here, of("default"), note=note, cause=changes(of))


def check_converged(tables: Tables) -> Finding:
    """The verdict on the time until EC4 and DCTCP have their shares."""
    pairs = {(omega, flows): f"default, {omega:g}" for omega in GOOD for flows in COUNTS}

    def of(label: str) -> dict[str, judge.Measured]:
        return {
            f"fair with {omega:g}, {flows} flows": stats.estimate(
                times_ms(tables, "fair_s", f"{label}, {omega:g}", flows)
            )
            for omega, flows in pairs
        }

    slowest = max(median(tables, "settled_s", pair, flows) for (_, flows), pair in pairs.items())
    at = "; ".join(f"{flows} flows {ms(median(tables, 'fair_s', 'default, 0.05', flows))}" for flows in COUNTS)
    text = f"fair after: {at}; shares stand still within {ms(slowest)}"
    here = claim("ec4", "sec1-cross-protocol-convergence-ms")
    return judge.judge(here, of("default"), text=text, cause=changes(of))


def check_faster(tables: Tables) -> Finding:
    """The verdict on the claim that EC4 beside DCTCP converges sooner than DCTCP alone."""
    text = "; ".join(
        f"{flows} flows: fair {ms(median(tables, 'fair_s', 'default, 0.06', flows))} against "
        f"{ms(median(tables, 'fair_s', 'dctcp alone', flows))}, settled "
        f"{ms(median(tables, 'settled_s', 'default, 0.06', flows))} against "
        f"{ms(median(tables, 'settled_s', 'dctcp alone', flows))}"
        for flows in COUNTS
    )

    def of(label: str) -> dict[str, judge.Measured]:
        found: dict[str, judge.Measured] = {
            f"{flows} flows": stats.estimate(sooner(tables, f"{label}, 0.06", flows)) for flows in COUNTS
        }
        return {"value": found[f"{COUNTS[0]} flows"], **found}

    note = "the time until both are fair; where DCTCP had a timeout, what settles is its least timeout (table)"
    here = claim("ec4", "fig05-convergence-5ms-faster-than-dctcp")
    return judge.judge(here, of("default"), text=text, note=note, cause=changes(of))


def sooner(tables: Tables, pair: str, flows: int) -> list[float]:
    """Milliseconds by which a pair is fair before DCTCP alone, which may take as long as the run at most."""
    alone = "dctcp alone" + ", K 35" * pair.startswith("K 35")
    both = (times_ms(tables, "fair_s", one, flows) for one in (pair, alone))
    longest = (END_S - JOIN_S) * 1e3
    return [min(theirs, longest) - ours for ours, theirs in zip(*both, strict=True)]


def check_expresspass(tables: Tables) -> Finding:
    """The verdict on the claim that ExpressPass beside DCTCP does not converge."""
    text = "; ".join(f"{n} flows: {ms(median(tables, 'fair_s', 'expresspass + dctcp', n))}" for n in COUNTS)
    found = {f"fair, {n} flows": share_reached(tables, "fair_s", "expresspass + dctcp", n) for n in COUNTS}
    beside = ", ".join(ms(median(tables, "fair_s", "expresspass, ns2 + dctcp", n)) for n in COUNTS)
    here = claim("ec4", "fig05-expresspass-does-not-converge")
    return judge.judge(here, found, text=f"fair after: {text}", note=f"authors' code: {beside}")


def check_alone(tables: Tables) -> Finding:
    """The verdict on the claim that EC4 alone converges as ExpressPass does."""
    over = {f"{n} flows": quotient(alike(tables, "all ec4", n), alike(tables, "all expresspass", n)) for n in COUNTS}
    text = "; ".join(f"{name}: {value.median().text('.2f')}" for name, value in over.items())
    rates = ", ".join(f"{both(tables, 'both_bps', n).mean:.3f}" for n in COUNTS)
    return judge.judge(
        claim("ec4", "fig05h-all-ec4-equals-expresspass"),
        over,
        text=f"EC4's time over ExpressPass's: {text}",
        note=f"goodput of EC4 over that of ExpressPass: {rates}",
    )


def alike(tables: Tables, pair: str, flows: int) -> list[float]:
    """Times until halves of one protocol are fair in the mean over 20 seeds, one for each 20; NaN if they never are."""
    part = tables["alike"].filter((pl.col("pair") == pair) & (pl.col("flows") == flows))
    runs = [one.select("joining", "other").to_numpy().T for one in part.partition_by("seed", maintain_order=True)]
    # All flows together have nine tenths of 10 Gbps or more, so that each half sends this at least.
    each = [Joining(rates, EVERY_S, WINDOW_S, 4e9 / (8 * PAYLOAD)) for rates in runs]
    return [together(each[at : at + GROUP]).held(WINDOW_S / 2) for at in range(0, len(each), GROUP)]


def both(tables: Tables, name: str, flows: int) -> stats.Estimate:
    """All EC4 over all ExpressPass."""
    return ratio(tables, name, {"pair": "all ec4", "flows": flows}, {"pair": "all expresspass", "flows": flows})


def facts(tables: Tables) -> dict[str, object]:
    """Numbers of the prose: `d_2_0` the default's ratio with 2 flows and the first omega_mid; times in ms."""
    letters = {"default": "d", "K 25": "k", "K 35": "m", "no HIGH mode": "n", "no HIGH mode, K 25": "b", "printed": "p"}
    found: dict[str, object] = {
        f"{letters[label]}_{flows}_{index}": mean(tables, "ratio", pair=f"{label}, {omega:g}", flows=flows).mean
        for label in SWEEPS
        for flows in COUNTS
        for index, omega in enumerate(OMEGAS)
    }
    for label in SWEEPS:
        for flows in COUNTS:
            found[f"cross_{letters[label]}_{flows}"] = crossing(tables, label, flows)
    named = {
        "ec4": "default, 0.05",
        "rto1": "default, least timeout 1 ms",
        "rto30": "default, least timeout 30 ms",
        "dctcp": "dctcp alone",
        "dctcp35": "dctcp alone, K 35",
        "m6": "K 35, 0.06",
        "ns2": "expresspass, ns2 + dctcp",
    }
    for name, pair in named.items():
        for flows in COUNTS:
            found[f"settled_{name}_{flows}"] = ms(median(tables, "settled_s", pair, flows))
            found[f"fair_{name}_{flows}"] = ms(median(tables, "fair_s", pair, flows))
    for flows in COUNTS:
        found[f"balance_{flows}"] = fair_omega(flows)
        found[f"balance_k_{flows}"] = fair_omega(flows, 25)
        found[f"goodput_{flows}"] = both(tables, "both_bps", flows).mean
    return found


def draw(tables: Tables, look: Look) -> dict[str, Picture]:
    """Throughput of both flows in time."""
    picture, axes = grid(3, 3, width=10.5, height=1.9, sharex=True, sharey=True)
    for place, pair in zip(axes, PANELS, strict=True):
        part = (
            tables["points"]
            .filter(pl.col("pair") == pair)
            .with_columns((pl.col("time_s") / 1e-3).ceil().alias("ms"))
            .group_by("ms")
            .agg(pl.col("joins", "there").mean())
            .sort("ms")
        )
        for name, label, color, dash in (
            ("joins", "joins at 20 ms", COLORS["ec4"], "-"),
            ("there", "there before (DCTCP, but for the last panel)", COLORS["dctcp"], "--"),
        ):
            place.plot(part["ms"], part[name] / 1e9, lw=1.4, label=label, color=look.color(color), ls=dash)
        place.set(title=pair, ylim=(0, 10.2), xlim=(0, 140))
        place.axhline(4.75, color=look.muted, lw=0.7, ls=":")
    for place in axes[6:]:
        place.set_xlabel("time (ms)")
    for place in axes[::3]:
        place.set_ylabel("Gbps")
    legend(picture, axes[0], columns=2)
    return {"convergence": picture}


FIGURE = Figure(
    name="ec4/fig05",
    title="EC4, Fig. 5: convergence beside DCTCP, and omega_mid",
    doc=__doc__ + "\n" + ABOUT,
    jobs=jobs,
    measure=measure,
    summarise=summarise,
    check=check,
    facts=facts,
    draw=draw,
    shown={
        "shown": "Goodput of both halves in the last 40 ms (means over seeds), and when it became fair and settled, "
        "after the joining (medians). The number after a sweep's name is omega_mid."
    },
    captions={"convergence": "Goodput of the flow that joins and of the one that was there, averages of 1 ms"},
    claims=(
        "fig05-omega-mid-sweep",
        "sec3c-omega-mid-range",
        "sec1-cross-protocol-convergence-ms",
        "fig05-convergence-5ms-faster-than-dctcp",
        "fig05-expresspass-does-not-converge",
        "fig05h-all-ec4-equals-expresspass",
    ),
)
