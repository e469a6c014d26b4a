"""Measures, against values worked out by hand."""

from __future__ import annotations

import math
import pickle

import numpy as np
import polars as pl
import pytest

import clearway
from clearway import metrics, tables, units
from clearway.sweeps import frame

NAN = float("nan")


def test_jain_index_is_one_for_equals_and_one_in_n_for_one() -> None:
    assert metrics.jain_index([5, 5, 5, 5]) == pytest.approx(1)
    assert metrics.jain_index([8, 0, 0, 0]) == pytest.approx(0.25)
    assert metrics.jain_index([1, 2]) == pytest.approx(0.9)
    assert math.isnan(metrics.jain_index([]))


def test_convergence_is_the_first_time_that_is_held() -> None:
    times = [0, 1, 2, 3, 4, 5, 6]
    rates = [0, 10, 3, 9.5, 10.5, 10, 10]
    assert metrics.convergence_time(times, rates, 10) == 1
    assert metrics.convergence_time(times, rates, 10, hold_s=2) == 3
    assert metrics.convergence_time(times, rates, 10, hold_s=3) == 3
    assert math.isnan(metrics.convergence_time(times, rates, 10, hold_s=4))
    assert math.isnan(metrics.convergence_time(times, rates, 100))


def flows(rows: list[tuple[int, float, float]]) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=["size_bytes", "fct_s", "slowdown"], orient="row")


def test_fct_by_size_uses_the_papers_buckets() -> None:
    table = metrics.fct_by_size(
        flows(
            [(9_999, 1, 1), (10_000, 2, 2), (99_999, 4, 4), (100_000, 5, 1), (1_000_000, 9, 3), (5_000_000, NAN, NAN)]
        )
    )
    assert table["bucket"].to_list() == ["S (< 10 KB)", "M (10-100 KB)", "L (100 KB-1 MB)", "XL (> 1 MB)", "all"]
    assert table["flows"].to_list() == [1, 2, 1, 1, 5]
    assert table["unfinished"].to_list() == [0, 0, 0, 1, 1]
    assert table["mean_s"].to_list() == [1, 3, 5, 9, pytest.approx(4.2)]
    assert table["p50_s"].to_list() == [1, 3, 5, 9, 4]
    assert table["slowdown_p99"].to_list()[1] == pytest.approx(3.98)


def test_fct_of_nothing_is_no_number() -> None:
    table = metrics.fct_by_size(flows([]))
    assert table["flows"].to_list() == [0]
    assert math.isnan(table["mean_s"][0])


def test_credit_waste_is_a_share_of_credits_that_arrived() -> None:
    frame = pl.DataFrame({"credits_used": [6, 3], "credits_wasted": [1, 0]})
    assert metrics.credit_waste(frame) == pytest.approx(0.1)
    assert math.isnan(metrics.credit_waste(frame.clear()))


@pytest.mark.parametrize(
    ("shown", "expected"),
    [
        (units.seconds(12.34e-6), "12.3 us"),
        (units.seconds(999.9e-6), "1.00 ms"),
        (units.seconds(0), "0 s"),
        (units.seconds(NAN), "-"),
        (units.size(1538), "1.54 KB"),
        (units.size(0), "0 B"),
        (units.size(999_900), "1.00 MB"),
        (units.size(384_500), "384 KB"),
        (units.rate(9.482e9), "9.48 Gbps"),
        (units.share(0.9482), "94.82 %"),
        (units.count(12345), "12,345"),
        (units.value(384_500, "B"), "384.5 KB"),
        (units.value(2_000_000, "B"), "2 MB"),
        (units.value(1e-5, "s"), "10 us"),
        (units.value(4e10, "bit/s"), "40 Gbps"),
        (units.value(1e-3, ""), "0.001"),
        (units.value(0, "s"), "0 s"),
    ],
)
def test_numbers_read_well(shown: str, expected: str) -> None:
    assert shown == expected


def answers(rows: list[tuple[int, float, float, int]]) -> pl.DataFrame:
    frame = pl.DataFrame(rows, schema=["flow", "start_s", "fct_s", "timeouts"], orient="row")
    return frame.with_columns(pl.lit(1000).alias("size_bytes"))


def test_a_round_lasts_from_its_first_start_to_its_last_arrival() -> None:
    table = metrics.rounds(answers([(3, 10.0, 1.0, 0), (5, 10.5, 1.5, 2), (1, 1.0, 2.0, 0), (7, 1.0, 4.0, 0)]), 2)
    assert table["round"].to_list() == [0, 1]
    assert table["start_s"].to_list() == [1.0, 10.0]
    assert table["duration_s"].to_list() == [4.0, 2.0]
    assert table["bytes"].to_list() == [2000, 2000]
    assert table["goodput_bps"].to_list() == [4000.0, 8000.0]
    assert table["timeouts"].to_list() == [0, 2]
    assert metrics.timeout_ratio(table) == 0.5


def test_a_round_that_was_cut_off_has_no_goodput_but_timeouts() -> None:
    table = metrics.rounds(answers([(1, 0.0, NAN, 1), (3, 0.0, 2.0, 0), (5, 9.0, 1.0, 0), (7, 9.0, 1.0, 0)]), 2)
    assert table["unfinished"].to_list() == [1, 0]
    assert math.isnan(table["goodput_bps"][0])
    assert table["goodput_bps"][1] == 16000.0
    assert metrics.timeout_ratio(table) == 0.5
    assert math.isnan(metrics.timeout_ratio(table.clear()))


def test_rtt_percentiles_count_every_acknowledgement_once() -> None:
    rows = [("rtt_s", value) for value in (1.0, 2.0, 3.0, 4.0, 5.0)] + [("cwnd_bytes", 9e9), ("srtt_s", 9.0)]
    samples = pl.DataFrame(rows, schema=["quantity", "value"], orient="row")
    assert metrics.rtt_percentiles(samples, (0, 50, 100)) == [1.0, 3.0, 5.0]
    assert math.isnan(metrics.rtt_percentiles(samples.clear(), (50,))[0])


def test_percentiles_of_few_values_are_those_of_numpy_to_the_last_bit() -> None:
    random = np.random.default_rng(7)
    for count in [*range(40), metrics.FEW, metrics.FEW + 1]:
        values = random.exponential(1e-3, count)
        asked = [0, 1, 50, 90, 99, 99.9, 100]
        found = metrics.percentiles(values, asked)
        assert np.array_equal(found, [metrics.percentile(values, one) for one in asked], equal_nan=True)


def test_the_numbers_of_a_table_are_the_same_with_and_without_a_data_frame() -> None:
    held = clearway.run("incast", transport="expresspass", seed=3)
    framed = clearway.run("incast", transport="expresspass", seed=3)
    assert isinstance(held.stored("flows"), tables.Held)
    assert isinstance(held.stored("ports"), tables.Held)
    assert (framed.flows.height, framed.ports.height) > (0, 0)
    assert isinstance(framed.stored("flows"), pl.DataFrame)
    assert frame.measure(held) == frame.measure(framed)
    assert isinstance(held.stored("flows"), tables.Held)
    rows = metrics.fct_rows(*(held.flows[name].to_numpy() for name in metrics.FCT))
    assert pl.DataFrame(rows).equals(metrics.fct_by_size(held.flows))
    assert pickle.loads(pickle.dumps(clearway.run("incast", seed=3).stored("flows"))).equals(
        clearway.run("incast", seed=3).flows
    )
