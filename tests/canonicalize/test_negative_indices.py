"""Subscripts that may be negative."""

import pytest
from treetext import block, program, text

from sdgrad.canonicalize.negative_indices import replaced_at, within_arrays
from sdgrad.errors import ParseError

DECLARATIONS = """
    argument x: float64[8]
    argument y: float64[8]
    argument idx: int64[8]
    body
"""


def test_an_offset_below_zero_counts_from_the_end():
    before = program(
        DECLARATIONS
        + """
      loop i = 0 .. 7 step 1:
        do:
          u = x[i - 1]
          y[i] = u
    """
    )
    assert text(within_arrays(before)) == block("""
        loop i = 0 .. 7 step 1:
          do:
            u = x[Mod(i + 7, 8)]
            y[i] = u
    """)


def test_subscripts_in_range_stay():
    before = program(
        DECLARATIONS
        + """
      loop i = 1 .. 7 step 1:
        do:
          u = x[i - 1]
          y[i] = u
    """
    )
    assert within_arrays(before).body == before.body


def test_a_subscript_beyond_the_array_is_refused():
    before = program(
        DECLARATIONS
        + """
      loop i = 0 .. 7 step 1:
        do:
          u = x[i + 1]
          y[i] = u
    """
    )
    with pytest.raises(ParseError, match="'x' reaches beyond its array, of 8 elements"):
        within_arrays(before)


def test_under_a_condition_nothing_is_refused():
    before = program(
        DECLARATIONS
        + """
      loop i = 0 .. 7 step 1:
        if i < 7:
          do:
            u = x[i + 1]
            y[i] = u
    """
    )
    assert within_arrays(before).body == before.body


def test_a_slice_whose_end_a_loop_makes_negative_is_refused():
    before = program(
        DECLARATIONS
        + """
      loop k = 0 .. 7 step 1:
        map i=0:k - 3:
          u = x[i]
          y[i] = u
    """
    )
    with pytest.raises(ParseError, match="a slice of 'x' has a negative end"):
        within_arrays(before)


def test_a_subscript_read_from_data_is_tested():
    before = program(
        DECLARATIONS
        + """
      map i=0:8:
        k = idx[i]
        u = x[k]
        y[i] = u
    """
    )
    assert text(within_arrays(before)) == block("""
        map i=0:8:
          k = idx[i]
          k_at = k + 8 if k < 0 else k
          u = x[k_at]
          y[i] = u
    """)


def test_a_symbol_read_from_data_gets_a_counterpart():
    before = program(
        DECLARATIONS
        + """
      k := v with v = idx[0]
      do:
        u = x[k]
        y[0] = u
    """
    )
    assert text(within_arrays(before)) == block("""
        k := v with v = idx[0]
        k_at := k + 8 * min(1, max(0, -k))
        do:
          u = x[k_at]
          y[0] = u
    """)


def test_nodes_are_replaced_at_their_paths():
    before = program(
        DECLARATIONS
        + """
      loop i = 0 .. 7 step 1:
        do:
          u = x[i]
          y[i] = u
        do:
          u = y[i]
          x[i] = u
    """
    )
    first, second = before.body[0].body
    (loop,) = replaced_at(before.body, (), {(0, 0, 1): first})
    assert loop.body == (first, first) != (first, second)
