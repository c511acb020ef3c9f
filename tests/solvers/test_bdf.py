"""Stiff initial value problems by backward differences (BDF): SciPy's steps and orders, and derivatives of them."""

import numpy as np
import pytest
import scipy.integrate

import sdgrad
from sdgrad.errors import ParseError
from sdgrad.solvers.initial_value import integration

FINE = {"rtol": 1e-9, "atol": 1e-10}
EXACT = {"rtol": 1e-12, "atol": 1e-13}
P = np.array([1.0, 0.5, 0.2, 0.1, 1.3, 2.0])
AT = np.linspace(0.0, 6.0, 13)


@pytest.fixture(autouse=True)
def _compiled_fast():
    with sdgrad.config.override(optimization_level=0):
        yield


def pendulum(t, y, a):
    return [y[1], -a * np.sin(y[0]) - 0.3 * y[1] + np.cos(3.0 * t)]


def slopes_of_pendulum(t, y, a):
    return np.array([[0.0, 1.0], [-a * np.cos(y[0]), -0.3]])


def oscillator(t, y, mu):
    """Van der Pol's equation: very stiff between its jumps."""
    return np.stack([y[1], mu * (1 - y[0] ** 2) * y[1] - y[0]])


def slopes_of_oscillator(t, y, mu):
    return np.array([[0.0, 1.0], [-2 * mu * y[0] * y[1] - 1, mu * (1 - y[0] ** 2)]])


def runs(y0, a, solve=sdgrad.solve_ivp, of_pendulum=None, of_oscillator=None):
    """Return states where every rule for steps and orders is used; the last is one of many steps of order 5."""
    swing, jump = ({} if j is None else {"jac": j} for j in (of_pendulum, of_oscillator))
    bounds = {"rtol": 1e-5, "atol": np.array([1e-6, 1e-8]), "first_step": 1e-3, "max_step": 0.0625}
    return (
        solve(pendulum, (0.0, 6.0), y0, "BDF", AT, args=(a,), **swing).y,
        solve(pendulum, (6.0, 0.0), y0, "BDF", AT[::-1], args=(a,), **bounds, **swing).y,
        solve(oscillator, (0.0, 40.0), y0, "BDF", args=(20.0 * a,), **FINE, **jump).y[:, -1],
    )


def test_steps_are_those_of_scipy():
    """With the matrix of derivatives that we have, too: the one of differences changes Newton's iterates."""
    y0 = np.array([2.0, 0.5])
    expected = runs(y0, 2.0, scipy.integrate.solve_ivp, slopes_of_pendulum, slopes_of_oscillator)
    found = sdgrad.compile_forward(runs)(y0, 2.0)
    for own, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(own, other, rtol=1e-9, atol=1e-10)


def states(p, solve=sdgrad.solve_ivp, method="BDF", **options):
    """The begin, the end, the times between, the start and a parameter are all variables; so is one of a closure."""
    at = np.stack([p[3], p[3] + 0.3 * p[2], 0.7 * p[4], p[4]])

    def slope(t, y, a):
        return np.stack(pendulum(t, y, a)) - p[2] * y

    y = solve(slope, (p[3], p[4]), p[:2], method, at, args=(p[5],), **options).y
    return np.sum(y * np.array([[1.0, 2.0, -1.0, 3.0], [0.5, 1.5, 2.5, -0.5]]))


def end(p, solve=sdgrad.solve_ivp, method="BDF", **options):
    y = solve(pendulum, (p[3], p[4]), p[:2], method, args=(p[5],), **options).y[:, -1]
    return y[0] + 2.0 * y[1] ** 2


def differences(f, p, step=1e-3):
    unit = np.eye(len(p)) * step
    return np.array([(8 * (f(p + d) - f(p - d)) - (f(p + 2 * d) - f(p - 2 * d))) / (12 * step) for d in unit])


