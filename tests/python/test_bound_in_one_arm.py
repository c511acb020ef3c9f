"""Names that one arm of a branch binds, or a loop: a call that reads one without a value raises UnboundLocalError."""

import math

import numpy as np
import pytest

import sdgrad
from python.check import Programs, check, name_of

program = Programs()
POINTS = np.array([0.53, 1.71, -0.7, 2.04]), np.array([1.9, -0.4, 0.2, 1.3])


@program
def a_number(x):
    if x[1] != 0:
        y = x[0] * x[1]
    return y**2


@program
def an_array_in_a_loop_that_stops(x):
    p = x.copy()
    for _ in range(6):
        if p @ p > 30.0:
            break
        square = np.outer(p, p)
        p = p * 1.5
    return np.sum(square) + square[0, 1] + np.sum(np.linalg.inv(square + 3 * np.eye(4))) + square.T[1].sum()


@program
def the_last_that_is_positive(x):
    for v in x:
        if v > 0:
            last = v
    return last**3


@program
def read_in_a_later_trip(x):
    s = 0.0
    for k in range(4):
        if k == 0 or x[k] > 0:
            kept = np.sin(x[k])
        s = s + kept * x[k]
    return s


@program
def read_under_the_same_condition(x):
    if x[0] > 1.0:
        scale = x[1]
    s = x[2] ** 2
    if x[0] > 1.0:
        s = s * scale
    return s


@program
def a_text(x):
    if x[0] > -100:
        mode = "square"
    return x[1] ** 2 if mode == "square" else x[1]


@program
def a_function(x):
    while True:
        if x[0] > -100:
            f = np.sin
        break
    return f(x[1])


@program
def parts_of_one(x):
    for k in range(1, 4):
        if x[k] < x[0] or k == 2:
            found = x[k] * x
            break
    return np.sum(found[:k])


def bound_by_a_loop(x):
    k = 0
    while k < x[3] and k < 3:
        number, array, position = x[k] * 1.0, x * x[k], k + 1
        k += 1
    return number, array, position


@program
def joined_and_put_into_containers(x):
    t, u, _ = bound_by_a_loop(x)
    pair, entries, rest = (t, x[1]), {"t": t, "u": [u, t]}, [t]
    rest.append(2 * t)
    s = np.array([t, 1.0]) @ np.stack([t, t]) + np.concatenate([u, x]).sum() + np.hstack([t, x]).sum()
    return s + pair[0] * pair[1] + entries["u"][1] * entries["u"][0][2] + np.array(rest).sum() + np.full(3, t).sum()


@program
def functions_of_python(x):
    k = 0
    while k < x[3] and k < 3:
        t, u = x[k] * 1.0, x * x[k]
        k += 1
    a, b, c, d = u
    s = min(t, 2.0) + max(t, 0.1) + abs(t) + sum([t, t, 1.0]) + float(t) * 2 + int(t) * x[0] + round(t, 1) + t**2
    s += (
        math.sin(t)
        + math.sqrt(t * t + 1)
        + sum(v * w for v, w in zip(u, x, strict=True))
        + sorted(u)[0]
        + a * b * c * d
    )
    return (
        s + len(u) * t + u.shape[0] * t + sum(i * v for i, v in enumerate(u)) + (t if isinstance(u, np.ndarray) else 0)
    )


@program
def functions_of_numpy(x):
    k = 0
    while k < x[3] and k < 3:
        t, u, j = x[k] * 1.0, x * x[k], k + 1
        k += 1
    y = x * 1.0
    y[1] = t
    y[j] += t
    y[1:] *= t
    s = x[j] * 2 + x[:j].sum() + np.where(t > 0, t, 0.0) + u @ u + np.dot(u, x) + np.outer(u, u).sum() + u.T.sum()
    s += u[0] + u[-1] + u.copy().sum() + np.maximum(u, 0.1).sum() + np.exp(u).sum() + np.sum([t, t]) + y.sum()
    return s + np.linalg.solve(np.diag(u) + 5 * np.eye(4), x).sum() + (t if t > 0 and x[1] > 0 else -t) + t // 0.3


@pytest.mark.parametrize("f", program, ids=name_of)
def test_program(f):
    check(f, *POINTS)


def after_the_other_arm(x):
    if x[0] > 0:
        y = x[1] * np.ones(3)
    return np.sum(y)


def never_in_a_loop(x):
    for v in x:
        if v > 10:
            last = v
    return last


def after_a_use_as_a_text(x):
    if x[0] > 0:
        y = x[1]
    return y + 1.0


def no_trip(x, n):
    for i in range(n):
        last = x[i] * 2.0
    return last


def test_a_loop_without_a_trip():
    x, both = POINTS[0], sdgrad.value_and_grad(no_trip, "x")
    for n in (3, 1):
        value, gradient = both(x, n)
        assert value == no_trip(x, n) and gradient[n - 1] == 2.0 and np.count_nonzero(gradient) == 1
    with pytest.raises(UnboundLocalError, match="'last' has no value"):
        both(x, 0)
    with pytest.raises(UnboundLocalError, match="has no value"):
        sdgrad.grad(functions_of_python)(-np.ones(4))


def test_a_loop_without_a_trip_whose_name_is_not_read():
    def f(x, n):
        found = False
        for i in range(n):
            last, found = x[i] * 2.0, True
        return last**2 if found else x[0]

    gradient = sdgrad.grad(f, "x")
    np.testing.assert_array_equal(gradient(POINTS[0], 0), [1, 0, 0, 0])
    np.testing.assert_allclose(gradient(POINTS[0], 2), [0, 8 * POINTS[0][1], 0, 0])


@pytest.mark.parametrize(
    ("f", "x"),
    [(after_the_other_arm, [-1.0, 2, 3]), (never_in_a_loop, [1.0, 2, 3]), (after_a_use_as_a_text, [-1.0, 2, 3])],
    ids=lambda v: getattr(v, "__name__", ""),
)
def test_without_a_value(f, x):
    gradient, x = sdgrad.grad(f), np.array(x)
    with pytest.raises(UnboundLocalError):
        f(x)
    with pytest.raises(UnboundLocalError, match="has no value"):
        gradient(x)
    found = gradient(x + 11.0)
    assert np.all(np.isfinite(found)) and np.any(found)


def test_a_nest():
    def f(x):
        if x[0] > 0:
            pair = (x[0], x[1])
        return pair[0] * pair[1]

    with pytest.raises(UnboundLocalError, match="'pair' is bound in one arm only of the condition in line"):
        sdgrad.grad(f)(POINTS[0])
