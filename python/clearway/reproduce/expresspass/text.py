"""Claims of ExpressPass '17 that follow from its text, its constants or its formulas by calculation, and those about
its hardware, which a simulator has no counterpart of. Nothing is simulated here: the numbers come from the units,
the topologies, the distributions of flow sizes and the model of section 4 that the rest of Clearway uses.

* **Sizes**: a credit of 84 B, a full frame of 1,538 B, both with preamble and gap.
* **Section 4**: N flows with synchronised updates of Algorithm 1 as sec. 4 models it (`clearway plan stability
  expresspass`), from three first rates, for 3 to 100 flows. N = 2 with `w_min` 0.01 does not settle (E17-4).
* **Table 2**: the shares of our distributions, which are those of the authors' files, within the paper's classes. The
  averages are the constants of the authors' scripts.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import polars as pl

from clearway import _clearway
from clearway.plan.expresspass import Parameters, trajectory
from clearway.reproduce import judge
from clearway.reproduce.claims import Finding, claim
from clearway.reproduce.figure import Figure, Tables, no_jobs, no_measure
from clearway.reproduce.quantities import CREDIT, FRAME

FLOWS = (3, 4, 8, 16, 32, 100)
FIRST_RATES = (1.0, 0.5, 1 / 16)
PERIODS = 400
#: Links between two hosts of one ToR, and of two pods, in a three-layer fat tree.
NEAR, FAR = 2, 6
CLASSES = {"S": (0, 10e3), "M": (10e3, 100e3), "L": (100e3, 1e6), "XL": (1e6, math.inf)}
WORKLOADS = {
    "Data Mining": "data-mining",
    "Web Search": "web-search",
    "Cache Follower": "cache-follower",
    "Web Server": "web-server",
}


def summarise(_: Tables) -> Tables:
    """The model of section 4, and the shares of the classes of flow sizes."""
    rows = []
    for flows in FLOWS:
        for alpha in FIRST_RATES:
            parameters = Parameters(flows=flows, alpha=alpha, w_init=0.5)
            found = trajectory(parameters, PERIODS, "newcomer")
            decreases = np.flatnonzero(~found.increased[1:]) + 1
            last = int(decreases[-1])
            rows.append(
                {
                    "flows": flows,
                    "first_rate": alpha,
                    "even_over_C/N": float(np.max(found.rates[last]) / parameters.fair),
                    "odd_over_eq._(6)": float(np.max(found.rates[last - 1]) / parameters.odd),
                    "step_over_D*": float(np.max(found.steps[last - 1]) / parameters.d_star),
                    "first_step_over_D*": float(np.max(found.steps[: last // 4]) / parameters.d_star),
                }
            )
    return {"section4": pl.DataFrame(rows), "sizes": pl.DataFrame([sizes(name) for name in WORKLOADS])}


def sizes(workload: str) -> dict[str, Any]:
    """The share of each class in per cent, and the mean in KB, of a distribution of flow sizes."""
    known = {one["name"]: one for one in _clearway.workloads()}[WORKLOADS[workload]]
    points = np.asarray(known["points"], dtype=float)
    below = [float(np.interp(edge, points[:, 0], points[:, 1])) for _, edge in list(CLASSES.values())[:-1]]
    edges = [0.0, *below, 1.0]
    shares = {name: 100 * (edges[i + 1] - edges[i]) for i, name in enumerate(CLASSES)}
    return {"workload": workload, **shares, "average_KB": known["mean_bytes"] / 1e3, "largest_MB": points[-1, 0] / 1e6}


def check(tables: Tables) -> list[Finding]:
    """The verdicts on the figure's claims."""
    return [*arithmetic(), *workloads(tables), *networks(), *section4(tables["section4"]), *hardware()]


def facts(tables: Tables) -> dict[str, object]:
    """The numbers that the prose names."""
    table = tables["section4"]
    table2 = claim("expresspass", "table2-flow-size-distribution")
    by_size = {row["workload"]: row for row in tables["sizes"].to_dicts()}
    off = [
        abs(by_size[case.split("/")[0]][case.split("/")[1]] - table2.number(case))
        for case in table2.cases
        if not case.endswith("average_KB")
    ]
    return {
        "even_off": float(np.max(np.abs(table["even_over_C/N"].to_numpy() - 1))),
        "odd_off": float(np.max(np.abs(table["odd_over_eq._(6)"].to_numpy() - 1))),
        "step_off": float(np.max(np.abs(table["step_over_D*"].to_numpy() - 1))),
        "share_off": max(off),
    }


