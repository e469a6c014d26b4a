"""Figures of the two ExpressPass papers against declared conditions: a part of a claim that is made false turns its row
red, although the numbers that the claim prints are right.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import numpy as np
import polars as pl
import pytest

from clearway.reproduce import Finding, claim, stats
from clearway.reproduce.expresspass import fig15, fig15rcp, fig18, fig21, realistic
from clearway.reproduce.hotnets import fig04, fig06


def row(found: list[Finding], name: str) -> Finding:
    """The finding on a claim."""
    return next(one for one in found if one.claim.id == name)


def speed_ups(rcp: float, dctcp_large: float = 1.5) -> dict[str, pl.DataFrame]:
    """Fig. 21: ExpressPass gains 1.5 to 3.5, the others less, RCP so much for M flows of Web Server."""
    gains = {name: {"S": 1.1, "M": 1.2, "L": 1.5, "XL": 2.8} for name in fig21.AT[40]}
    gains["expresspass"] = {"S": 1.5, "M": 2.0, "L": 2.5, "XL": 3.5}
    rows = [
        {
            "workload": workload,
            "rate": rate,
            "transport": name,
            "seed": seed,
            **{
                f"fct_{size}": (gain if rate == 10 else 1.0) if (workload, size) != ("web-server", "XL") else math.nan
                for size, gain in of.items()
            },
        }
        for workload in fig21.FLOWS
        for rate in fig21.RATES
        for name, of in gains.items()
        for seed in stats.SEEDS
    ]
    table = pl.DataFrame(rows)
    server = (pl.col("workload") == "web-server") & (pl.col("rate") == 10)
    changed = table.with_columns(
        pl.when(server & (pl.col("transport") == "rcp")).then(rcp).otherwise(pl.col("fct_M")).alias("fct_M"),
        pl.when(server & (pl.col("transport") == "dctcp")).then(dctcp_large).otherwise(pl.col("fct_L")).alias("fct_L"),
    )
    return {"rows": changed}


def test_a_range_of_gains_is_not_reproduced_where_another_transport_gains_more() -> None:
    kept, broken = (row(fig21.check(speed_ups(rcp)), "fig21-speedup-expresspass") for rcp in (1.2, 5.87))
    assert kept.verdict == "reproduced"
    assert (broken.verdict, broken.cells) == ("not reproduced", (0, 0)), (
        "although both ends of the range are as printed"
    )
    assert "RCP, Web Server M: 0.34" in broken.note


def test_gains_of_both_workloads_are_held_against_a_bound() -> None:
    kept, broken = (row(fig21.check(speed_ups(1.2, large)), "fig21-speedup-dctcp") for large in (1.5, 2.6))
    assert (kept.verdict, kept.cells) == ("reproduced", (4, 4))
    assert (broken.verdict, broken.cells) == ("trend reproduced", (3, 4))
    assert broken.claim.text == "XL: 2.8, S: at most 2, M: at most 2, L: at most 2"


def of_rcp(**of: Mapping[int, float]) -> dict[str, pl.DataFrame]:
    """Fig. 15 for RCP: a full link up to 256 flows, fair, no drops, but what is given by number of flows."""
    plain = {
        "utilisation": {512: 0.8, 1024: 0.6},
        "fairness": {},
        "drops": {},
    } | of
    default = {"utilisation": 1.0, "fairness": 1.0, "drops": 0.0}
    return {
        "rows": pl.DataFrame(
            {
                "variant": name,
                "flows": flows,
                "seed": seed,
                **{one: plain[one].get(flows, default[one]) for one in default},
            }
            for name in fig15rcp.VARIANTS
            for flows in fig15rcp.FLOWS["quick"]
            for seed in stats.SEEDS
        )
    }


@pytest.mark.parametrize(
    ("drops", "verdict"),
    [({32: 9.0, 1024: 9.0}, "reproduced"), ({1024: 9.0}, "not reproduced"), ({}, "not reproduced")],
)
def test_drops_with_many_flows_are_no_drops_with_32(drops: dict[int, float], verdict: str) -> None:
    assert row(fig15rcp.check(of_rcp(drops=drops)), "fig15-rcp-queue-overflow").verdict == verdict


def test_rcp_is_full_up_to_256_flows_and_less_beyond() -> None:
    def judged(use: dict[int, float]) -> str:
        return row(fig15rcp.check(of_rcp(utilisation=use)), "fig15-rcp-underutilization").verdict

    assert judged({512: 0.8, 1024: 0.6}) == "reproduced"
    assert judged({256: 0.87, 512: 0.8, 1024: 0.6}) == "trend reproduced", "not full with 256 either"
    assert judged({4: 0.7, 512: 0.8, 1024: 0.6}) == "not reproduced", "less with 4 flows than with 512"


def test_each_figure_judges_its_part_of_the_claim_on_fairness() -> None:
    kept, broken = (row(fig15rcp.check(of_rcp(fairness=of)), "fig15-fairness") for of in ({}, {1024: 0.86}))
    assert (kept.verdict, broken.verdict) == ("reproduced", "not reproduced")
    assert "RCP's index is near 1" in broken.note
    assert "DCTCP" not in broken.note


def of_dctcp(queue: Callable[[int], float]) -> dict[str, pl.DataFrame]:
    """Fig. 15: DCTCP's mean queue by number of flows."""
    rows = [
        {"transport": "dctcp", "flows": flows, "seed": seed, "queue_mean": queue(flows)}
        for flows in fig15.FLOWS
        for seed in stats.SEEDS
    ]
    return {"rows": pl.DataFrame(rows)}


