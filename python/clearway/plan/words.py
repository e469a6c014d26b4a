"""The answers of the planner in words."""

from __future__ import annotations

import math

import numpy as np

from clearway import units
from clearway.plan.expresspass import Floats, Trajectory
from clearway.plan.pacc import Loop

#: Credits that the simulator's link passes in a round trip of 60 us: 10 Gbps / 1622 B.
CREDITS_PER_PERIOD = 46

FLAW = (
    "A flaw of the paper (PACC-3): (16) has a minus sign from (15), and the Bode criterion takes G as the loop of an "
    "ordinary negative feedback, 1 + G = 0, which brings a minus of its own. Counted twice, the sign turns the phase "
    "by 180 degrees. Only so does Fig. 5 have a stable region."
)
NEVER = (
    "With the sign counted once, three integrators and one zero are unstable for every pair: the margin is "
    "-90 + atan(w/z) - 2wT, always below 0."
)
UNIT = (
    "The paper does not say in which unit Q is in (2), nor C for Fig. 5 (PACC-1). KB fits its cap of 20 CNPs a period; "
    "in bytes no pair of Fig. 5 is stable at 25 Gbps."
)


def pacc(loop: Loop) -> list[str]:
    """The answer for a loop: a verdict, then what it is worth."""
    found = loop.margins()
    other = Loop(**{**vars(loop), "sign": "negative-feedback" if loop.sign == "printed" else "printed"})
    stable = found.phase_deg > 0
    verdict = "stable" if stable else "not stable"
    margin = f"phase margin {found.phase_deg:+,.1f} degrees at {units.digits(found.crossover_rad_s)} rad/s"
    words = [f"By the Bode criterion with the {loop.sign} sign: {verdict} ({margin})."]
    if loop.sign == "printed":
        words += [
            FLAW,
            f"With the sign counted once the margin here is {other.margins().phase_deg:+,.1f} degrees, and 1 + G = 0 "
            f"with (16) as printed has a root at +{units.digits(loop.growth())} /s: the linear model grows by either "
            f"reading (as printed e-fold every {units.seconds(1 / loop.growth())}). Take the margin as the paper's "
            "yardstick for Fig. 5, not as a proof.",
        ]
    else:
        words += [NEVER, f"The paper's own sign gives {other.margins().phase_deg:+,.1f} degrees. {FLAW}"]
    words.append(
        "The model also is of an incremental controller (7), which adds an integrator; Algorithm 1 as printed sets "
        "N_all anew each period (PACC-2), and DCQCN's rate increases are not in it."
    )
    words.append(UNIT)
    return words


def expresspass(model: Trajectory, simulated: Floats | None) -> list[str]:
    """The answer for a trajectory."""
    p, periods = model.parameters, len(model.rates) - 1
    words = [settling(model)]
    if p.alternates:
        words.append(
            f"In the end rates alternate: C/N = {p.fair:.4g} max_rate after a decrease (5), {p.odd:.4g} max_rate "
            f"after an increase (6), so D* = C w_min (1 - 1/N) = {p.d_star:.4g} max_rate, "
            f"{units.share(p.d_star / p.fair)} of the fair share."
        )
    else:
        every = model.repeats_every
        words.append(
            f"It does not settle as sec. 4 says (E17-4): an increase from C must give a loss above target_loss, which "
            f"needs (N-1) w > {p.needed:.4g}, and at w_min it is {(p.flows - 1) * p.w_min:.4g}. So a second "
            f"increase in a row follows, w jumps from {p.w_min:.4g} to {(p.w_min + p.w_max) / 2:.4g}, and rates with it"
            + (
                f"; this repeats every {every} updates. "
                if every
                else f"; in these {periods} periods this has not become regular, ask for more. "
            )
            + f"It is so in Algorithm 1 itself and no defect of the simulator. A w_min above "
            f"{p.needed / (p.flows - 1):.4g} avoids it; (5), (6) and D* hold only then."
        )
    if simulated is not None:
        words.append(beside(model, simulated))
    return words


def settling(model: Trajectory) -> str:
    """The period from which on the rates are fair, in words."""
    p, periods = model.parameters, len(model.rates) - 1
    if model.settled is None:
        return (
            f"{p.flows} flows: not within 10 % of the fair share C/N after {periods} periods (farthest: "
            f"{units.share(float(model.off[-1]))} off). Ask for more --periods, or a larger w_min."
        )
    first = f"every flow is within 10 % of C/N for the first time at period {model.first_within}"
    if model.first_within is None:
        first = "no period has every flow within 10 % of C/N, increases included"
    return f"{p.flows} flows: {first}, and from period {model.settled} on every decrease leaves all of them there."


def beside(model: Trajectory, simulated: Floats) -> str:
    """The simulator's end beside the model's, in words."""
    p = model.parameters
    late = simulated[len(simulated) // 2 :] / p.fair
    d = float(np.abs(np.diff(late, axis=0)).mean()) * p.fair
    last = model.steps[len(model.steps) // 2 :].mean()
    times = f"{d / float(last):.1f} times" if last > 0 and math.isfinite(d) else "beside"
    means = late.mean(axis=0)
    return (
        f"Simulator, second half: mean rates of flows between {means.min():.2f} and {means.max():.2f} of C/N; steps of "
        f"{d:.4g} max_rate, {times} the model's {float(last):.4g}. The model gives every flow the same loss, exact "
        "and known at once. In the simulator it is a round trip old and counted on the credits of one round trip, here "
        f"about {CREDITS_PER_PERIOD / p.flows:.2g} a flow, too few to tell small losses; where none is seen, increases "
        "follow increases and w grows again. (5), (6) and D* are of a fluid."
    )
