"""Five hosts on one switch, all links of 25 Gbps. Four of them send a long flow each to the fifth, the first at once
and each further one 50 ms later. From 200 ms on they stop one by one, 50 ms apart. The paper shows the throughput of
the flows under HPCC and PACC, and says that PACC is fairer, quick to take and to give, and that HPCC's flows do not
reach their fair share, also for the 5 % that its telemetry takes.

Both scales run the paper's 400 ms, which take seconds.

Unstated, and chosen here:

* **Links** of 1 us (the paper calls the star a "dumbbell", PACC-17). HPCC's `base_rtt` is 4.64 us, computed as for the
  tree.
* **Who stops first**: the flow that started first.
* **Throughput** is that of payload, in samples of 1 ms. The fair share is what 25 Gbps carry of payload in frames of
  1,048 B, 23.9 Gbps, divided by the flows that are active. For HPCC its own share is shown too: 95 % of the link (its
  target), frames of 1,090 B: 21.8 Gbps.
* **Deviation from the fair share**: mean over all samples and active flows of the absolute difference, in Gbps; Jain's
  index of the active flows beside it. The first sample after a change is left out.
* **Quick**: the paper says that PACC's flows "quickly" take and give bandwidth. Measured is the time from a change
  until all active flows have converged to their share (for HPCC, to its own share), by [the one
  criterion](../verdicts.md#when-flows-have-converged) in windows of 1 ms. What counts is that they do so before the
  next change, 50 ms later, at each of the seven changes.
* **Nothing is drawn at random** but DCQCN's marks, which decide no verdict; so each scheme has one run.
"""

from __future__ import annotations

import math

import numpy as np
import polars as pl
from matplotlib.figure import Figure as Picture

from clearway.metrics import jain_index
from clearway.reproduce import judge
from clearway.reproduce.claims import Finding, claim
from clearway.reproduce.convergence import Joining
from clearway.reproduce.figure import Figure, Job, Tables
from clearway.reproduce.look import Look, grid, legend
from clearway.reproduce.pacc.burst import ALPHA
from clearway.reproduce.pacc.setup import (
    ABOUT_SETUP,
    FRAME,
    FRAME_HPCC,
    PAYLOAD,
    PRINT,
    READING,
    TRANSPORTS,
    VARIANTS,
    scenario,
)
from clearway.reproduce.quantities import Floats, binned, data_drops
from clearway.result import Run

FLOWS, STEP_MS = 4, 50
STAR = {"kind": "star", "hosts": FLOWS + 1, "rate": "25 Gbps", "delay": "1 us"}
BASE_RTT = "4.64 us"
LINE_GBPS = 25.0
TARGET = 0.95
BOTTLENECK = "s0->h4"

HPCC = TRANSPORTS["hpcc"] | {"base_rtt": BASE_RTT}
PACC = TRANSPORTS["pacc"]
WINDOW = {"windowing": "rate", "base_rtt": BASE_RTT}
SCHEMES = {
    "hpcc": HPCC,
    "pacc": PACC,
    "dcqcn": TRANSPORTS["dcqcn"],
    "timely": TRANSPORTS["timely"],
    "hpcc, hpcc-ns3": VARIANTS["hpcc, hpcc-ns3"] | {"base_rtt": BASE_RTT},
    "pacc, hpcc-ns3": VARIANTS["pacc, hpcc-ns3"],
    "pacc, T_i 55 us": VARIANTS["pacc, T_i 55 us"],
    "pacc, print": PRINT,
    "pacc, window": PACC | WINDOW,
    "rocev2, window": {"name": "rocev2", "window": "14500 B"},
    "hpcc, no window": HPCC | {"windowing": "none"},
    "hpcc, 80 B": {"name": "hpcc", "max_stage": 5, "base_rtt": BASE_RTT},
    "hpcc, no stages": HPCC | {"max_stage": 0},
    "hpcc, telemetry in fields": HPCC | {"telemetry": "fields"},
    "hpcc, increment 40 Mbps": HPCC | {"ai": "40 Mbps"},
    "pacc, alpha from start": PACC | ALPHA,
    "pacc, rounding to nearest": PACC | {"rounding": "nearest"},
    "pacc, incremental": PACC | {"form": "incremental"},
    "pacc, increments not scaled": PACC | {"increments_at": "0 bps"},
}
#: PACC and HPCC under the readings that change one of them.
UNDER = {
    "PACC-18": ("pacc, T_i 55 us", "hpcc"),
    "PACC-23": ("pacc, window", "hpcc"),
    "PACC-25": ("pacc, hpcc-ns3", "hpcc, hpcc-ns3"),
    "PACC-26": ("pacc", "hpcc, no window"),
}


