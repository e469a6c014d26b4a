"""The paper lets a second flow join a first one at a 10 and at a 100 Gbps bottleneck, with a base RTT of 100 us, and
shows the throughput of both in each RTT (DCTCP: averaged over 10 RTTs; K = 65 and g = 0.0625 at 10 Gbps, K = 650
and g = 0.01976 at 100 Gbps). "ExpressPass converges within 3 RTTs", DCTCP takes "more than 80 times longer" at 10
Gbps.

Unstated, and chosen here:

* **When flows have converged**: by [the one criterion](../verdicts.md#when-flows-have-converged), which wants that they
  keep their shares. RTTs count from the moment at which the second flow asks for its connection; its first data can
  arrive 1.5 RTTs later. Windows: 3 RTTs for ExpressPass at 10 Gbps and 1 at 100, 22 and 69 for DCTCP, which are one
  period of its saw tooth: in the paper's averages over 10 RTTs its flows leave their share again and again. Watched are
  100 RTTs of ExpressPass, 2,000 and 8,000 of DCTCP.
* **First** is the first average, as the paper has them, in which both flows have their share, kept or not. It stands
  beside and decides nothing.
* **Ramped up** (E17-30): the first such average in which the new flow has its share, whatever comes after, as sec. 3.3
  words it. This reading goes with the law as printed, alpha = 1 and w_init = 1/2, the first point of Fig. 8 (a).
* **alpha and w_init** (E17-2, E17-3): the defaults, 1/2 and 1/16, decide; beside them a sweep over {1, 1/2, 1/4, 1/8,
  1/16, 1/32} x {1/2, 1/4, 1/16}.
* **When the second flow joins.** After 50 RTTs (DCTCP: 200 at 10 Gbps, 1,000 at 100 Gbps), at 20 offsets (quick: 5)
  which spread over an RTT for ExpressPass and over more than a saw tooth of the window for DCTCP. Each offset has a
  seed of its own.
* **Network.** A dumbbell of two pairs, all links of the same rate, 12.5 + 25 + 12.5 us of propagation each way,
  buffers of 250 full frames for each 10 Gbps, initial windows of 10 segments.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import polars as pl
from matplotlib.figure import Figure as Picture

from clearway.plan.expresspass import Parameters, trajectory
from clearway.reproduce import judge, stats
from clearway.reproduce.claims import Finding, claim
from clearway.reproduce.convergence import TOLERANCE, joining, never, quotient, saw_tooth_s, times, window_rtts, words
from clearway.reproduce.expresspass.common import ABOUT_READINGS, COLORS, READINGS, dumbbell
from clearway.reproduce.figure import Figure, Job, Tables
from clearway.reproduce.look import Look, grid, legend
from clearway.reproduce.quantities import CEILING, FRAME, PAYLOAD, data_drops
from clearway.result import Run

ALPHAS = (1.0, 0.5, 0.25, 0.125, 0.0625, 0.03125)
W_INITS = (0.5, 0.25, 0.0625)
RATES = (10, 100)
RTT_US = 100
#: Readings beside each other; the first decides.
VARIANTS: dict[str, dict[str, Any]] = {
    **READINGS,
    "hotnets16": {"name": "expresspass-hotnets16"},
    "printed, alpha 1": {"name": "expresspass", "feedback": "sigcomm17-printed", "alpha": 1, "w_init": 0.5},
}
#: The reading E17-30 of convergence: who ramps up.
RAMPED = "printed, alpha 1"
#: The default alpha and w_init.
DEFAULT = (0.5, 0.0625)
#: Names that facts keep as they are.
KEPT = ("printed", "hotnets16", "dctcp")
#: Readings by the names of the parameters that choose them, or their ids -> what they are called here, and the time.
NAMED = {
    "sigcomm17-printed": ("printed", "held_rtts"),
    "ns2": ("ns2 profile", "held_rtts"),
    "hotnets16": ("hotnets16", "held_rtts"),
    "E17-30": (RAMPED, "ramped_rtts"),
}
OFFSETS = {"quick": 5, "paper": 20}
#: Times -> their words in the table.
TIMES = {"first": "first", "held": "held", "ramped": "ramped_up"}
#: RTTs of the series before the second flow joins.
LEAD = 10
KEY = ["rate_gbps", "transport", "alpha", "w_init"]
#: Settings by rate: marking threshold, g, RTTs before the second flow joins and after, unit of the offsets.
DCTCP = {10: ("65 packets", 0.0625, 200, 2000, 120), 100: ("650 packets", 0.01976, 1000, 8000, 310)}


def jobs(scale: str) -> list[Job]:
    """ExpressPass over the sweep, its other readings, and DCTCP, each at all offsets."""
    count = OFFSETS[scale]
    found = []
    for rate in RATES:
        for offset in range(count):
            start = 50 * RTT_US + offset * RTT_US // count
            for alpha in ALPHAS:
                for w_init in W_INITS:
                    swept = {"name": "expresspass", "alpha": alpha, "w_init": w_init}
                    found.append(job(rate, "expresspass", swept, offset, start, 100, alpha=alpha, w_init=w_init))
            found += [job(rate, name, VARIANTS[name], offset, start, 100) for name in list(VARIANTS)[1:]]
            marking, g, before, after, step = DCTCP[rate]
            start = before * RTT_US + offset * step
            dctcp = {"name": "dctcp", "g": g}
            made = job(rate, "dctcp", dctcp, offset, start, after, averaged=10, window=saw_tooth_rtts(rate))
            found.append(Job(made.params, {**made.scenario, "switch": {"marking": marking}}))
    return found


def job(
    rate: int,
    name: str,
    transport: dict[str, Any],
    offset: int,
    start_us: int,
    rtts: int,
    *,
    averaged: int = 1,
    window: int | None = None,
    alpha: float | None = None,
    w_init: float | None = None,
) -> Job:
    """A run in which the second flow starts later."""
    params = {
        "rate_gbps": rate,
        "transport": name,
        "alpha": alpha,
        "w_init": w_init,
        "offset": offset,
        "seed": offset + 1,
        "start_us": start_us,
        "averaged_rtts": averaged,
        "window_rtts": window or window_rtts(packets_a_rtt(rate, CEILING)),
        "watched_rtts": rtts,
        "ceiling": 1.0 if name == "dctcp" else CEILING,
    }
    return Job(params, {**scenario(rate, transport, start_us, rtts), "seed": offset + 1})


def packets_a_rtt(rate: int, ceiling: float) -> float:
    """Packets that a flow sends in an RTT at half of the bottleneck, of which data can take so much."""
    return ceiling * rate * 1e9 / 2 * RTT_US * 1e-6 / (8 * FRAME)


def saw_tooth_rtts(rate: int) -> int:
    """A window for DCTCP: the RTTs of one period of its saw tooth."""
    marking = int(DCTCP[rate][0].split()[0])
    return window_rtts(packets_a_rtt(rate, 1.0), saw_tooth_s(rate * 1e9, RTT_US * 1e-6, marking) / (RTT_US * 1e-6))


def scenario(rate: int, transport: dict[str, object], start_us: int, rtts: int) -> dict[str, object]:
    """Two flows, of which the second starts later."""
    first, second = {"src": "h0", "dst": "h2"}, {"src": "h1", "dst": "h3", "start": f"{start_us} us"}
    return {
        "name": "fig16",
        "stop": f"{start_us + rtts * RTT_US} us",
        "topology": dumbbell(2, f"{rate} Gbps"),
        "transport": transport,
        "traffic": [{"name": "flows", "kind": "flows", "list": [first, second]}],
        "sample": [{"name": "throughput", "what": "throughput", "every": "5 us" if rtts <= 100 else "10 us"}],
    }


def measure(job: Job, run: Run) -> Tables:
    """The time at which the flows converged; of the first offset also their throughput."""
    params, rtt_s = job.params, RTT_US * 1e-6
    averaged, window_s = params["averaged_rtts"], params["window_rtts"] * rtt_s
    lead = LEAD if averaged == 1 else LEAD // 2
    share = params["ceiling"] * params["rate_gbps"] * 1e9 * PAYLOAD / FRAME / 2
    before_s = max(lead * averaged * rtt_s, window_s)
    every_s = rtt_s / 20 if averaged == 1 else rtt_s
    both = joining(run, params["start_us"] * 1e-6, share, every_s=every_s, before_s=before_s)
    row = {
        "first_rtts": both.first(averaged * rtt_s) / rtt_s,
        "held_rtts": both.held(window_s) / rtt_s,
        "ramped_rtts": both.ramp_up(averaged * rtt_s) / rtt_s,
        "utilisation": float(both.rates[:, round((before_s + 5 * averaged * rtt_s) / every_s) :].mean()),
        "drops": data_drops(run),
        "queue_max_bytes": int(run.ports["queue_max_bytes"].max()),  # type: ignore[arg-type]
    }
    tables = {"rows": pl.DataFrame([row])}
    if params["offset"] == 0:
        # The throughput in the interval that ends so many RTTs after the second flow started.
        each = round(averaged * rtt_s / every_s)
        rates = both.rates[:, round((before_s - lead * averaged * rtt_s) / every_s) :] * share / 1e9
        rates = rates[:, : rates.shape[1] // each * each].reshape(2, -1, each).mean(axis=2)
        ends = (np.arange(rates.shape[1]) - lead + 1) * averaged
        series = {"rtt": ends, "share_gbps": np.full(len(ends), share / 1e9), "one_gbps": rates[0]}
        tables["series"] = pl.DataFrame({**series, "two_gbps": rates[1]})
    return tables


def summarise(tables: Tables) -> Tables:
    """Medians and spread over the offsets; what never happened counts as later than all else."""
    rows = []
    for key, part in tables["rows"].group_by(KEY, maintain_order=True):
        reached = {name: part[f"{name}_rtts"].fill_nan(np.inf).to_numpy() for name in TIMES}
        row = dict(zip(KEY, key, strict=True))
        row["runs"] = part.height
        for name, values in reached.items():
            for percent in (0, 25, 50, 75, 100):
                row[f"{name}_p{percent}"] = float(np.percentile(values, percent, method="inverted_cdf"))
        row["utilisation"] = float(part["utilisation"].to_numpy().mean())
        row["drops"] = int(part["drops"].sum())
        rows.append(row)
    summary = pl.DataFrame(rows, infer_schema_length=None)
    shown = summary.select(
        *KEY,
        "runs",
        *(spread(name) for name in TIMES),
        (100 * pl.col("utilisation")).round(1).alias("utilisation_%"),
        "drops",
    )
    return {**tables, "summary": summary, "shown": shown}


def spread(name: str) -> pl.Expr:
    """`median (least, quartiles, most)` as text."""
    parts = [pl.col(f"{name}_p{percent}") for percent in (50, 0, 25, 75, 100)]
    texts = [
        pl.when(part.is_infinite())
        .then(pl.lit("never"))
        .otherwise(part.fill_nan(0).cast(pl.Int64, strict=False).cast(pl.String))
        for part in parts
    ]
    return pl.format("{} ({}; {} to {}; {})", *texts).alias(f"RTTs_until_{TIMES[name]}")


def per_offset(tables: Tables, rate: int, transport: str, which: str = "held_rtts") -> list[float]:
    """RTTs until convergence, one an offset; NaN if it never came."""
    part = tables["rows"].filter((pl.col("rate_gbps") == rate) & (pl.col("transport") == transport))
    if transport == "expresspass":
        part = part.filter((pl.col("alpha") == DEFAULT[0]) & (pl.col("w_init") == DEFAULT[1]))
    return [float(one) for one in part.sort("seed")[which]]


def taken(tables: Tables, rate: int, name: str, which: str = "held_rtts") -> stats.Estimate:
    """RTTs until convergence over the offsets."""
    return times(per_offset(tables, rate, name, which))


def ratio(tables: Tables, rate: int, name: str = "expresspass", which: str = "held_rtts") -> stats.Estimate:
    """DCTCP's time over that of ExpressPass."""
    return quotient(*(per_offset(tables, rate, one, which) for one in ("dctcp", name)))


