"""Places that a loop or data decide, in lists and in parts of varying length: elimination with pivots."""

import numpy as np
import pytest
from references import assert_close

import sdgrad


def by_copies(A):
    A, sign = A.copy(), 1.0
    n = A.shape[0]
    for k in range(n - 1):
        p = k + np.argmax(np.abs(A[k:, k]))
        if p != k:
            row = A[k].copy()
            A[k] = A[p]
            A[p] = row
            sign = -sign
        for i in range(k + 1, n):
            A[i, k] /= A[k, k]
            A[i, k + 1 :] -= A[i, k] * A[k, k + 1 :]
    return sign * np.prod(np.diag(A))


def by_lists(A):
    A, sign = A.copy(), 1.0
    for k in range(A.shape[0] - 1):
        p = k + np.argmax(np.abs(A[k:, k]))
        if p != k:
            A[[k, p]] = A[[p, k]]
            sign = -sign
        A[k + 1 :, k] /= A[k, k]
        A[k + 1 :, k + 1 :] -= np.outer(A[k + 1 :, k], A[k, k + 1 :])
    return sign * np.prod(np.diag(A))


@pytest.mark.parametrize("f", [by_copies, by_lists], ids=lambda f: f.__name__)
def test_determinants(f):
    A = np.random.default_rng(0).random((4, 4))
    value, gradient = sdgrad.value_and_grad(f)(A)
    assert_close(value, np.linalg.det(A), 1e-12, "value")
    assert_close(gradient, np.linalg.det(A) * np.linalg.inv(A).T, 1e-10, "gradient")


def test_strided_parts_between_integer_arguments():
    def f(x, a, b, s):
        y = x.copy()
        y[a:b:2] += x[0]
        return np.sum(y * x) + np.sum(y[a::s])

    x = np.arange(6.0) + 1
    for a, b, s in ((2, 5, 2), (-4, -1, 3), (0, 6, 1)):
        value, gradient = sdgrad.value_and_grad(f, wrt="x")(x, a, b, s)
        steps = 1e-6 * np.eye(6)
        assert_close(value, f(x, a, b, s), 1e-13, "value")
        assert_close(gradient, [(f(x + d, a, b, s) - f(x - d, a, b, s)) / 2e-6 for d in steps], 1e-7, "gradient")