def jobs(_: str) -> list[Job]:
    """Each scheme once: nothing is drawn at random but marks."""
    flows = [
        {
            "src": f"h{index}",
            "dst": f"h{FLOWS}",
            "start": f"{STEP_MS * index} ms",
            "stop": f"{STEP_MS * (4 + index)} ms",
        }
        for index in range(FLOWS)
    ]
    samples = [
        {"name": "throughput", "what": "throughput", "traffic": "long", "every": "1 ms"},
        {"name": "queue", "what": "queue", "ports": [BOTTLENECK], "every": "100 us"},
    ]
    return [
        Job(
            {"transport": name},
            scenario(
                transport,
                [{"name": "long", "kind": "flows", "list": flows}],
                topology=STAR,
                stop=f"{STEP_MS * 2 * FLOWS} ms",
                sample=samples,
            ),
        )
        for name, transport in SCHEMES.items()
    ]


def active(step: int) -> range:
    """The flows that send in a step of 50 ms."""
    return range(max(0, step - FLOWS + 1), min(FLOWS, step + 1))


def settled(rates: Floats, share: float) -> float:
    """The milliseconds after which all rates, one a millisecond in Gbps, have converged to the share."""
    packets_per_s = share * 1e9 / (8 * PAYLOAD)
    found = Joining(rates / share, 1e-3, 0.0, packets_per_s).held(1e-3) * 1e3
    return math.inf if math.isnan(found) else found


def measure(job: Job, run: Run) -> Tables:
    """Deviation, Jain's index and totals in each step; the series."""
    _, rates = binned(run, "throughput", 0.0, 1e-3)
    rates = rates / 1e9
    full = LINE_GBPS * PAYLOAD / FRAME
    own = TARGET * LINE_GBPS * PAYLOAD / FRAME_HPCC if job.params["transport"].startswith("hpcc") else full
    queue = run.samples.filter(pl.col("series") == "queue")
    rows = []
    for step in range(2 * FLOWS - 1):
        who = list(active(step))
        part = rates[who, step * STEP_MS : (step + 1) * STEP_MS]
        inside = (queue["time_s"] > step * STEP_MS * 1e-3) & (queue["time_s"] <= (step + 1) * STEP_MS * 1e-3)
        rows.append(
            {
                "step": step + 1,
                "flows": len(who),
                "deviation_gbps": float(np.abs(part[:, 1:] - full / len(who)).mean()),
                "own_deviation_gbps": float(np.abs(part[:, 1:] - own / len(who)).mean()),
                "jain": float(np.mean([jain_index(column) for column in part[:, 1:].T])),
                "total_gbps": float(part[:, 1:].sum(axis=0).mean()),
                "settles_ms": settled(part, own / len(who)),
                "queue_kb": float(queue.filter(inside)["value"].mean()) / 1e3,  # type: ignore[arg-type]
                "drops": data_drops(run),
            }
        )
    series = {"time_ms": np.arange(rates.shape[1]) + 0.5} | {f"flow{index + 1}": rates[index] for index in range(FLOWS)}
    return {"rows": pl.DataFrame(rows), "series": pl.DataFrame(series)}


def summarise(tables: Tables) -> Tables:
    """A row for each scheme."""
    shown = []
    for name in SCHEMES:
        part = of(tables["rows"], name)
        four = part.filter(pl.col("flows") == FLOWS)
        shared = part.filter(pl.col("flows") > 1)
        shown.append(
            {
                "transport": name,
                "deviation from the fair share (Gbps)": float(shared["deviation_gbps"].mean()),  # type: ignore[arg-type]
                "from its own share (Gbps)": float(shared["own_deviation_gbps"].mean()),  # type: ignore[arg-type]
                "Jain, mean": float(shared["jain"].mean()),  # type: ignore[arg-type]
                "Jain, least": float(shared["jain"].min()),  # type: ignore[arg-type]
                "Jain of four": float(four["jain"].item()),
                "all flows (Gbps)": float(part["total_gbps"].mean()),  # type: ignore[arg-type]
                "settles in (ms), worst": float(part["settles_ms"].max()),  # type: ignore[arg-type]
                "steps settled": int((part["settles_ms"] < math.inf).sum()),
                "queue with four (KB)": float(four["queue_kb"].item()),
            }
        )
    return {**tables, "shown": pl.DataFrame(shown)}


def settles(value: float) -> str:
    """A time in ms, or `more than 50`."""
    return f"{value:.0f}" if math.isfinite(value) else f"more than {STEP_MS}"


def of(rows: pl.DataFrame, name: str) -> pl.DataFrame:
    """The rows of a scheme."""
    return rows.filter(pl.col("transport") == name)


def changes(tables: Tables, name: str) -> str:
    """The time after each change until a scheme settles."""
    times = of(tables["rows"], name)["settles_ms"]
    joined, left = ([settles(value) for value in part] for part in (times[1:FLOWS], times[FLOWS:]))
    return f"shares of 2, 3, 4 flows after {', '.join(joined)} ms, of 3, 2, 1 after {', '.join(left)} ms"


