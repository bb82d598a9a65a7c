"""The array helpers agree with slow, obvious expressions."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphstore.util.arrays import distinct, first_of_runs, member, ragged

DTYPES = (np.int32, np.int64)


@st.composite
def arrays(draw, *, min_size=0):
    """Draw an integer array, often with equal values and often with the extreme ones."""
    dtype = draw(st.sampled_from(DTYPES))
    limits = np.iinfo(dtype)
    values = st.integers(-3, 3) | st.integers(int(limits.min), int(limits.max))
    return np.array(draw(st.lists(values, min_size=min_size, max_size=20)), dtype=dtype)


@given(arrays())
def test_distinct_values_ascend_and_are_the_set(values):
    before = values.copy()
    assert distinct(values).tolist() == sorted(set(values.tolist()))
    assert distinct(values).dtype == values.dtype
    assert np.array_equal(values, before)


@given(arrays())
def test_distinct_is_idempotent(values):
    assert np.array_equal(distinct(distinct(values)), distinct(values))


@given(arrays())
def test_a_run_begins_where_the_value_before_differs(values):
    ordered = sorted(values.tolist())
    begins = [i == 0 or ordered[i] != ordered[i - 1] for i in range(len(ordered))]
    assert first_of_runs(np.sort(values)).tolist() == begins


@given(arrays())
def test_there_are_as_many_runs_as_distinct_values(values):
    assert np.count_nonzero(first_of_runs(np.sort(values))) == len(distinct(values))


@given(st.lists(st.lists(st.integers(), max_size=4), min_size=1, max_size=8), st.data())
def test_ragged_joins_the_rows_in_the_given_order(table, data):
    offset = np.cumsum([0, *map(len, table)])
    flat = [entry for row in table for entry in row]
    rows = data.draw(st.lists(st.integers(0, len(table) - 1), max_size=10))
    for dtype in DTYPES:
        indices = ragged(offset, np.array(rows, dtype=dtype))
        assert [flat[index] for index in indices] == [entry for row in rows for entry in table[row]]
        assert indices.dtype == np.int64


@given(st.data(), st.sampled_from(DTYPES))
def test_member_is_python_in(data, dtype):
    numbers = st.integers(-5, 5) | st.sampled_from((-(2**31), 2**31 - 1))
    values = data.draw(st.lists(numbers, max_size=20))
    known = sorted(data.draw(st.sets(numbers, min_size=1)))
    found = member(np.array(values, dtype=dtype), np.array(known, dtype=dtype))
    assert found.tolist() == [value in known for value in values]


@pytest.mark.parametrize("dtype", DTYPES)
def test_empty_arrays_are_arrays_too(dtype):
    empty = np.empty(0, dtype=dtype)
    assert distinct(empty).tolist() == []
    assert first_of_runs(empty).tolist() == []
    assert ragged(np.array([0, 2]), empty).tolist() == []
    assert member(empty, np.array([1], dtype=dtype)).tolist() == []
