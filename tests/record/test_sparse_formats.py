"""Sparse matrices by diagonals, by blocks, in lists and in dicts: as arguments, and filled inside of functions."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse.linalg import spsolve

import sdgrad
from sdgrad.errors import ArgumentError, ParseError
from sdgrad.testing import check_grads

RNG = np.random.default_rng(0)
D = RNG.random((4, 6)) * (RNG.random((4, 6)) < 0.5)
X, Y = RNG.standard_normal(6), np.array([0.7, -0.9])
TWICE = sp.bsr_array((np.arange(1.0, 13.0).reshape(3, 2, 2), [0, 0, 1], [0, 2, 3]), shape=(4, 6))  # one block twice
OTHERS = [
    sp.dia_array((RNG.random((3, 5)), [0, 2, -1]), shape=(4, 6)),
    sp.dia_matrix((RNG.random((3, 6)), [1, 0, -3]), shape=(4, 6)),
    sp.dia_matrix((np.zeros((1, 6)), [0]), shape=(4, 6)),
    TWICE,
    sp.bsr_matrix(D, blocksize=(2, 3)),
    sp.bsr_array((4, 6)),
    sp.lil_array(D),
    sp.dok_matrix(D),
]


def products(A, x):
    return np.sum((A @ x) ** 2) + np.sum(np.sin(A.T @ x[:4]))


def test_gradients_are_of_the_same_class():
    function = sdgrad.value_and_grad(products)
    for A in OTHERS:
        value, found = function(A, X)
        assert type(found) is type(A) and found.shape == A.shape
        np.testing.assert_allclose(value, products(A, X), rtol=1e-13)
        wanted = 2.0 * np.outer(A @ X, X) + np.outer(X[:4], np.cos(A.T @ X[:4]))
        if A.format in ("dia", "bsr"):  # each element has one, also where elements of one place are added
            assert found.data.shape == A.data.shape
            ones = type(A)(
                (np.ones_like(A.data), *([A.offsets] if A.format == "dia" else [A.indices, A.indptr])), A.shape
            )
            wanted = wanted * ones.toarray()
        else:
            wanted = np.where(A.toarray(), wanted, 0.0)
        np.testing.assert_allclose(found.toarray(), wanted, rtol=1e-13)


def test_other_modes():
    check_grads(products, (OTHERS[0], X), order=2)
    check_grads(products, (TWICE, X), modes=("fwd",))
    tangent = sp.dia_array((np.ones((3, 5)), [0, 2, -1]), shape=(4, 6))
    _, moved = sdgrad.jvp(lambda A: A @ X, (OTHERS[0],), (tangent,))
    np.testing.assert_allclose(moved, tangent @ X)


def filled(x, y):
    n, B = 5, sp.lil_matrix((5, 5))
    for i in range(n):
        B[i, i] = 2.0 + x[i] ** 2
        if i > 0:
            B[i, i - 1] = -x[i] * 0.3
            B[i - 1, i] += x[i - 1] * y[0]
    if y[1] > 0:
        B[0, 4] = y[1]
    else:
        B[4, 0] = y[1]
    A = B.tocsc()
    B[0, :2] = 7.0  # of which A and C know nothing
    C = B.copy()
    C[3, 0] = x[0]
    E = A.tolil()
    E.setdiag(x[:5])
    E[2, 2] *= y[0]
    products = np.sum((B @ x[:5]) ** 2) + np.sum((C @ x[:5]) ** 2) + np.sum((E @ x[:5]) ** 3)
    return np.sum(spsolve(A, x[:5]) ** 2) + products + B.sum()


def filled_at_once(x, y):
    D, i = sp.dok_array((5, 2)), np.arange(5)
    D[1:4, 1] = x[:3][:, None]
    D[[0, 2], [0, 0]] = y
    D[4, 1] += x[3]
    D[4, 1] += x[4]
    B = sp.lil_array((5, 5))
    B[i, i] = x[:5]
    B[i[1:], i[:-1]] = 0.5
    return np.sum((D.T @ B.tocsr() @ x[:5]) ** 2) + sp.lil_matrix(B.tocsr())[1, 0]


@pytest.mark.parametrize("program", [filled, filled_at_once])
def test_matrices_that_are_filled(program):
    for y in (Y, -Y):
        np.testing.assert_allclose(sdgrad.compile_forward(program)(X, y), program(X, y), rtol=1e-12)
    check_grads(program, (X, Y), modes=("rev",) if program is filled else ("rev", "fwd"))


def test_a_matrix_of_known_numbers():
    def program(x):
        B = sp.lil_matrix((3, 3))
        B.setdiag([1.0, 2.0, 3.0])
        B[0, 2] = 4.0
        return B.tocsr() @ x[:3]

    np.testing.assert_allclose(sdgrad.jacobian(program)(X)[:, :3], [[1, 0, 4], [0, 2, 0], [0, 0, 3]])


def test_refusals():
    with pytest.raises(ParseError, match="content decides"):
        sdgrad.grad(lambda x: sp.lil_matrix(np.outer(x, x)).sum())(X)
    with pytest.raises(ArgumentError, match="give it two"):
        sdgrad.grad(lambda A: A.sum())(sp.dok_array(np.ones(3)))
    with pytest.raises(IndexError):
        sdgrad.grad(lambda x: of_size(x, 9))(X)


def of_size(x, k):
    B = sp.lil_matrix((3, 3))
    B[k, 0] = x[0]
    return B.sum()
