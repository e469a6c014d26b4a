"""Figures of PAC: measures of an incast against frames made by hand, and figures at a tiny scale."""

from __future__ import annotations

import math
from pathlib import Path

import polars as pl
import pytest

import clearway
from clearway import reproduce
from clearway.reproduce import quantities
from clearway.reproduce.pac import common, fig12, fig13, readings, text


def test_a_sweep_holds_until_its_value_falls_below_a_share_of_the_best_so_far() -> None:
    points = [10, 20, 30, 40]
    assert quantities.holds_until(points, [800, 900, 300, 900]) == 20
    assert quantities.holds_until(points, [800, 900, 820, 815]) is None
    assert quantities.holds_until(points, [800, 900, 820, 815], 0.95) == 20
    assert quantities.holds_until([], []) is None


def test_the_first_point_above_a_limit() -> None:
    assert quantities.first_above([10, 20, 30], [0, 0.2, 0]) == 20
    assert quantities.first_above([10, 20, 30], [0, 0, 0]) is None


def test_an_incast_averages_the_rounds_that_ended() -> None:
    flows = pl.DataFrame(
        {
            "flow": [1, 3, 5, 7, 0],
            "traffic": ["incast"] * 4 + ["background"],
            "start_s": [0.0, 0.0, 5.0, 5.0, 0.0],
            "fct_s": [1.0, 2.0, float("nan"), 1.0, 1.0],
            "size_bytes": [1000] * 5,
            "timeouts": [0, 0, 1, 0, 9],
        }
    )
    ports = pl.DataFrame({"drops_buffer": [3], "drops_loss": [0], "drops_down": [0]})
    shims = [
        {"traffic": "incast", "host": "h0", "acks_held_max": 7},
        {"traffic": "background", "host": "h0", "acks_held_max": 99},
    ]
    found = quantities.incast(clearway.Run("made", flows, ports, pl.DataFrame(), {"shims": shims}, ""), 2)
    assert found == {
        "rounds": 1,
        "rounds_cut_off": 1,
        "goodput_bps": 8000.0,
        "goodput_min_bps": 8000.0,
        "timeout_ratio": 0.5,
        "timeouts": 1,
        "drops": 3,
        "acks_held_max": 7,
    }


def sweep(goodputs: dict[int, list[float]]) -> pl.DataFrame:
    """Rows of a transport: goodput of each of five seeds by number of senders."""
    rows = [
        {"transport": "x", "senders": senders, "seed": seed, "goodput_bps": value, "timeout_ratio": 0.0, "timeouts": 0}
        for senders, values in goodputs.items()
        for seed, value in enumerate(values, start=1)
    ]
    return pl.DataFrame(rows)


def test_goodput_falls_at_the_first_number_of_senders_below_the_best_in_each_seed() -> None:
    rows = sweep({10: [900] * 5, 11: [900, 900, 900, 900, 100], 12: [100] * 5})
    found = common.fall(rows, "x")
    assert found.mean == pytest.approx(11.8)
    assert found.seeds == 5


def test_goodput_that_is_kept_is_compared_with_the_best_at_fewer_senders_where_it_is_worst() -> None:
    rows = sweep({10: [900] * 5, 11: [1000] * 5, 12: [600, 400, 500, 500, 500], 13: [950] * 5})
    found = common.kept(rows, "x")
    assert found.mean == pytest.approx((0.6 * 0.4 * 0.5**3) ** 0.2)
    assert found.low < 0.5 < found.high
    assert common.kept(rows.filter(pl.col("senders") < 12), "x").mean == pytest.approx(1000 / 900)


def test_a_number_of_senders_at_which_no_round_ends_is_the_worst() -> None:
    rows = sweep({10: [900] * 5, 11: [1000] * 5, 12: [float("nan")] * 5, 13: [950] * 5})
    assert math.isnan(common.kept(rows, "x").mean)
    assert math.isnan(common.least(rows, "x").mean)


def test_a_transport_is_ahead_by_the_least_ratio_at_equal_senders_from_a_number_on() -> None:
    ours = sweep({10: [100] * 5, 20: [800] * 5, 30: [900] * 5, 40: [1] * 5})
    theirs = sweep({10: [900] * 5, 20: [200] * 5, 30: [300] * 5}).with_columns(transport=pl.lit("y"))
    both = pl.concat([ours, theirs])
    assert common.ahead(both, "x", "y", 20).mean == pytest.approx(3)
    assert common.ahead(both, "x", "y", 10).mean == pytest.approx(1 / 9)


def test_a_flow_that_sends_nothing_after_a_change_counts_as_active() -> None:
    rows = [
        {"time_s": at, "entity": f"flows/{flow}", "value": rate}
        for at in (10.2, 10.6, 11.0, 15.0)
        for flow, rate in ((0, 900.0), (1, 0.0 if at < 12 else 450.0))
    ]
    assert fig12.active(10) == 2
    assert fig12.shares_of(pl.DataFrame(rows), 1.0, 10).tolist() == [0.0, 2.0]


def test_a_seed_without_a_fall_leaves_the_point_open() -> None:
    found = common.fall(sweep({10: [900] * 5, 11: [100, 100, 100, 100, 900]}), "x")
    assert common.point(found) == "none in the sweep"


def test_a_reading_keeps_the_networks_settings() -> None:
    pac = common.readings({"profile": "ns2-1g"})["pac, code"]
    assert pac["profile"] == "ns2-1g"
    assert pac["correction"] == "line-rate"
    assert not {"buffer", "initial_window", "rto_min"} & set(pac)
    assert readings.transport("ns2-10g", {"floor": 0.6})["floor"] == "225 KB"


def test_table_ii_is_what_fig_13_is_simulated_with() -> None:
    assert text.table_2()["1G Network/base_RTT_us"] == 120
    assert text.base_rtt_us(fig13.scenario("quick", "96 KB", {}, 4)) == pytest.approx(120, abs=0.05)


def test_shims_that_hold_acknowledgements_say_how_many() -> None:
    scenario = {
        "topology": {"kind": "star", "hosts": 5},
        "transport": "pac",
        "traffic": [{"name": "burst", "kind": "incast", "senders": 4, "total": "1 MB", "connections": "per-round"}],
    }
    (shim,) = clearway.run(scenario).summary["shims"]
    assert (shim["traffic"], shim["host"]) == ("burst", "h0")
    assert shim["acks_released"] > 0


@pytest.mark.parametrize(
    "name", [pytest.param("pac/fig02", marks=pytest.mark.slow), "pac/fig11", "pac/sec3d", "pac/text"]
)
def test_a_figure_runs_checks_and_draws(name: str, tmp_path: Path) -> None:
    (figure,) = reproduce.find(name)
    found = reproduce.reproduce(figure, out=tmp_path, processes=1)
    assert found.findings
    assert all(path.exists() for path in found.files)