def wider(tables: Tables, name: str = "expresspass", which: str = "held_rtts") -> stats.Estimate:
    """DCTCP's time over that of ExpressPass at 100 Gbps, over the same at 10 Gbps; paired by offset."""
    wide, narrow = (ratio(tables, rate, name, which).draws for rate in (100, 10))
    return quotient(wide, [one or math.nan for one in narrow])


def longer(tables: Tables, name: str, which: str = "held_rtts") -> stats.Estimate:
    """The time of a transport at 100 Gbps over that at 10 Gbps."""
    return quotient(*(per_offset(tables, rate, name, which) for rate in (100, 10)))


def check(tables: Tables) -> list[Finding]:
    """The verdicts on the figure's claims."""
    return [
        *(check_time(tables, rate) for rate in RATES),
        check_few(tables),
        *check_ratios(tables),
        check_losses(tables),
    ]


def check_time(tables: Tables, rate: int) -> Finding:
    """The claim on RTTs at a rate."""

    def of(name: str, which: str = "held_rtts") -> dict[str, judge.Measured]:
        unchanged = {"over that at 10 Gbps": longer(tables, name, which)} if rate == 100 else {}
        return {"value": taken(tables, rate, name, which), **unchanged}

    note = others(tables, rate)
    note += f"; over that at 10 Gbps: {longer(tables, 'expresspass'):.2f}" if rate == 100 else ""
    here = claim("expresspass", f"fig16-convergence-{rate}g")
    under = {one: of(*made) for one, made in NAMED.items()}
    return judge.judge(here, of("expresspass"), note=note, readings=under, cause=by_model())


