"""Events of initial value problems, and solutions as functions of the time."""

import numpy as np
import pytest
import scipy.integrate

import sdgrad
from sdgrad.errors import ArgumentError, ConvergenceError, ParseError

FINE = {"rtol": 1e-10, "atol": 1e-12}


def ball(t, y, g, drag):
    return np.stack([y[1], -g - drag * y[1] * np.abs(y[1])])


def ground(t, y, g, drag):
    return y[0]


def apex(t, y, g, drag):
    return y[1]


ground.terminal, ground.direction = True, -1


def flight(p, solve=sdgrad.solve_ivp, **options):
    """Return what events say of a ball that is thrown up, and falls to the ground."""
    start, at = np.stack([0.0 * p[0] + 1.0, p[0]]), np.array([0.5, 1.0, 5.0])
    found = solve(ball, (0.0, 100.0), start, t_eval=at, args=(p[1], p[2]), events=[ground, apex], **FINE, **options)
    fall, top = found.t_events[0][0], found.t_events[1][0]
    ends = np.stack([fall, top])
    return np.concatenate([ends, found.y_events[1][0], found.y_events[0][0], found.y[0, :2]])


P = np.array([10.0, 9.8, 0.1])


def jacobian_by_differences(f, p, h=2e-5):
    return np.stack([(f(p + h * e) - f(p - h * e)) / (2 * h) for e in np.eye(len(p))], -1)


