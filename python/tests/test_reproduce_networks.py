"""Figures of networks with many flows, and of theory: their own arithmetic against numbers made by hand."""

from __future__ import annotations

import ast
import math
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import clearway
from clearway.reproduce import claim, claims, expresspass, figures, quantities
from clearway.reproduce.expresspass import fig01a, fig15rcp, fig17, fig19, fig19_cells, realistic
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
    found = quantities.queues(run)
    assert found["queue_mean"] == pytest.approx(400)
    assert found["queue_mean_up"] == found["queue_mean_worst"] == pytest.approx(600)
    assert found["queue_max"] == 5000


def cells(**of: list[float]) -> dict[str, pl.DataFrame]:
    """Rows of Fig. 19 at the highest load: mean times of S flows of Web Server, one a seed."""
    return {
        "rows": pl.DataFrame(
            {
                "workload": "web-server",
                "load": 0.6,
                "transport": name,
                "seed": list(range(1, len(values) + 1)),
                "fct_S": values,
                **{f"flows_{size}": 100 if size == "S" else 9 for size in ("S", "M", "L", "XL")},
            }
            for name, values in of.items()
        ).explode("seed", "fct_S")
    }


def test_ratios_are_of_the_others_time_over_ours() -> None:
    tables = cells(expresspass=[2.0, 4.0], dctcp=[3.0, 6.0])
    found = fig19_cells.slower(tables, ("web-server", "S"), "dctcp")
    assert (found.mean, found.low, found.high) == pytest.approx((1.5, 1.5, 1.5))
    assert fig19.extremes_text({("web-server", "S"): found}) == "1.50 (Web Server S) to 1.50 (Web Server S)"


def test_a_class_counts_where_every_run_has_enough_flows() -> None:
    assert fig19_cells.classes(cells(expresspass=[1.0]), "web-server") == ["S"]


def test_we_are_compared_with_the_median_of_the_others() -> None:
    tables = cells(
        **{name: [value] for name, value in zip(fig19_cells.TRANSPORTS, (6.0, 1.0, 2.0, 4.0, 8.0), strict=True)}
    )
    assert fig19.versus_others(tables, "web-server") == pytest.approx([2])


def test_a_99th_percentile_of_several_seeds_needs_a_thousand_flows() -> None:
    rng = np.random.default_rng(1)
    few, many = ([rng.exponential(size=count) for _ in range(5)] for count in (199, 400))
    assert math.isnan(realistic.pooled_p99(few))
    assert math.isnan(realistic.p99_ratio(few, few).mean)
    twice = realistic.p99_ratio([2 * one for one in many], many)
    assert (twice.mean, twice.low, twice.high, twice.seeds) == pytest.approx((2, 2, 2, 5))
    other = realistic.p99_ratio([rng.exponential(size=400) for _ in range(5)], many)
    assert other.low < 1 < other.high


def test_the_first_number_of_flows_with_drops_of_each_seed() -> None:
    rows = pl.DataFrame(
        {"variant": "rcp", "seed": [1, 1, 1, 2, 2, 2], "flows": [32, 64, 128] * 2, "drops": [0, 5, 9, 0, 0, 0]}
    )
    first = fig15rcp.first_drops({"rows": rows}, "rcp")
    assert first == [64, None]
    assert fig15rcp.drops_text(first) == "from 64 flows on or none"
    assert fig15rcp.drops_text([None]) == "none"


@pytest.mark.parametrize("module", sorted(Path(expresspass.__path__[0]).glob("*.py")), ids=lambda path: path.stem)
def test_no_figure_of_expresspass_makes_a_verdict_by_hand(module: Path) -> None:
    used = {
        node.func.id
        for node in ast.walk(ast.parse(module.read_text("utf-8")))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    }
    assert not used & {"Finding", "verdict"}, "verdicts come from clearway.reproduce.judge"


def test_every_claim_of_expresspass_has_a_figure() -> None:
    named = {name for figure in figures().values() if figure.paper == "expresspass" for name in figure.claims}
    assert named == set(claims("expresspass"))


def test_the_square_root_law_halves_the_rate_at_four_times_the_loss() -> None:
    assert square_root.law(0.004) == pytest.approx(square_root.law(0.001) / 2)
    assert square_root.law(0.0001, 1.0) == pytest.approx(1460 * 8 * 100 / square_root.RTT_S)


def test_fairness_is_measured_for_every_transport_with_congestion_control() -> None:
    assert {"newreno", "cubic", "dctcp", "hull", "dx", "rcp", "ideal", "expresspass"} <= set(fairness.transports())
    assert "blast" not in fairness.transports()


def test_full_scale_is_that_of_the_paper() -> None:
    assert all(job.scenario["traffic"][0]["flows"] == realistic.FULL == 100_000 for job in fig19.jobs("paper"))
    assert all(job.scenario["traffic"][0]["size"] == "1000000 B" for job in fig17.jobs("paper"))
    assert claim("expresspass", "fig17-shuffle-flow-count").number() == 39 * fig17.TASKS["paper"] ** 2


def test_the_claims_of_theory_are_whole() -> None:
    assert claim("theory", "square-root-law").holds(0.85)
    assert not claim("theory", "square-root-law").holds(math.nan)
    assert all(claim("theory", f"fairness-{name}").source for name in fairness.CLAIMED)
