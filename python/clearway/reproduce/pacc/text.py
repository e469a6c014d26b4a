"""Claims that follow from the paper's text by calculation: its parameters, the flow table, the analysis of sec. IV with
Fig. 5, Appendix A. Nothing is simulated.

* Parameters are those that `clearway list transports` shows for `pacc`, put into the paper's formulas.
* The fluid model is that of `clearway plan stability pacc` ([Plan](../plan.md#pacc)): eq. (16) at 25 Gbps with the
  queue in KB (PACC-1) and the sign as printed (PACC-3). Eq. (16) is also computed from eq. (4), (6) and (7), linearised
  around the fixed point, for several numbers of flows.
* Fig. 5 is the phase margin for pairs of `beta_1` and `beta_2` from 0.02 to 1.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl
from matplotlib.colors import TwoSlopeNorm
from matplotlib.figure import Figure as Picture

from clearway import _clearway
from clearway.plan.pacc import Loop, alpha_star, margin_grid
from clearway.reproduce import judge
from clearway.reproduce.claims import Finding, claim
from clearway.reproduce.figure import Figure, Tables, no_jobs, no_measure
from clearway.reproduce.look import Look, grid

#: The link of the paper's hosts, in bits per second.
LINK = 25e9
#: Values of beta1 and beta2 in the picture.
GRID = np.linspace(0.02, 1, 50)
#: beta1 at which the margin is shown, with beta2 as the paper has it.
BETA1 = (0.02, 0.05, 0.1, 0.2, 0.5, 1.0)
#: Pairs beta1 = beta2, from a distant to a close one in the sense of the paper.
PAIRS = (0.05, 0.1, 0.2, 0.5)


def values(transport: str, profile: str | None = None) -> dict[str, str]:
    """The parameters of a transport as `clearway list transports` shows them, under a profile."""
    (found,) = [one for one in _clearway.transports() if one["name"] == transport]
    own: dict[str, str] = {one["name"]: one["default"] for one in found["parameters"]}
    for one in found["profiles"]:
        if one["name"] == profile:
            own |= one["values"]
    return own


def seconds(text: str) -> float:
    """A time as parameters are written: `80 us`."""
    number, unit = text.split()
    return float(number) * {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}[unit]


def linearised(loop: Loop, flows: int, s: complex) -> complex:
    """The open loop from eq. (4), (6) and (7) at the fixed point (8), (9), one after the other."""
    late = np.exp(-s * loop.period_s)
    queue = flows * late / s
    rate = -(loop.capacity / flows) * loop.alpha / (2 * loop.period_s) * late / s
    cnps = (loop.beta1 / loop.period_s + (loop.beta2 + loop.beta1 / 2) * s) / s
    return complex(queue * rate * cnps)


def printed(loop: Loop, s: complex) -> complex:
    """The phase margin by eq. (16) as printed."""
    return complex(-loop.gain * (1 + s / loop.zero) / s**3 * np.exp(-2 * s * loop.period_s))


def summarise(_: Tables) -> Tables:
    """Margins, and how far eq. (16) is from what (4), (6) and (7) give."""
    loop = Loop()
    rows = []
    for kind, pairs in (
        ("beta_2 as in the paper", [(one, 0.1) for one in BETA1]),
        ("beta_1 = beta_2", [(one, one) for one in PAIRS]),
    ):
        for beta1, beta2 in pairs:
            found = replace(loop, beta1=beta1, beta2=beta2).margins()
            rows.append(
                {
                    "pairs": kind,
                    "beta_1": beta1,
                    "beta_2": beta2,
                    "crossover_rad_s": round(found.crossover_rad_s),
                    "margin_deg": round(found.phase_deg, 1),
                }
            )
    points = [complex(real, omega) for real in (0.0, 500.0) for omega in (10.0, 1e3, 1e4, 1e5)]
    apart = [
        {
            "flows": flows,
            "largest_relative_difference": max(abs(linearised(loop, flows, s) / printed(loop, s) - 1) for s in points),
        }
        for flows in (2, 10, 100)
    ]
    return {"margins": pl.DataFrame(rows), "apart": pl.DataFrame(apart)}


def check(tables: Tables) -> list[Finding]:
    """The verdicts on the figure's claims."""
    own = values("pacc")
    period, gap = seconds(own["period"]), seconds(own["cnp_gap"])
    q_th, burst = LINK / 8 * period / 2 / 1e3, LINK / 8 * seconds(own["burst"]) / 1e3
    return [
        check_components(),
        judge.given(
            claim("pacc", "table1-flow-table-entry"),
            "the fields of a table that our switches keep in their own way; 8 bits hold the 255 of our defaults",
        ),
        check_entry(),
        check_reaction(),
        judge.given(
            claim("pacc", "sec3b-cnp-interval"),
            f"defaults of `pacc`; {period / gap:.0f} notifications fit into a period",
            measured=f"cnp_gap: {own['cnp_gap']}, period: {own['period']}",
        ),
        judge.given(
            claim("pacc", "sec4c-parameters"),
            "defaults of `pacc`; Q_th and Q_burst are T/2 x C and 1.28 us x C at 25 Gbps (PACC-8, PACC-19)",
            measured=f"T: {own['period']}, Q_th: {q_th:g} KB, Q_burst and B_th: {burst:g} KB, w: {own['w']}, "
            f"beta1: {own['beta1']}, beta2: {own['beta2']}",
        ),
        judge.arithmetic(
            claim("pacc", "eq8-eq9-fixed-point"),
            fixed_point(q_th),
            note="of the fluid model; rounding down, which it leaves out, keeps the queue of packets above Q_th: "
            "see Fig. 6",
        ),
        check_transfer(tables),
        check_margin(tables),
        judge.arithmetic(claim("pacc", "appendix-alpha-star"), alpha_star(), form=".5f"),
        judge.arithmetic(claim("pacc", "sec5b-microburst-duration"), 30e3 * 8 / LINK * 1e6),
    ]