def by_model() -> judge.Calculation:
    """The cause by section 4's own model: updates until a newcomer has its share."""
    best = min(updates(alpha, w_init) for alpha in ALPHAS if alpha <= 0.5 for w_init in W_INITS)
    return judge.Calculation(
        f"By the model of section 4, whose flows update at once and know their loss at once, a newcomer needs "
        f"{updates(*DEFAULT)} updates at alpha 1/2 and w_init 1/16, and {best} or more at any alpha up to 1/2"
    )


def updates(alpha: float, w_init: float) -> int:
    """Updates until two flows have their share of what passes the bottleneck, by the model of section 4."""
    found = trajectory(Parameters(2, alpha=alpha, w_init=w_init), 100, "newcomer").rates
    shares = 2 * found / found.sum(axis=1, keepdims=True)
    return int(np.argmax(np.all(np.abs(shares - 1) <= TOLERANCE, axis=1)))


def check_few(tables: Tables) -> Finding:
    """The claim on orders of magnitude."""

    def of(name: str, which: str = "held_rtts") -> dict[str, judge.Measured]:
        both = {"ExpressPass": name, "DCTCP": "dctcp"}
        return {f"{one}, {rate} Gbps": taken(tables, rate, is_, which) for rate in RATES for one, is_ in both.items()}

    return judge.judge(
        claim("expresspass", "sec1-convergence-order-of-magnitude"),
        of("expresspass"),
        form=".0f",
        note="RTTs until the share is held",
        readings={one: of(*made) for one, made in NAMED.items()},
        cause=by_model(),
    )


