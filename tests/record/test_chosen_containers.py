"""Lists and dicts of which only a run knows which one a name is: right, or refused where they are changed."""

import numpy as np
import pytest

import sdgrad
from sdgrad.errors import ParseError

POINTS = [np.array([0.5, 1.5, -0.7, 2.0]), np.array([-0.5, -1.5, 0.7, -2.0])]


def entry_of_a_list(x):
    a, b = [x[0]], [x[1]]
    w = a if x[0] > 0 else b
    w[0] = w[0] * 5
    return a[0] + b[0] * 3


def entry_of_a_dict(x):
    a, b = {"k": x[0]}, {"k": x[1]}
    w = a if x[0] > 0 else b
    w["k"] *= 5
    return a["k"] + b["k"] * 3


def or_a_copy(x):
    a = {"k": x[0]}
    b = a if x[0] > 0 else dict(a)
    b["k"] = 3 * x[1]
    return a["k"] + b["k"] * 2


def appended(x):
    a, b = [x[0]], [x[1]]
    if x[0] > 0:  # noqa: SIM108
        w = a
    else:
        w = b
    w.append(x[2])
    return sum(a) + sum(b) * 2


def in_place(x):
    a, b = [x[0]], [x[1]]
    w = a if x[0] > 0 else b
    w += [x[2]]
    return sum(a) + sum(b) * 2


def in_a_loop(x):
    first = [x[0]]
    m = first
    for i in range(3):
        if x[i] > 0:
            m = [m[0] * 2]
        m[0] = m[0] + x[i]
    return first[0] + m[0] * 3


@pytest.mark.parametrize("function", [entry_of_a_list, entry_of_a_dict, or_a_copy, appended, in_place, in_a_loop])
def test_refused(function):
    with pytest.raises(ParseError, match="which of two (list|dict)s is changed here, only a run knows"):
        sdgrad.grad(function)(POINTS[0])


def only_read(x):
    a, b = [x[0], x[1]], [x[1], x[2]]
    w = a if x[0] > 0 else b
    return w[0] * 3 + w[1] * a[0]


def made_in_the_arms(x):
    if x[0] > 0:
        w = [x[1]]
    else:
        w = [x[2] * 2]
    w[0] = w[0] * 3
    w.append(x[0])
    return sum(w)


def changed_in_the_arms(x):
    a, b = [x[0]], {"k": x[1]}
    if x[0] > 0:
        a[0] = a[0] * 5
    else:
        b["k"] = b["k"] * x[2]
    a.append(x[3])
    return sum(a) + b["k"] * 3


@pytest.mark.parametrize("function", [only_read, made_in_the_arms, changed_in_the_arms])
def test_right(function):
    both = sdgrad.value_and_grad(function)
    for x in POINTS:
        value, gradient = both(x)
        assert value == pytest.approx(function(x.copy()), rel=1e-12)
        right = [(function(x + h) - function(x - h)) / 2e-6 for h in 1e-6 * np.eye(4)]
        np.testing.assert_allclose(gradient, right, rtol=1e-6, atol=1e-8)
