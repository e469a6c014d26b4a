"""Two long flows from two hosts of one ToR share one receiver from the start. At 600 us nine hosts, three in each of
three ToRs, send 30 KB each to it; at 800 us each of the nine starts a long flow to a host of its own under the same
ToR ("short-long"). Shown: the throughput of a "long" and of a "short-long" flow.

Unstated, and chosen here:

* **Which scheme the 150 and 350 us belong to** (PACC-15): DCQCN counts, which the paper's Fig. 1 has as the slow one;
  all are measured.
* **Recovery of the long flows**: if the throughput of both together (samples of 20 us) falls below a share of 25 Gbps
  within 500 us after the last byte of the bursts, the time from that byte until it is above for 100 us again. 90 %
  counts, as in Fig. 1; 75, 85 and 95 % stand beside it. The sum, since the two share one port: one of them alone may
  be above or below its half.
  Beside it, what they have on average in the 1,000 us after the bursts, which needs no share.
* **Recovery of the short-long flows**: from 800 us until the throughput of one is at that share of 25 Gbps for good;
  the median of the nine flows. The nine flows come by uplinks of 100 Gbps, three of a ToR, so hashing may let two
  or three share one, which is not full then.
* **Does a short-long flow inherit its sender's rate?** In RDMA a queue pair's state outlives a message, so a long flow
  on the queue pair of the burst begins with its rate. But these go to other receivers, which takes other queue pairs,
  and state is kept by queue pair in HPCC's code and here. So they begin at line rate.
* **Which hosts**: drawn as in Fig. 1, 10 draws (full: 50). Verdicts stand on the mean of the draws with its interval.
"""

from __future__ import annotations

import numpy as np
import polars as pl
from matplotlib.figure import Figure as Picture

from clearway.reproduce import judge, stats
from clearway.reproduce.claims import Finding, claim
from clearway.reproduce.figure import Figure, Job, Tables
from clearway.reproduce.look import Look, grid, legend
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
    senders,
    spread,
    suppression,
    under,
)
from clearway.reproduce.pacc.setup import (
    ABOUT_SETUP,
    COLORS,
    DEFAULT,
    FRAME,
    FRAME_HPCC,
    PAPER,
    PAYLOAD,
    READING,
    READINGS,
)
from clearway.reproduce.quantities import binned, data_drops
from clearway.reproduce.stats import Estimate
from clearway.result import Run

STOP_US = 4000
SHOWN = COLORS | {"pacc, print": 0}
LATER_US = 800
SHARES = (75, 85, 90, 95)
NAMES = (
    *dict.fromkeys(name for names in (DEFAULT, *READINGS.values()) for name in names.values()),
    "dcqcn, target kept",
    "pacc, print",
    "rocev2, window",
    "pacc, alpha from start",
)


def jobs(scale: str) -> list[Job]:
    """All transports and variants."""
    return [job(name, draw) for name in NAMES for draw in range(DRAWS[scale])]


def job(name: str, draw: int) -> Job:
    """The job of one run."""
    samples = [
        {"name": "queue", "what": "queue", "ports": [BOTTLENECK], "every": "1 us"},
        {"name": "rate", "what": "rate", "ports": [BOTTLENECK], "every": "20 us"},
        {"name": "long", "what": "throughput", "traffic": "long", "every": "20 us"},
        {"name": "short-long", "what": "throughput", "traffic": "short-long", "every": "20 us"},
    ]
    transport = MEASURED[name]
    body = bursts(transport, draw, size="30 KB", receivers=(0, 0), stop=f"{STOP_US} us", sample=samples)
    later = [{"src": src, "dst": index + 1, "start": f"{LATER_US} us"} for index, src in enumerate(senders(draw))]
    body["traffic"].append({"name": "short-long", "kind": "flows", "list": later})
    return Job({"transport": name, "draw": draw}, body)