def check_ratios(tables: Tables) -> list[Finding]:
    """The claims on DCTCP's time over that of ExpressPass."""

    def gap(*made: str) -> dict[str, judge.Measured]:
        return {"gap at 100 Gbps over that at 10 Gbps": wider(tables, *made)}

    def of(wide: bool, *made: str) -> dict[str, judge.Measured]:
        return {"value": ratio(tables, 10, *made), **(gap(*made) if wide else {})}

    note = f"by first crossings {words(ratio(tables, 10, 'expresspass', 'first_rtts'))}"
    found = [
        judge.judge(
            claim("expresspass", name),
            of(wide),
            form=".0f",
            note=note,
            readings={one: of(wide, *made) for one, made in NAMED.items()},
        )
        for name, wide in (("fig16-convergence-10g-dctcp-ratio", False), ("abstract-80x-faster-than-dctcp", True))
    ]
    here, growth = claim("expresspass", "fig16-dctcp-linear-in-capacity"), longer(tables, "dctcp")
    ratios = " and ".join(words(ratio(tables, rate)) for rate in RATES)
    text = f"times {growth:.1f} at ten times the rate; DCTCP over ExpressPass {ratios}"
    return [*found, judge.judge(here, {"DCTCP at 100 Gbps over that at 10 Gbps": growth, **gap()}, text=text)]


