"""Whole numbers in arrays of reals: a quotient of two of them is a real number, at every order."""

import numpy as np
import pytest

import sdgrad
from python.check import Programs, X, check, name_of

program = Programs()


@program
def ones_divided(x):
    a = np.empty_like(x)
    for i in range(4):
        a[i] = 1
    return np.sum(a / 2 * x)


@program
def counters_divided(x):
    a = np.empty(4)
    for i in range(4):
        a[i] = i
    return np.sum(a / 4 * x) + np.sum(a[1:] ** -1 * x[1:])


@program
def element_divided(x):
    t = x * 0 + 1
    t[0] = 3
    return np.sum(t / 2) + t[0] / 2 * x[0] + t[0] // 2 * x[1]


@pytest.mark.parametrize("f", program, ids=name_of)
def test_program(f):
    check(f, X)


def mean(w):
    return np.mean((w - 1.0) ** 2)


def quotient(w):
    return np.sum(w * w) / 4


def by_the_size(w):
    return np.sum(w**2) / w.size


@pytest.mark.parametrize("f, factor", [(mean, 0.5), (quotient, 0.5), (by_the_size, 0.5)], ids=name_of)
def test_second_derivatives(f, factor):
    wanted = factor * np.eye(4)
    np.testing.assert_allclose(sdgrad.hessian(f)(X), wanted)
    np.testing.assert_allclose(sdgrad.sparse_hessian(f)(X).toarray(), wanted)
    np.testing.assert_allclose(sdgrad.hvp(f, (X,), (np.ones(4),)), factor * np.ones(4))
    np.testing.assert_allclose(sdgrad.jacobian(sdgrad.grad(f))(X), wanted)
    gradient = factor * (X - 1.0 if f is mean else X)
    np.testing.assert_allclose(sdgrad.vmap(sdgrad.grad(f))(np.stack([X, X])), [gradient, gradient])
    found = sdgrad.jvp(sdgrad.grad(f), (X,), (np.ones(4),))
    np.testing.assert_allclose(found[0], gradient)
    np.testing.assert_allclose(found[1], factor * np.ones(4))


def picked(x, n):
    return np.sin(x) * [1.0, 10.0, 100.0][n]


def sum_of_picked(x, n):
    return np.sum(picked(x, n))


def test_derivatives_for_each_integer_that_python_needs():
    """A derivative knows which arguments its function's program is for."""
    jacobian, sparse = sdgrad.jacobian(picked), sdgrad.sparse_jacobian(picked)
    hessian, second = sdgrad.hessian(sum_of_picked), sdgrad.grad(lambda x, n: np.sum(sdgrad.grad(sum_of_picked)(x, n)))
    for n in (1, 2, 0, 1):
        factor = 10.0**n
        np.testing.assert_allclose(jacobian(X, n), factor * np.diag(np.cos(X)))
        np.testing.assert_allclose(sparse(X, n).toarray(), factor * np.diag(np.cos(X)))
        np.testing.assert_allclose(hessian(X, n), -factor * np.diag(np.sin(X)), atol=1e-14)
        np.testing.assert_allclose(second(X, n), -factor * np.sin(X))
