"""Positions and names of arguments."""

import numpy as np
import pytest

import sdgrad
from sdgrad.errors import ArgumentError, NameNotFound
from sdgrad.specialize.argnums import key, names_of, several


def f(x, n, y):
    return x * n * y


ARGUMENTS = {"x": np.ones(3), "n": 2, "y": np.ones(3)}


@pytest.mark.parametrize(
    ("wrt", "names"), [(0, ["x"]), ("y", ["y"]), ((0, "y"), ["x", "y"]), ([2, 0], ["y", "x"]), (-1, ["y"])]
)
def test_names(wrt, names):
    assert names_of(wrt, f, ARGUMENTS) == names


@pytest.mark.parametrize(("wrt", "error"), [(7, ArgumentError), ("z", NameNotFound), ("n", ArgumentError)])
def test_arguments_without_a_gradient(wrt, error):
    with pytest.raises(error):
        names_of(wrt, f, ARGUMENTS)


def test_results_are_a_tuple_for_sequences():
    assert several((0,)) and several(["x", "y"])
    assert not several(0) and not several("x")
    assert key([0, 1]) == key((0, 1))


def total(x, *rest, k=2.0):
    return k * np.sum(x) * np.sum(rest[0] ** 2 * rest[1]["p"])


def test_positions_count_the_elements_of_variadic_arguments():
    x, a, p = np.ones(2), np.array([1.0, 2.0]), np.array([3.0, 5.0])
    by_x, by_a, by_p, by_k = np.full(2, 2.0 * 23.0), 8.0 * a * p, {"p": 4.0 * a**2}, 46.0
    for wrt, expected in [(0, by_x), (1, by_a), (2, by_p), (-1, by_k), (-2, by_p), ("rest", (by_a, by_p))]:
        np.testing.assert_equal(sdgrad.grad(total, wrt=wrt)(x, a, {"p": p}, k=2.0), expected)
    found = sdgrad.grad(total, wrt=(2, "x", 1))(x, a, {"p": p})
    np.testing.assert_equal(found, (by_p, by_x, by_a))
    rows = sdgrad.jacobian(lambda *v: v[0] * v[1] ** 2, wrt=1)(a, p)
    np.testing.assert_array_equal(rows, np.diag(2.0 * a * p))
    with pytest.raises(ArgumentError, match="wrt=4, but total has 4 arguments"):
        sdgrad.grad(total, wrt=4)(x, a, {"p": p}, k=2.0)
