"""Strides, sizes in bytes, and views of memory by ``as_strided``: NumPy's values, checked bounds."""

import numpy as np
import pytest
from numpy.lib.stride_tricks import as_strided

import sdgrad
from sdgrad.errors import ParseError
from sdgrad.testing import check_grads

X = np.random.default_rng(0).standard_normal(12)
A = np.random.default_rng(1).standard_normal((4, 6))


def views(x, A):
    """Windows, their steps, columns, a diagonal, and what is before a part or behind it."""
    (s,), (rows, columns) = x.strides, A.strides
    part, turned = x[3:9], A.T
    yield as_strided(x, (10, 3), (s, s))
    yield as_strided(x, shape=(3, 4), strides=(3 * s, s))
    yield as_strided(x[::2], (5, 2), (x[::2].strides[0], s))
    yield as_strided(x[::-1], (4,), (x[::-1].strides[0],))
    yield as_strided(part[2:], (3, 4), (-s, s))
    yield as_strided(A, (4,), (rows + columns,))
    yield as_strided(turned, (3, 2, 4), (turned.strides[0], 2 * columns, turned.strides[1]))
    yield as_strided(A[1:, 2:], (2, 3))
    yield as_strided(x, (2, 5), (0, 8))
    yield as_strided(x, (0, 3), (s, s))


def total(x, A):
    return sum(np.sum(np.cos(np.arange(v.size).reshape(v.shape)) * v**2) for v in views(x, A))


def test_views_of_memory():
    assert sdgrad.compile_forward(total)(X, A) == pytest.approx(total(X, A), rel=1e-13)
    check_grads(total, (X, A), order=1)


def test_sizes_in_bytes():
    def sizes(A, h):
        return np.array([*A.strides, *A[::2, 1:].strides, *A.T.strides, A.itemsize, A.nbytes, *h.strides, h.nbytes])

    h = np.ones((2, 3, 5), np.float32)
    np.testing.assert_array_equal(sdgrad.compile_forward(sizes)(A, h), sizes(A, h))


def test_what_is_viewed_is_what_is_written_before():
    def f(x):
        y = x * 2.0
        y[3] = x[0] ** 2
        return np.sum(as_strided(y, (5, 3), (2 * y.itemsize, y.itemsize)) ** 2)

    check_grads(f, (X,), order=1)


@pytest.mark.parametrize(
    ("f", "error", "words"),
    [
        (lambda x: np.sum(as_strided(x, (11, 3), (8, 8))), ValueError, "elements 0 to 12 of memory that has 12"),
        (lambda x: np.sum(as_strided(x, (4,), (-8,))), ValueError, "elements -3 to 0"),
        (lambda x: np.sum(as_strided(x, (2,), (4,))), ParseError, "middle of a number"),
        (lambda x: np.sum(as_strided(x, (2, 2), (8,))), ValueError, "different lengths"),
    ],
)
def test_refused(f, error, words):
    with pytest.raises(error, match=words):
        sdgrad.grad(f)(X)


def test_a_view_is_only_read():
    def f(x):
        w = as_strided(x, (10, 3), (8, 8))
        w[0] = 1.0
        return np.sum(w)

    with pytest.raises((ParseError, ValueError), match="read"):
        sdgrad.grad(f)(X)
