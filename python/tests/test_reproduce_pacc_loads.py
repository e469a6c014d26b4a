"""PACC's Fig. 7 to 10 and what follows from its text: what is compared with what."""

from __future__ import annotations

import math

import polars as pl
import pytest

from clearway import _clearway
from clearway.plan.pacc import Loop
from clearway.reproduce import Job
from clearway.reproduce.pacc import arithmetic, fig07_cells, fig07_claims, fig07_runs, text
from clearway.reproduce.pacc.burst import BURST_US
from clearway.reproduce.pacc.setup import DEFAULT, PAPER, READINGS, TRANSPORTS, VARIANTS
from clearway.reproduce.stats import SEEDS

#: Averages of five seeds by load and transport, in seconds.
AVERAGES = {
    0.3: {"pacc": 8.0, "dcqcn": 10.0, "timely": 16.0, "hpcc": 4.0},
    0.5: {"pacc": 9.0, "dcqcn": 10.0, "timely": 10.0, "hpcc": 6.0, "pacc, window": 5.0},
}


def tables(late: dict[str, float] | None = None) -> dict[str, pl.DataFrame]:
    """Made by hand: every seed scales all times alike."""
    sizes, rows = [], []
    for workload in fig07_cells.WORKLOADS:
        for load, averages in AVERAGES.items():
            for name, mean in averages.items():
                for seed in SEEDS:
                    key = {"workload": workload, "load": load, "transport": name, "seed": seed}
                    rows.append(key)
                    for bucket in fig07_cells.CLASSES:
                        times = {"mean_s": mean * seed, "p99_s": (late or averages).get(name, mean) * seed}
                        sizes.append({**key, "bucket": bucket, "flows": 1, **times})
    return {"sizes": pl.DataFrame(sizes), "rows": pl.DataFrame(rows)}


def test_a_reduction_is_the_largest_over_loads_paired_by_seed_and_negative_where_pacc_is_slower() -> None:
    found = {name: fig07_cells.reduced(tables(), "WebSearch", other) for name, other in PAPER.items()}
    assert {name: value.mean for name, value in found.items()} == pytest.approx(
        {"DCQCN": 20.0, "TIMELY": 50.0, "HPCC": -50.0}
    )
    assert found["DCQCN"].high - found["DCQCN"].low == pytest.approx(0), "seeds differ, their ratios don't"
    best = fig07_cells.best_other(tables(), "WebSearch", fig07_cells.ALL, "mean_s")
    assert best.mean == pytest.approx(-50.0)


def test_a_cell_is_a_ratio_paired_by_seed_and_won_only_if_its_interval_says_so() -> None:
    cell = ("WebSearch", 0.3, fig07_cells.ALL, "mean_s")
    found = [fig07_cells.over(tables(), cell, "pacc", other) for other in ("dcqcn", "hpcc")]
    assert [one.mean for one in found] == pytest.approx([0.8, 2.0])
    assert [one.high - one.low for one in found] == pytest.approx([0, 0]), "seeds differ, their ratios don't"
    assert fig07_claims.lowest(tables(), DEFAULT, 0.03) == "0 of 8 cells, at worst 2.00 times another"
    best = fig07_claims.lowest(tables(), DEFAULT | {"PACC": "hpcc"}, 0.03)
    assert best == "8 of 8 cells, at worst 1.00 times another"
    assert len(fig07_cells.cells(tables(), (fig07_cells.SMALL, fig07_cells.LARGE))) == 2 * 2 * 2 * 2


def test_the_order_of_the_tail_is_asked_of_pairs_whose_averages_differ() -> None:
    same = fig07_claims.check_similar(tables())
    assert same.verdict == "reproduced"
    other = fig07_claims.check_similar(tables({"pacc": 30.0, "dcqcn": 10.0, "timely": 16.0, "hpcc": 4.0}))
    assert other.verdict == "not reproduced"


