"""Derivatives by and along sparse matrices: reverse and forward mode, second order, types, refusals."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

import sdgrad
from sdgrad.errors import ArgumentError, ParseError
from sdgrad.testing import check_grads

D = np.array([[1.0, 0, 2, 0], [0, 0, 3, 0], [0, 0, 0, 0]])
A = sp.csr_matrix(D)
X = np.array([0.5, -1.5, 2.0, 0.7])
Y = np.array([0.3, 1.1, -0.4])


def products(A, x, y):
    return np.sum(np.sin(A @ x) * y) + np.sum((A.T @ y) ** 2) + np.sum((y @ A) * x)


@pytest.mark.parametrize("cls", [sp.csr_matrix, sp.csc_array, sp.coo_matrix])
def test_products_to_second_order(cls):
    check_grads(products, (cls(D), X, Y), modes=("rev", "fwd"), order=2 if cls is not sp.csc_array else 1)


def test_other_operations_by_differences():
    B = sp.csr_array(np.array([[0.5, 0, 1.5, 0], [0, 2.0, 0, 0], [0, 0, 0, 1.0]]))

    def program(A, B, x, F):
        C = A.multiply(F) + B / x[0] - (B @ B.T) @ A
        D = sp.hstack([A, B]).tocsr()[0:2] * x[1]
        total = np.sum(C.toarray() ** 2) + np.sum(D.power(3).data) + np.sum(A.multiply(B).sin().toarray())
        total += np.sum(A.sum(axis=0) ** 2 * x) + np.sum(A.mean(axis=1) ** 3) + np.sum(sp.kron(A, B).tocsr().data ** 2)
        total += np.sum(sp.kronsum(B @ B.T, C @ B.T).data ** 3)
        return total + np.sum(sp.diags([x, x[:-1] ** 2], [0, 1]) @ x) + np.sum(A.diagonal() ** 2)

    F = np.linspace(0.5, 2.0, 12).reshape(3, 4)
    check_grads(program, (sp.csr_array(D), B, X, F), modes=("rev", "fwd"))


def test_single_precision_and_complex_numbers():
    def real(A, x):
        return np.sum((A @ x) ** 2) + np.sum(A.multiply(x).toarray() ** 2)

    dA, dx = sdgrad.grad(real, wrt=("A", "x"))(A.astype(np.float32), X.astype(np.float32))
    assert dA.dtype == dx.dtype == np.float32
    np.testing.assert_allclose(dA.toarray(), (2 * np.outer(D @ X, X) + 2 * D * X**2) * (D != 0), rtol=1e-5)
    np.testing.assert_allclose(dx, 2 * D.T @ (D @ X) + 2 * X * np.sum(D**2, axis=0), rtol=1e-5)

    def both(A, x):
        found = np.sum(np.abs(A @ x) ** 2) + np.sum(np.real((A.T @ (A.conj() @ x)) * x))
        return found + np.sum(np.abs(x[:3] @ A) ** 2)

    for cls in (sp.csr_array, sp.coo_array):
        check_grads(both, (cls(D + 0.5j * (D != 0)), X + 1j * X[::-1]), modes=("rev", "fwd"))
    check_grads(both, (A, X + 1j * X[::-1]))


def scaled(A, x):
    return 2 * A.multiply(x)


def test_results_that_are_sparse_have_tangents_and_cotangents():
    value, pullback = sdgrad.vjp(scaled, A, X)
    dA, dx = pullback(value)
    assert type(dA) is sp.csr_matrix
    np.testing.assert_allclose(dA.toarray(), 4 * D * X**2)
    np.testing.assert_allclose(dx, np.sum(4 * D**2 * X, axis=0))
    value, tangent = sdgrad.jvp(scaled, (A, X), (A, X))
    assert type(tangent) is type(value) is sp.coo_matrix
    np.testing.assert_allclose(tangent.toarray(), 4 * D * X)
    value, push = sdgrad.linearize(scaled, A, X)
    np.testing.assert_allclose(push(A, None).toarray(), value.toarray())


def test_tangents_and_cotangents_with_other_places_are_refused():
    with pytest.raises(ArgumentError, match="other places"):
        sdgrad.jvp(scaled, (A, X), (sp.csr_matrix(np.eye(3, 4)), None))
    value, pullback = sdgrad.vjp(scaled, A, X)
    with pytest.raises(ArgumentError, match="other places"):
        pullback(sp.coo_matrix((value.data, (value.row, value.col[::-1])), value.shape))


def square(A, x):
    return np.sum((A @ x) ** 2)


def test_second_derivatives_and_jacobians():
    np.testing.assert_allclose(sdgrad.hessian(square, wrt="x")(A, X), 2 * D.T @ D)
    np.testing.assert_allclose(sdgrad.jacobian(lambda A, x: A @ x, wrt="x")(A, X), D)
    dA, dx = sdgrad.hvp(square, (A, X), (A, X))
    np.testing.assert_allclose(dA.toarray(), 6 * np.outer(D @ X, X) * (D != 0))
    np.testing.assert_allclose(dx, 6 * D.T @ (D @ X))
    with pytest.raises(ArgumentError, match="function of its data"):
        sdgrad.jacobian(lambda A, x: A @ x)(A, X)


def test_derivatives_inside_of_functions():
    def outer(A, x):
        def inner(v):
            return np.sum((A @ v) ** 2)

        dA = sdgrad.grad(square)(A, x)
        return np.sum(sdgrad.grad(inner)(x) ** 2) + np.sum(dA @ x)

    check_grads(outer, (A, X))


def test_places_computed_by_a_run():
    def program(data, i, j, x):
        return np.sum((sp.coo_matrix((data, ((i * 2) % 3, j % 4)), shape=(3, 4)) @ x) ** 2)

    check_grads(program, (np.arange(1.0, 6.0), np.arange(5), np.arange(5), X))

    def outside(data, i, j, x):
        return np.sum(sp.coo_matrix((data, (i * 2, j)), shape=(3, 4)) @ x)

    with pytest.raises(ValueError, match="exceeds matrix dimension"):
        sdgrad.grad(outside)(np.arange(3.0), np.arange(3), np.arange(3), X)


def test_broken_places_are_found_before_a_call():
    gradient = sdgrad.grad(square)
    gradient(A, X)
    for part, value in (("indices", 77), ("indices", -1), ("indptr", 2)):
        broken = A.copy()
        getattr(broken, part)[1] = value if part == "indices" else 5
        with pytest.raises(ValueError, match="places outside"):
            gradient(broken, X)


LIL = sp.lil_matrix((4, 4))


def _written(A, x):
    A[0, 3] = x[0]
    return A.sum()


REFUSED = [
    (lambda A, x: np.sum(sp.csr_matrix(np.outer(x, x)) @ x), ParseError, "content decides"),
    (lambda A, x: np.sum(np.dot(A, x)), ParseError, "dot of a sparse matrix"),
    (lambda A, x: np.sum(np.asarray(A)), ParseError, "toarray"),
    (lambda A, x: np.sum(A.sum(axis=1) * 2), ParseError, "numpy.matrix"),
    (lambda A, x: A.argmax(), ParseError, "toarray"),
    (lambda A, x: (A + 1).sum(), NotImplementedError, "nonzero scalar"),
    (lambda A, x: (A @ x[:2]).sum(), ValueError, "dimension mismatch"),
    (lambda A, x: (A @ A).sum(), ValueError, "dimension mismatch"),
    (lambda A, x: np.sum(LIL @ x), ParseError, "lil_matrix: use .tocsr"),
    (lambda A, x: (1 / A).sum(), TypeError, "unsupported operand"),
    (lambda A, x: (A / A).sum(), ParseError, "quotient of two"),
    (_written, ParseError, "that it does not hold"),
]


@pytest.mark.parametrize(("function", "error", "told"), REFUSED)
def test_refusals(function, error, told):
    with pytest.raises(error, match=told):
        sdgrad.grad(function)(A, X)


def test_vectors_are_refused():
    with pytest.raises(ArgumentError, match="give it two"):
        sdgrad.grad(lambda a: a.sum())(sp.coo_array(np.ones(3)))


EDGES = np.array([[0, 1], [1, 2], [2, 3], [3, 0], [0, 2]])


def of_columns(w):
    W = sp.csr_matrix((w, (EDGES[:, 0], EDGES[:, 1])), shape=(4, 4))
    return np.sum((W @ np.arange(4.0)) ** 2)


def of_both_directions(w):
    i, j = EDGES.T
    pairs = np.concatenate([i, j]), np.concatenate([j, i])
    adjacent = sp.coo_matrix((np.concatenate([w, w]), pairs), shape=(4, 4)).tocsr()
    laplacian = sp.diags(adjacent @ np.ones(4)) - adjacent
    return np.sum((laplacian @ np.arange(4.0)) ** 2)


@pytest.mark.parametrize("f", [of_columns, of_both_directions])
def test_places_are_parts_of_an_array_outside(f, monkeypatch):
    """The program is for the places that are there, and another one is made for others."""
    w = np.arange(1.0, 6.0)
    check_grads(f, (w,), order=1)
    monkeypatch.setitem(globals(), "EDGES", EDGES[:, ::-1].copy())
    check_grads(f, (w,), order=1)
