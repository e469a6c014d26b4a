"""The one criterion of convergence against closed forms: what converges is read at its time, and nothing else is."""

from __future__ import annotations

import math

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clearway.reproduce import convergence
from clearway.reproduce.convergence import Joining, quotient, saw_tooth_s, times, together, window_rtts, words
from clearway.reproduce.expresspass import fig02

#: Enough packets for any window here.
MANY = 1e6


def joining(rates: list[np.ndarray], before: int = 100, packets_per_s: float = MANY) -> Joining:
    """Series of flows by the second, of which so many seconds come before time 0."""
    return Joining(np.array(rates), 1.0, float(before), packets_per_s)


def series(rate: np.ndarray, before: int = 100) -> Joining:
    """A new flow with this rate in multiples of its share, and an old one that has the rest of the link."""
    new = np.concatenate([np.zeros(before), rate])
    return joining([2 - new, new], before)


def midpoints(seconds: int) -> np.ndarray:
    """The middle of each second."""
    return np.arange(seconds) + 0.5


@given(tau=st.floats(20, 200), window=st.sampled_from([1, 5]))
def test_an_exponential_approach_converges_when_a_tenth_of_the_way_is_left(tau: float, window: int) -> None:
    found = series(1 - np.exp(-midpoints(1500) / tau)).held(window)
    # The mean over a window of an exponential is that of its end times (e^(w / tau) - 1) tau / w.
    expected = tau * math.log(10 * math.expm1(window / tau) * tau / window)
    assert expected - 0.1 <= found <= expected + 1.2


@given(silent=st.integers(0, 150), window=st.integers(1, 40))
def test_a_flow_that_sends_nothing_at_first_has_not_converged_then(silent: int, window: int) -> None:
    """The mean over the round trips that follow called it converged at once."""
    found = series(np.where(np.arange(1000) < silent, 0.0, 1.0)).held(window)
    assert found == pytest.approx(silent + math.ceil(0.9 * window - 1e-9))


@pytest.mark.parametrize(
    ("silent", "window"), [(0, 1), (1, 1), (2, 1), (3, 1), (9, 1), (0, 5), (9, 5), (10, 5), (30, 5)]
)
def test_a_share_is_kept_for_as_long_again_as_it_took_and_for_three_windows_and_not_for_a_bin_less(
    silent: int, window: int
) -> None:
    found = silent + window
    # The window that ends then, and as many later ones as make up that time, each a second after the one before.
    needs = window + max(found, 3 * window)
    for kept, expected in ((needs, float(found)), (needs + 1, float(found)), (needs - 1, math.nan)):
        after = np.arange(1000) - silent
        rate = np.where((after >= 0) & (after < kept), 1.0, 0.0)
        assert series(rate).held(window) == pytest.approx(expected, nan_ok=True), kept


@given(window=st.integers(1, 50))
def test_a_flow_that_never_sends_never_converges(window: int) -> None:
    assert math.isnan(series(np.zeros(1000)).held(window))


@given(slow=st.floats(1, 50))
def test_a_slow_protocol_is_read_as_slow(slow: float) -> None:
    """Ten times as slow is ten times as late, in any window that is short beside it."""
    rates = np.minimum(1, midpoints(2000) / (10 * slow))
    assert series(rates).held(1) >= 0.9 * 10 * slow


@given(time=st.floats(10, 400), top=st.floats(1.3, 2))
def test_a_rate_that_shoots_through_its_share_has_not_converged_however_slowly_it_does(time: float, top: float) -> None:
    rates = np.minimum(top, midpoints(2000) / time)
    found = series(rates)
    assert math.isnan(found.held(1))
    assert not math.isnan(found.first(1)), "it crosses once"


