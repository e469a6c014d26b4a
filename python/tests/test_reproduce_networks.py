"""Figures of networks with many flows, and of theory: their own arithmetic against numbers made by hand."""

from __future__ import annotations

import math

import polars as pl
import pytest

import clearway
from clearway.reproduce import claim, measures
from clearway.reproduce.expresspass import fig01a, fig15rcp, fig17, fig19, realistic
from clearway.reproduce.theory import fairness, square_root


def test_the_exponent_of_a_power_is_found() -> None:
    assert fig01a.exponent([32, 64, 128], [16, 32, 64]) == pytest.approx(1)
    assert fig01a.exponent([1, 10, 100], [5, 500, 50_000]) == pytest.approx(2)
    assert fig01a.exponent([1, 10, 100], [7, 7, 7]) == pytest.approx(0)


def test_queues_are_averaged_over_the_time_of_arrivals() -> None:
    ports = pl.DataFrame(
        {
            "tier": ["host->tor", "tor->agg", "agg->tor"],
            "queue_mean_bytes": [999.0, 300.0, 100.0],
            "queue_max_bytes": [9999, 4000, 5000],
        }
    )
    flows = pl.DataFrame({"start_s": [0.0, 0.5]})
    run = clearway.Run("made", flows, ports, pl.DataFrame(), {"simulated_s": 1.0}, "")
    found = measures.queues(run)
    assert found["queue_mean"] == pytest.approx(400)
    assert found["queue_mean_up"] == found["queue_mean_worst"] == pytest.approx(600)
    assert found["queue_max"] == 5000


def test_ratios_are_of_the_others_time_over_ours() -> None:
    of = {("web-server", "S", "expresspass"): 2.0, ("web-server", "S", "dctcp"): 3.0}
    assert fig19.ratios(of, ("S", "M"), "dctcp") == {"Web Server S": 1.5}


def test_a_range_is_met_at_both_ends() -> None:
    here = claim("expresspass", "fig19-average-fct-small-medium")
    assert fig19.ends_hold(here, {"a": 1.3, "b": 2.0, "c": 5.14})
    assert not fig19.ends_hold(here, {"a": 1.3, "b": 2.0})
    assert "(a)" in fig19.extremes({"a": 1.3, "b": 2.0})


def test_we_are_compared_with_the_median_of_the_others() -> None:
    of = {("web-server", "S", name): value for name, value in zip(fig19.TRANSPORTS, (6, 1, 2, 4, 8), strict=True)}
    assert fig19.versus_others(of, "web-server") == pytest.approx(2)


def test_the_first_number_of_flows_with_drops() -> None:
    rows = pl.DataFrame({"variant": "rcp", "flows": fig15rcp.FLOWS, "drops": [0, 0, 0, 5, 0, 9, 9, 9, 9]})
    assert fig15rcp.first_drop({"rows": rows}, "rcp") == 32
    assert fig15rcp.first_drop({"rows": rows.with_columns(drops=0)}, "rcp") is None


def test_the_square_root_law_halves_the_rate_at_four_times_the_loss() -> None:
    assert square_root.law(0.004) == pytest.approx(square_root.law(0.001) / 2)
    assert square_root.law(0.0001, 1.0) == pytest.approx(1460 * 8 * 100 / square_root.RTT_S)


def test_fairness_is_measured_for_every_transport_with_congestion_control() -> None:
    assert {"newreno", "cubic", "dctcp", "hull", "dx", "rcp", "ideal", "expresspass"} <= set(fairness.transports())
    assert "blast" not in fairness.transports()


def test_full_scale_is_that_of_the_paper() -> None:
    assert all(job.scenario["traffic"][0]["flows"] == realistic.FULL == 100_000 for job in fig19.jobs("full"))
    assert all(job.scenario["traffic"][0]["size"] == "1000000 B" for job in fig17.jobs("full"))
    assert claim("expresspass", "fig17-shuffle-flow-count").number() == 39 * fig17.TASKS["full"] ** 2


def test_the_claims_of_theory_are_whole() -> None:
    assert claim("theory", "square-root-law").holds(0.85)
    assert not claim("theory", "square-root-law").holds(math.nan)
    assert all(claim("theory", f"fairness-{name}").source for name in fairness.CLAIMED)
