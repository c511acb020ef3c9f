"""Assignments: SciPy's pairs, and the derivative of what is computed with them."""

import numpy as np
import pytest
from scipy import optimize

import sdgrad
from sdgrad.testing import check_grads

RNG = np.random.default_rng(4)
X, Y = RNG.standard_normal((5, 2)), RNG.standard_normal((4, 2))


def distance(x, y):
    """The least sum of distances between pairs of points."""
    cost = np.sqrt(np.sum((x[:, None] - y[None]) ** 2, axis=-1))
    rows, columns = optimize.linear_sum_assignment(cost)
    return np.sum(cost[rows, columns])


def largest(x, y):
    rows, columns = optimize.linear_sum_assignment(x @ y.T, maximize=True)
    return np.sum(x[rows] * y[columns] ** 3) + columns[0]


@pytest.mark.parametrize("f", [distance, largest])
def test_value_and_derivative(f):
    value = sdgrad.value_and_grad(f, (0, 1))
    for x, y in ((X, Y), (X[::-1] * 0.7, Y), (Y - 0.3, X)):
        assert value(x, y)[0] == pytest.approx(f(x, y), rel=1e-13)
    check_grads(f, (X, Y), 2, modes=("rev", "fwd"))


def test_pairs_are_known_of_what_is_known():
    def f(x):
        rows, columns = optimize.linear_sum_assignment(np.array([[4.0, 1.0, 3.0], [2.0, 0.0, 5.0], [3.0, 2.0, 2.0]]))
        assert [*columns] == [1, 0, 2]
        return np.sum(x[rows] * x[columns] ** 2)

    check_grads(f, (X[:3, 0],))


def test_in_a_loop():
    """Registration of points that change from step to step."""

    def f(x, y):
        for _ in range(3):
            cost = np.sum((x[:, None] - y[None]) ** 2, axis=-1)
            rows, columns = optimize.linear_sum_assignment(cost)
            x[rows] -= 0.3 * (x[rows] - y[columns])
        return np.sum(x**2)

    check_grads(f, (X.copy(), Y))


def test_errors_of_scipy():
    with pytest.raises(ValueError, match="2-D array"):
        sdgrad.grad(lambda x: optimize.linear_sum_assignment(x)[0][0] * x[0])(np.ones(3))
    with pytest.raises(ValueError, match="invalid numeric entries"):
        sdgrad.grad(distance)(np.full((3, 2), np.nan), Y)