def params(jobs: list[Job]) -> pl.DataFrame:
    """What tells the runs apart."""
    return pl.DataFrame([dict(job.params) for job in jobs])


def test_every_workload_transport_and_seed_is_run_and_causes_are_isolated_at_the_middle_load() -> None:
    quick = fig07_runs.jobs("quick")
    assert params(quick).is_unique().all()
    assert len(quick) == 2 * len(SEEDS) * (len(TRANSPORTS) + len(fig07_runs.BESIDE))
    for size in (*fig07_runs.SIZES, 1):
        table = params(fig07_runs.at(size))
        assert table.is_unique().all()
        beside = table.filter(~pl.col("transport").is_in(list(TRANSPORTS)))
        assert set(beside["load"]) == {fig07_cells.MIDDLE}
        assert set(table["load"]) == set(fig07_runs.LOADS if size == 1 else [fig07_cells.MIDDLE])
    needed = {name for names in READINGS.values() for name in names.values()}
    assert needed <= set(table["transport"]), "a reading is judged by runs of its own"
    for job in quick:
        assert job.scenario["seed"] == job.params["seed"], "all transports get the same flows"


def test_as_many_flows_arrive_at_each_load_and_the_papers_size_has_a_99th_percentile_of_each_class() -> None:
    spans = {
        job.params["load"]: float(job.scenario["traffic"][0]["stop"].removesuffix(" ms"))
        for job in fig07_runs.at(1)
        if job.params["workload"] == "WebSearch"
    }
    assert [load * span for load, span in spans.items()] == pytest.approx([0.5 * 30] * len(fig07_runs.LOADS), rel=1e-4)
    # At half load 122 flows above 100 KB arrive in a millisecond, and those of a sixth at either end don't count.
    assert 122 * spans[0.5] * (1 - 2 * fig07_runs.ENDS) > 2_000


def test_a_class_too_small_for_a_99th_percentile_is_no_cell() -> None:
    here = tables({"hpcc": math.nan})
    both = ("pacc", "hpcc")
    assert {column for *_, column in fig07_cells.cells(here, (fig07_cells.ALL,), *both)} == {"mean_s"}
    assert {column for *_, column in fig07_cells.cells(here, (fig07_cells.ALL,), "pacc")} == {"mean_s", "p99_s"}


def test_what_bursts_can_give_at_most_follows_by_arithmetic() -> None:
    assert arithmetic.sent_after_us() == pytest.approx(64 * 1048 * 8 / 25e3)
    assert arithmetic.waiting_kb(10) == pytest.approx(9 * 25 / 8 * 10)
    assert arithmetic.least_after_kb(15) == pytest.approx(281.25 - 5 * 25 / 8)
    assert arithmetic.arrives_kb() > arithmetic.leaves_kb() == pytest.approx(625)
    assert arithmetic.regained_by_dcqcn_gbps(500) == pytest.approx((9 - 5) * 0.04)
    assert arithmetic.regained_by_timely_gbps(60) == pytest.approx(0.25)


def test_a_halved_rate_leaves_the_long_flow_a_third_below_the_short_ones_at_most() -> None:
    """In what the port sends from 40 to 200 us: by hand, with a first cut after 10 us."""
    until = 10 + (625 - 10 * 31.25) / (9 * 3.125 + 3.125 / 2)
    long, short = 31.25 + (until - 10) * 3.125 / 2 - 12.5, until * 3.125 - 12.5
    assert arithmetic.unfair_percent() == pytest.approx(100 * (1 - long / short), abs=0.1)
    assert until < arithmetic.sent_after_us(), "the bursts go on until then"