def check_entry() -> Finding:
    """The size of an entry against the fields that the paper says it has."""
    fields = claim("pacc", "table1-flow-table-entry")
    bits = [int(fields.number(name)) for name in fields.cases]
    here = claim("pacc", "sec3c-entry-size")
    proof = (
        f"Table I has the complete entry: {' + '.join(map(str, bits))} = {sum(bits)} bits are {sum(bits) / 8:g} bytes, "
        f"and sec. III-C says that an entry takes {here.number():g} (PACC-6)"
    )
    return judge.contradiction(here, proof, measured=f"{sum(bits) / 8:g} B")


def check_components() -> Finding:
    """Hosts are DCQCN's, but for what tells them of congestion."""
    pacc, dcqcn = values("pacc", "hpcc-ns3"), values("dcqcn", "hpcc-ns3")
    shared = [name for name in pacc if name in dcqcn]
    differ = [name for name in shared if pacc[name] != dcqcn[name]]
    return judge.given(
        claim("pacc", "fig04-switch-components"),
        "the design that our `pacc` is built by; calculator, allocator and generator are structs of their own in "
        "`crates/proto/src/rdma/pacc`",
        measured=f"{len(shared)} parameters of hosts in common with `dcqcn`, {len(differ)} of them different",
    )


def check_reaction() -> Finding:
    """Eq. (1), step by step."""
    g = float(values("pacc", "print")["g"])
    rate, target, alpha = LINK, LINK, 1.0
    rates = []
    for _ in range(3):
        target, rate, alpha = rate, rate * (1 - alpha / 2), (1 - g) * alpha + g
        rates.append(f"{rate / 1e9:g}")
    return judge.given(
        claim("pacc", "eq1-rp-reaction"),
        "the rule that hosts of profile `print` are given; the default is HPCC's code, in which the target stays at 25 "
        "Gbps (PACC-22)",
        measured=f"three notifications take 25 Gbps to {', '.join(rates)} and the target to {target / 1e9:g} Gbps",
    )


def fixed_point(threshold_kb: float) -> dict[str, float]:
    """The point at which the left sides of (4), (6) and (7) are zero: (7) gives Q, (6) gives N_cnp, (4) gives R."""
    loop = Loop()
    # (7) is beta1 / T (Q - Q_th) = 0 there, (6) is R alpha N_cnp / (2 T) = 0, (4) is N R = C.
    slope = loop.beta1 / loop.period_s
    queue = threshold_kb - 0 / slope
    rate = loop.capacity / 10
    return {"N_cnp": 0.0, "Q_over_Qth": queue / threshold_kb, "R_over_share": 10 * rate / loop.capacity}


