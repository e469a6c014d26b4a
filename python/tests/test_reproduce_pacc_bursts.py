"""What the figures of PACC measure, against series made by hand."""

from __future__ import annotations

import math

import numpy as np
import polars as pl
import pytest

from clearway.reproduce.pacc import burst, fig01, fig02, fig03, fig06, setup

TIMES = np.arange(10.0, 110.0, 10.0)


def series(*values: float) -> np.ndarray:
    return np.asarray(values)


def test_recovery_ends_with_the_last_value_below_the_level() -> None:
    values = series(5, 5, 1, 1, 5, 1, 5, 5, 5, 5)
    assert burst.recovery(TIMES, values, 20, 4) == 40, "the value at 60 is the last one below"
    assert burst.recovery(TIMES, values, 60, 4) == 0
    assert burst.recovery(TIMES, series(5, 5, 5, 5, 5, 5, 5, 5, 5, 1), 20, 4) == math.inf


def test_a_suppression_ends_when_values_hold_and_what_begins_later_does_not_count() -> None:
    values = series(5, 5, 1, 5, 1, 1, 5, 5, 5, 1)
    # Below from 20 to 30; 5 at 40 does not hold; from 60 on it does.
    assert burst.suppression(TIMES, values, 20, 4, within=30, hold=3) == 40
    assert burst.suppression(TIMES, values, 20, 4, within=30, hold=1) == 10
    assert burst.suppression(TIMES, values, 60, 4, within=30, hold=3) == 0
    assert burst.suppression(TIMES, values, 90, 4, within=30, hold=1) == math.inf


def test_bursts_come_from_three_hosts_of_each_of_three_tors_and_differ_by_draw() -> None:
    draws = [burst.senders(draw) for draw in range(20)]
    assert len({tuple(hosts) for hosts in draws}) == 20
    for hosts in draws:
        tors = [host // 16 for host in hosts]
        assert sorted(tors.count(tor) for tor in set(tors)) == [3, 3, 3]
        assert min(tors) >= 2, "neither the sources nor the receivers of the long flows"


def test_a_mean_over_draws_has_no_upper_end_if_something_never_happened_in_one() -> None:
    found = burst.over_draws(pl.Series([1.0, math.inf, 3.0]))
    assert (found.mean, found.low, found.high, found.seeds) == (math.inf, 1.0, math.inf, 3)
    assert burst.over_draws(pl.Series([2.0, 4.0, 3.0])).mean == 3.0


def test_medians_count_what_never_happened_as_later_than_all() -> None:
    assert burst.spread(pl.Series([1.0, math.inf, 3.0])) == "3 (1 to never)"
    assert burst.spread(pl.Series([2.0, 2.2]), 0, "us") == "2 us"
    assert burst.spread(pl.Series([math.inf, math.inf]), 0, "us") == "never"


def test_shares_are_settled_when_they_are_kept_for_as_long_again() -> None:
    rates = np.asarray([[10.0] * 7, [5.0, 10, 7, 10, 10, 10, 10]])
    assert fig06.settled(rates, 10) == math.inf, "three more after the fourth are not enough"
    rates = np.asarray([[10.0] * 8, [5.0, 10, 7, 10, 10, 10, 10, 10.9]])
    assert fig06.settled(rates, 10) == 4


def test_flows_join_one_by_one_and_leave_in_the_same_order() -> None:
    assert [list(fig06.active(step)) for step in range(7)] == [
        [0],
        [0, 1],
        [0, 1, 2],
        [0, 1, 2, 3],
        [1, 2, 3],
        [2, 3],
        [3],
    ]


def test_pacc_is_later_by_the_mean_of_the_draws_where_what_never_happens_is_at_the_end_of_the_run() -> None:
    times = {"pacc": [500.0, 520.0, math.inf], "hpcc": [200.0, 220.0, math.inf]}
    rows = [
        {"transport": name, "draw": at, "long_90_us": value}
        for name, of in times.items()
        for at, value in enumerate(of)
    ]
    found = fig03.later_by({"rows": pl.DataFrame(rows)}, "pacc", "hpcc", "long")
    assert found.mean == 200
    assert found.seeds == 3


def test_a_ratio_of_recoveries_counts_a_rival_that_never_recovers_as_late_as_the_run_and_pacc_as_failed() -> None:
    rows = [
        {"transport": name, "draw": 0, "late_us": 0, "x": value}
        for name, value in (("pacc", 400.0), ("dcqcn", math.inf))
    ]
    tables = {"rows": pl.DataFrame(rows)}
    assert fig01.over(tables, "pacc", "dcqcn", "x").mean == pytest.approx(400 / fig01.STOP_US)
    assert math.isnan(fig01.over(tables, "dcqcn", "pacc", "x").mean)


def test_the_share_of_a_flow_is_held_against_dcqcn_under_which_flows_in_one_queue_are_close_to_it_too() -> None:
    """Equal numbers under both, which is what a queue without control gives, say nothing of PACC's fairness."""

    def made(far: float) -> dict[str, pl.DataFrame]:
        names = {name for names in (setup.READINGS | {"": setup.DEFAULT}).values() for name in names.values()}
        rows = [
            {
                "transport": name,
                "draw": at,
                "long_gbps": 2.5,
                "short_min_gbps": 2.4,
                "short_max_gbps": 2.6,
                "unfair_gbps": far if name.startswith("dcqcn") else 0.1,
            }
            for name in sorted(names)
            for at in range(3)
        ]
        return {"rows": pl.DataFrame(rows)}

    assert fig02.check_fair(made(0.3)).verdict == "reproduced"
    closer = fig02.check_fair(made(0.05))
    assert closer.verdict == "not reproduced"
    assert "closer to it than DCQCN's" in closer.note
