"""Two long flows run from two hosts of one ToR to two hosts of another, each alone at its receiver. At 600 us nine
hosts, three in each of three ToRs, send 64 KB each to the receiver of one of them. Shown: the queue at that receiver's
port, and the throughput of the receivers' ToR.

Unstated, and chosen here:

* **Which hosts**: drawn at random; 10 draws (full: 50), the same for all transports. Verdicts stand on the mean of the
  draws with its interval; the table has the median and, in brackets, the least and the most.
* **Growth**: from the first byte in the queue of the bottleneck after 600 us to its highest value (samples each 1 us);
  **rise**: to 90 % of that.
* **Settled queue**: its mean from 40 us after the bursts begin until their last byte arrives.
* **Recovery**: from the arrival of the last byte of the bursts until the ToR's throughput (samples of 20 us) is back
  for good at a share of what it was from 400 to 600 us; so HPCC is held against its own 95 %. The paper gives no
  share: 90 % counts here and in Fig. 3, and 75, 85 and 95 % stand beside it.
* **Where in PACC's period the bursts come.** Periods end at multiples of `T`, so at 640 us, 40 us after the bursts.
  The sweep starts the bursts 0 to 70 us later.

What was isolated, one thing changed at a time: DCQCN, TIMELY and PACC with a window, HPCC without one; all four under
the readings below; RoCEv2 with a window and without congestion control; and PACC

* **print**: hosts by eq. (1) as printed (PACC-22);
* **alpha from start**: `alpha` falls from a flow's first packet on (PACC-21), and not only after its first
  notification, so that a flow never notified is at 0.10 after 600 us and not at 1;
* **incremental**: the controller of the paper's analysis (PACC-2);
* **T 8 us**: a period of a tenth, `Q_th` still at 125 KB. No reading of the paper, but a test of what the period does.
"""

from __future__ import annotations

import numpy as np
import polars as pl
from matplotlib.figure import Figure as Picture

from clearway.reproduce import judge, stats
from clearway.reproduce.claims import Finding, claim
from clearway.reproduce.figure import Figure, Job, Tables
from clearway.reproduce.look import Look, grid, legend
from clearway.reproduce.pacc import arithmetic
from clearway.reproduce.pacc.burst import (
    BACK,
    BOTTLENECK,
    BURST_US,
    DRAWS,
    LINE_GBPS,
    MEASURED,
    bursts,
    over_draws,
    recovery,
    sampled,
    spread,
    under,
)
from clearway.reproduce.pacc.setup import ABOUT_SETUP, COLORS, DEFAULT, PAPER, READING, READINGS, TRANSPORTS
from clearway.reproduce.quantities import data_drops
from clearway.reproduce.stats import Estimate
from clearway.result import Run

STOP_US = 4000
#: A sample of the throughput, below which no time is told from none.
SAMPLE_US = 20
SHARES = (75, 85, 90, 95)
PHASES_US = tuple(range(0, 80, 10))
#: A queue within the tolerance of the claim counts as near 125 KB.
NEAR_KB = (75, 175)
#: Share of the peak at which the queue has risen.
RISEN = 0.9
SWEPT = ("pacc", "pacc, alpha from start")


def jobs(scale: str) -> list[Job]:
    """All transports and variants, and PACC over the phases of its period."""
    found = [job(name, draw, 0) for name in MEASURED for draw in range(DRAWS[scale])]
    found += [job(name, draw, late) for name in SWEPT for late in PHASES_US[1:] for draw in range(DRAWS[scale])]
    probe = bursts(TRANSPORTS["dcqcn"], 0, size="64 KB")
    flow = {"name": "probe", "kind": "flows", "list": [{"src": "h0", "dst": "h319", "size": "1 B"}]}
    return [*found, Job({"transport": "probe", "late_us": 0, "draw": 0}, {**probe, "traffic": [flow]})]


