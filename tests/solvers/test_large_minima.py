"""Minima of more than 64 unknowns, where values near them are rounded and only slopes tell what is lower."""

import numpy as np
import pytest
import scipy.optimize

import sdgrad


def smooth(x, a):
    target = a * np.linspace(0.0, 1.0, 80).astype(x.dtype)
    return np.sum((x - target) ** 2 + 0.1 * x**4) + np.sum((x[1:] - x[:-1]) ** 2)


def constant_added(x, a):
    k = np.arange(1.0, 81.0)
    return 1e3 + 0.5 * np.sum(k * x**2) - np.sum(a * x) + np.sum(np.cos(x))


def valley(x, a):
    return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (a - x[:-1]) ** 2)


@pytest.mark.parametrize(
    ("f", "values"), [(smooth, (0.3, 1.6, -20.0)), (constant_added, (1.0, 7.7)), (valley, (0.9, 1.05))]
)
def test_convergence(f, values):
    def squares(a):
        return np.sum(sdgrad.minimize(f, np.zeros(80), args=(a,), maxiter=3000) ** 2)

    def reference(a):
        found = scipy.optimize.minimize(f, np.zeros(80), args=(a,), jac=sdgrad.grad(f), method="BFGS", tol=1e-9)
        return np.sum(found.x**2)

    both = sdgrad.value_and_grad(squares)
    for a in values:
        value, slope = both(a)
        np.testing.assert_allclose(value, reference(a), rtol=1e-6)
        np.testing.assert_allclose(slope, (both(a + 1e-4)[0] - both(a - 1e-4)[0]) / 2e-4, rtol=1e-4)


def test_convergence_in_single_precision():
    both = sdgrad.value_and_grad(lambda a, x: np.sum(sdgrad.minimize(smooth, x, args=(a,)) ** 2))
    for a in (0.3, 1.6, 5.0):
        value, slope = both(np.float32(a), np.zeros(80, np.float32))
        exact = both(a, np.zeros(80))
        assert value.dtype == np.float32
        np.testing.assert_allclose([value, slope], exact, rtol=1e-4)