def test_derivatives_by_all_that_an_integration_takes():
    def exact(p):
        return states(p, scipy.integrate.solve_ivp, "DOP853", **EXACT)

    value, gradient = sdgrad.value_and_grad(lambda p: states(p, **FINE))(P)
    np.testing.assert_allclose(value, exact(P), rtol=1e-7)
    np.testing.assert_allclose(gradient, differences(exact, P), rtol=1e-6, atol=1e-6)
    direction = np.arange(1.0, 7.0)
    tangent = sdgrad.jvp(lambda p: states(p, **FINE), (P,), (direction,))[1]
    np.testing.assert_allclose(tangent, gradient @ direction, rtol=1e-11)


def test_second_derivatives():
    direction = np.arange(1.0, 7.0) / 10
    along = sdgrad.hvp(lambda p: end(p, **FINE), (P,), (direction,))

    def exact(p):
        return end(p, scipy.integrate.solve_ivp, "DOP853", **EXACT)

    expected = differences(lambda p: differences(lambda s: exact(p + s * direction), np.zeros(1), 1e-2)[0], P, 1e-2)
    np.testing.assert_allclose(along, expected, rtol=1e-5, atol=1e-5)


def concentrations(k, y0, method="BDF", solve=sdgrad.solve_ivp, **options):
    """Robertson's problem (1966)."""

    def reactions(t, y):
        first, last = -k[0] * y[0] + k[1] * y[1] * y[2], k[2] * y[1] ** 2
        return np.stack([first, -first - last, last])

    y = solve(reactions, (0.0, 1000.0), y0, method, np.array([1.0, 10.0, 1000.0]), **options).y
    return np.sum(y * np.array([[1.0], [1e4], [2.0]]))


def test_gradients_of_a_very_stiff_problem():
    rates, start = np.array([0.04, 1e4, 3e7]), np.array([1.0, 0.0, 0.0])
    loss = lambda k, y0: concentrations(k, y0, rtol=1e-7, atol=1e-11)  # noqa: E731
    of_rates, of_start = sdgrad.grad(loss, wrt=(0, 1))(rates, start)

    def exact(k):
        return concentrations(k, start, "Radau", scipy.integrate.solve_ivp, rtol=1e-11, atol=1e-15)

    wanted = [(exact(rates * (1 + 1e-5 * e)) - exact(rates * (1 - 1e-5 * e))) / (2e-5 * (rates @ e)) for e in np.eye(3)]
    np.testing.assert_allclose(of_rates, wanted, rtol=1e-5)
    step = 1e-4 * np.eye(3)

    def from_start(y0):
        return concentrations(rates, y0, "Radau", scipy.integrate.solve_ivp, rtol=1e-11, atol=1e-15)

    wanted = [(8 * from_start(start + d) - from_start(start + 2 * d) - 7 * from_start(start)) / 6e-4 for d in step]
    np.testing.assert_allclose(of_start, wanted, rtol=1e-3, atol=1e-3)


def drop(p, solve=sdgrad.solve_ivp, **options):
    """Return when and how a ball comes to the ground."""

    def ball(t, y):
        return np.stack([y[1], -p[1] - 0.1 * y[1] * np.abs(y[1])])

    def ground(t, y):
        return y[0]

    ground.terminal = True
    found = solve(ball, (0.0, 100.0), np.stack([p[0], 0.0 * p[0]]), "BDF", events=ground, **options)
    return np.stack([found.t_events[0][0], found.y_events[0][0, 1]])


