"""Parity with the ns-3 code of HPCC's authors: its lists of flows, and what counts as a completion time."""

from __future__ import annotations

import pytest

import clearway
from clearway.metrics import BUCKETS
from clearway.parity import find
from clearway.parity.case import ForeignError, csv, digest
from clearway.parity.hpcc_ns3 import CASES, LISTS, MEAN_BYTES, foreign
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


def test_of_its_lists_the_counted_lines_are_read() -> None:
    read = foreign(SAMPLE)
    assert read is not None
    assert read.rows() == [(2_000_000_000, 7, 1, 1000), (2_000_001_001, 3, 1, 2000)]
    assert foreign(csv(read)) is None
    for count in ("9", "0", "-1", "two"):
        with pytest.raises(ForeignError, match=rf"^1: '{count}': write the number of flows"):
            foreign(SAMPLE.replace("2\n", f"{count}\n", 1))


def test_a_completion_time_ends_with_the_last_acknowledgement() -> None:
    read = foreign(SAMPLE)
    assert read is not None
    for case in CASES:
        run = run_list(case, csv(read), origin="sample")
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
            assert {name for name, _, _ in BUCKETS} | {"all"} == set(reference.buckets)