def arithmetic() -> list[Finding]:
    """The verdicts that follow from sizes, rates and distances in sections 2 and 3."""
    share = CREDIT / (CREDIT + FRAME)
    gap_ns = 8 * (CREDIT + FRAME) / 10
    bdp = {rate: float(rate.split()[0]) * 1e9 * 50e-6 / 8 / 1500 for rate in ("100 Gbps", "10 Gbps")}
    defaults = {one["name"]: one["default"] for one in transport("expresspass")["parameters"]}
    return [
        judge.arithmetic(
            claim("expresspass", "sec2-fat-tree-path-length"),
            {"min": 2.0 * NEAR, "max": 2.0 * FAR},
            note="links there and back",
        ),
        judge.arithmetic(claim("expresspass", "sec2-subpacket-flow-count"), bdp, note="BDP / 1,500 B"),
        judge.arithmetic(
            claim("expresspass", "sec31-credit-rate-share"), {"credit": 100 * share, "data": 100 * (1 - share)}
        ),
        judge.given(
            claim("expresspass", "sec31-peak-credit-spacing"),
            "the gap follows from the sizes of a credit and a frame; the depth of the token bucket is given (`bucket`)",
            measured=f"gap {(gap_ns - 8 * CREDIT / 10) / (8 * FRAME / 10):.3g} MTU, "
            f"{bucket(defaults) / CREDIT:g} credits",
        ),
        judge.given(
            claim("expresspass", "sec31-credit-queue-carving"),
            "the size of the credit queue is given (`credit_queue`)",
            measured=f"{defaults['credit_queue']} credits",
        ),
        judge.arithmetic(claim("expresspass", "fig06a-jitter-in-ns"), {"0.01": 0.01 * gap_ns, "0.08": 0.08 * gap_ns}),
        judge.given(
            claim("expresspass", "sec32-w-min"),
            "the limits of w are given (`w_min`, `w_max`)",
            measured=f"w_min {defaults['w_min']}, w_max {defaults['w_max']}",
        ),
    ]


def workloads(tables: Tables) -> list[Finding]:
    """The verdicts on the sizes of flows in section 6.3, by the authors' files."""
    by_size = {row["workload"]: row for row in tables["sizes"].to_dicts()}
    table2 = claim("expresspass", "table2-flow-size-distribution")
    shares = {case: by_size[case.split("/")[0]][case.split("/")[1]] for case in table2.cases}
    largest = {name: by_size[name]["largest_MB"] for name in ("Data Mining", "Web Search")}
    return [
        judge.contradiction(
            table2,
            "the classes S to XL cover all sizes, so the shares of a workload add up to 100 %; those of Web Search add "
            "up to 49 + 3 + 18 + 20 = 90 % (E17-20)",
            measured="the authors' files: " + ", ".join(f"{case} {value:.3g}" for case, value in shares.items()),
        ),
        judge.given(
            claim("expresspass", "sec63-flow-size-caps"),
            "the distributions of flow sizes are given by the authors' files",
            measured=", ".join(f"{name}: {value:.3g} MB" for name, value in largest.items()),
        ),
    ]


def networks() -> list[Finding]:
    """The verdicts that follow from the rates, distances and buffers of section 6.3."""
    credits_per_bdp = 100e-6 * 10e9 / 8 / (CREDIT + FRAME)
    return [
        judge.arithmetic(
            claim("expresspass", "sec63-topology-max-rtt"),
            2 * FAR * 4.0 + 4 * 1.0,
            note="2 x 6 links x 4 us + 4 x 1 us",
        ),
        judge.arithmetic(
            claim("expresspass", "sec63-queue-capacities"),
            {"10 Gbps": 250 * FRAME / 1e3, "40 Gbps": 1000 * FRAME / 1e3},
        ),
        judge.arithmetic(
            claim("expresspass", "sec63-credit-waste-worst-case"),
            (credits_per_bdp - 1) / credits_per_bdp,
            note="credits of one RTT of 100 us at 10 Gbps, but for the one that is used, over those of one BDP",
        ),
    ]


def bucket(defaults: dict[str, str]) -> float:
    """The depth of the token bucket in bytes."""
    return float(defaults["bucket"].split()[0])


def transport(name: str) -> dict[str, Any]:
    """The entry of a transport in the registry."""
    return next(dict(one) for one in _clearway.transports() if one["name"] == name)