def job(name: str, draw: int, late_us: int) -> Job:
    """One run; its bursts come `late_us` after 600 us."""
    samples = [
        {"name": "queue", "what": "queue", "ports": [BOTTLENECK], "every": "1 us"},
        {"name": "rate", "what": "rate", "ports": ["tor0->h0", "tor0->h1"], "every": f"{SAMPLE_US} us"},
    ]
    transport = MEASURED[name]
    body = bursts(transport, draw, size="64 KB", at_us=BURST_US + late_us, stop=f"{STOP_US} us", sample=samples)
    return Job({"transport": name, "late_us": late_us, "draw": draw}, body)


def measure(job: Job, run: Run) -> Tables:
    """Queue and throughput in numbers; of the first draw also their course."""
    if job.params["transport"] == "probe":
        return {"probe": pl.DataFrame({"one_way_us": [float(run.flows["fct_s"][0]) * 1e6]})}
    start = BURST_US + job.params["late_us"]
    times, queue = sampled(run, "queue")
    after = times >= start
    waiting, at = queue[after] / 1e3, times[after]
    peak = int(np.argmax(waiting))
    begins = float(at[np.argmax(waiting > 0)]) - 1
    burst = run.flows.filter(pl.col("traffic") == "burst")
    ends = float((burst["start_s"] + burst["fct_s"]).max()) * 1e6  # type: ignore[arg-type]
    rate_times, rates = sampled(run, "rate")
    _, bottleneck = sampled(run, "rate", BOTTLENECK)
    before = float(rates[(rate_times > 400) & (rate_times <= 600)].mean())
    gap = (rate_times > ends) & (rate_times <= ends + 300)
    during = (at >= start + 40) & (at <= ends)
    row = {
        "peak_kb": float(waiting[peak]),
        "grows_us": float(at[peak]) - begins,
        "burst_us": ends - start,
        **{f"recovery_{share}_us": recovery(rate_times, rates, ends, before * share / 100) for share in SHARES},
        "after_gbps": float(bottleneck[gap].mean()) / 1e9,
        "near_125_kb": float(((waiting[during] >= NEAR_KB[0]) & (waiting[during] <= NEAR_KB[1])).mean()),
        "pauses": int(run.ports["pauses"].sum()),
        "drops": data_drops(run),
    }
    row["rises_us"] = float(at[np.argmax(waiting >= RISEN * waiting[peak])]) - begins
    row["settled_kb"] = float(waiting[during].mean())
    tables = {"rows": pl.DataFrame([row])}
    if job.params["draw"] == 0 and job.params["late_us"] == 0:
        shown = (times >= 580) & (times <= 1600)
        tables["queue"] = pl.DataFrame({"time_us": times[shown], "queue_kb": queue[shown] / 1e3})
        shown = (rate_times >= 500) & (rate_times <= 2200)
        tables["throughput"] = pl.DataFrame({"time_us": rate_times[shown], "gbps": rates[shown] / 1e9})
    return tables


def of(rows: pl.DataFrame, name: str, late_us: int = 0) -> pl.DataFrame:
    """The draws of a transport."""
    return rows.filter((pl.col("transport") == name) & (pl.col("late_us") == late_us))


def summarise(tables: Tables) -> Tables:
    """Medians and ends of the draws, as texts."""
    rows = tables["rows"]
    shown, phases = [], []
    for name in MEASURED:
        part = of(rows, name)
        shown.append(
            {
                "transport": name,
                "peak (KB)": spread(part["peak_kb"]),
                "grows for (us)": spread(part["grows_us"]),
                "at 90 % of it after (us)": spread(part["rises_us"]),
                "mean until the bursts end (KB)": spread(part["settled_kb"]),
                "bursts last (us)": spread(part["burst_us"]),
                **{f"back at {share} % after (us)": spread(part[f"recovery_{share}_us"]) for share in SHARES},
                "bottleneck in the 300 us after (Gbps)": spread(part["after_gbps"], 1),
                "pauses": int(part["pauses"].sum()),
                "drops": int(part["drops"].sum()),
            }
        )
    for late in PHASES_US:
        row: dict[str, object] = {"bursts at (us)": BURST_US + late, "end of the period after (us)": phase(late)}
        for name in SWEPT:
            part = of(rows, name, late)
            row[f"{name}: peak (KB)"] = spread(part["peak_kb"])
            row[f"{name}: back at 90 % (us)"] = spread(part["recovery_90_us"])
        phases.append(row)
    return {**tables, "shown": pl.DataFrame(shown), "phases": pl.DataFrame(phases)}


