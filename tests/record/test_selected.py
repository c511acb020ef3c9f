"""Elements that a mask selects, as many as only a run knows."""

import numpy as np
import pytest

import sdgrad
from sdgrad.errors import ParseError

X = np.array([0.5, -0.1, 1.5, -0.7])


def reduced(x):
    r = np.abs(x)
    m = r > 0.2
    return np.sum(x[r > 0.2] ** 2) + np.mean(x[m]) + x[m].max() - np.min(x[m]) + np.dot(x[m], r[m]) + x[m].std()


def written(x):
    m = np.abs(x) > 0.2
    y = np.zeros_like(x)
    y[m] = 1 / x[m]
    y[~m] += 3.0 * x[~m]
    return np.sum(y * x * x)


def in_place(x):
    x = x.copy()
    x[x < 0] *= 2.0
    x[x > 1.0] = 1.0
    return np.sum(x**3) * x[x < 0.9].size


def of_rows(x):
    a = np.outer(x, x)
    m = x > 0
    a[m] -= x
    a[m, 0] = 5.0 * x[m]
    return np.sum(a[m] ** 2)


def as_they_were(x):
    x = x * 1.0
    m = x > 0
    old = x[m]
    x[m] = 0.0
    return np.sum(old**2) + np.sum(x)


PROGRAMS = [reduced, written, in_place, of_rows, as_they_were]


@pytest.mark.parametrize("f", PROGRAMS, ids=[f.__name__ for f in PROGRAMS])
def test_value_and_gradient(f):
    value, gradient = sdgrad.value_and_grad(f)(X)
    differences = [(f(X + h) - f(X - h)) / 2e-6 for h in 1e-6 * np.eye(4)]
    assert value == pytest.approx(f(X), rel=1e-12)
    np.testing.assert_allclose(gradient, differences, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize(
    ("f", "words"),
    [
        (lambda x: np.sum(np.sort(x[x > 0])), "when the program runs"),
        (lambda x: np.sum(x[x > 0] * x[x < 1]), "different masks"),
        (lambda x: x[x > 0][0], "an index"),
    ],
    ids=["sort", "two masks", "index"],
)
def test_refused(f, words):
    with pytest.raises(ParseError, match=words):
        sdgrad.grad(f)(X)
