"""Claims of HotNets'16 that follow from its text by calculation: shares, the ramp-up of a lone flow, the argument for
fairness, the number of flows of a shuffle, and how many bytes of the last frame of a flow stay empty.

* **Fragmentation** (sec. 4): the paper's workloads as in the authors' files. A flow's last frame carries what is left
  of it over 1,460 B; the mean of what stays empty is computed for sizes drawn from straight lines between the points.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from clearway import _clearway
from clearway.reproduce import judge
from clearway.reproduce.claims import Finding, claim
from clearway.reproduce.figure import Figure, Tables, no_jobs, no_measure
from clearway.reproduce.quantities import CREDIT, FRAME, PAYLOAD

WORKLOADS = {"data mining": "data-mining", "web search": "web-search"}


def summarise(_: Tables) -> Tables:
    """Bytes of the last frame that stay empty, by workload; the ramp-up; the ratio of two flows."""
    empty = [{"workload": name, **fragmentation(name)} for name in WORKLOADS]
    ramp = [{"round_trips": n, "share_of_max_rate": 1 - 0.5**n} for n in range(8)]
    ratios = []
    for r in (0.05, 0.25, 0.5, 0.75, 0.95):
        for total in (0.25, 0.5, 1.0):
            slow, fast = r * total / (1 + r), total / (1 + r)
            ratios.append({"ratio": r, "sum": total, "ratio_after_an_increase": (slow + 1) / (fast + 1)})
    return {"empty": pl.DataFrame(empty), "ramp": pl.DataFrame(ramp), "ratios": pl.DataFrame(ratios)}


def fragmentation(name: str) -> dict[str, float]:
    """The mean of the bytes that a flow's last frame could still carry, and their share of the mean flow."""
    known = {one["name"]: one for one in _clearway.workloads()}[WORKLOADS[name]]
    points = np.asarray(known["points"], dtype=float)
    # Sizes at evenly spaced probabilities: a million of them, the same every time.
    sizes = np.interp((np.arange(1_000_000) + 0.5) / 1e6, points[:, 1], points[:, 0]).round()
    empty = float(np.mean(-sizes % PAYLOAD))
    return {"bytes": empty, "share": 100 * empty / float(known["mean_bytes"])}


def check(tables: Tables) -> list[Finding]:
    """The verdicts on the figure's claims."""
    share = CREDIT / (CREDIT + FRAME)
    empty = {row["workload"]: row for row in tables["empty"].to_dicts()}
    ramp = 100 * float(tables["ramp"]["share_of_max_rate"][4])
    ratios = tables["ratios"]
    after, before = (ratios[name].to_numpy() for name in ("ratio_after_an_increase", "ratio"))
    argued = {"after over before": float((after / before).min()), "after": float(after.max())}
    here = claim("hotnets", "sec4-internal-fragmentation")
    values = {case: empty[case.split("/")[0]][case.split("/")[1]] for case in here.cases}
    return [
        judge.arithmetic(
            claim("hotnets", "sec21-credit-rate-share"), {"credit": 100 * share, "data": 100 * (1 - share)}
        ),
        judge.arithmetic(
            claim("hotnets", "sec22-ramp-up-4-rtts"), ramp, note="from rate zero; a first rate only shortens it"
        ),
        judge.arithmetic(
            claim("hotnets", "sec22-convergence-argument"), argued, note=f"the extremes of {ratios.height} cases"
        ),
        judge.arithmetic(claim("hotnets", "fig08-shuffle-flow-count"), 39 * 8 * 8),
        judge.arithmetic(
            claim("hotnets", "sec33-topology-max-rtt"), 2 * 6 * 4.0 + 4 * 1.0, note="2 x 6 links x 4 us + 4 x 1 us"
        ),
        judge.judge(
            here,
            values,
            reading="the authors' files",
            note="payload of 1,460 B a frame",
            cause=judge.Calculation(
                "The printed 745 B are 0.045 % of the mean flow of 1.65 MB; the paper prints 0.04 %."
            ),
        ),
    ]


def facts(tables: Tables) -> dict[str, object]:
    """The numbers that the prose names."""
    empty = {row["workload"]: row["bytes"] for row in tables["empty"].to_dicts()}
    return {"mining": empty["data mining"], "search": empty["web search"], "ramp": tables["ramp"].row(4)[1]}


FIGURE = Figure(
    name="hotnets/text",
    title="ExpressPass '16: what follows from its text",
    doc=__doc__ or "",
    jobs=no_jobs,
    measure=no_measure,
    summarise=summarise,
    check=check,
    facts=facts,
    draw=lambda *_: {},
    claims=(
        "sec21-credit-rate-share",
        "sec22-ramp-up-4-rtts",
        "sec22-convergence-argument",
        "fig08-shuffle-flow-count",
        "sec33-topology-max-rtt",
        "sec4-internal-fragmentation",
    ),
    shown={
        "empty": "Bytes of a flow's last frame that stay empty, and their share of the mean flow in per cent.",
        "ramp": "A lone flow that starts at rate zero.",
        "ratios": "The ratio of two flows before and after an increase, by the sum of their rates.",
    },
)