def check_transfer(tables: Tables) -> Finding:
    """Eq. (16) from (4), (6), (7)."""
    apart = max(tables["apart"]["largest_relative_difference"].to_list())
    found = judge.arithmetic(
        claim("pacc", "eq16-open-loop-transfer-function"),
        {"largest relative difference": apart},
        note="the sign is that of (6); the Bode criterion that follows counts it twice (PACC-3)",
    )
    text = f"K = {Loop().gain:.4g}, z = {Loop().zero:.4g} rad/s; at most {apart:.1g} from (4), (6) and (7)"
    return replace(found, measured=text)


def check_margin(tables: Tables) -> Finding:
    """The verdict on the phase margins of Fig. 5."""
    table = tables["margins"]
    along = table.filter(pl.col("pairs") == "beta_2 as in the paper")["margin_deg"].to_list()
    pairs = table.filter(pl.col("pairs") == "beta_1 = beta_2")
    crossing, margins = pairs["crossover_rad_s"].to_list(), pairs["margin_deg"].to_list()
    default = Loop().margins().phase_deg
    other = replace(Loop(), sign="negative-feedback").margins().phase_deg
    found = judge.arithmetic(
        claim("pacc", "fig05-phase-margin"),
        {
            "margin at the default": default,
            "largest step of the margin as beta_1 grows": max(b - a for a, b in pairwise(along)),
            "least step of the crossover of close pairs": min(b - a for a, b in pairwise(crossing)),
            "margin of the first close pair": margins[0],
            "margin of the last close pair": margins[-1],
        },
        note=f"queue in KB, sign as printed; with the sign counted once {other:+.0f} degrees (PACC-1, PACC-3)",
    )
    text = f"{default:+.1f} degrees at the default; {along[0]:+.0f} to {along[-1]:+.0f} from beta_1 = {BETA1[0]} to 1"
    return replace(found, measured=text)


def facts(tables: Tables) -> dict[str, object]:
    """Numbers that the prose names."""
    loop = Loop()
    field = margin_grid(loop, GRID, GRID)
    return {
        "default": loop.margins().phase_deg,
        "once": replace(loop, sign="negative-feedback").margins().phase_deg,
        "stable": 100 * float((field > 0).mean()),
        "at_100": replace(loop, rate_bps=100e9).margins().phase_deg,
        "packets": replace(loop, unit="packets").margins().phase_deg,
        "apart": float(tables["apart"]["largest_relative_difference"].to_numpy().max()),
    }


def draw(_: Tables, look: Look) -> dict[str, Picture]:
    """The picture of the phase margins of Fig. 5."""
    picture, (axes,) = grid(1, 1, width=6.0, height=3.9)
    field = margin_grid(Loop(), GRID, GRID)
    colors: Any = axes.pcolormesh(GRID, GRID, field, cmap="RdBu", norm=TwoSlopeNorm(0, -150, 80), rasterized=True)
    axes.contour(GRID, GRID, field, levels=[0], colors=[look.ink], linewidths=1)
    axes.plot([0.05], [0.1], marker="o", ms=6, color=look.ink)
    axes.annotate("default", (0.05, 0.1), xytext=(8, 6), textcoords="offset points", color=look.ink)
    axes.set(xlabel="beta_1", ylabel="beta_2")
    picture.colorbar(colors, ax=axes, label="phase margin in degrees")
    return {"margin": picture}


FIGURE = Figure(
    name="pacc/text",
    title="PACC: parameters, Table I, the analysis and Fig. 5",
    doc=__doc__ or "",
    jobs=no_jobs,
    measure=no_measure,
    summarise=summarise,
    check=check,
    facts=facts,
    draw=draw,
    claims=(
        "fig04-switch-components",
        "table1-flow-table-entry",
        "sec3c-entry-size",
        "eq1-rp-reaction",
        "sec3b-cnp-interval",
        "sec4c-parameters",
        "eq8-eq9-fixed-point",
        "eq16-open-loop-transfer-function",
        "fig05-phase-margin",
        "appendix-alpha-star",
        "sec5b-microburst-duration",
    ),
    shown={
        "margins": "Phase margin and crossover of eq. (16) at 25 Gbps.",
        "apart": "How far eq. (16) is from the product of (4), (6) and (7), at eight points of the complex plane.",
    },
    captions={"margin": "Fig. 5: the phase margin of eq. (16), as printed; the line is where it is 0"},
)