def check(tables: Tables) -> list[Finding]:
    """The verdicts on the figure's claims."""
    shown = {row["transport"]: row for row in tables["shown"].to_dicts()}
    far, own, jain = "deviation from the fair share (Gbps)", "from its own share (Gbps)", "Jain, mean"
    settled = "settles in (ms), worst"
    hpcc, pacc = shown["hpcc"], shown["pacc"]
    text = (
        f"deviation: PACC {pacc[far]:.2f}, HPCC {hpcc[far]:.2f} Gbps ({hpcc[own]:.2f} from its own share); Jain "
        f"{pacc[jain]:.3f} and {hpcc[jain]:.3f}"
    )

    def quantities(names: tuple[str, str]) -> dict[str, judge.Measured]:
        ours, theirs = (shown[name] for name in names)
        return {
            "deviation over HPCC's": ours[far] / theirs[far],
            "Jain over HPCC's": ours[jain] / theirs[jain],
            "slowest change": ours[settled],
            "HPCC's slowest change": theirs[settled],
        }

    fair = judge.judge(
        claim("pacc", "fig06-fairness-long-flows"),
        quantities(("pacc", "hpcc")),
        text=text,
        note="cause: increments of 50 Mbps each 300 us where flows leave; "
        f"{changes(tables, 'pacc')}; HPCC settles in {hpcc['steps settled']} of 7 steps; the window without "
        f"congestion control is {shown['rocev2, window'][far]:.2f} Gbps from the fair share",
        reading=READING,
        readings={name: quantities(pair) for name, pair in UNDER.items()},
    )
    used = hpcc["all flows (Gbps)"] / (LINE_GBPS * PAYLOAD / FRAME)
    note = (
        f"what all flows together are short of the {100 * TARGET:.0f} % that HPCC aims at; of what the link could "
        f"carry they are {100 * (1 - used):.1f} % short"
    )
    overhead = {"value": 100 * (1 - used / TARGET), "all flows over the link": used}
    return [
        fair,
        judge.judge(claim("pacc", "fig06-hpcc-int-overhead"), overhead, form=".2f", note=note, reading=READING),
    ]


def facts(tables: Tables) -> dict[str, object]:
    """Numbers that the prose names."""
    named: dict[str, object] = {}
    for row in tables["shown"].to_dicts():
        key = row["transport"].replace(", ", "_").replace(" ", "_").replace("-", "_")
        named |= {
            f"{key}_far": row["deviation from the fair share (Gbps)"],
            f"{key}_jain": row["Jain, mean"],
            f"{key}_jain4": row["Jain of four"],
            f"{key}_queue4": row["queue with four (KB)"],
            f"{key}_steps": row["steps settled"],
        }
        times = of(tables["rows"], row["transport"])["settles_ms"]
        named[f"{key}_joins"] = ", ".join(settles(value) for value in times[1:FLOWS])
        named[f"{key}_leaves"] = ", ".join(settles(value) for value in times[FLOWS:])
    queues = of(tables["rows"], "pacc")["queue_kb"].to_list()
    named["queue_2"], named["queue_3"] = queues[1], queues[2]
    named["overhead"] = 100 * (1 - FRAME / FRAME_HPCC)
    total = next(row["all flows (Gbps)"] for row in tables["shown"].to_dicts() if row["transport"] == "hpcc")
    named["hpcc_short"] = 100 * (1 - total / (TARGET * LINE_GBPS * PAYLOAD / FRAME))
    named["hpcc_lost"] = 100 * (1 - total / (LINE_GBPS * PAYLOAD / FRAME))
    return named


def draw(tables: Tables, look: Look) -> dict[str, Picture]:
    """Throughput of each flow."""
    names = ("hpcc", "pacc", "pacc, print", "pacc, window")
    picture, axes = grid(2, 2, height=2.5, sharex=True, sharey=True)
    for panel, name in zip(axes, names, strict=True):
        part = of(tables["series"], name)
        for index in range(FLOWS):
            sends = (part["time_ms"] > index * STEP_MS) & (part["time_ms"] < (index + FLOWS) * STEP_MS + 1)
            line = part.filter(sends)
            label = f"flow {index + 1}"
            panel.plot(line["time_ms"], line[f"flow{index + 1}"], color=look.color(index), lw=1.3, label=label)
        steps = np.arange(2 * FLOWS) * STEP_MS
        share = LINE_GBPS * PAYLOAD / FRAME / np.asarray([len(active(step)) for step in range(2 * FLOWS - 1)])
        panel.stairs(share, steps, baseline=None, color=look.muted, lw=0.9, ls=":")
        panel.set_title(name, fontsize=11.5)
        panel.set_ylim(0, 26)
    for panel in axes[2:]:
        panel.set_xlabel("time in ms")
    for panel in (axes[0], axes[2]):
        panel.set_ylabel("throughput in Gbps")
    legend(picture, axes[0], 4)
    return {"flows": picture}


FIGURE = Figure(
    name="pacc/fig06",
    title="PACC, Fig. 6: four flows come and go",
    doc=__doc__ + "\n" + ABOUT_SETUP,
    jobs=jobs,
    measure=measure,
    summarise=summarise,
    check=check,
    facts=facts,
    draw=draw,
    claims=("fig06-fairness-long-flows", "fig06-hpcc-int-overhead"),
    shown={
        "shown": "Means over the steps with two flows and more; the total and settling over all seven.",
        "rows": "Each step.",
    },
    captions={"flows": "Payload of each flow (1 ms); dotted: the fair share"},
)
