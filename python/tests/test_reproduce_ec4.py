"""Figures of EC4: what their scenarios are made of, and what is computed from their runs."""

from __future__ import annotations

import math
from pathlib import Path

import polars as pl
import pytest

import clearway
from clearway import reproduce
from clearway.reproduce.ec4 import common, fig04, fig05, fig07, fig09, realistic, sec3


def test_halves_of_the_pairs_and_of_the_hosts_meet_without_overlap() -> None:
    scenario = {
        "stop": "300 us",
        "topology": common.dumbbell(6),
        "traffic": [common.half("first", common.EC4), common.half("second", common.DCTCP, second=True)],
    }
    flows = clearway.run(scenario).flows
    assert flows.sort("src")["traffic"].to_list() == ["first"] * 3 + ["second"] * 3

    tree = realistic.scenario(common.EC4, "web-search", 0.6, 800, 1)
    small = {**tree, "traffic": [{**part, "flows": 400, "size": "10 KB"} for part in tree["traffic"]]}
    for part in small["traffic"]:
        del part["workload"]
    flows = clearway.run(small).flows
    ends = {name: set(part["src"]) | set(part["dst"]) for (name,), part in flows.group_by("traffic")}
    assert not ends["compared"] & ends["windows"]
    assert len(ends["compared"] | ends["windows"]) > 180


def test_in_the_shuffle_the_sender_decides_and_everybody_receives() -> None:
    (job, *_) = fig07.jobs("quick")
    heavy = [part for part in job.scenario["traffic"] if part["name"].startswith("heavy")]
    tiny = [{**part, "size": "1 KB", "tasks": 1} for part in heavy]
    flows = clearway.run({**job.scenario, "traffic": tiny}).flows
    senders = {name: set(part["src"]) for (name,), part in flows.group_by("traffic")}
    assert [len(hosts) for hosts in senders.values()] == [20, 20]
    assert not set.intersection(*senders.values())
    assert all(part["dst"].n_unique() == fig07.HOSTS for _, part in flows.group_by("traffic"))


def test_the_omega_of_equal_shares_balances_both_increases() -> None:
    for flows in fig04.FEW:
        omega, each, frames = fig05.fair_omega(flows), flows / 2, 128
        rate = 0.5 / each
        window = frames * rate
        assert omega * (1 / rate - 1) == pytest.approx(1 / window)


def test_a_sweep_is_crossed_where_the_ratio_is_one() -> None:
    # A ratio that rises with the square root of omega_mid, and is 1 at 0.05.
    rows = [
        {"pair": f"x, {omega:g}", "flows": 2, "seed": seed, "ratio": math.sqrt(omega / 0.05)}
        for omega in fig05.OMEGAS
        for seed in (1, 2)
    ]
    tables = {"rows": pl.DataFrame(rows)}
    assert fig05.crossing(tables, "x", 2) == pytest.approx(0.05)
    assert fig05.crossing(tables, "x", 2, at=0.8) == pytest.approx(0.05 * 0.8**2)
    flat = {"rows": tables["rows"].with_columns(pl.lit(2.0).alias("ratio"))}
    assert math.isnan(fig05.crossing(flat, "x", 2))


def test_low_mode_lasts_four_unmarked_periods_and_eq_1_asks_for_less_than_20_packets() -> None:
    assert sec3.low_periods(3) == 4
    # 10 Gbps x 30 us = 24.4 frames.
    assert sec3.equations(20)["k_min"] == pytest.approx(24.38 / 7, rel=1e-3)
    assert sec3.equations(100)["g_max"] == pytest.approx(0.0879, rel=1e-3)


def test_the_tree_is_counted_from_its_ports() -> None:
    tree = realistic.scenario(common.EC4, "web-search", 0.6, 20, 1)
    counted = fig09.made_of(clearway.run({**tree, "stop": "10 us"}).ports)
    assert counted == {"core": 8, "aggregator": 16, "tor": 32, "nodes": 192, "oversubscription": 3}


def test_flows_that_fill_and_drain_the_network_are_left_out() -> None:
    flows = pl.DataFrame({"start_s": [0.0, 0.05, 0.1, 0.5, 0.9, 0.95, 1.0]})
    assert realistic.steady(flows)["start_s"].to_list() == [0.1, 0.5, 0.9]


@pytest.mark.slow
def test_fig_3_is_run_checked_and_drawn(tmp_path: Path) -> None:
    found = reproduce.reproduce("ec4/fig03", out=tmp_path, processes=1)
    by = {one.claim.id: one for one in found.findings}
    assert by["fig03-expresspass-starves-dctcp"].verdict == "reproduced"
    assert all(path.exists() for path in found.files)


def test_every_claim_of_ec4_has_a_figure() -> None:
    named = {name for figure in reproduce.find("ec4") for name in figure.claims}
    assert named == set(reproduce.claims("ec4"))


def test_ec4_is_fairer_at_every_number_of_flows_and_yet_a_ratio_far_from_1_at_one_of_them_fails() -> None:
    def tables(ratio_with_8: float, jain_with_256: float) -> dict[str, pl.DataFrame]:
        rows = [
            {
                "kind": "mix",
                "transport": name,
                "flows": flows,
                "seed": seed,
                "ratio": {"ec4": ratio_with_8 if flows == 8 else 1.1}.get(name, 10.0),
                "jain": {"ec4": 0.99}.get(name, jain_with_256 if flows == 256 else 0.6),
            }
            for name in common.MIXED
            for flows in common.FLOWS
            for seed in (1, 2, 3)
        ]
        return {"rows": pl.DataFrame(rows)}

    assert fig04.check_ratio(tables(1.2, 0.5)).verdict == "reproduced"
    assert fig04.check_ratio(tables(1.4, 0.5)).verdict == "not reproduced"
    assert fig04.check_fairness(tables(1.2, 0.5)).verdict == "reproduced"
    assert "gets worse as flows grow" in fig04.check_fairness(tables(1.2, 0.7)).note


def test_a_mix_that_is_fair_in_some_seeds_only_is_undecided_and_one_that_never_is_has_no_time() -> None:
    rows = [{"pair": "x", "flows": 2, "seed": seed, "fair_s": math.nan if seed > 3 else 0.02} for seed in range(1, 6)]
    tables = {"rows": pl.DataFrame(rows)}
    share = fig05.share_reached(tables, "fair_s", "x", 2)
    assert share.mean == pytest.approx(0.6)
    assert share.low < 1 < share.high
    assert fig05.times_ms(tables, "fair_s", "x", 2) == pytest.approx([20, 20, 20, math.inf, math.inf])
