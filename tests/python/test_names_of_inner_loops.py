"""Names that a loop inside of a loop binds first, and that are read after it."""

import numpy as np
import pytest
from references import assert_close

import sdgrad


def kepler(x):
    total = 0.0
    for t in x:
        angle = t
        while True:
            step = (angle - 0.3 * np.sin(angle) - t) / (1 - 0.3 * np.cos(angle))
            angle -= step
            if abs(step) < 1e-9:
                break
        total += angle + step
    return total


def left_as_it_was(x):
    """The second element has no inner trip."""
    total = 0.0
    for t in x:
        a = t
        while a > 1.1:
            found = a * a
            a *= 0.5
        total = total + found
    return total


def three_deep(x):
    k, total = 0, 0.0
    while k < 3:
        a = x[k]
        while a > 1.1:
            d = a * 0.3
            b = d
            while b > 0.21:
                q = b * b
                b = b * 0.5
            a = a - d - q * 0.1
        total = total + d + q
        k = k + 1
    return total


def left_by_break(x):
    best = 0.0
    for t in x:
        n = 0
        while n < 5:
            r = t * n
            if r > 3.1:
                hit = r * 2
                break
            n = n + 1
        best = best + hit
    return best


def bound_in_an_arm(x):
    i, total = 0, 0.0
    while i < 2:
        for j in range(len(x)):
            if x[j] > 1.1:
                u = x[j] * (i + 1)
        total = total + u
        i = i + 1
    return total


def several_and_arrays(x):
    total = 0.0
    for t in x:
        a = t
        while a > 1.1:
            p, q = np.array([a, a * t]), a + 1
            a = a * 0.5
        total = total + np.sum(p * p) * q
    return total


def read_in_the_next_trip(x):
    total = 0.0
    for i in range(3):
        if i > 0:
            total = total + c  # noqa: F821
        a = x[i]
        while a > 1.1:
            c = a * 2  # noqa: F841
            a = a * 0.5
    return total


PROGRAMS = [
    kepler,
    left_as_it_was,
    three_deep,
    left_by_break,
    bound_in_an_arm,
    several_and_arrays,
    read_in_the_next_trip,
]
X = np.array([3.0, 0.7, 2.5])


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_program(f):
    """They had been refused, with advice that did not help."""
    with sdgrad.config.override(optimization_level=0):
        value, gradient = sdgrad.value_and_grad(f)(X)
    assert_close(value, f(X), 1e-12, "value")
    steps = 1e-6 * np.eye(len(X))
    assert_close(gradient, np.array([(f(X + s) - f(X - s)) / 2e-6 for s in steps]), 1e-6, "gradient")


@pytest.mark.parametrize("f", [left_as_it_was, left_by_break, bound_in_an_arm], ids=lambda f: f.__name__)
def test_names_without_a_value(f):
    """The first element has no inner trip: Python raises the same error."""
    with sdgrad.config.override(optimization_level=0):
        derivative = sdgrad.value_and_grad(f)
        derivative(X)
        for function in (f, derivative):
            with pytest.raises(UnboundLocalError):
                function(np.array([0.1, 0.2, 0.3]))