def phase(late_us: int) -> int:
    """The time from the start of the bursts to the end of a period."""
    return 80 - (BURST_US + late_us) % 80


def of_draws(tables: Tables, name: str, column: str) -> list[float]:
    """A measure of a transport, one value a draw."""
    return [float(value) for value in of(tables["rows"], name).sort("draw")[column]]


def back(tables: Tables, name: str) -> Estimate:
    """The time at which a transport's throughput is back."""
    return over_draws(of(tables["rows"], name)[f"recovery_{BACK}_us"])


def shares_text(part: pl.DataFrame) -> str:
    """The recovery times at the other shares."""
    return "; ".join(f"{share} %: {spread(part[f'recovery_{share}_us'])}" for share in SHARES) + " us"


def check(tables: Tables) -> list[Finding]:
    """The verdicts on the figure's claims."""
    rtt = 2 * float(tables["probe"]["one_way_us"].item())
    note = "six links of 1 us each way and the smallest frames; HPCC's code computes 12.96"
    return [
        judge.judge(claim("pacc", "sec2-fattree-base-rtt"), rtt, form=".2f", note=note, reading="-"),
        check_peaks(tables),
        check_recovery(tables),
        check_gap(tables),
        check_queue(tables),
        check_order(tables),
    ]


def over(tables: Tables, ours: str, other: str, what: str) -> Estimate:
    """A measure over another transport's, paired by draw. What never happens counts as at the run's end for the other,
    which is the least that it may be. A recovery counts as one sample at least.
    """
    least = SAMPLE_US if what.startswith("recovery") else 0
    mine, theirs = ([max(value, least) for value in of_draws(tables, name, what)] for name in (ours, other))
    return stats.paired_ratio(mine, [min(value, STOP_US) for value in theirs])


def check_peaks(tables: Tables) -> Finding:
    """The peak that is farthest from the claim, the shortest and the longest growth."""
    here = claim("pacc", "fig01a-queue-peak-of-baselines")
    rows = tables["rows"]

    def quantities(names: dict[str, str]) -> dict[str, judge.Measured]:
        peaks = [over_draws(of(rows, names[paper])["peak_kb"]) for paper in PAPER]
        grows = [over_draws(of(rows, names[paper])["grows_us"]) for paper in PAPER]
        return {
            "peak_KB": max(peaks, key=lambda one: abs(one.mean - here.number("peak_KB"))),
            "growth_min_us": min(grows, key=lambda one: one.mean),
            "growth_max_us": max(grows, key=lambda one: one.mean),
        }

    note = ", ".join(
        f"{name} {over_draws(part['peak_kb']).mean:.0f} KB in {over_draws(part['grows_us']).mean:.0f} us"
        for name, part in ((name, of(rows, name)) for name in (*PAPER.values(), "hpcc, no window"))
    )
    cause = judge.Change(
        "HPCC has a window of one base round-trip time, which keeps part of each burst at its host; without the window "
        "its queue peaks where the others' do.",
        quantities(READINGS["PACC-26"]),
    )
    return judge.judge(here, quantities(DEFAULT), note=note, reading=READING, readings=under(quantities), cause=cause)


