"""The judge can fail: PACC and those that it is compared with, broken on purpose, turn PACC's claims red.

Each claim depends on what was broken; see `test_judge_can_fail.py`. The judgement is always the figure's own.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from breaking import Breaking, having, only, transport

from clearway.reproduce.claims import HOLDING
from clearway.reproduce.pacc import fig01, fig06, fig07_claims, fig07_runs
from clearway.reproduce.pacc.setup import READINGS

#: What decides Fig. 6 under PACC-18, by which its claim holds, without what isolates causes.
DECIDING = {"hpcc": "hpcc", "pacc": "pacc, T_i 55 us", "rocev2, window": "rocev2, window"}
FAIR, GAP = "fig06-fairness-long-flows", "fig02-dcqcn-gap-after-burst"


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One folder of results for all tests, so that no simulation runs twice."""
    return tmp_path_factory.mktemp("store")


@pytest.fixture
def fair(store: Path, monkeypatch: pytest.MonkeyPatch) -> Breaking:
    """Fig. 6 with PACC-18 as the default, and without other readings."""
    monkeypatch.setattr(fig06, "SCHEMES", {name: fig06.SCHEMES[run] for name, run in DECIDING.items()})
    monkeypatch.setattr(fig06, "UNDER", {})
    return Breaking(store, "pacc/fig06", lambda _: True)


def pacc(**values: Any) -> Any:
    """PACC with other values of its parameters."""
    return only("pacc", lambda job: transport(job, **values))


def test_without_notifications_flows_under_pacc_never_settle(fair: Breaking) -> None:
    fair.turns_red(pacc(beta1=0, beta2=0), FAIR)


def test_with_a_notification_in_ten_milliseconds_flows_under_pacc_never_settle(fair: Breaking) -> None:
    fair.turns_red(pacc(cnp_gap="10 ms"), FAIR)


def test_with_a_hundredfold_period_pacc_reacts_too_late(fair: Breaking) -> None:
    fair.turns_red(pacc(period="8 ms"), FAIR)


def test_with_hosts_that_hardly_increase_bandwidth_is_not_taken_back_under_pacc(fair: Breaking) -> None:
    fair.turns_red(pacc(increase_timer="30 ms"), FAIR)


def test_with_a_target_that_follows_each_cut_flows_under_pacc_do_not_come_back(fair: Breaking) -> None:
    values = {"clamp_target": True, "reaction": "on-cnp", "decrease_interval": "0 s", "increase_timer": "300 us"}
    fair.turns_red(pacc(**values), FAIR)


def test_with_increases_of_one_gbps_hpcc_is_fair_too(fair: Breaking) -> None:
    fair.turns_red(only("hpcc", lambda job: transport(job, ai="1 Gbps")), FAIR)


def test_without_marks_dcqcn_leaves_no_gap_after_a_burst(store: Path) -> None:
    kept = having(transport="dcqcn", late_us=0)
    figure = Breaking(store, "pacc/fig01", kept, lambda tables: [fig01.check_gap(tables)])
    figure.turns_red(lambda job: transport(job, k_min="10 MB", k_max="20 MB"), GAP)


def test_with_a_target_that_stays_and_a_tenfold_timer_dcqcn_is_back_at_once(store: Path) -> None:
    kept = having(transport="dcqcn", late_us=0)
    figure = Breaking(store, "pacc/fig01", kept, lambda tables: [fig01.check_gap(tables)])
    figure.turns_red(lambda job: transport(job, clamp_target=False, increase_timer="5 us"), GAP)


def loses(figure: Breaking, change: Any, *claims: str) -> None:
    """The claims hold, by default or under a reading, and no longer do once the simulations are broken."""
    whole, broken = figure.verdicts(lambda _: {}), figure.verdicts(change)
    assert {whole[name] for name in claims} <= {*HOLDING, "holds under a reading"}, whole
    assert {broken[name] for name in claims} == {"not reproduced"}, broken


def of_pacc(**values: Any) -> Any:
    """PACC under all readings with other values of its parameters."""
    return lambda job: transport(job, **values) if job.params["transport"].startswith("pacc") else {}


@pytest.mark.slow
def test_with_a_notification_each_half_microsecond_pacc_sends_more_than_dcqcn(store: Path) -> None:
    figure = Breaking(store, "pacc/fig02", lambda _: True)
    loses(figure, of_pacc(cnp_gap="500 ns", beta1=1, beta2=1), "fig02b-cnp-count-ordering")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Mean of empty slice", "ignore:invalid value")
def test_without_the_window_of_its_reading_pacc_peaks_above_hpcc(store: Path) -> None:
    windowed = READINGS["PACC-30"]["PACC"]
    figure = Breaking(
        store,
        "pacc/fig01",
        lambda job: job.params["late_us"] == 0 and job.params["transport"] != "probe",
        lambda tables: [fig01.check_order(tables)],
    )
    loses(figure, only(windowed, lambda job: transport(job, windowing="none")), "fig01-pacc-ordering")


@pytest.fixture
def loaded(store: Path, monkeypatch: pytest.MonkeyPatch) -> Breaking:
    """Fig. 7 and 8 on one switch with eight hosts, which takes a second."""
    made = fig07_runs.made

    def small(*arguments: Any) -> dict[str, Any]:
        scenario = made(*arguments)
        traffic = [{**scenario["traffic"][0], "stop": "6 ms"}]
        return {**scenario, "topology": {"kind": "star", "hosts": 8, "rate": "25 Gbps", "delay": "1 us"}} | {
            "traffic": traffic
        }

    monkeypatch.setattr(fig07_runs, "made", small)
    return Breaking(store, "pacc/fig07", lambda _: True, fig07_claims.check_averages)


@pytest.mark.slow
def test_without_the_window_of_its_reading_flows_take_longer_under_pacc_than_under_hpcc(loaded: Breaking) -> None:
    off = only("pacc, window", lambda job: transport(job, windowing="none"))
    loses(loaded, off, "fig08-hadoop-average-fct")


@pytest.mark.slow
def test_with_hundredfold_notifications_and_slow_increases_flows_take_longer_under_pacc(loaded: Breaking) -> None:
    slow = only("pacc, window", lambda job: transport(job, beta1=5, increase_timer="30 ms"))
    loses(loaded, slow, "fig08-hadoop-average-fct")
