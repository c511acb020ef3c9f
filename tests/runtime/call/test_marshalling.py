"""Conversion of arguments and results, and symbols from shapes."""

import dace
import numpy as np
import pytest
from dace import data as dt

from sdgrad.errors import ArgumentError
from sdgrad.runtime.call import marshalling
from sdgrad.runtime.call.marshalling import as_value, check, describe, evaluate_shape, like, solve_symbols

N, M = dace.symbol("N"), dace.symbol("M")
VECTOR, NUMBER = dt.Array(dace.float64, [3]), dt.Scalar(dace.float64)


@pytest.mark.parametrize(
    ("shapes", "sizes", "found"),
    [
        ({"A": [N, M]}, {"A": (3, 4)}, {"N": 3, "M": 4}),
        ({"A": [N + 1]}, {"A": (4,)}, {"N": 3}),
        ({"A": [2 * N + M], "B": [M]}, {"A": (7,), "B": (3,)}, {"N": 2, "M": 3}),
        ({"A": [N + M]}, {"A": (7,)}, {}),  # two unknowns
        ({"A": [2 * N]}, {"A": (7,)}, {}),  # no integer
        ({"A": [N], "B": [M]}, {"A": (3,)}, {"N": 3}),  # B is not given
    ],
)
def test_symbols_from_shapes(shapes, sizes, found):
    descs = {n: dt.Array(dace.float64, s) for n, s in shapes.items()}
    assert solve_symbols(descs, {n: np.zeros(s) for n, s in sizes.items()}) == found


def test_two_values_of_a_symbol_are_refused():
    descs = {n: dt.Array(dace.float64, [N]) for n in "AB"}
    with pytest.raises(ArgumentError, match="'B': dimension 0 is 4, but N is 3 elsewhere"):
        solve_symbols(descs, {"A": np.zeros(3), "B": np.zeros(4)})


def test_a_shape_is_evaluated():
    assert evaluate_shape(dt.Array(dace.float64, [N + 1, 2]), {"N": 3}) == (4, 2)


def test_arrays_that_fit_are_passed_as_they_are():
    x = np.ones(3)
    assert check("x", x, VECTOR) is x
    assert check("x", np.ones(6)[::2], VECTOR).flags.c_contiguous


@pytest.mark.parametrize(
    ("value", "desc", "message"),
    [
        (np.ones(4), VECTOR, r"'x': expected shape \(3\), found \(4,\)"),
        (np.ones(3, np.float32), VECTOR, "expected a float64 array with 1 dimensions, found a float32 array"),
        (np.ones((3, 1)), VECTOR, "found a float64 array of shape"),
        (np.ones(2), NUMBER, "expected a float64 scalar"),
    ],
)
def test_arrays_that_do_not_fit_are_refused(value, desc, message):
    with pytest.raises(ArgumentError, match=message):
        check("x", value, desc)


def test_numbers_become_the_programs_type():
    assert type(check("s", 2, NUMBER)) is np.float64
    assert type(check("s", np.array([2.0]), NUMBER)) is np.float64
    np.testing.assert_array_equal(check("s", 2, dt.Array(dace.float64, [1])), [2.0])


def test_values_for_type_inference():
    assert as_value(np.array(2.5)) == 2.5 and as_value(3) == 3
    assert as_value(np.ones((4, 4))[:, ::2]).flags.c_contiguous


def test_results_have_the_kind_of_their_argument():
    result = np.array(2.0)
    assert isinstance(like(result, 1.0), np.float64) and like(result, np.ones(2)) is result
    assert describe(np.ones((2, 3))) == "float64 array of shape (2, 3)" and describe(1.0) == "float"


def test_cotangents_have_the_dtype_of_their_primal_value():
    assert marshalling.matching(2, 1.0, "cotangent").tolist() == [2.0]
    with pytest.raises(ArgumentError, match=r"cotangent: expected shape \(3,\), found \(2,\)"):
        marshalling.matching(np.ones(2), np.ones(3), "cotangent")
