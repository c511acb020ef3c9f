"""Names that one arm of a branch binds: a call that reads one without a value raises UnboundLocalError."""

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
