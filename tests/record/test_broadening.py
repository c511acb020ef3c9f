"""Derivatives of eigenvectors at equal eigenvalues, where ``config.eigenvalue_broadening`` keeps them finite."""

import numpy as np
import pytest

import sdgrad

RNG = np.random.default_rng(3)
Q = np.linalg.qr(RNG.standard_normal((4, 4)))[0]
WEIGHTS = RNG.standard_normal((4, 4))
APART, EQUAL = (Q @ np.diag(d) @ Q.T for d in ([1.0, 2.0, 4.0, 7.0], [1.0, 1.0, 4.0, 7.0]))
EPSILON = 1e-6


def of_vectors(a):
    w, v = np.linalg.eigh((a + a.T) / 2)
    u, s, vt = np.linalg.svd(a)
    return np.sum((v * w) ** 2 * WEIGHTS) + np.sum((u @ vt) * WEIGHTS) + np.sum((u * s) ** 2 * WEIGHTS)


def of_general(a):
    w, v = np.linalg.eig(a)
    return np.sum(np.abs(v) ** 2 * WEIGHTS) + np.sum(np.real(w) ** 2)


@pytest.fixture(autouse=True)
def _compiled_fast():
    with sdgrad.config.override(optimization_level=0):
        yield


@pytest.mark.parametrize("f", [of_vectors, of_general])
def test_finite_at_equal_values_and_near_the_exact_derivative_elsewhere(f):
    gradient = sdgrad.grad(f)
    exact, none = gradient(APART), gradient(EQUAL)
    assert not np.all(np.abs(none) < 1e6)
    with sdgrad.config.override(eigenvalue_broadening=EPSILON):
        near, finite = gradient(APART), gradient(EQUAL)
    assert np.all(np.isfinite(finite)) and np.abs(finite).max() < 1e4
    size = np.abs(exact).max()
    assert 0 < np.abs(near - exact).max() < 10 * EPSILON * size
    np.testing.assert_array_equal(gradient(APART), exact)  # the setting is a part of what a program is


def test_formula_second_order_and_forward_mode():
    """Of two values ``d`` apart the mixing is ``d / (d^2 + epsilon)`` in place of ``1 / d``."""

    def mixing(t):
        a = np.array([[1.0, 0.0], [0.0, 1.5]]) + t * np.array([[0.3, 1.0], [1.0, 0.0]])
        v = np.linalg.eigh(a)[1]
        return v[0, 0] * v[0, 1]

    d, epsilon = 0.5, 0.1
    with sdgrad.config.override(eigenvalue_broadening=epsilon):
        first, along = sdgrad.grad(mixing)(0.0), sdgrad.jvp(mixing, (0.0,), (1.0,))[1]
        second = sdgrad.grad(sdgrad.grad(mixing))(0.0)
    broad = d / (d**2 + epsilon)
    sign = np.sign(sdgrad.grad(mixing)(0.0))
    np.testing.assert_allclose([first, along], sign * broad, rtol=1e-12)
    np.testing.assert_allclose(second, sign * 0.3 * (broad**2 + (d**2 - epsilon) / (d**2 + epsilon) ** 2), rtol=1e-12)
