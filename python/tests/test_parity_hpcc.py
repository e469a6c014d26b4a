"""Parity with the ns-3 code of HPCC's authors: its lists of flows, and what counts as a completion time."""

from __future__ import annotations

from pathlib import Path

import pytest

import clearway
from clearway.metrics import BUCKETS
from clearway.parity import find
from clearway.parity.case import csv, digest
from clearway.parity.hpcc_ns3 import CASES, LISTS, MEAN_BYTES
from clearway.parity.lists import run_list

#: As in that code's own `mix/flow.txt`: more lines than are counted, and an explanation.
SAMPLE = """2
7 1 3 100 1000 2
3 1 3 100 2000 2.000001001
4 1 3 100 150000000 2

Please order the flows in ascending start_time!
"""


def test_the_name_of_the_simulator_stands_for_all_of_its_cases() -> None:
    assert [case.name for case in find("hpcc-ns3")] == [case.name for case in CASES]
    assert [case.name for case in find("hpcc-ns3-timely")] == ["hpcc-ns3-timely"]
    with pytest.raises(clearway.Error, match="case 'hpcc-ns': write one of ns2"):
        find("hpcc-ns")


def test_a_completion_time_ends_with_the_last_acknowledgement(tmp_path: Path) -> None:
    (tmp_path / "flow.txt").write_text(SAMPLE)
    for case in CASES:
        run = run_list(case, tmp_path / "flow.txt")
        assert run.flows["start_s"].to_list() == [2.0, 2.000001001], "the counted lines"
        # Within a rack: two links there and two back, 1 us each, and a frame of a kilobyte twice.
        own = case.fct(run).to_list()[0]
        assert own == run.flows["acked_s"][0] > run.flows["fct_s"][0]
        assert 4e-6 < own < 5e-6, case.name


def test_lists_are_as_measured_and_offer_the_load_that_they_state() -> None:
    assert abs(MEAN_BYTES - 1_711_250) < 1e-3
    for flows in LISTS:
        made = flows.make()
        text = csv(made)
        for case in CASES:
            reference = case.reference(flows)
            assert reference is not None, case.name
            assert digest(text) == reference.sha256, case.name
            for draw in reference.draws:
                assert {name for name, _, _ in BUCKETS} | {"all"} == set(draw)