@given(period=st.floats(20, 100), decay=st.floats(50, 150))
def test_a_swing_has_converged_once_it_is_smaller_than_the_tolerance(period: float, decay: float) -> None:
    time = midpoints(3000)
    found = series(1 + 0.9 * np.exp(-time / decay) * np.cos(2 * np.pi * time / period)).held(1)
    # Its envelope is within the tolerance after ln 9 decays; it may be up to a period earlier, between two extremes.
    assert decay * math.log(9) - period <= found <= decay * math.log(9) + 2


def test_a_swing_that_never_dies_away_never_converges_though_its_mean_is_right() -> None:
    found = series(1 + 0.3 * np.sin(2 * np.pi * midpoints(2000) / 40))
    assert math.isnan(found.held(5))
    assert found.first(1) <= 3


def test_the_old_flows_count_too() -> None:
    old, new = np.concatenate([np.full(100, 2.0), np.full(500, 1.5)]), np.concatenate([np.zeros(100), np.ones(500)])
    found = joining([old, new])
    assert math.isnan(found.held(1))
    assert found.ramp_up(1) == 1


@given(packets=st.integers(1, 99))
def test_a_window_of_too_few_packets_is_refused(packets: int) -> None:
    few = joining([np.ones(200), np.ones(200)], packets_per_s=packets)
    with pytest.raises(ValueError, match="must hold 100"):
        few.held(1)


@given(seed=st.integers(0, 1000))
def test_packets_drawn_at_random_do_not_hide_that_a_share_is_kept_or_missed(seed: int) -> None:
    draw = np.random.default_rng(seed)
    # Half of the credits of two equal flows pass by chance, 1,600 for each flow in a window.
    kept = series(draw.binomial(64, 0.5, 2000) / 32, 100)
    assert kept.held(50) <= 150
    missed = series(draw.binomial(64, 0.4, 2000) / 32, 100)
    assert math.isnan(missed.held(50))


def test_the_mean_over_runs_tells_what_one_run_is_too_coarse_for() -> None:
    draw = np.random.default_rng(1)
    runs = []
    for _ in range(400):
        new = np.concatenate([np.zeros(10), draw.binomial(20, 0.5, 60) / 10])
        runs.append(joining([2 - new, new], 10, packets_per_s=10))
    with pytest.raises(ValueError, match="holds 10 packets"):
        runs[0].held(1)
    assert together(runs).held(1) == 1


def test_a_mean_over_runs_does_not_hide_that_each_of_them_locks_a_flow_out() -> None:
    rows = [
        {"what": what, "transport": "naive-credit", "seed": seed, "rtts": 1.5, "far": far}
        for what in ("one", "many")
        for seed, far in ((1, 0.02), (2, 1.0))
    ]
    assert fig02.taken({"rows": pl.DataFrame(rows)}, "naive-credit") == pytest.approx([1.5, math.nan], nan_ok=True)


def test_a_series_must_begin_a_window_before_the_flow_asks() -> None:
    with pytest.raises(ValueError, match="must begin 4e"):
        joining([np.ones(50), np.ones(50)], before=3).held(5)


def test_a_window_has_enough_packets_and_a_whole_saw_tooth() -> None:
    assert [window_rtts(packets) for packets in (1000, 100, 40, 9.9)] == [1, 1, 3, 11]
    assert window_rtts(40, least=21.8) == 22
    # N = 2, C RTT = 81 frames, K = 65: 1/2 sqrt(4 x 146) round trips of 100 us and 65 frames.
    assert saw_tooth_s(10e9, 1e-4, 65) == pytest.approx(0.5 * math.sqrt(4 * 146.3) * 179.97e-6, rel=1e-3)


def test_never_is_later_than_all_and_no_ratio() -> None:
    found = times([3, math.nan, 5, math.nan, math.nan])
    assert words(found) == "never"
    assert words(times([3, math.nan, 5])) == "5"
    assert quotient([8, 8, math.nan], [2, math.nan, 2]).draws == (4, 0, 0)
    assert convergence.never([1, math.nan]) == "1 of 2"
