"""Integrals of samples where places are equal, correlations that are clipped, and walks over places."""

import numpy as np
import pytest
from scipy import integrate

import sdgrad
from sdgrad.testing import check_grads

rng = np.random.default_rng(0)
Y, Z, X = rng.standard_normal(6), rng.standard_normal((4, 3)), np.sort(rng.standard_normal(6))


def test_values():
    def f(y, x, z, places):
        own = integrate.simpson(y, x=x), integrate.simpson(y[:5], x=x[:5]), integrate.simpson(z, x=places, axis=0)
        even = integrate.simpson(y), integrate.simpson(y[:5], dx=x[1]), integrate.cumulative_trapezoid(y[:1], initial=0)
        related = np.corrcoef(z), np.corrcoef(y, 2 * y + 1), np.corrcoef(z + 1j * z[::-1])
        return (*own, *even, *related)

    x, places = np.array([0, 0.5, 0.5, 0.5, 1.0, 1.0]), np.sort(rng.standard_normal((4, 3)), axis=0)
    found, wanted = sdgrad.compile_forward(f)(Y, x, Z, places), f(Y, x, Z, places)
    for a, b in zip(found, wanted, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-14)
    assert np.max(np.abs(found[7])) <= 1.0

    def area(y):
        return integrate.simpson(y, x=x)

    weights = [area(row) for row in np.eye(6)]
    np.testing.assert_allclose(sdgrad.grad(area)(Y), weights, atol=1e-15)


def test_derivatives():
    def f(y, x, z):
        related = np.sum(np.corrcoef(z) * np.arange(16.0).reshape(4, 4))
        first = np.sum(integrate.cumulative_trapezoid(y[:1], initial=0) + y[0])
        return integrate.simpson(y, x=x) + integrate.simpson(y[:5] ** 2, x=x[:5]) * related + first

    check_grads(f, (Y, X, Z), order=2)


def test_initial():
    with pytest.raises(ValueError, match="`initial` must be"):
        sdgrad.grad(lambda y: np.sum(integrate.cumulative_trapezoid(y, initial=1.0)))(Y)


def test_walks():
    def f(x):
        found, total = np.zeros_like(x), 0.0
        for place, value in np.ndenumerate(x):
            found[place] = value**2 + found[0, 0]
        for (i, j), value in np.ndenumerate(found):
            total = total + value * (i + 2 * j + 1)
        for place in np.ndindex(*x.shape):
            total = total + x[place] ** 3
        return total

    x = rng.standard_normal((2, 3))
    np.testing.assert_allclose(sdgrad.compile_forward(f)(x), f(x))
    check_grads(f, (x,), order=1)
