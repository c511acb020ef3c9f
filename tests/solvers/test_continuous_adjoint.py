"""The adjoint of an initial value problem as one of its own, beside the adjoint of its steps."""

import numpy as np
import pytest

import sdgrad
from sdgrad.errors import ArgumentError

AT = np.array([1.0, 2.5, 3.0])
RATES, START = np.array([1.1, 0.4, 0.4, 0.1]), np.array([10.0, 5.0])


def predators(t, y, p):
    prey = y[0] * (1.0 + 0.1 * np.sin(t))
    return np.stack([p[0] * y[0] - p[1] * y[0] * y[1], -p[2] * y[1] + p[3] * prey * y[1]])


def at_times(y0, p, start, at, adjoint, method="RK45"):
    y = sdgrad.solve_ivp(predators, (start, 3.5), y0, method, at, (p,), rtol=1e-9, atol=1e-11, adjoint=adjoint).y
    return np.sum(y * np.arange(6.0).reshape(2, 3))


def at_the_end(y0, p, start, end, adjoint):
    y = sdgrad.solve_ivp(predators, (start, end), y0, args=(p,), rtol=1e-9, atol=1e-11, adjoint=adjoint).y
    return y[0, -1] + 2.0 * y[1, -1]


@pytest.mark.parametrize("function, last", [(at_times, AT), (at_the_end, 3.0)])
def test_both_adjoints_agree(function, last):
    gradient = sdgrad.grad(function, wrt=(0, 1, 2, 3))
    given = (START, RATES, 0.0, last)
    for own, other in zip(gradient(*given, "continuous"), gradient(*given, "discrete"), strict=True):
        np.testing.assert_allclose(own, other, rtol=2e-7)
        assert not np.array_equal(own, other)


def test_second_derivatives_and_stiff_methods():
    def product(adjoint):
        return sdgrad.hvp(lambda p: at_the_end(START, p, 0.0, 2.0, adjoint), (RATES,), (RATES,))

    np.testing.assert_allclose(product("continuous"), product("discrete"), rtol=1e-5)
    stiff = [sdgrad.grad(at_times, wrt=1)(START, RATES, 0.0, AT, a, "Radau") for a in ("continuous", "discrete")]
    np.testing.assert_allclose(*stiff, rtol=1e-6)


def test_unknown_adjoints_are_refused():
    with pytest.raises(ArgumentError, match="'discrete' or 'continuous'"):
        sdgrad.grad(at_the_end)(START, RATES, 0.0, 1.0, "backsolve")
