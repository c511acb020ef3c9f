"""Strides and extents of accesses."""

import pytest
from treetext import program

from sdgrad.optimize.locality.strides import contiguous, known_bytes, known_trips, steps

GIVEN = """
    argument A: float64[8, 5]
    argument B: float32[n, 5]
    argument s: float64[8]
    body
      map i=0:8, j=0:{}:
        v = A[i, {}]
        s[i] += v
"""


def leaf_of(stop="5", column="j"):
    given = program(GIVEN.format(stop, column), symbols="n m")
    return given, given.body[0]


@pytest.mark.parametrize(("column", "found"), [("j", (5, 1)), ("3*j", (5, 3)), ("4 - j", (5, -1)), ("i", (6, 0))])
def test_steps_between_neighbouring_iterations(column, found):
    given, leaf = leaf_of(column=column)
    assert tuple(steps(leaf.loads[0], p, given) for p in leaf.params) == found


def test_the_contiguous_parameter():
    given, leaf = leaf_of()
    assert contiguous(leaf, given).name == "j"


def test_two_contiguous_parameters_are_none():
    given = program("""
        argument A: float64[8, 8]
        argument s: float64[8]
        body
          map i=0:8, j=0:8:
            v = A[i, j]
            w = A[j, i]
            x = v * w
            s[i] += x
    """)
    assert contiguous(given.body[0], given) is None


def test_known_sizes():
    given, leaf = leaf_of()
    assert [known_trips(p) for p in leaf.params] == [8, 5]
    assert known_bytes(given.containers["A"]) == 8 * 5 * 8


def test_symbolic_sizes_are_zero():
    given, leaf = leaf_of(stop="m")
    assert [known_trips(p) for p in leaf.params] == [8, 0]
    assert known_bytes(given.containers["B"]) == 0
