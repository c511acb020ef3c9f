"""Arrays whose extent varies in the program get an upper bound of it."""

import numpy as np
import pytest
from treetext import program

import sdgrad
from sdgrad.canonicalize.bounding_sizes import bound_sizes
from sdgrad.errors import DifferentiationError


def test_an_extent_that_counts_with_a_loop_becomes_its_maximum():
    before = program("""
    argument y: float64[8]
    local t: float64[2*i + 1]
    body
      loop i = 0 .. 7 step 1:
        map j=0:2*i + 1:
          u = y[0]
          t[j] = u
    """)
    after = bound_sizes(before)
    assert str(after.containers["t"]) == "local t: float64[15]"
    assert after.body == before.body


def test_an_extent_read_from_data_becomes_that_of_an_array_accessed_in_step():
    before = program("""
    argument y: float64[8]
    argument count: int64[1]
    local t: float64[n]
    body
      n := v with v = count[0]
      map j=0:n:
        u = y[j]
        t[j] = u
    """)
    assert str(bound_sizes(before).containers["t"]) == "local t: float64[8]"


def test_an_extent_computed_once_stays():
    before = program("""
    argument y: float64[8]
    argument count: int64[1]
    local t: float64[n]
    body
      n := v with v = count[0]
      map j=0:n:
        u = y[0]
        t[j] = u
    """)
    assert str(bound_sizes(before).containers["t"]) == "local t: float64[n]"


def test_an_extent_without_a_bound_is_refused():
    before = program("""
    argument y: float64[8]
    argument count: int64[8]
    local t: float64[n]
    body
      loop i = 0 .. 7 step 1:
        n := v with v = count[i]
        map j=0:n:
          u = y[0]
          t[j] = u
    """)
    with pytest.raises(DifferentiationError, match="array t"):
        bound_sizes(before)


def test_an_extent_the_caller_chooses_stays():
    before = program("""
    argument y: float64[m]
    body
      map j=0:m:
        u = 1.0
        y[j] = u
    """)
    assert bound_sizes(before).containers == before.containers


def test_powers_grow_with_their_exponents():
    before = program("""
    argument y: float64[r**8]
    local t: float64[r**i, 3*r**(7 - i)]
    body
      loop i = 0 .. 7 step 1:
        map j=0:r**i, k=0:3*r**(7 - i):
          u = y[0]
          t[j, k] = u
    """)
    assert str(bound_sizes(before).containers["t"]) == "local t: float64[r**7, 3*r**7]"


def test_an_array_with_views_keeps_its_layout():
    before = program("""
    argument y: float64[8]
    local t: float64[i + 1, 8]
    local flat: float64[8*i + 8] view of t[0:i + 1, 0:8]
    body
      loop i = 0 .. 7 step 1:
        map j=0:i + 1, k=0:8:
          u = y[k]
          t[j, k] = u
        map j=0:8*i + 8:
          u = flat[j]
          y[0] += u
    """)
    after = bound_sizes(before)
    assert str(after.containers["t_memory"]) == "local t_memory: float64[64]"
    assert str(after.containers["t"]) == "local t: float64[i + 1, 8] view of t_memory[0:8*i + 8]"
    assert after.containers["flat"] == before.containers["flat"] and after.body == before.body


def escape(y):
    while np.sum(y * y) < 10:
        y = y * 1.3 + 0.1 * y * y
    return np.sum(y)


def test_tape_without_a_bound_is_named_with_its_line():
    """A gradient inside of a loop keeps values of a 'while': as many as only a run knows, in each iteration others."""

    def f(x):
        for _ in range(3):
            x = x - 0.01 * sdgrad.grad(escape)(x)
        return np.sum(x)

    line = escape.__code__.co_firstlineno + 2
    with pytest.raises(
        DifferentiationError, match=rf"(?s)known only at run time.*test_bounding_sizes.py:{line}.*break"
    ):
        sdgrad.grad(f)(np.array([0.5, 0.7]))