def check_recovery(tables: Tables) -> Finding:
    """The verdicts on the time until the throughput is back."""
    rows, column = tables["rows"], f"recovery_{BACK}_us"
    here = claim("pacc", "fig01b-throughput-recovery-of-baselines")

    def quantities(names: dict[str, str]) -> dict[str, judge.Measured]:
        values = {paper: back(tables, names[paper]) for paper in PAPER}
        values["burst_duration"] = over_draws(of(rows, names["DCQCN"])["burst_us"])
        sooner = {
            f"{paper} over DCQCN": over(tables, names[paper], names["DCQCN"], column) for paper in ("HPCC", "TIMELY")
        }
        return {**values, **sooner}

    shown = (*PAPER.values(), "hpcc, no window", *(READINGS["PACC-25"][paper] for paper in PAPER))
    note = (
        f"DCQCN with its target kept in cuts in a row: {spread(of(rows, 'dcqcn, target kept')[column])} us; "
        f"at {BACK} %; " + "; ".join(f"{name} at {shares_text(of(rows, name))}" for name in shown)
    )
    slow, fast = (here.number(name) for name in ("DCQCN", "TIMELY"))
    cause = judge.Calculation(
        f"By DCQCN's paper two notifications, {arithmetic.CNP_US} us apart, leave a target of half the line, to which "
        f"its steps add {arithmetic.regained_by_dcqcn_gbps(slow):.2g} Gbps in {slow:g} us; by TIMELY's its largest "
        f"steps add {arithmetic.regained_by_timely_gbps(fast):.2g} Gbps in {fast:g} us, so neither can be back then."
    )
    return judge.judge(
        here, quantities(DEFAULT), form=".0f", note=note, reading=READING, readings=under(quantities), cause=cause
    )


def check_gap(tables: Tables) -> Finding:
    """The verdict on what DCQCN leaves unused once the bursts are over."""
    after = over_draws(of(tables["rows"], "dcqcn")["after_gbps"])
    gap = {"used after": after.scaled(1 / LINE_GBPS), "back after": back(tables, "dcqcn")}
    text = f"{after:.1f} of 25 Gbps at the bottleneck in the 300 us after; back after {gap['back after']:.0f} us"
    return judge.judge(claim("pacc", "fig02-dcqcn-gap-after-burst"), gap, text=text, reading=READING)


def check_queue(tables: Tables) -> Finding:
    """PACC's queue: how soon it stops to rise, where it then stands, and its peak over the others'."""
    rows = tables["rows"]
    here = claim("pacc", "fig01a-pacc-queue")

    def quantities(names: dict[str, str]) -> dict[str, judge.Measured]:
        mine = of(rows, names["PACC"])
        peaks = {f"peak over that of {paper}": over(tables, names["PACC"], names[paper], "peak_kb") for paper in PAPER}
        return {"settled_KB": over_draws(mine["settled_kb"]), "rise_us": over_draws(mine["rises_us"]), **peaks}

    near = float(of(rows, "pacc")["near_125_kb"].mean())  # type: ignore[arg-type]
    window = of(rows, "pacc, window")
    note = (
        f"within 40 % of 125 KB for {near:.0%} of the time until the bursts end; with a window "
        f"{over_draws(window['rises_us']).mean:.0f} us and {over_draws(window['settled_kb']).mean:.0f} KB"
    )
    rise = here.number("rise_us")
    cause = judge.Calculation(
        f"All nine bursts have left their hosts after {arithmetic.sent_after_us():.1f} us, and PACC decides "
        f"{arithmetic.NEXT_PERIOD_US} us after they begin; even notifications at the first packet would leave "
        f"{arithmetic.least_after_kb(rise):.0f} KB {rise:g} us after the queue begins to grow."
    )
    return judge.judge(here, quantities(DEFAULT), note=note, reading=READING, readings=under(quantities), cause=cause)


def check_order(tables: Tables) -> Finding:
    """PACC's peak and recovery beside the others'."""
    rows, column = tables["rows"], f"recovery_{BACK}_us"

    def quantities(names: dict[str, str]) -> dict[str, judge.Measured]:
        return {
            f"{what} over that of {paper}": over(tables, names["PACC"], names[paper], part)
            for what, part in (("peak", "peak_kb"), ("recovery", column))
            for paper in PAPER
        }

    text = "peak and recovery: " + ", ".join(
        f"{name} {over_draws(of(rows, name)['peak_kb']).mean:.0f} KB, {back(tables, name).mean:.0f} us"
        for name in (*DEFAULT.values(), "pacc, window", "pacc, T_i 55 us, window")
    )
    causes = [
        judge.Change(
            "PACC has no window, and HPCC, whose queue peaks lower, has one; with a window PACC's peaks no higher.",
            quantities(READINGS["PACC-29"]),
        ),
        judge.Change(
            "PACC's hosts wait 300 us between increases; with the 55 us of DCQCN's paper they are back far sooner.",
            quantities(READINGS["PACC-18"]),
        ),
    ]
    here = claim("pacc", "fig01-pacc-ordering")
    return judge.judge(here, quantities(DEFAULT), text=text, reading=READING, readings=under(quantities), cause=causes)