def test_dctcp_breaks_where_its_mean_queue_leaves_its_threshold() -> None:
    assert fig15.broken(of_dctcp(lambda flows: fig15.K_BYTES if flows <= 64 else 0.9 * fig15.BUFFER_BYTES)) == [64] * 5
    assert fig15.broken(of_dctcp(lambda flows: 2 * flows * 1538.0)) == [32] * 5


def test_a_gap_at_the_99th_percentile_is_set_against_that_of_the_means() -> None:
    rng = np.random.default_rng(1)
    ours = [rng.exponential(size=400) for _ in range(5)]
    level = realistic.tail_ratio([3 * one for one in ours], ours)
    assert (level.mean, level.low, level.high) == pytest.approx((1, 1, 1)), "three times as long throughout"
    heavy = realistic.tail_ratio([np.where(one > 4, 5 * one, one) for one in ours], ours)
    assert heavy.low > 1
    assert math.isnan(realistic.tail_ratio(ours[:2], ours[:2]).mean), "800 flows are too few"


def test_the_sweet_spot_is_the_least_first_rate_that_at_most_doubles_short_flows() -> None:
    late = dict(zip(fig18.ALPHAS, (1.0, 1.2, 1.5, 1.9, 2.5), strict=True))
    flows = pl.DataFrame(
        {"workload": "web-server", "rate_gbps": 10, "alpha": alpha, "seed": 1, "size": "S", "fct_s": [time] * 1000}
        for alpha, time in late.items()
    ).explode("fct_s")
    assert fig18.sweet_spot({"flows": flows}, "web-server") == 1 / 16
    assert claim("expresspass", "fig18-parameter-sensitivity").holds(1 / 16, "sweet_spot")


def test_flow_0_is_close_to_its_share_up_to_the_first_number_that_is_not() -> None:
    shares = {1: 1.0, 2: 0.9, 4: 0.5, 8: 1.0}
    rows = pl.DataFrame(
        {"what": "bottlenecks", "reading": "default", "flows": n, "seed": seed, "flow0": share / (n + 1)}
        for n, share in shares.items()
        for seed in (1, 2)
    )
    assert fig06.close_until({"rows": rows}, 0.2) == [2, 2]


def test_the_credit_queue_maxes_out_where_more_gains_less_than_a_point() -> None:
    unused = dict(zip(fig04.QUEUES, (0.3, 0.1, 0.05, 0.012, 0.005, 0.004, 0.004), strict=True))
    queues = pl.DataFrame(
        {"flows": flows, "queue": size, "seed": seed, "unused": share if flows == 8 else 0.0}
        for flows in fig04.FLOWS
        for size, share in unused.items()
        for seed in stats.SEEDS
    )
    assert fig04.maxes_out({"queues": queues}) == [8] * 5
