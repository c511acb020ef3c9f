"""Initial value problems: values against SciPy, derivatives against differences of finer solutions, in both modes."""

import numpy as np
import pytest
import scipy.integrate

import sdgrad
from sdgrad.errors import ArgumentError, ConvergenceError, ParseError
from sdgrad.solvers.initial_value import integration

P = np.array([1.0, 0.5, 0.2, 0.1, 1.3, 2.0])
EXACT = {"rtol": 1e-12, "atol": 1e-13}
FINE = {"rtol": 1e-9, "atol": 1e-10}


def pendulum(t, y, a):
    return [y[1], -a * np.sin(y[0]) - 0.3 * y[1] + np.cos(3.0 * t)]


def states(p, solve=sdgrad.solve_ivp, method="RK45", **options):
    """The begin, the end, the times between, the start and a parameter are all variables."""
    at = np.stack([p[3], p[3] + 0.3 * p[2], 0.7 * p[4], p[4]])
    y = solve(pendulum, (p[3], p[4]), p[:2], method, at, args=(p[5],), **options).y
    return np.sum(y * np.array([[1.0, 2.0, -1.0, 3.0], [0.5, 1.5, 2.5, -0.5]]))


def differences(f, p, step=1e-3):
    unit = np.eye(len(p)) * step
    return np.array([(8 * (f(p + d) - f(p - d)) - (f(p + 2 * d) - f(p - 2 * d))) / (12 * step) for d in unit])


def by_scipy(f, span, y0, method, at, args=(), **options):
    return scipy.integrate.solve_ivp(f, span, y0, "DOP853", at, args=args, **EXACT)


@pytest.mark.parametrize("method", ["RK45", "DOP853"])
def test_derivatives_by_all_that_an_integration_takes(method):
    def f(p):
        return states(p, method=method, **FINE)

    value, gradient = sdgrad.value_and_grad(f)(P)
    np.testing.assert_allclose(value, states(P, by_scipy), rtol=1e-8)
    np.testing.assert_allclose(gradient, differences(lambda p: states(p, by_scipy), P), rtol=1e-6, atol=1e-7)
    direction = np.arange(1.0, 7.0)
    np.testing.assert_allclose(sdgrad.jvp(f, (P,), (direction,))[1], gradient @ direction, rtol=1e-12)


def test_second_derivatives():
    """Forward over reverse, and reverse over reverse."""

    def last(p):
        return np.sum(sdgrad.solve_ivp(pendulum, (p[3], p[4]), p[:2], args=(p[5],), **FINE).y[:, -1] ** 2)

    def reference(p):
        span = (p[3], p[4])
        return np.sum(scipy.integrate.solve_ivp(pendulum, span, p[:2], "DOP853", args=(p[5],), **EXACT).y[:, -1] ** 2)

    direction = np.arange(1.0, 7.0) / 10
    along = sdgrad.hvp(last, (P,), (direction,))
    expected = differences(
        lambda p: differences(lambda s: reference(P + s * direction + p - P), np.zeros(1), 1e-2)[0], P, 1e-2
    )
    np.testing.assert_allclose(along, expected, rtol=1e-5, atol=1e-5)
    twice = sdgrad.grad(lambda p: sdgrad.grad(last)(p) @ direction)(P)
    np.testing.assert_allclose(twice, along, rtol=1e-9)


@pytest.mark.parametrize("method", ["RK23", "RK45", "DOP853"])
def test_steps_are_those_of_scipy(method):
    """At the tolerances that nobody asked for, where another step would be another result."""
    at = np.linspace(0.0, 6.0, 13)

    def f(y0):
        return sdgrad.solve_ivp(pendulum, (0.0, 6.0), y0, method, at, args=(2.0,)).y

    expected = scipy.integrate.solve_ivp(pendulum, (0.0, 6.0), P[:2], method, at, args=(2.0,)).y
    np.testing.assert_allclose(sdgrad.jvp(f, (P[:2],), (P[:2],))[0], expected, rtol=1e-9)
    np.testing.assert_allclose(f(P[:2]), expected, rtol=1e-12)


