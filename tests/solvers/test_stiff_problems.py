"""Stiff initial value problems: Radau's method, with SciPy's steps, and derivatives of what the steps solve."""

import numpy as np
import pytest
import scipy.integrate

import sdgrad
from sdgrad.errors import ParseError
from sdgrad.testing import check_grads

AT = np.array([1.0, 10.0, 100.0])
RATES = np.array([0.04, 1e4, 3e7])
START = np.array([1.0, 0.0, 0.0])
WEIGHTS = np.array([1.0, 1e4, 2.0])


def reactions(t, y, k):
    """Robertson's problem (1966)."""
    first, last = -k[0] * y[0] + k[1] * y[1] * y[2], k[2] * y[1] ** 2
    return np.stack([first, -first - last, last])


def concentrations(k, y0):
    return sdgrad.solve_ivp(reactions, (0.0, 100.0), y0, "Radau", AT, (k,), rtol=1e-6, atol=1e-10).y


def by_scipy(k, y0, rtol=1e-6, atol=1e-10):
    span = (0.0, 100.0)
    return scipy.integrate.solve_ivp(reactions, span, y0, "Radau", AT, args=(k,), rtol=rtol, atol=atol).y


def test_steps_are_those_of_scipy_and_gradients_those_of_the_solution():
    found, pull = sdgrad.vjp(concentrations, RATES, START)
    np.testing.assert_allclose(found, by_scipy(RATES, START), rtol=1e-9)

    def objective(k):
        return np.sum(by_scipy(k, START, 1e-11, 1e-15) * WEIGHTS[:, None])

    wanted = [
        (objective(RATES * (1 + 1e-5 * e)) - objective(RATES * (1 - 1e-5 * e))) / (2e-5 * (RATES @ e))
        for e in np.eye(3)
    ]
    of_rates, of_start = pull(np.ones((3, 3)) * WEIGHTS[:, None])
    np.testing.assert_allclose(of_rates, wanted, rtol=1e-5)
    assert of_start.shape == (3,)


def oscillator(t, y, mu):
    return np.stack([y[1], mu * (1 - y[0] ** 2) * y[1] - y[0] * np.cos(t)])


def end_of_oscillation(y0, mu, end):
    y = sdgrad.solve_ivp(oscillator, (0.0, end), y0, "Radau", args=(mu,), rtol=1e-8, atol=1e-10).y
    return y[0, -1] + 0.3 * y[1, -1]


def test_both_modes():
    """The loops of a rule in a loop once took the counter of the loop around them for theirs."""
    check_grads(end_of_oscillation, (np.array([2.0, 0.0]), 4.0, 2.5), modes=("rev", "fwd"), rtol=1e-5)


def test_in_a_loop():
    def three(y0, mu):
        for k in range(3):
            y0 = sdgrad.solve_ivp(oscillator, (0.0, 1.0), y0, "Radau", args=(mu + k,), rtol=1e-8, atol=1e-10).y[:, -1]
        return np.sum(y0)

    check_grads(three, (np.array([2.0, 0.0]), 4.0), rtol=1e-5)


def test_complex_states_are_refused():
    def rotated(z):
        return np.abs(sdgrad.solve_ivp(lambda t, y: 1j * y, (0.0, 1.0), z * np.ones(2, complex), "Radau").y[0, -1])

    with pytest.raises(ParseError, match="real"):
        sdgrad.grad(rotated)(1.0)
