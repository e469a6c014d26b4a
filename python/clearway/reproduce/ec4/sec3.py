"""The parameters that section III derives and sets: the split of a link, the modes, K and g (eq. (1), (2)), and the
input of section IV-C (Table I).

* **Eq. (1), (2)**: at 10 Gbps and the 30 us of the dumbbell of Fig. 2 (a), whose RTT the paper does not state.
* **Transients**: the paper saw more than 100 packets in queues under Data Mining at a load of 0.6 and 10 Gbps when K
  was 20 packets. Simulated: the tree of [Fig. 8](ec4-fig08.md) at 10 Gbps with K = 20 frames, 600 flows (beyond quick
  scale 6,000), half of the hosts EC4, half DCTCP; the longest queue of a switch in any of five seeds ("some transients
  reach more").
* **Modes**: periods without a mark that Algorithm 1 runs in LOW mode, counted by its lines 4 to 12.
* **Table I**: the shares of our distributions, which are those of the files of ExpressPass's authors.
"""

from __future__ import annotations

import math

import polars as pl
from matplotlib.figure import Figure as Picture

from clearway import _clearway, metrics
from clearway.reproduce import judge, stats
from clearway.reproduce.claims import Finding, claim
from clearway.reproduce.ec4.common import DCTCP, EC4, SWITCH, mean, of_seeds
from clearway.reproduce.ec4.realistic import COLD, scenario
from clearway.reproduce.expresspass.text import WORKLOADS, sizes
from clearway.reproduce.figure import Figure, Job, Tables
from clearway.reproduce.look import Look
from clearway.reproduce.quantities import CREDIT, FRAME
from clearway.result import Run

PACKET, MTU = FRAME, 1500
RTT_S = 30e-6
RATE = 10e9
KIB = 1024


def jobs(scale: str) -> list[Job]:
    """The transients, by seed."""
    flows = 6_000 if scale == "paper" else 600
    switch = {**SWITCH, "marking": "20 packets", "buffer": "unlimited"}
    return [
        Job(
            {"seed": seed},
            {
                **scenario(EC4, "data-mining", 0.6, flows, seed, COLD, switch),
                "topology": {"kind": "oversubscribed-fat-tree", "rate": "10 Gbps", "delay": "1 us"},
            },
        )
        for seed in stats.SEEDS
    ]


def measure(job: Job, run: Run) -> Tables:  # noqa: ARG001
    """The longest queue of a switch, in packets."""
    most = float(metrics.switch_ports(run.ports)["queue_max_bytes"].max()) / PACKET  # type: ignore[arg-type]
    return {"rows": pl.DataFrame([{"packets": most}])}


def low_periods(threshold: int) -> int:
    """Periods without a mark that Algorithm 1 runs in LOW mode before HIGH mode: lines 5 to 8."""
    flag, periods = 0, 0
    while flag <= threshold:
        flag, periods = flag + 1, periods + 1
    return periods


def parameter(name: str) -> float:
    """The default of a parameter of EC4."""
    (ec4,) = (one for one in _clearway.transports() if one["name"] == "ec4")
    return float({one["name"]: one["default"] for one in ec4["parameters"]}[name])


def equations(k_packets: float) -> dict[str, float]:
    """The least K of eq. (1) in packets, the RTT up to which K satisfies it, and the greatest g of eq. (2)."""
    bdp = RATE * RTT_S / 8 / PACKET
    return {
        "k_min": bdp / 7,
        "rtt_max_us": k_packets * PACKET * 8 * 7 / RATE * 1e6,
        "g_max": 1.386 / math.sqrt(2 * (bdp + k_packets)),
    }


def check(tables: Tables) -> list[Finding]:
    """The verdicts on the figure's claims."""
    share = CREDIT / (CREDIT + FRAME)
    found = [
        judge.arithmetic(
            claim("ec4", "sec3a-bandwidth-split"),
            {"credit": 100 * share, "data": 100 * (1 - share)},
            note="84 of 1,622 B",
        )
    ]
    threshold = parameter("mode_threshold")
    modes = {"rtts": low_periods(round(threshold)), "mode_threshold": threshold}
    found.append(judge.arithmetic(claim("ec4", "sec3c-mode-threshold"), modes))

    found.append(check_equations(tables))
    here = claim("ec4", "table1-flow-size-distribution")
    by_size = {name: sizes(name) for name in WORKLOADS}
    off = {case: by_size[case.split("/")[0]][case.split("/")[1]] for case in here.cases}
    far = ", ".join(
        f"{case.replace('/', ' ')} {value:.3g}" for case, value in off.items() if not here.holds(float(value), case)
    )
    text = f"ExpressPass's authors' files differ in {far or 'nothing'}"
    return [*found, judge.undecidable(here, "the full distributions", measured=text)]


def check_equations(tables: Tables) -> Finding:
    """K and g against eq. (1) and (2), and the transients for which the paper takes a larger K."""
    here = claim("ec4", "eq1-eq2-k-and-g")
    k, small, g = (here.number(name) for name in ("K_packets", "K_minimum_packets", "g"))
    transient = max(of_seeds(tables, "packets"))
    quantities: dict[str, judge.Measured] = {
        "K_packets": packets(SWITCH["marking"]),
        "K_KB": round(packets(SWITCH["marking"]) * MTU / KIB, 1),
        "g": DCTCP["g"],
        "K_minimum_packets": packets(jobs("quick")[0].scenario["switch"]["marking"]),
        "transient_above_packets": transient,
        "K of eq. (1) over the smallest": equations(small)["k_min"] / small,
        "g over that of eq. (2)": g / equations(k)["g_max"],
    }
    text = (
        f"K above {equations(k)['k_min']:.1f} packets and g below {equations(k)['g_max']:.3f} at 10 Gbps and 30 us; "
        f"transients of up to {transient:.0f} packets with K = 20, {mean(tables, 'packets').text('.0f')} a seed"
    )
    note = "K, g and the smallest K are given to our runs; the rest is computed or measured"
    return judge.judge(here, quantities, text=text, note=note)


def packets(text: str) -> float:
    """A number of packets as scenarios have it: `100 packets`."""
    return float(text.removesuffix(" packets"))


def facts(tables: Tables) -> dict[str, object]:
    """The numbers that the prose names."""
    return {**equations(20), "transient": max(of_seeds(tables, "packets")), "g_100": equations(100)["g_max"]}


def draw(_: Tables, __: Look) -> dict[str, Picture]:
    """There is nothing to draw."""
    return {}


FIGURE = Figure(
    name="ec4/sec3",
    title="EC4, sec. III and Table I: parameters and input",
    doc=__doc__,
    jobs=jobs,
    measure=measure,
    check=check,
    facts=facts,
    draw=draw,
    claims=("sec3a-bandwidth-split", "sec3c-mode-threshold", "eq1-eq2-k-and-g", "table1-flow-size-distribution"),
)