def section4(table: pl.DataFrame) -> list[Finding]:
    """The fixed points of the discrete model."""
    even, odd = table["even_over_C/N"].to_numpy(), table["odd_over_eq._(6)"].to_numpy()
    step, first = table["step_over_D*"].to_numpy(), table["first_step_over_D*"].to_numpy()
    worst = float(even[np.argmax(np.abs(even - 1))])
    runs = f"N from {min(FLOWS)} to {max(FLOWS)}, {len(FIRST_RATES)} first rates"
    default = Parameters(8).d_star
    shrinks: dict[str, judge.Measured] = {
        "last step over D*, least": float(step.min()),
        "last step over D*, most": float(step.max()),
        "first over last step": float(np.min(first / step)),
        "D* at half of w_min": Parameters(8, w_min=0.005).d_star / default,
        "D* at half of target_loss": Parameters(8, target_loss=0.05).d_star / default,
        "periods at half of w_min": settled(0.005) / settled(0.01),
    }
    rates: dict[str, judge.Measured] = {
        "rate over (6), least": float(odd.min()),
        "rate over (6), most": float(odd.max()),
    }
    return [
        judge.arithmetic(claim("expresspass", "eq05-even-period-fixed-point"), worst, note=f"the worst of {runs}"),
        judge.arithmetic(claim("expresspass", "eq06-odd-period-fixed-point"), rates, note=runs),
        judge.arithmetic(claim("expresspass", "fig12-steady-state-oscillation"), shrinks, note=runs),
    ]


def settled(w_min: float) -> int:
    """The periods after which the step of a newcomer among eight flows is D* for good."""
    parameters = Parameters(8, w_min=w_min, w_init=0.5)
    steps = trajectory(parameters, PERIODS, "newcomer").steps
    largest = steps.reshape(len(steps), -1).max(axis=1)
    slack = claim("expresspass", "fig12-steady-state-oscillation").tolerance
    return int(np.flatnonzero(largest > (1 + slack) * parameters.d_star)[-1]) + 1


def hardware() -> list[Finding]:
    """The verdicts on claims about hardware, which a simulator can't judge."""
    reasons = {
        "fig06b-inter-credit-gap-std": "the spacing of an Intel X520 card under SoftNIC",
        "fig14b-inter-credit-gap-jitter": "the spacing of the testbed's cards and switch",
    }
    inputs = {
        "sec2-host-credit-processing-range": "the delay of the authors' SoftNIC hosts, which our runs are given "
        "(`host.processing_delay`)",
        "sec5-host-delay-spread": "the spread of host delays, measured on the testbed or cited, which the bound "
        "is given",
        "fig16-testbed-rtt": "the round trip of the testbed's SoftNIC hosts, which the network of `expresspass/fig13` "
        "is given",
    }
    proof = (
        "the delay of hosts has a median of 0.38 us here, and section 2 says of the same delay that it varies between "
        "0.9 and 6.2 us; no median is below the least value (E17-15)"
    )
    return [
        *(judge.given(claim("expresspass", name), reason) for name, reason in inputs.items()),
        judge.contradiction(claim("expresspass", "fig14a-host-credit-processing"), proof),
        *(judge.not_applicable(claim("expresspass", name), reason) for name, reason in reasons.items()),
    ]


FIGURE = Figure(
    name="expresspass/text",
    title="ExpressPass '17: what follows from its text",
    doc=__doc__ or "",
    jobs=no_jobs,
    measure=no_measure,
    summarise=summarise,
    check=check,
    facts=facts,
    draw=lambda *_: {},
    claims=(
        "sec2-fat-tree-path-length",
        "sec2-subpacket-flow-count",
        "sec31-credit-rate-share",
        "sec31-peak-credit-spacing",
        "sec31-credit-queue-carving",
        "fig06a-jitter-in-ns",
        "sec32-w-min",
        "table2-flow-size-distribution",
        "sec63-flow-size-caps",
        "sec63-topology-max-rtt",
        "sec63-queue-capacities",
        "sec63-credit-waste-worst-case",
        "eq05-even-period-fixed-point",
        "eq06-odd-period-fixed-point",
        "fig12-steady-state-oscillation",
        "sec2-host-credit-processing-range",
        "fig06b-inter-credit-gap-std",
        "fig14a-host-credit-processing",
        "sec5-host-delay-spread",
        "fig14b-inter-credit-gap-jitter",
        "fig16-testbed-rtt",
    ),
    shown={
        "section4": "Section 4's model after many periods, a newcomer joining settled flows, beside its fixed points.",
        "sizes": "Shares of flows by class in per cent, and sizes, of the distributions.",
    },
)
