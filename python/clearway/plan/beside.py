"""The simulator beside sec. 4 of ExpressPass: as many flows over one link, their credit rates sampled once a period."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl

from clearway.plan.choices import Feedback, Start
from clearway.plan.expresspass import ESTABLISHED, Floats, Parameters
from clearway.runner import run

#: A period at most: the round trip of 52 us with full credit queues, which the receivers measure.
PERIOD_US = 70
SAMPLE_US = 4
RATE_GBPS = 10
DELAY_US = 8
#: max_rate in payload: full frames against frames and their credits (1538 of 1622 B).
MAX_RATE_BPS = RATE_GBPS * 1e9 * 1538 / 1622


def scenario(parameters: Parameters, periods: int, start: Start, feedback: Feedback) -> Mapping[str, Any]:
    """A dumbbell with a sender and a receiver for each flow."""
    p = parameters
    early = ESTABLISHED if start == "newcomer" else 0
    pairs = [[f"h{flow}", f"h{p.flows + flow}"] for flow in range(p.flows)]
    flows: list[dict[str, Any]] = [{"name": "flows", "kind": "long", "pairs": pairs}]
    if early:
        flows = [
            {"name": "flows", "kind": "long", "pairs": pairs[:-1]},
            {"name": "newcomer", "kind": "long", "pairs": pairs[-1:], "start": f"{early * PERIOD_US} us"},
        ]
    return {
        "name": "plan-stability-expresspass",
        "seed": 1,
        "stop": f"{(early + periods + 1) * PERIOD_US} us",
        "transport": {
            "name": "expresspass",
            "feedback": feedback,
            "alpha": p.alpha,
            "w_init": p.w_init,
            "w_min": p.w_min,
            "w_max": p.w_max,
            "target_loss": p.target_loss,
            "randomize_size": False,
        },
        "topology": {
            "kind": "dumbbell",
            "pairs": p.flows,
            "rate": f"{RATE_GBPS} Gbps",
            "delay": f"{DELAY_US} us",
            "bottleneck_rate": f"{RATE_GBPS} Gbps",
            "bottleneck_delay": f"{DELAY_US} us",
        },
        "traffic": flows,
        "sample": [
            {"name": f"rate-{each['name']}", "what": "sender", "traffic": each["name"], "every": f"{SAMPLE_US} us"}
            for each in flows
        ],
    }


class InterruptedRunError(Exception):
    """Ctrl-C came before the simulation's end."""


def simulate(parameters: Parameters, periods: int, start: Start, feedback: Feedback) -> Floats:
    """Credit rates as shares of max_rate: a row per period from the last flow's start, a column per flow.

    Receivers update once a round trip, as the paper says; a row is taken every mean smoothed round trip.
    """
    found = run(scenario(parameters, periods, start, feedback))
    if found.interrupted:
        raise InterruptedRunError
    found.check_whole()
    table = found.samples.filter(pl.col("time_s") > (ESTABLISHED * PERIOD_US * 1e-6 if start == "newcomer" else 0))
    srtt = table.filter(pl.col("quantity") == "srtt_s")["value"].to_numpy().mean()
    rates = (
        table.filter(pl.col("quantity") == "rate_bps")
        .pivot("entity", index="time_s", values="value")
        .sort("time_s")
        .drop("time_s")
        .drop_nulls()
        .to_numpy()
    )
    # The middle of each period, as an update is somewhere at its edge.
    rows = np.rint((np.arange(periods + 1) + 0.5) * srtt / (SAMPLE_US * 1e-6)).astype(int)
    return np.asarray(rates[rows[rows < len(rates)]] / MAX_RATE_BPS, dtype=np.float64)