def check_losses(tables: Tables) -> Finding:
    """The claim that no data is lost."""
    lost = tables["rows"].filter(pl.col("transport") != "dctcp")["drops"]
    here = claim("expresspass", "sec1-zero-data-loss")
    return judge.judge(here, int(lost.sum()), note=f"in {lost.len():,} runs")


def others(tables: Tables, rate: int) -> str:
    """First crossings, and the other readings, in a remark."""
    first = f"first crossing: {words(taken(tables, rate, 'expresspass', 'first_rtts'))}"
    rest = [f"{name}: {words(taken(tables, rate, name))}" for name in list(VARIANTS)[1:]]
    return "; ".join([first, *rest])


def facts(tables: Tables) -> dict[str, object]:
    """The numbers that the prose names."""
    found: dict[str, object] = {
        "model": updates(*DEFAULT),
        "model_best": min(updates(alpha, w_init) for alpha in ALPHAS if alpha <= 0.5 for w_init in W_INITS),
        "model_full": updates(1.0, 0.5),
    }
    for rate in RATES:
        for fact, name in (("ours", "expresspass"), ("ns2", "ns2 profile"), *((one, one) for one in KEPT)):
            found[f"{fact}_{rate}"] = words(taken(tables, rate, name))
            found[f"{fact}_first_{rate}"] = words(taken(tables, rate, name, "first_rtts"))
        found[f"ramped_{rate}"] = words(taken(tables, rate, RAMPED, "ramped_rtts"))
        found[f"dctcp_ramped_{rate}"] = words(taken(tables, rate, "dctcp", "ramped_rtts"))
        found[f"never_{rate}"] = ", ".join(
            f"{name}: {never(per_offset(tables, rate, name))}" for name in list(VARIANTS)
        )
        sweep = tables["summary"].filter((pl.col("transport") == "expresspass") & (pl.col("rate_gbps") == rate))
        best = sweep.sort("held_p50").row(0, named=True)
        found |= {
            f"ratio_{rate}": ratio(tables, rate).median().mean,
            f"best_{rate}": best["held_p50"],
            f"best_alpha_{rate}": fraction(best["alpha"]),
            f"best_w_{rate}": fraction(best["w_init"]),
        }
    return found


def draw(tables: Tables, look: Look) -> dict[str, Picture]:
    """The panels, the other readings, and the sweep."""
    chosen = pl.col("alpha").is_null() | ((pl.col("alpha") == DEFAULT[0]) & (pl.col("w_init") == DEFAULT[1]))
    series = tables["series"].filter(chosen)
    return {
        "panels": panels(series, ["expresspass", "dctcp"], look),
        "readings": panels(series, list(VARIANTS)[1:], look),
        "sweep": heat_maps(tables["summary"]),
    }


