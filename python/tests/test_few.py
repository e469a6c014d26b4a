"""Columns of few numbers give what NumPy's arrays give, to the last bit."""

from __future__ import annotations

import operator
import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clearway import few
from clearway.few import Few

REALS = st.lists(st.floats(width=64), max_size=300)
WHOLES = st.lists(st.integers(0, 2**53), max_size=40)


def same(one: float, other: float) -> bool:
    return struct.pack("<d", one) == struct.pack("<d", other) or (one != one and other != other)


@given(st.lists(st.floats(0, 1e9), max_size=600))
def test_the_mean_is_added_in_the_order_in_which_numpy_adds(values: list[float]) -> None:
    assert same(few.mean(Few(values)), few.mean(np.array(values)))


@given(REALS, st.floats())
def test_comparisons_masks_and_places_are_those_of_numpy(values: list[float], bound: float) -> None:
    one, other = Few(values), np.array(values)
    for test in (operator.eq, operator.lt, operator.le, operator.gt, operator.ge):
        mask, known = test(one, bound), test(other, bound)
        assert mask.tolist() == known.tolist()
        assert (~mask).tolist() == (~known).tolist()
        assert (mask & few.are_nan(one)).tolist() == (known & few.are_nan(other)).tolist()
        assert few.packed(one[mask]) == few.packed(other[known])
        places = few.true_places(mask)
        assert places.tolist() == few.true_places(known).tolist()
        assert few.packed(one.take(places)) == few.packed(other.take(places.tolist()) if len(places) else other[:0])
        assert (mask.any(), mask.sum(), len(mask)) == (known.any(), known.sum(), len(known))
    assert same(few.largest(one), few.largest(other))
    assert few.packed(one[:3]) == few.packed(other[:3])


@given(WHOLES.filter(bool), st.data())
def test_whole_numbers_and_what_is_looked_up_for_them_are_those_of_numpy(
    values: list[int], data: st.DataObject
) -> None:
    one, other = Few(values), np.array(values, np.uint64)
    assert (one.sum(), one.max(), one[0], [*one]) == (other.sum(), other.max(), other[0], other.tolist())
    assert few.packed(one) == few.packed(other)
    places = data.draw(st.lists(st.integers(0, len(values) - 1)))
    found = few.looked_up(Few(places), values)
    assert found.tolist() == few.looked_up(np.array(places, int), values).tolist()


@pytest.mark.parametrize("dtype", ["<u8", "<f8", "<u4"])
def test_bytes_are_read_as_numpy_reads_them(dtype: str) -> None:
    content = bytes(range(64)) * 4
    assert Few.read(content, dtype).tolist() == np.frombuffer(content, dtype).tolist()
    assert len(Few.read(b"", dtype)) == 0
