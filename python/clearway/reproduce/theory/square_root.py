"""Sixteen New Reno flows cross a link that loses each packet of data with probability p and is far too fast to queue.
Theory says that each delivers (MSS / RTT) C / sqrt(p) while no timeouts occur. C is 1.22 if losses are periodic, and
1.31 if they are random and every segment is acknowledged (Mathis et al. 1997; their table is quoted from knowledge).

Chosen here:

* **Network**: 10 Gbps hosts, 100 Gbps between the switches, 1 ms there and back; acknowledgements are not lost.
* **Time**: 6 s (quick: 1 s), the first half left out, so that the windows of slow start are forgotten.
* **Seeds**: five, as losses are drawn at random.
* **Timeouts**: only flows without any count; the table says how many those are. From p = 1 % on windows are so small
  that losses end in timeouts, which the law does not cover.
* CUBIC is beside it: at windows this small it should follow New Reno (its TCP-friendly region, RFC 9438).
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
from clearway.reproduce.quantities import binned
from clearway.reproduce.stats import SEEDS, Estimate
from clearway.result import Run

LOSSES = (0.0003, 0.001, 0.003, 0.01, 0.03)
#: Beyond these, flows have timeouts.
COVERED = 0.003
TRANSPORTS = ("newreno", "cubic")
COLORS = own("newreno", "cubic")
FLOWS = 16
STOP_S = {"quick": 1, "paper": 6}
#: Round trip of a full frame and its acknowledgement through the idle network, in seconds.
RTT_S = 1e-3 + 2 * 1538 * 8 / 10e9 + 1538 * 8 / 100e9 + 84 * 8 * (2 / 10e9 + 1 / 100e9)
RANDOM, PERIODIC = 1.31, 1.22


def jobs(scale: str) -> list[Job]:
    """Every transport and probability."""
    return [
        Job(
            {"transport": name, "p": p, "half_s": STOP_S[scale] / 2, "seed": seed},
            {
                "name": "square-root",
                "seed": seed,
                "stop": f"{STOP_S[scale]} s",
                "topology": {
                    "kind": "dumbbell",
                    "pairs": FLOWS,
                    "rate": "10 Gbps",
                    "delay": "125 us",
                    "bottleneck_rate": "100 Gbps",
                    "bottleneck_delay": "250 us",
                },
                "switch": {"buffer": "unlimited"},
                "transport": {"name": name},
                "traffic": [{"name": "flows", "kind": "long", "spread": "10 ms"}],
                "loss": [{"link": ["s0", "s1"], "probability": p, "direction": "forward"}],
                "sample": [{"name": "throughput", "what": "throughput", "every": "100 ms"}],
            },
        )
        for name in TRANSPORTS
        for p in LOSSES
        for seed in SEEDS
    ]


def measure(job: Job, run: Run) -> Tables:
    """The mean rate of the flows without timeouts, of all, and how many the former are."""
    names, rates = binned(run, "throughput", job.params["half_s"], job.params["half_s"])
    calm = {f"flows/{row['flow']}" for row in run.flows.iter_rows(named=True) if row["timeouts"] == 0}
    of = dict(zip(names, rates[:, 0], strict=True))
    without = [float(rate) for name, rate in of.items() if name in calm]
    row = {
        "calm_flows": len(without),
        "rate_bps": float(np.mean(without)) if without else float("nan"),
        "rate_of_all_bps": float(np.mean(list(of.values()))),
        "timeouts": int(run.flows["timeouts"].sum()),
    }
    return {"rows": pl.DataFrame([row])}


def law(p: float, c: float = RANDOM) -> float:
    """The rate that the law gives, in bits per second."""
    return float(1460 * 8 / RTT_S * c / p**0.5)


def summarise(tables: Tables) -> Tables:
    """Rates over those of the law, means over seeds."""
    rows = tables["rows"].with_columns(
        (pl.col("rate_bps") / pl.col("p").map_elements(law, return_dtype=pl.Float64)).alias("over"),
        (pl.col("rate_of_all_bps") / pl.col("p").map_elements(law, return_dtype=pl.Float64)).alias("all_over"),
    )
    shown = [
        {
            "transport": name,
            "p": p,
            "calm_flows": float(part["calm_flows"].to_numpy().mean()),
            "timeouts": float(part["timeouts"].to_numpy().mean()),
            "Mbps": round(float(part["rate_bps"].to_numpy().mean()) / 1e6, 1),
            "over_the_law": over(rows, str(name), float(p)).text(".3f"),
            "all_flows_over_the_law": over(rows, str(name), float(p), "all_over").text(".3f"),
        }
        for (name, p), part in rows.group_by("transport", "p", maintain_order=True)
    ]
    return {**tables, "rows": rows, "shown": pl.DataFrame(shown)}


def over(rows: pl.DataFrame, name: str, p: float, column: str = "over") -> Estimate:
    """The rate over that of the law."""
    part = rows.filter((pl.col("transport") == name) & (pl.col("p") == p))
    return stats.estimate([float(value) for value in part[column]])


def check(tables: Tables) -> list[Finding]:
    """The law, at the probability at which the rate is farthest from it."""
    rows = tables["rows"]
    each = {p: over(rows, "newreno", p) for p in LOSSES if p <= COVERED}
    p, worst = max(each.items(), key=lambda one: abs(one[1].mean - 1))
    note = f"at p = {p:g}, the farthest; others: " + ", ".join(
        f"{value.mean:.2f} at p = {other:g}" for other, value in each.items() if other != p
    )
    return [judge.judge(claim("theory", "square-root-law"), worst, form=".3f", note=note)]


def facts(tables: Tables) -> dict[str, object]:
    """Numbers that the prose names."""
    rows = tables["rows"]
    law_ = [over(rows, "newreno", p).mean for p in LOSSES if p <= COVERED]
    cubic = [over(rows, "cubic", p).mean for p in LOSSES if p <= COVERED]
    return {
        "least": min(law_),
        "most": max(law_),
        "least_periodic": min(law_) * RANDOM / PERIODIC,
        "most_periodic": max(law_) * RANDOM / PERIODIC,
        "cubic_least": min(cubic),
        "cubic_most": max(cubic),
        "beyond": over(rows, "newreno", 0.01, "all_over").mean,
    }


def draw(tables: Tables, look: Look) -> dict[str, Picture]:
    """Rates and the law."""
    picture, (place,) = grid(1, 1, width=5.8, height=3.4)
    p = np.geomspace(LOSSES[0] / 1.3, LOSSES[-1] * 1.3, 50)
    rates = np.array([law(float(x)) for x in p]) / 1e6
    place.fill_between(p, rates * 0.8, rates * 1.2, color=look.muted, alpha=0.18, lw=0)
    place.plot(p, rates, color=look.muted, lw=1.2, label="1.31 / sqrt(p), within 20 %")
    for name in TRANSPORTS:
        part = tables["rows"].filter(pl.col("transport") == name)
        part = part.group_by("p", maintain_order=True).agg(pl.col("rate_of_all_bps").mean())
        line = {**look.line(COLORS[name]), "ls": ""}
        place.plot(part["p"], part["rate_of_all_bps"] / 1e6, label=name, ms=6, **line)
    place.set(xscale="log", yscale="log", xlabel="probability of loss p", ylabel="rate of a flow (Mbps)")
    place.set_xticks(LOSSES, [f"{100 * x:g} %" for x in LOSSES])
    place.yaxis.set_major_formatter(lambda y, _: f"{y:g}")
    place.set_yticks([50, 100, 200, 500, 1000])
    place.minorticks_off()
    legend(picture, place, columns=3)
    return {"rate": picture}


FIGURE = Figure(
    name="theory/square-root",
    title="TCP under random loss and the square-root law",
    doc=__doc__,
    jobs=jobs,
    measure=measure,
    summarise=summarise,
    check=check,
    facts=facts,
    draw=draw,
    claims=("square-root-law",),
    shown={"shown": "Rates, and those over the law with C = 1.31."},
    captions={"rate": "Rate of a flow (all flows, those with timeouts included) against the probability of loss"},
)
