"""Claims of ExpressPass whose number fits and whose statement does not, from tables made by hand."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import product

import polars as pl
import pytest

from clearway.reproduce.claims import Finding
from clearway.reproduce.expresspass import fig01, fig09, fig10, fig13, text
from clearway.reproduce.stats import SEEDS


def verdict(found: Iterable[Finding], claim: str) -> tuple[str, str]:
    """The verdict on a claim and its remark."""
    return next((one.verdict, one.note) for one in found if one.claim.id == claim)


def parking_lot(naive: float) -> dict[str, pl.DataFrame]:
    """Rows of Fig. 10 (b): 98 % under ExpressPass, `naive` under naive credits."""
    rows = [
        {
            "transport": name,
            "bottlenecks": count,
            "seed": seed,
            "utilisation_min": naive if name == "naive" else 0.98,
            "drops": 0,
        }
        for name, count, seed in product(fig10.VARIANTS, fig10.ENDS, SEEDS)
    ]
    return {"rows": pl.DataFrame(rows)}


def test_high_utilisation_is_no_gain_from_feedback_where_naive_credits_have_as_much() -> None:
    gains = verdict(fig10.check(parking_lot(0.6)), "fig10-parking-lot-feedback")
    assert gains[0] == "reproduced"
    assert verdict(fig10.check(parking_lot(0.97)), "fig10-parking-lot-feedback") == (
        "not reproduced",
        "fails: feedback improves two bottlenecks; feedback improves six bottlenecks; "
        "printed: 98.0, 98.0; ns2 profile: 98.0, 98.0; fixed sizes: 98.0, 98.0",
    )


def credit_queues(unused: Callable[[int], float]) -> dict[str, pl.DataFrame]:
    """Rows of Fig. 9 in which the share unused depends on the size of the credit queue alone."""
    rows = [
        {"reading": reading, "flows": flows, "queue": queue, "seed": seed, "unused": unused(queue), "loss": 0.1}
        for reading, flows, queue, seed in product(fig09.READINGS, fig09.FLOWS, fig09.QUEUES, SEEDS)
    ]
    return {"rows": pl.DataFrame(rows).with_columns(drops=0)}


@pytest.mark.parametrize(
    ("unused", "expected"),
    [
        (lambda queue: 0.05 if queue < 8 else 0.01, "reproduced"),
        (lambda queue: 0.05 if queue < 4 else 0.01, "trend reproduced"),
        (lambda queue: 0.05 if queue < 32 else 0.01, "not reproduced"),
    ],
)
def test_eight_credits_are_enough_where_no_larger_queue_gains_a_point(
    unused: Callable[[int], float], expected: str
) -> None:
    assert verdict(fig09.check(credit_queues(unused)), "fig09-credit-queue-8-sufficient")[0] == expected


@pytest.mark.parametrize(("per_worker", "expected"), [(0.0, "reproduced"), (20.0, "not reproduced")])
def test_a_queue_that_grows_with_the_fan_out_is_not_flat_though_it_lies_below_the_bound(
    per_worker: float, expected: str
) -> None:
    rows = [
        {
            "transport": name,
            "host_delay": delay,
            "fan_out": fan_out,
            "seed": seed,
            "queue_max": 1500 + per_worker * fan_out,
            "drops": 0,
        }
        for name, delay, fan_out, seed in product(fig01.TRANSPORTS, fig01.DELAYS, (32, 2048), SEEDS)
    ]
    assert fig01.bounds()["none"] > 1500 + 20 * 2048
    assert verdict(fig01.check({"rows": pl.DataFrame(rows)}), "fig01c-expresspass-queue-bounded")[0] == expected


def test_the_queues_of_both_transports_fit_and_their_gap_does_not() -> None:
    rows = [
        {
            "what": what,
            "transport": name,
            "seed": seed,
            "queue_KB": 26.0 if name == "expresspass" else 125.0,
            "credits": 8,
            "use": 0.9482,
            "variation": 0.05,
            "held_us": 100.0,
            "ramped_us": 100.0,
        }
        for what, name, seed in product(("come and go", "join"), fig13.JOINING, SEEDS)
    ]
    found = verdict(fig13.check({"rows": pl.DataFrame(rows)}), "fig13-max-data-queue")
    assert found == (
        "not reproduced",
        "fails: an order of magnitude below DCTCP's; simulated, with the testbed's round trip and host delays",
    )


def test_steps_settle_later_with_a_smaller_w_min() -> None:
    assert text.settled(0.02) < text.settled(0.01) < text.settled(0.005)
