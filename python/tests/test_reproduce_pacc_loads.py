"""PACC's Fig. 7 to 10: what is compared with what."""

import polars as pl
import pytest

from clearway.reproduce.pacc import fig07
from clearway.reproduce.pacc.setup import TRANSPORTS


def test_a_reduction_is_the_largest_over_loads_and_negative_where_pacc_is_slower() -> None:
    of = {
        ("WebSearch", load, fig07.ALL, name): value
        for load, values in ((0.3, (8.0, 10.0, 16.0, 4.0)), (0.5, (9.0, 10.0, 10.0, 6.0)))
        for name, value in zip(("pacc", "dcqcn", "timely", "hpcc"), values, strict=True)
    }
    reading = fig07.Reading("pacc", "code")
    assert fig07.reductions(of, reading, "WebSearch", (0.3, 0.5)) == pytest.approx(
        {"DCQCN": 20.0, "TIMELY": 50.0, "HPCC": -50.0}
    )
    assert fig07.versus_best(of, reading, "WebSearch", fig07.ALL, (0.3, 0.5)) == pytest.approx(-50.0)


def test_an_answer_that_depends_on_the_reading_is_not_decidable() -> None:
    assert fig07.answer([True, True]) == "reproduced"
    assert fig07.answer([True, False]) == "undecidable"
    assert fig07.answer([False, False]) == "not reproduced"


def test_every_workload_load_and_reading_is_run_and_causes_are_isolated_at_the_middle_load() -> None:
    quick = fig07.jobs("quick")
    table = pl.DataFrame([dict(job.params) for job in quick])
    assert table.is_unique().all()
    each = len(TRANSPORTS) + len(fig07.READINGS)
    assert len(quick) == 2 * (each * len(fig07.LOADS["quick"]) + len(fig07.OTHERS))
    assert set(table.filter(pl.col("transport").is_in(list(fig07.OTHERS)))["load"]) == {fig07.MIDDLE}
    assert all(job.scenario["traffic"][0]["stop"] == "100 ms" for job in fig07.jobs("full"))


def test_sizes_are_readable() -> None:
    assert [fig07.readable(size) for size in (0, 300, 30_000, 3e6)] == ["0", "300 B", "30 KB", "3 MB"]