def test_shapes_types_and_directions():
    """A number, a matrix, complex and single precision; backwards; no time at all."""

    def numbers(a):
        x = sdgrad.solve_ivp(lambda t, y: -a * y, (1.0, 0.0), 1.0, **FINE).y[-1]
        m = sdgrad.solve_ivp(lambda t, y: a * y @ y, (0.0, 0.5), np.eye(2) * 0.3, t_eval=[0.2, 0.5], **FINE).y
        z = sdgrad.solve_ivp(lambda t, y: 1j * a * y, (0.0, 1.0), np.array([1.0 + 0.0j]), **FINE).y[0, -1]
        none = sdgrad.solve_ivp(lambda t, y: a * y, (1.0, 1.0), a, **FINE).y[-1]
        return np.stack([x, m[0, 0, 0], m[1, 1, 1], z.real, z.imag, none])

    value, tangent = sdgrad.jvp(numbers, (0.7,), (1.0,))
    a = 0.7
    m = [0.3 / (1 - 0.3 * a * t) for t in (0.2, 0.5)]
    np.testing.assert_allclose(value, [np.exp(a), *m, np.cos(a), np.sin(a), a], rtol=1e-8)
    of_m = [0.3 * 0.3 * t / (1 - 0.3 * a * t) ** 2 for t in (0.2, 0.5)]
    np.testing.assert_allclose(tangent, [np.exp(a), *of_m, -np.sin(a), np.cos(a), 1.0], rtol=1e-6)

    def single(y0):
        return sdgrad.solve_ivp(lambda t, y: -y * np.float32(2), (0.0, 1.0), y0).y[:, -1]

    y0 = np.ones(3, np.float32)
    value, tangent = sdgrad.jvp(single, (y0,), (y0,))
    assert value.dtype == tangent.dtype == np.float32
    np.testing.assert_allclose(value, np.exp(-2.0), rtol=2e-3)
    np.testing.assert_allclose(tangent, value, rtol=1e-5)


def test_states_that_are_computed_again(monkeypatch):
    """With room for few states, every 2nd, 4th, .. is kept, and steps between them are taken again."""

    def f(y0, a, steps=100):
        return np.sum(sdgrad.solve_ivp(pendulum, (0.0, 6.0), y0, args=(a,), max_steps=steps, **FINE).y[:, -1] ** 2)

    expected = sdgrad.value_and_grad(f, wrt=(0, 1))(P[:2], 2.0, 1000)
    monkeypatch.setattr(integration, "BYTES", 0)
    found = sdgrad.value_and_grad(f, wrt=(0, 1))(P[:2], 2.0, 999)
    np.testing.assert_allclose(found[0], expected[0], rtol=1e-12)
    np.testing.assert_allclose(np.hstack(found[1]), np.hstack(expected[1]), rtol=1e-11)


def test_in_loops_and_branches_and_of_derivatives():
    """In a loop the steps are searched again on the way back; the slope may be a derivative, and have loops itself."""

    def energy(q, k):
        return np.sum(k * np.cos(q)) + q[0] * q[1]

    def force(t, y, k):
        q, v = y[:2], y[2:]
        damp = 0.0
        for i in range(2):
            damp += 0.1 * k[i] * v[i] ** 2
        return np.concatenate([v, -sdgrad.grad(energy)(q, k) - damp * v])

    def f(k):
        y = np.array([0.1, 0.2, 0.0, 0.3])
        for i in range(3):
            y = sdgrad.solve_ivp(force, (0.0, 0.5), y * (1.0 + k[0] * i), args=(k,), **FINE).y[:, -1]
        return np.sum(y**2) if y[0] > -100.0 else 0.0

    k = np.array([0.3, 0.7])
    sdgrad.testing.check_grads(f, (k,), order=1)


def test_arguments_are_checked():
    def f(y0, **options):
        return sdgrad.solve_ivp(pendulum, (0.0, 5.0), y0, args=(2.0,), **options).y[:, -1]

    with pytest.raises(ConvergenceError, match="max_steps"):
        sdgrad.grad(lambda y0: np.sum(f(y0, max_steps=4)))(P[:2])
    for solve in (f, sdgrad.grad(lambda y0, **more: np.sum(f(y0, **more)))):
        with pytest.raises(ArgumentError, match="one of RK23, RK45"):
            solve(P[:2], method="Euler")
    with pytest.raises(ValueError, match="`t_eval` are not properly sorted"):
        sdgrad.grad(lambda y0: np.sum(f(y0, t_eval=np.array([1.0, 0.5]))))(P[:2])
    with pytest.raises(ArgumentError, match=r"\(t0, t1\), not 2.0"):
        sdgrad.grad(lambda y0: sdgrad.solve_ivp(pendulum, 2.0, y0).y[0, -1])(P[:2])
    with pytest.raises(TypeError, match="events are functions of a time and a state, not 'z'"):
        sdgrad.grad(lambda y0: np.sum(f(y0, events="zero")))(P[:2])
    with pytest.raises(ParseError, match="rtol and atol are known numbers"):
        sdgrad.grad(lambda y0: np.sum(f(y0, rtol=y0[0])))(P[:2])
    with pytest.raises(ArgumentError, match=r"returns shape \(3,\)"):
        sdgrad.grad(lambda y: sdgrad.solve_ivp(lambda t, y: np.ones(3) * y[0], (0.0, 1.0), y).y[0, -1])(P[:2])
    with pytest.raises(ValueError, match=r"(?s)test_solve_ivp.py:.*`t_eval` are not properly sorted"):
        sdgrad.grad(lambda y0, at: np.sum(f(y0, t_eval=at)))(P[:2], np.array([0.5, 0.2]))
