"""Figures of PAC: measures of an incast against frames made by hand, and figures at a tiny scale."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import clearway
from clearway import reproduce
from clearway.reproduce import measures


def test_a_sweep_holds_until_its_value_falls_below_a_share_of_the_best_so_far() -> None:
    points = [10, 20, 30, 40]
    assert measures.holds_until(points, [800, 900, 300, 900]) == 20
    assert measures.holds_until(points, [800, 900, 820, 815]) is None
    assert measures.holds_until(points, [800, 900, 820, 815], 0.95) == 20
    assert measures.holds_until([], []) is None


def test_the_first_point_above_a_limit() -> None:
    assert measures.first_above([10, 20, 30], [0, 0.2, 0]) == 20
    assert measures.first_above([10, 20, 30], [0, 0, 0]) is None


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
    found = measures.incast(clearway.Run("made", flows, ports, pl.DataFrame(), {"shims": shims}, ""), 2)
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


def test_shims_that_hold_acknowledgements_say_how_many() -> None:
    scenario = {
        "topology": {"kind": "star", "hosts": 5},
        "transport": "pac",
        "traffic": [{"name": "burst", "kind": "incast", "senders": 4, "total": "1 MB", "connections": "per-round"}],
    }
    (shim,) = clearway.run(scenario).summary["shims"]
    assert (shim["traffic"], shim["host"]) == ("burst", "h0")
    assert shim["acks_released"] > 0


@pytest.mark.parametrize("name", ["pac/fig02", "pac/fig03", "pac/fig07", "pac/fig13"])
def test_a_figure_runs_checks_and_draws(name: str, tmp_path: Path) -> None:
    (figure,) = reproduce.find(name)
    found = reproduce.reproduce(figure, out=tmp_path, processes=1)
    assert found.findings
    assert all(path.exists() for path in found.files)