def test_what_follows_from_the_text_is_computed_from_the_parameters() -> None:
    found = {one.claim.id: one for one in text.check(text.summarise({}))}
    assert set(found) == set(text.FIGURE.claims)
    assert {one.verdict for one in found.values()} == {"arithmetic", "input", "contradicts itself"}
    assert found["sec3c-entry-size"].verdict == "contradicts itself"
    assert "64 + 32 + 8 + 8 = 112 bits are 14 bytes" in found["sec3c-entry-size"].note
    assert found["appendix-alpha-star"].measured == "0.04714"
    assert "Q_th: 125 KB" in found["sec4c-parameters"].measured
    assert found["fig05-phase-margin"].measured.startswith("+53.1 degrees")


def test_the_loop_of_the_analysis_does_not_depend_on_the_number_of_flows_eq_16() -> None:
    loop = Loop()
    s = complex(100.0, 3000.0)
    few, many = (text.linearised(loop, flows, s) for flows in (2, 200))
    assert few == pytest.approx(many)
    assert few == pytest.approx(text.printed(loop, s))


def test_baselines_run_with_the_parameters_of_their_own_papers_as_sec_v_a_says() -> None:
    """The profile of HPCC's code, which is not what the paper says, is a reading."""
    assert not any("profile" in transport for transport in TRANSPORTS.values())
    defaults = {one["name"]: {p["name"]: p["default"] for p in one["parameters"]} for one in _clearway.transports()}
    given = {name: {**defaults[name], **TRANSPORTS[name]} for name in PAPER.values()}
    dcqcn, timely, hpcc = (given[name] for name in ("dcqcn", "timely", "hpcc"))
    assert (dcqcn["cnp_interval"], dcqcn["increase_timer"], dcqcn["ai"]) == ("50 us", "55 us", "40 Mbps")
    assert (dcqcn["k_min"], dcqcn["k_max"], dcqcn["k_at"]) == ("5 KB", "200 KB", "40 Gbps"), (
        "scaled with the port's rate"
    )
    assert (timely["t_low"], timely["t_high"], timely["ai"]) == ("50 us", "500 us", "10 Mbps")
    assert timely["increments_at"] == "0 bps", "not scaled: its paper does not"
    assert (hpcc["eta"], hpcc["max_stage"], hpcc["ai"]) == ("0.95", 5, "12.5 Mbps")
    assert hpcc["windowing"] == "rate"


def test_closed_calculations_take_the_constants_that_the_baselines_run_with() -> None:
    defaults = {one["name"]: {p["name"]: p["default"] for p in one["parameters"]} for one in _clearway.transports()}
    dcqcn, timely, pacc = (defaults[name] | TRANSPORTS[name] for name in ("dcqcn", "timely", "pacc"))
    assert (dcqcn["cnp_interval"], dcqcn["increase_timer"]) == (f"{arithmetic.CNP_US} us", f"{arithmetic.STEP_US} us")
    assert (int(dcqcn["fast_recovery"]), dcqcn["ai"]) == (arithmetic.RECOVERY, f"{1e3 * arithmetic.STEP_GBPS:g} Mbps")
    assert timely["hai"] == f"{1e3 * arithmetic.HYPER_GBPS:g} Mbps"
    assert pacc["period"] == f"{arithmetic.PERIOD_US} us"
    assert arithmetic.NEXT_PERIOD_US == -BURST_US % arithmetic.PERIOD_US


def test_each_reading_names_four_transports_that_figures_run_and_changes_at_least_one() -> None:
    for name, names in READINGS.items():
        assert set(names) == set(DEFAULT), name
        assert set(names.values()) <= set(TRANSPORTS) | set(VARIANTS), name
        assert names != DEFAULT, name
    code = READINGS["PACC-25"]
    assert all(VARIANTS[one]["profile"] == "hpcc-ns3" for one in code.values())


def test_a_transport_that_ran_at_one_load_is_compared_there_alone() -> None:
    here = tables()
    rows = here["rows"].filter((pl.col("transport") != "pacc") | (pl.col("load") == 0.5))
    found = fig07_cells.reduced({**here, "rows": rows}, "WebSearch", "timely")
    assert found.mean == pytest.approx(10), "50 % at the other load is not counted"