def measure(job: Job, run: Run) -> Tables:
    """Queue and recovery; of the first draw also the course."""
    burst = run.flows.filter(pl.col("traffic") == "burst")
    ends = float((burst["start_s"] + burst["fct_s"]).max()) * 1e6  # type: ignore[arg-type]
    times, queue = sampled(run, "queue")
    rate_times, rates = sampled(run, "rate")
    before = (rate_times > 500) & (rate_times <= 600)
    level = float(rates[before].mean())
    wire = (FRAME_HPCC if job.params["transport"].startswith("hpcc") else FRAME) / PAYLOAD / 1e9
    _, long = binned(run, "long", 0.0, 20e-6)
    _, later = binned(run, "short-long", LATER_US * 1e-6, 20e-6)
    at = 20.0 * np.arange(1, long.shape[1] + 1)
    at_later = LATER_US + 20.0 * np.arange(1, later.shape[1] + 1)
    after = (rate_times > ends) & (rate_times <= ends + 1000)
    row = {
        "after_gbps": float(rates[after].mean()) / 1e9,
        "queue_before_kb": float(queue[(times > 500) & (times <= 600)].mean()) / 1e3,
        "before_gbps": level / 1e9,
        "peak_kb": float(queue[times >= BURST_US].max()) / 1e3,
        "burst_us": ends - BURST_US,
        **{
            f"long_{share}_us": suppression(rate_times, rates, ends, share / 100 * LINE_GBPS * 1e9, within=500, hold=5)
            for share in SHARES
        },
        **{
            f"later_{share}_us": float(
                np.median([recovery(at_later, flow * wire, LATER_US, share / 100 * LINE_GBPS) for flow in later])
            )
            for share in SHARES
        },
        "later_least_gbps": float((later * wire)[:, 1:].min()),
        "long_notices": int(run.flows.filter(pl.col("traffic") == "long")["notices"].sum())
        if "notices" in run.flows.columns
        else None,
        "drops": data_drops(run),
    }
    tables = {"rows": pl.DataFrame([row], schema_overrides={"long_notices": pl.Int64})}
    if job.params["draw"] == 0:
        later_gbps = np.concatenate([np.full(LATER_US // 20, np.nan), later[0] * wire])
        tables["series"] = pl.DataFrame(
            {
                "time_us": at,
                "long_gbps": long[0] * wire,
                "sum_gbps": rates[: len(at)] / 1e9,
                "later_gbps": later_gbps[: len(at)],
            }
        ).filter(pl.col("time_us") <= 2400)
    return tables


def of(rows: pl.DataFrame, name: str) -> pl.DataFrame:
    """The draws of a transport."""
    return rows.filter(pl.col("transport") == name)


def summarise(tables: Tables) -> Tables:
    """Medians and ends of the draws, as texts."""
    shown = []
    for name in NAMES:
        part = of(tables["rows"], name)
        shown.append(
            {
                "transport": name,
                "queue before (KB)": spread(part["queue_before_kb"]),
                "long flows before (Gbps)": spread(part["before_gbps"], 1),
                "peak (KB)": spread(part["peak_kb"]),
                "bursts last (us)": spread(part["burst_us"]),
                "long flows in the 1,000 us after (Gbps)": spread(part["after_gbps"], 1),
                **{f"long back at {share} % (us)": spread(part[f"long_{share}_us"]) for share in SHARES},
                **{f"short-long at {share} % (us)": spread(part[f"later_{share}_us"]) for share in SHARES},
                "least of a short-long flow (Gbps)": spread(part["later_least_gbps"], 1),
            }
        )
    return {**tables, "shown": pl.DataFrame(shown)}


def back(tables: Tables, name: str, which: str, share: int = BACK) -> Estimate:
    """The time for which long flows (`long`) or short-long ones (`later`) are held back."""
    return over_draws(of(tables["rows"], name)[f"{which}_{share}_us"])


def times_text(part: pl.DataFrame, which: str) -> str:
    """The recovery times at all shares."""
    return "; ".join(f"{share} %: {spread(part[f'{which}_{share}_us'])}" for share in SHARES) + " us"


def later_by(tables: Tables, ours: str, other: str, which: str) -> Estimate:
    """The time, in us, by which PACC's flows are back later than another's, paired by draw: negative if sooner.

    Flows that never are, in draws in which too many share a link, count as back at the end of the run.
    """
    times = (
        [min(float(value), STOP_US) for value in of(tables["rows"], name).sort("draw")[f"{which}_{BACK}_us"]]
        for name in (ours, other)
    )
    return stats.estimate([mine - theirs for mine, theirs in zip(*times, strict=True)])


def check(tables: Tables) -> list[Finding]:
    """The verdicts on the figure's claims."""
    return [check_held(tables), check_avoided(tables)]


def check_held(tables: Tables) -> Finding:
    """The times for which DCQCN's flows are held back."""
    rows = tables["rows"]

    def quantities(names: dict[str, str]) -> dict[str, judge.Measured]:
        return {"long": back(tables, names["DCQCN"], "long"), "short_long": back(tables, names["DCQCN"], "later")}

    shown = (*PAPER.values(), "hpcc, no window", "dcqcn, target kept")
    note = "of DCQCN; long flows of " + ", ".join(f"{name}: {times_text(of(rows, name), 'long')}" for name in shown)
    cause = judge.Calculation(
        "A short-long flow is new, and by DCQCN's paper a flow begins at line rate; its receiver is idle, so nothing "
        "but other flows on its links can hold it back, for 350 us or for any other time."
    )
    here = claim("pacc", "fig03-microburst-suppression")
    return judge.judge(
        here, quantities(DEFAULT), form=".0f", note=note, reading=READING, readings=under(quantities), cause=cause
    )


def check_avoided(tables: Tables) -> Finding:
    """The times for which PACC's flows are held back less those of the others."""
    rows = tables["rows"]

    def quantities(names: dict[str, str]) -> dict[str, judge.Measured]:
        return {
            f"{words}, less {paper}'s": later_by(tables, names["PACC"], names[paper], which)
            for words, which in (("long", "long"), ("short-long", "later"))
            for paper in PAPER
        }

    shown = (*DEFAULT.values(), "pacc, window", "pacc, T_i 55 us", "pacc, T_i 55 us, window", "hpcc, no window")
    text = "long flows back after " + ", ".join(f"{name} {back(tables, name, 'long').mean:.0f}" for name in shown)
    after = ", ".join(f"{name} {over_draws(of(rows, name)['after_gbps']).mean:.1f}" for name in DEFAULT.values())
    note = (
        f"at 85 % PACC {back(tables, 'pacc', 'long', 85).mean:.0f}; in the 1,000 us after the bursts {after} Gbps; "
        f"long flows with a window, less HPCC's: {later_by(tables, 'pacc, window', 'hpcc', 'long'):.0f} us"
    )
    cause = judge.Change(
        "PACC's hosts wait 300 us between increases; with the 55 us of DCQCN's paper long flows are not held back.",
        quantities(READINGS["PACC-18"]),
    )
    here = claim("pacc", "fig03-pacc-microbursts")
    return judge.judge(
        here,
        quantities(DEFAULT),
        text=f"{text} us",
        note=note,
        reading=READING,
        readings=under(quantities),
        cause=cause,
    )


def facts(tables: Tables) -> dict[str, object]:
    """Numbers that the prose names: means over draws."""
    rows = tables["rows"]
    named: dict[str, object] = {}
    for name in NAMES:
        key, part = name.replace(", ", "_").replace("'s", "").replace(" ", "_").replace("-", "_"), of(rows, name)
        for column in ("after_gbps", "before_gbps", "queue_before_kb", "burst_us", "later_least_gbps", "peak_kb"):
            named[f"{key}_{column}"] = over_draws(part[column]).mean
        for share in SHARES:
            named[f"{key}_{share}"] = over_draws(part[f"long_{share}_us"]).mean
            named[f"{key}_later_{share}"] = over_draws(part[f"later_{share}_us"]).mean
    return named


def draw(tables: Tables, look: Look) -> dict[str, Picture]:
    """Long flows together, and one short-long flow."""
    picture, axes = grid(1, 2, height=3.0)
    for name, color in SHOWN.items():
        part = of(tables["series"], name)
        # A sample is the mean of the 20 us before it.
        for panel, column in zip(axes, ("sum_gbps", "later_gbps"), strict=True):
            panel.plot(part["time_us"] - 10, part[column], color=look.color(color), lw=1.6, label=name)
    for panel, title in zip(axes, ("long flows (and bursts) at their port", "one short-long flow"), strict=True):
        panel.set_title(title, fontsize=11.5)
        panel.set_xlabel("time in us")
        panel.set_ylabel("throughput in Gbps")
        panel.set_ylim(0, 27)
    axes[0].set_xlim(0, 2400)
    axes[1].set_xlim(700, 2400)
    legend(picture, axes[0], 5)
    return {"course": picture}


FIGURE = Figure(
    name="pacc/fig03",
    title="PACC, Fig. 3: microbursts of 30 KB",
    doc=__doc__ + "\n" + ABOUT_SETUP,
    jobs=jobs,
    measure=measure,
    summarise=summarise,
    check=check,
    facts=facts,
    draw=draw,
    claims=("fig03-microburst-suppression", "fig03-pacc-microbursts"),
    shown={"shown": "Median of the draws, least and most in brackets."},
    captions={"course": "Throughput of both long flows at their port, and of one short-long flow (first draw)"},
)
