"""The words of the experiment on bulk data in the kernel follow from its rounds."""

from __future__ import annotations

from clearway.testbed.experiments.bulk import KERNEL, MEASURES, QUEUE, SHOWN, ahead, notes, spread, words
from clearway.testbed.results import Cell, Results, Table
from clearway.testbed.shares import CREDITED, UNDERNEATH

GOODPUT, LARGEST = MEASURES[0], MEASURES[1]


def test_a_way_is_ahead_if_all_of_its_rounds_are_better() -> None:
    assert ahead(GOODPUT, [3.0, 4.0], [1.0, 2.0]) == KERNEL
    assert ahead(GOODPUT, [1.0, 2.0], [3.0, 4.0]) == QUEUE
    assert ahead(LARGEST, [10.0, 20.0], [3.0, 4.0]) == QUEUE


def test_a_way_is_ahead_by_the_median_where_rounds_overlap_and_that_differs_enough() -> None:
    assert ahead(GOODPUT, [50.0, 90.0, 91.0], [60.0, 70.0, 95.0]) == f"{KERNEL}, by the median"
    assert ahead(LARGEST, [5.0, 9.0, 40.0], [5.0, 6.0, 8.0]) == f"{QUEUE}, by the median"
    assert ahead(GOODPUT, [50.0, 90.0, 91.0], [60.0, 88.0, 95.0]) == "neither"
    assert ahead(LARGEST, [0.0, 1.0, 1.0], [0.0, 0.0, 1.0]) == "neither", "a packet tells nothing"


def test_a_spread_has_the_median_the_least_and_the_most() -> None:
    assert spread([3.0, 1.0, 2.25], 1) == "2.2 (1.0 to 3.0)"
    assert spread([1_234.0], 0) == "1,234 (1,234 to 1,234)"


def test_notes_name_each_measure_in_which_the_kernel_is_behind_and_the_page_shows_the_most_important_ones() -> None:
    rows: list[list[Cell]] = [
        ["load", SHOWN[0], "1 (1 to 1)", "2 (2 to 2)", QUEUE, 99.0, "cubic"],
        ["load", SHOWN[1], "1 (1 to 1)", "1 (1 to 1)", f"{QUEUE}, by the median", 99.0, "cubic"],
        ["load", MEASURES[3].name, "1 (1 to 1)", "2 (2 to 2)", KERNEL, 99.0, "cubic"],
    ]
    results = Results("bulk", "Bulk", "2026-11-29", 3.0, machine={"kernel": "6.18", "processors": "2 x any"})
    results.tables["ranges"] = Table(
        "A caption.", ["load", "measured", KERNEL, QUEUE, "ahead", CREDITED, UNDERNEATH], rows
    )
    results.notes = notes(results)
    assert results.notes == [
        f"Bulk data in the kernel is behind in all rounds in load: {SHOWN[0]} (1 (1 to 1), and {QUEUE} 2 (2 to 2)).",
        f"It is behind by the median alone in load: {SHOWN[1]}.",
    ]
    said = words(results)
    assert SHOWN[1] in said
    assert MEASURES[3].name not in said