def panels(series: pl.DataFrame, names: list[str], look: Look) -> Picture:
    """Throughput of both flows over time: a row for each transport, a column for each rate."""
    picture, axes = grid(len(names), len(RATES), height=2.3)
    cells = [(name, rate) for name in names for rate in RATES]
    for place, (name, rate) in zip(axes, cells, strict=True):
        part = series.filter((pl.col("transport") == name) & (pl.col("rate_gbps") == rate))
        end = 60 if name != "dctcp" else {10: 1000, 100: 6000}[rate]
        part = part.filter(pl.col("rtt") <= end)
        color = look.color(COLORS.get(name, 5))
        place.axhline(part["share_gbps"][0], color=look.muted, lw=1, ls=(0, (2, 2)))
        place.step(part["rtt"], part["one_gbps"], where="pre", color=color, lw=1.6, label="first flow (solid)")
        place.step(
            part["rtt"],
            part["two_gbps"],
            where="pre",
            color=look.ink,
            lw=1.2,
            ls=(0, (4, 1)),
            label="second flow (dashed)",
        )
        place.set_title(f"{name}, {rate} Gbps")
        place.set_ylim(0, rate * 1.02)
        place.set_ylabel("Gbps")
    for place in axes[-len(RATES) :]:
        place.set_xlabel("RTTs since the second flow started")
    legend(picture, axes[0])
    return picture


def heat_maps(summary: pl.DataFrame) -> Picture:
    """Medians over the sweep."""
    picture, axes = grid(2, 2, height=2.7)
    part = summary.filter(pl.col("transport") == "expresspass")
    for place, (which, rate) in zip(
        axes, [(which, rate) for which in ("first", "held") for rate in RATES], strict=True
    ):
        values = np.array(
            [
                [
                    part.filter(
                        (pl.col("rate_gbps") == rate) & (pl.col("alpha") == alpha) & (pl.col("w_init") == w_init)
                    )[f"{which}_p50"].item()
                    for alpha in ALPHAS
                ]
                for w_init in W_INITS
            ]
        )
        place.pcolormesh(np.log10(np.where(np.isfinite(values), values, 100)), cmap="viridis_r", vmin=0.3, vmax=2, lw=0)
        for (y, x), value in np.ndenumerate(values):
            text = f"{value:.0f}" if np.isfinite(value) else "never"
            dark = not np.isfinite(value) or value > 14
            place.text(
                x + 0.5, y + 0.5, text, ha="center", va="center", fontsize=9, color="#ffffff" if dark else "#111111"
            )
        place.set_xticks(np.arange(len(ALPHAS)) + 0.5, [fraction(alpha) for alpha in ALPHAS])
        place.set_yticks(np.arange(len(W_INITS)) + 0.5, [fraction(w_init) for w_init in W_INITS])
        place.grid(visible=False)
        place.tick_params(length=0)
        place.set(xlabel="alpha", ylabel="w_init")
        place.set_title(f"{rate} Gbps, {'first within 10 %' if which == 'first' else 'held for 3 RTTs'}")
    return picture


def fraction(value: float) -> str:
    """A number as a fraction, such as `1/16`."""
    return "1" if value == 1 else f"1/{round(1 / value)}"


FIGURE = Figure(
    name="expresspass/fig16",
    title="ExpressPass '17, Fig. 16 (c) to (f): convergence at 10 and 100 Gbps",
    doc=(__doc__ or "")
    + "\n"
    + ABOUT_READINGS
    + "* **hotnets16**: the algorithm of the HotNets'16 paper, which prints the same sentence.\n",
    jobs=jobs,
    measure=measure,
    summarise=summarise,
    check=check,
    facts=facts,
    draw=draw,
    claims=(
        "fig16-convergence-10g",
        "fig16-convergence-100g",
        "fig16-convergence-10g-dctcp-ratio",
        "fig16-dctcp-linear-in-capacity",
        "abstract-80x-faster-than-dctcp",
        "sec1-convergence-order-of-magnitude",
    ),
    shown={"shown": "RTTs: median (least; quartiles; most) over the offsets."},
    captions={
        "panels": "Throughput of both flows at the first offset; DCTCP averaged over 10 RTTs",
        "sweep": "Median RTTs until ExpressPass converges, over alpha and w_init",
        "readings": "The other readings of ExpressPass",
    },
)