def test_events():
    p, options = np.array([3.0, 9.8]), {"rtol": 1e-10, "atol": 1e-12}
    found, pull = sdgrad.vjp(lambda p: drop(p, **options), p)
    np.testing.assert_allclose(found, drop(p, scipy.integrate.solve_ivp, **options), rtol=1e-9)
    # in closed form: y' = -u tanh(w t) with u^2 = 10 g and w^2 = g / 10, and y = y0 - 10 log cosh(w t)
    fall = lambda p: np.arccosh(np.exp(p[0] / 10)) / np.sqrt(p[1] / 10)  # noqa: E731
    speed = lambda p: -np.sqrt(10 * p[1]) * np.tanh(np.sqrt(p[1] / 10) * fall(p))  # noqa: E731
    for k, f in enumerate((fall, speed)):
        np.testing.assert_allclose(found[k], f(p), rtol=1e-7)
        np.testing.assert_allclose(pull(np.eye(2)[k])[0], differences(f, p), rtol=1e-6, atol=1e-8)


def test_in_a_loop_and_states_that_are_computed_again(monkeypatch):
    """In a loop the steps are searched again on the way back; with room for few states, steps are taken again."""

    def twice(p):
        y = p[:2]
        for k in range(2):
            y = sdgrad.solve_ivp(oscillator, (0.0, 1.0), y, "BDF", args=(p[2] + k,), max_steps=999, **FINE).y[:, -1]
        return np.sum(y)

    p = np.array([2.0, 0.0, 4.0])
    expected = differences(twice, p, 1e-3)
    monkeypatch.setattr(integration, "BYTES", 0)
    np.testing.assert_allclose(sdgrad.grad(twice)(p), expected, rtol=1e-5)


def test_shapes_and_types():
    """A matrix, no time at all, and the class of SciPy's as method."""

    def numbers(a):
        m = sdgrad.solve_ivp(lambda t, y: a * y @ y, (0.0, 0.5), np.eye(3) * 0.3, "BDF", [0.2, 0.5], **FINE).y
        none = sdgrad.solve_ivp(lambda t, y: a * y, (1.0, 1.0), a, "BDF").y[-1]
        found = scipy.integrate.solve_ivp(
            lambda t, y: -a * y, (0.0, 1.0), np.ones(2), scipy.integrate.BDF, [0.5, 1.0], jac=np.eye(2), **FINE
        )
        own = found.y
        return np.stack([m[0, 0, 0], m[1, 1, 1], none, own[0, 0], own[1, 1]])

    value, tangent = sdgrad.jvp(numbers, (0.7,), (1.0,))
    a = 0.7
    m = [0.3 / (1 - 0.3 * a * t) for t in (0.2, 0.5)]
    np.testing.assert_allclose(value, [*m, a, np.exp(-a / 2), np.exp(-a)], rtol=1e-7)
    of_m = [0.3 * 0.3 * t / (1 - 0.3 * a * t) ** 2 for t in (0.2, 0.5)]
    np.testing.assert_allclose(tangent, [*of_m, 1.0, -np.exp(-a / 2) / 2, -np.exp(-a)], rtol=1e-5)


def test_single_precision_and_the_continuous_adjoint():
    def single(y0):
        return np.sum(sdgrad.solve_ivp(lambda t, y: -y * np.float32(2), (0.0, 1.0), y0, "BDF").y[:, -1])

    y0 = np.ones(3, np.float32)
    value, gradient = sdgrad.value_and_grad(single)(y0)
    assert value.dtype == gradient.dtype == np.float32
    np.testing.assert_allclose(value, 3 * np.exp(-2.0), rtol=1e-2)
    np.testing.assert_allclose(gradient, value / 3, rtol=1e-5)

    def decay(k):
        found = sdgrad.solve_ivp(lambda t, y: -k * y * y, (0.0, 2.0), np.ones(2), "BDF", adjoint="continuous", **FINE)
        return found.y[0, -1]

    assert abs(sdgrad.grad(decay)(0.8) + 2.0 / (1 + 2 * 0.8) ** 2) < 1e-6


def test_complex_states_are_refused():
    def rotated(z):
        return np.abs(sdgrad.solve_ivp(lambda t, y: 1j * y, (0.0, 1.0), z * np.ones(2, complex), "BDF").y[0, -1])

    with pytest.raises(ParseError, match="BDF takes real numbers"):
        sdgrad.grad(rotated)(1.0)