def test_events_and_their_derivatives():
    found, pull = sdgrad.vjp(flight, P)
    np.testing.assert_allclose(found, flight(P, scipy.integrate.solve_ivp), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(found, flight(P), rtol=1e-9, atol=1e-9)  # outside of programs
    wanted = jacobian_by_differences(lambda p: flight(p, scipy.integrate.solve_ivp), P)
    for k, row in enumerate(wanted):
        np.testing.assert_allclose(pull(np.eye(len(wanted))[k])[0], row, rtol=1e-5, atol=1e-6)
    tangent = sdgrad.jvp(flight, (P,), (np.array([1.0, 2.0, 3.0]),))[1]
    np.testing.assert_allclose(tangent, wanted @ [1.0, 2.0, 3.0], rtol=1e-5, atol=1e-6)


def test_second_derivatives_of_a_period():
    """The half period of a pendulum that is linear: pi over the root of its constant."""

    def half(k):
        def turn(t, y):
            return y[1]

        turn.terminal, turn.direction = True, 1
        y = sdgrad.solve_ivp(lambda t, y: np.stack([y[1], -k * y[0]]), (0.0, 50.0), np.array([1.0, 0.0]), "DOP853",
                             events=turn, **FINE)  # fmt: skip
        return y.t[-1]

    k = 1.7
    assert abs(half(k) - np.pi / k**0.5) < 1e-8
    assert abs(sdgrad.grad(half)(k) + np.pi / 2 / k**1.5) < 1e-7
    assert abs(sdgrad.hvp(half, (k,), (1.0,)) - 3 * np.pi / 4 / k**2.5) < 1e-6


def test_what_a_slope_asserts_holds_to_the_end():
    """States behind the end are no numbers, and nobody asks whether they are positive."""

    def last(p):
        def slope(t, y):
            assert np.all(y > -0.5)
            return -p * np.ones(1)

        def empty(t, y):
            return y[0]

        empty.terminal = True
        found = sdgrad.solve_ivp(slope, (0.0, 9.0), np.ones(1), t_eval=np.array([0.25, 8.0]), events=empty,
                                 dense_output=True)  # fmt: skip
        return found.y[0, 0] * found.t_events[0][0] + found.sol(0.25)[0]

    value, slope = sdgrad.value_and_grad(last)(2.0)
    assert abs(value - 0.75) < 1e-9 and abs(slope + 0.5) < 1e-9


def test_what_is_not_there_is_no_number():
    def times(p):
        found = sdgrad.solve_ivp(
            ball, (0.0, 1.0), np.array([1.0, 10.0]) * p, args=(9.8, 0.1), events=[ground, apex], max_events=2, **FINE
        )
        return found.t[-1], found.t_events[0], found.t_events[1], found.y_events[0]

    for end, never, once, states in (times(np.float64(1.0)), sdgrad.vjp(times, 1.0)[0]):
        assert end == 1.0
        assert np.isnan(never).all() and never.shape == (2,)
        assert np.isnan(once[1]) and 0.7 < once[0] < 0.9
        assert states.shape == (2, 2) and np.isnan(states).all()
    pull, nothing = sdgrad.vjp(times, 1.0)[1], (np.zeros(2), np.zeros((2, 2)))
    assert np.isfinite(pull((1.0, nothing[0], np.array([1.0, 0.0]), nothing[1]))[0])
    for k in range(3):  # nor is a derivative of it
        seeds = [np.zeros(2), np.zeros(2), np.zeros((2, 2))]
        seeds[k] += 1.0
        assert np.isnan(pull((0.0, *seeds))[0])


def test_the_end_at_a_later_zero_and_times_that_are_chosen():
    """Of ``sin(k t) = 0``: the third after the begin is the end."""

    def f(k, solve=sdgrad.solve_ivp):
        def turn(t, y):
            return y[0]

        turn.terminal = 3
        found = solve(
            lambda t, y: np.stack([k * y[1], -k * y[0]]), (0.1, 50.0), np.stack([np.sin(0.1 * k), np.cos(0.1 * k)]),
            "DOP853", events=turn, **FINE,
        )  # fmt: skip
        times = found.t_events[0]
        return found.t[-1] + 10.0 * np.sum(times[times > 2.0]) + 100.0 * found.status, found.y[1, -1]

    k = 1.7
    own, pull = sdgrad.vjp(f, k)
    for found in (f(k), f(k, scipy.integrate.solve_ivp), own):
        np.testing.assert_allclose(found, [(3 + 20 + 30) * np.pi / k + 100.0, -1.0], rtol=1e-7)
    assert abs(pull(1.0, 0.0)[0] + 53 * np.pi / k**2) < 1e-5


def test_what_needs_a_time_when_recording_is_told_so():
    """Arrays that a solver makes are others in each recording: asking for them again and again did not end."""

    def f(k):
        found = sdgrad.solve_ivp(lambda t, y: -k * y, (0.0, 2.0), np.ones(2), events=lambda t, y: y[0] - 0.5)
        return k * sum([1.0] * int(found.t_events[0][0] * 5.0))

    with pytest.raises(ParseError, match="that only a run of the program knows"):
        sdgrad.grad(f)(1.1)


def test_too_many_zeros_are_refused():
    def zeros(k):
        found = sdgrad.solve_ivp(lambda t, y: k * np.cos(t) * y**0, (0.0, 30.0), np.zeros(1),
                                 events=lambda t, y: np.sin(t + 0.1), max_events=3)  # fmt: skip
        return found.t_events[0][0]

    def later(k):
        def zero(t, y):
            return y[0]

        zero.terminal = 20
        return sdgrad.solve_ivp(lambda t, y: k * y, (0.0, 1.0), np.ones(1), events=zero).t[-1]

    with pytest.raises(ArgumentError, match="max_events=16 .* zero number 20"):
        sdgrad.grad(later)(1.0)
    for call in (zeros, sdgrad.grad(zeros)):
        with pytest.raises(ConvergenceError, match="max_events=3"):
            call(1.0)


def test_solutions_are_functions_of_the_time():
    def mean(k, at):
        solution = sdgrad.solve_ivp(lambda t, y: -k * y, (0.0, 2.0), np.ones(2), dense_output=True, **FINE).sol
        return np.mean(solution(at)) + solution(1.0)[0]

    at = np.array([1.5, 0.25, 2.0])  # in no order
    expected = np.mean(np.exp(-1.3 * at)) + np.exp(-1.3)
    assert abs(mean(1.3, at) - expected) < 1e-8
    value, (by_k, by_at) = sdgrad.value_and_grad(mean, wrt=(0, 1))(1.3, at)
    assert abs(value - expected) < 1e-8
    assert abs(by_k + np.mean(at * np.exp(-1.3 * at)) + np.exp(-1.3)) < 1e-7
    np.testing.assert_allclose(by_at, -1.3 * np.exp(-1.3 * at) / 3, rtol=1e-6)
    with pytest.raises(ArgumentError, match="outside"):
        sdgrad.grad(mean)(1.3, np.array([2.5]))