def facts(tables: Tables) -> dict[str, object]:
    """Numbers that the prose names: means over draws."""
    rows = tables["rows"]
    named: dict[str, object] = {}
    for name in MEASURED:
        key = name.replace(", ", "_").replace("'s", "").replace(" ", "_").replace("-", "_")
        for column in ("peak_kb", "grows_us", "rises_us", "burst_us", "settled_kb", "after_gbps"):
            named[f"{key}_{column}"] = over_draws(of(rows, name)[column]).mean
        for share in SHARES:
            named[f"{key}_{share}"] = over_draws(of(rows, name)[f"recovery_{share}_us"]).mean
    swept = [over_draws(of(rows, "pacc", late)["peak_kb"]).mean for late in PHASES_US]
    named["phase_least"], named["phase_most"] = min(swept), max(swept)
    named["pauses"], named["drops"] = int(rows["pauses"].sum()), int(rows["drops"].sum())
    return named


def draw(tables: Tables, look: Look) -> dict[str, Picture]:
    """The four transports, and PACC's readings."""
    main = {name: look.color(color) for name, color in COLORS.items()}
    readings = {
        "pacc": look.color(COLORS["pacc"]),
        "pacc, print": look.color(0),
        "pacc, window": look.color(1),
        "pacc, alpha from start": look.color(2),
        "pacc, T 8 us, alpha from start": look.color(3),
    }
    return {"course": course(tables, look, main), "readings": course(tables, look, readings)}


def course(tables: Tables, look: Look, colors: dict[str, str]) -> Picture:
    """Queue and throughput over time."""
    picture, (left, right) = grid(1, 2, height=3.0)
    for name, color in colors.items():
        part = tables["queue"].filter(pl.col("transport") == name)
        left.plot(part["time_us"], part["queue_kb"], color=color, lw=1.6, label=name)
        part = tables["throughput"].filter(pl.col("transport") == name)
        # A sample is the mean of the 20 us before it.
        right.plot(part["time_us"] - 10, part["gbps"], color=color, lw=1.6, label=name)
    left.axhline(125, color=look.muted, lw=0.9, ls=":")
    left.annotate("Q_th", (1140, 133), color=look.muted, fontsize=10)
    left.set_xlim(580, 1200)
    left.set_ylim(0, 680)
    left.set_ylabel("queue at the bottleneck in KB")
    right.set_xlim(520, 2200)
    right.set_ylim(0, 54)
    right.set_ylabel("throughput of the ToR in Gbps")
    for axes in (left, right):
        axes.set_xlabel("time in us")
    legend(picture, left, 5 if max(map(len, colors)) < 20 else 3)
    return picture


FIGURE = Figure(
    name="pacc/fig01",
    title="PACC, Fig. 1: a burst onto a long flow",
    doc=__doc__ + "\n" + ABOUT_SETUP,
    jobs=jobs,
    measure=measure,
    summarise=summarise,
    check=check,
    facts=facts,
    draw=draw,
    claims=(
        "sec2-fattree-base-rtt",
        "fig01a-queue-peak-of-baselines",
        "fig01b-throughput-recovery-of-baselines",
        "fig02-dcqcn-gap-after-burst",
        "fig01a-pacc-queue",
        "fig01-pacc-ordering",
    ),
    shown={
        "shown": "Median of the draws, least and most in brackets.",
        "phases": "PACC by the time at which the bursts start.",
    },
    captions={
        "course": "Queue at the bottleneck and throughput of the receivers' ToR (first draw)",
        "readings": "The same of PACC, under readings and with a tenth of its period",
    },
)
