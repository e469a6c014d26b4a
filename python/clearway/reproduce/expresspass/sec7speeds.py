"""Section 7 says that the feedback assumes hosts of the same link capacity, and that flows of hosts with different
capacities do not share fairly. It shows no measurement.

Chosen here:

* **Hosts around one switch**, 2 us a link, endless flows, all from the start; the second half of 40 ms counts.
* **Lone flows** between hosts of different speeds: what a flow gets over what credits leave it of the slower link.
* **Shared**: four hosts of 10 Gbps and two of 40 Gbps send to one of 100 Gbps. Max-min gives the slow ones all of their
  links and the fast ones the rest. And two pairs over a link of 10 Gbps between two switches: both of hosts with
  10 Gbps, or one of these and one with 40 Gbps. Only in the last case do flows with different max_rate meet, which is
  what the claim speaks of.
* **Credits of 84 to 92 B** (E17-8): with equal sizes two flows over two switches that start together lock each other
  out even between equal hosts.
* **ceiling**: max_rate of Algorithm 1 is that of the receiver's own link (the paper, `own-link`), or that of the path's
  slowest link (`path`, ours).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
from matplotlib.figure import Figure as Picture

from clearway import metrics
from clearway.metrics import jain_index
from clearway.reproduce.claims import Finding, claim, verdict
from clearway.reproduce.figure import Figure, Job, Tables
from clearway.reproduce.look import Look, grid, legend
from clearway.reproduce.measures import CEILING, FRAME, PAYLOAD, binned, cost, data_drops
from clearway.result import Run

#: Name -> link rates of hosts in Gbps, pairs, the max-min fair rates of data in Gbps before credits take their part.
LONE: dict[str, tuple[tuple[int, ...], tuple[tuple[int, int], ...], tuple[float, ...]]] = {
    f"{slow} to {fast}": ((slow, fast), ((0, 1),), (min(slow, fast),))
    for slow, fast in ((10, 10), (10, 40), (10, 100), (40, 100), (40, 10), (100, 10))
}
SHARED = {
    "4 x 10 and 2 x 40 to 100": (
        (10, 10, 10, 10, 40, 40, 100),
        tuple((sender, 6) for sender in range(6)),
        (10.0, 10.0, 10.0, 10.0, 30.0, 30.0),
    ),
    "10 and 10 over 10": ((10, 10, 10, 10), ((0, 2), (1, 3)), (5.0, 5.0)),
    "10 and 40 over 10": ((10, 40, 10, 40), ((0, 2), (1, 3)), (5.0, 5.0)),
}
CASES = {**LONE, **SHARED}
CEILINGS = ("own-link", "path")
END_S = 0.04
#: What two flows are called unfair below: one has 1.6 times what the other has.
UNFAIR = 0.95


def network(case: str) -> dict[str, Any]:
    """Topology and links that differ from it."""
    rates = CASES[case][0]
    if case.endswith("over 10"):
        shape = {"kind": "dumbbell", "pairs": 2, "rate": "10 Gbps", "bottleneck_rate": "10 Gbps"}
        delays = {"delay": "2 us", "bottleneck_delay": "2 us"}
        ends = [("h0", "s0"), ("h1", "s0"), ("h2", "s1"), ("h3", "s1")]
    else:
        shape = {"kind": "star", "hosts": len(rates), "rate": "10 Gbps"}
        delays = {"delay": "2 us"}
        ends = [(f"h{host}", "s0") for host in range(len(rates))]
    links = [{"link": list(end), "rate": f"{rate} Gbps"} for end, rate in zip(ends, rates, strict=True) if rate != 10]
    return {"topology": {**shape, **delays}, **({"link": links} if links else {})}


def jobs(scale: str) -> list[Job]:  # noqa: ARG001
    """Every case under both ceilings."""
    return [
        Job(
            {"case": case, "ceiling": ceiling},
            {
                "name": "sec7speeds",
                "stop": f"{END_S} s",
                **network(case),
                "transport": {"name": "expresspass", "ceiling": ceiling},
                "traffic": [
                    {"name": "flows", "kind": "long", "pairs": [[f"h{a}", f"h{b}"] for a, b in CASES[case][1]]}
                ],
                "sample": [{"name": "goodput", "what": "throughput", "every": f"{END_S / 40} s"}],
            },
        )
        for case in CASES
        for ceiling in CEILINGS
    ]


def measure(job: Job, run: Run) -> Tables:
    """What each flow got of its max-min share in the second half, and credits."""
    names, rates = binned(run, "goodput", END_S / 2, END_S / 2)
    order = sorted(range(len(names)), key=lambda i: int("".join(c for c in names[i] if c.isdigit()) or 0))
    got = [float(rates[i, 0]) * FRAME / PAYLOAD / CEILING / 1e9 for i in order]
    fair = CASES[job.params["case"]][2]
    sent = float(run.flows["credits_sent"].sum())
    row = {
        **cost(run),
        "jain": jain_index([g / f for g, f in zip(got, fair, strict=True)]),
        "credits_dropped": float(run.ports["drops_credit"].sum()) / sent,
        "credit_waste": metrics.credit_waste(run.flows),
        "drops": data_drops(run),
    }
    flows = pl.DataFrame({"flow": list(range(len(got))), "got_gbps": got, "fair_gbps": [float(f) for f in fair]})
    return {"rows": pl.DataFrame([row]), "flows": flows}


def summarise(tables: Tables) -> Tables:
    """A row for each run."""
    share = pl.col("got_gbps") / pl.col("fair_gbps")
    flows = tables["flows"].group_by("case", "ceiling", maintain_order=True)
    ends = flows.agg(share.min().round(3).alias("least_share"), share.max().round(3).alias("largest_share"))
    rows = tables["rows"].select(
        "case",
        "ceiling",
        pl.col("jain").round(3),
        (100 * pl.col("credits_dropped")).round(1).alias("credits_dropped_%"),
        (100 * pl.col("credit_waste")).round(2).alias("wasted_credits_%"),
        "drops",
    )
    return {**tables, "shown": ends.join(rows, on=["case", "ceiling"], maintain_order="left")}


def check(tables: Tables) -> list[Finding]:
    """Not fair, as the paper says."""
    here = claim("expresspass", "sec7-unequal-host-links-unfair")
    rows = tables["shown"].filter((pl.col("ceiling") == "own-link") & pl.col("case").is_in(list(SHARED)))
    jain = dict(zip(rows["case"], rows["jain"], strict=True))
    text = ", ".join(f"{case}: {index:.3f}" for case, index in jain.items())
    unfair = jain["10 and 40 over 10"] < UNFAIR < jain["10 and 10 over 10"]
    note = f"different max_rate: {UNFAIR} or less, equal: more"
    return [Finding(here, f"Jain's index of rates over max-min shares: {text}", verdict(unfair), note)]


def draw(tables: Tables, look: Look) -> dict[str, Picture]:
    """What flows got over their max-min share."""
    picture, axes = grid(1, 2, width=10.0, height=3.2)
    flows = tables["flows"]
    for i, ceiling in enumerate(CEILINGS):
        color = look.color((0, 2)[i])
        for place, cases in zip(axes, (LONE, SHARED), strict=True):
            chosen = flows.filter((pl.col("ceiling") == ceiling) & pl.col("case").is_in(list(cases)))
            shares = (chosen["got_gbps"] / chosen["fair_gbps"]).to_numpy()
            x = np.arange(len(shares)) + (i - 0.5) * 0.4
            place.bar(x, shares, 0.36, color=color, lw=0, label=f'ceiling "{ceiling}"')
    axes[0].set_xticks(range(len(LONE)), list(LONE))
    axes[0].set(title="Lone flow, by sender's and receiver's Gbps", ylabel="rate over max-min share")
    names = [f"{rate}" for case in SHARED.values() for rate in [case[0][pair[0]] for pair in case[1]]]
    axes[1].set_xticks(range(len(names)), names)
    for border in (5.5, 7.5):
        axes[1].axvline(border, color=look.muted, lw=0.8)
    axes[1].set(title="Six flows to 100 Gbps; twice two over 10 Gbps", xlabel="sender's Gbps")
    for place in axes:
        place.axhline(1, color=look.muted, lw=0.8, ls=":")
        place.grid(visible=False, axis="x")
    legend(picture, axes[0], columns=2)
    return {"shares": picture}


READING = """\
* **A fast receiver and a slow sender**: no credit is wasted, since the port towards the sender lets through what its
  link can answer, but the feedback does not settle. Each increase goes w of the way to 1.1 max_rate, and even w_min,
  1 %, is a tenth of a 10 Gbps link if the receiver has 100 Gbps. The lone flow gets 74 % of its share (81 % with a
  receiver of 40 Gbps), and 72 % of its credits are dropped (50 %). No data is lost. The other way around, a fast sender
  and a slow receiver, is as good as equal hosts.
* **With `ceiling = "path"`** a lone flow gets its whole share at every pair of speeds and loses as many credits as
  between equal hosts (8 to 9 %). Nothing else differs, so the cause is max_rate.
* **Flows with different max_rate are not fair**, as the paper says: over 10 Gbps the pair of 40 Gbps hosts takes six
  times what that of 10 Gbps hosts takes (Jain 0.66; two equal pairs: 0.965). With the ceiling both have the same
  max_rate and are fair (0.999).
* **Max-min among senders of different speeds** is not reached either way: the four of 10 Gbps get 56 to 58 % of their
  links (54 to 60 % with the ceiling). With the ceiling the port is nearly full, and the two of 40 Gbps, whose max_rate
  is then larger than the others', take more than their share.
"""

FIGURE = Figure(
    name="expresspass/sec7speeds",
    title="ExpressPass '17, section 7: hosts of different link speeds",
    doc=__doc__,
    jobs=jobs,
    measure=measure,
    summarise=summarise,
    check=check,
    draw=draw,
    shown={"shown": "Rates over max-min shares, and what became of credits."},
    captions={"shares": "Rates of flows over their max-min shares, with hosts of different speeds"},
    reading=READING,
)
