"""Systems with sparse matrices: values like SciPy's, derivatives like those of dense systems, programs that solve."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
import scipy.sparse.linalg as linalg
from scipy.sparse.linalg import spsolve

import sdgrad
from sdgrad.errors import ParseError
from sdgrad.runtime.libraries import sparse_solve
from sdgrad.testing import check_grads

RNG = np.random.default_rng(0)
N = 6
D = RNG.standard_normal((N, N)) * (RNG.random((N, N)) < 0.4) + 4 * np.eye(N)
B, C = RNG.standard_normal(N), RNG.standard_normal((N, 2))
S = D @ D.T


@pytest.fixture(autouse=True)
def _no_warnings():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sp.SparseEfficiencyWarning)
        yield


def direct(A, b, c):
    x, factors = spsolve(A, b), linalg.splu(A)
    found = np.sum(x**3) + np.sum(np.sin(spsolve(A, c))) + np.sum(factors.solve(b) * x)
    return found + np.sum(linalg.factorized(A)(b) ** 2) + np.sum(factors.solve(b, "T") ** 2)


@pytest.mark.parametrize("cls", [sp.csc_matrix, sp.csr_array, sp.coo_matrix])
def test_direct_solutions(cls):
    check_grads(direct, (cls(D), B, C), modes=("rev", "fwd") if cls is sp.csr_array else ("rev",))


def test_second_order():
    check_grads(lambda A, b: np.sum(spsolve(A, b) ** 3), (sp.csc_array(D), B), order=2)


def test_against_a_dense_system():
    dA, db = sdgrad.grad(lambda A, b: np.sum(spsolve(A, b) ** 2), wrt=(0, 1))(sp.csr_array(D), B)
    x = np.linalg.solve(D, B)
    u = np.linalg.solve(D.T, 2 * x)
    np.testing.assert_allclose(db, u)
    np.testing.assert_allclose(dA.toarray(), -np.outer(u, x) * (D != 0))


def test_shapes_and_types_like_scipy():
    def solved(A, b, c):
        return spsolve(A, b), spsolve(A, c), spsolve(A, c[:, :1]), linalg.splu(A).solve(c[:, :1])

    for dtype in (np.float32, np.complex128, np.int64):
        A, b, c = (np.round(8 * v).astype(dtype) for v in (D, B, C))
        wanted = solved(sp.csc_array(A if dtype is not np.int64 else A.astype(float)), b, c)
        for own, other in zip(sdgrad.compile_forward(solved)(sp.csc_array(A), b, c), wanted, strict=True):
            assert own.dtype == other.dtype and own.shape == other.shape
            np.testing.assert_allclose(own, other, rtol=1e-4 if dtype is np.float32 else 1e-10)


def test_complex_systems():
    A = sp.csc_array(D + 1j * np.diag(np.arange(1.0, N), 1))

    def program(A, b):
        found = np.sum(np.abs(spsolve(A, b)) ** 2) + np.sum(np.real(linalg.splu(A).solve(b, "H") ** 2))
        return found + np.sum(np.real(linalg.splu(A).solve(b, "T"))) + np.sum(np.abs(linalg.gmres(A, b, rtol=1e-12)[0]))

    check_grads(program, (A, B + 1j * B[::-1]))


def iterative(half, b):
    A = half + half.T  # symmetric whatever is moved
    x, first = linalg.cg(A, b, rtol=1e-12)
    y, second = linalg.gmres(A, b, rtol=1e-12)
    z, third = linalg.bicgstab(A, b, rtol=1e-12, x0=np.ones(N), M=sp.diags(1.0 / A.diagonal()).tocsr())
    assert first + second + third == 0
    return np.sum(x**2) + np.sum(np.sin(y)) + np.sum(z * x)


def test_iterative_solutions():
    check_grads(iterative, (sp.csr_array(S / 2), B), modes=("rev", "fwd"), rtol=1e-5)


def test_minres_has_the_gradient_of_the_solution():
    A, wrt = sp.csr_array(S), (0, 1)
    found = sdgrad.grad(lambda A, b: np.sum(linalg.minres(A, b, rtol=1e-9)[0] ** 2), wrt=wrt)(A, B)
    wanted = sdgrad.grad(lambda A, b: np.sum(spsolve(A, b) ** 2), wrt=wrt)(A, B)
    np.testing.assert_allclose(found[0].data, wanted[0].data, rtol=1e-4, atol=1e-8)
    np.testing.assert_allclose(found[1], wanted[1], rtol=1e-4, atol=1e-8)


def test_iterations_are_those_of_scipy():
    def few(A, b):
        return linalg.cg(A, b, maxiter=2)

    A = sp.csr_array(np.diag(np.arange(1.0, N + 1) ** 2) + np.eye(N, k=1) + np.eye(N, k=-1))
    (x, info), (wanted, steps) = sdgrad.compile_forward(few)(A, B), few(A, B)
    np.testing.assert_allclose(x, wanted)
    assert info == steps > 0
    with pytest.raises(RuntimeError, match="does not solve the adjoint system"):
        sdgrad.grad(lambda A, b: np.sum(linalg.cg(A, b, maxiter=2)[0]))(A, B)


def triangular(L, b):
    found = np.sum(linalg.spsolve_triangular(L, b) ** 2) + np.sum(
        linalg.spsolve_triangular(L, b, unit_diagonal=True) ** 3
    )
    return found + np.sum(np.sin(linalg.spsolve_triangular(L.T.tocsr(), b, lower=False)))


def test_triangular_systems():
    check_grads(triangular, (sp.csr_array(np.tril(D)), B), modes=("rev", "fwd"))
    with pytest.raises(ValueError, match="beside the triangle"):
        sdgrad.grad(lambda A, b: np.sum(linalg.spsolve_triangular(A, b)))(sp.csr_array(D), B)


def test_norms():
    check_grads(lambda A: linalg.norm(A) + linalg.norm(A, 1) * linalg.norm(A, np.inf), (sp.csr_array(D),))


def test_singular_matrices():
    A = sp.csc_matrix(np.diag([1.0, 0, 2, 3, 4, 5]))
    with pytest.warns(linalg.MatrixRankWarning):
        assert np.isnan(sdgrad.compile_forward(lambda A, b: spsolve(A, b))(A, B)).all()
    with pytest.raises(RuntimeError, match="singular"):
        sdgrad.compile_forward(lambda A, b: linalg.splu(A).solve(b))(A, B)


def test_the_adjoint_has_the_factors(monkeypatch):
    made, splu = [], linalg.splu
    monkeypatch.setattr(linalg, "splu", lambda *args, **kwargs: made.append(1) or splu(*args, **kwargs))
    monkeypatch.setattr(sparse_solve, "FACTORIZATIONS", sparse_solve.Factorizations())
    sdgrad.grad(lambda A, b: np.sum(spsolve(A, b) ** 2))(sp.csc_array(D), B)
    assert len(made) == 1


def test_few_factors_are_kept(monkeypatch):
    monkeypatch.setattr(sparse_solve, "MOST_NUMBERS", 50)
    own = sparse_solve.Factorizations()
    for k in range(1, 9):
        A = sp.csc_array(D * k)
        own.of(A, [A.data, A.indices, A.indptr], None)
    assert 1 <= len(own.kept) < 4


def test_refusals():
    A = sp.csr_array(D)
    for function, told in (
        (lambda A, b: linalg.cg(A, b, callback=print)[0], "callback"),
        (lambda A, b: linalg.cg(lambda v: A @ v, b)[0], "sdgrad.linear_solve"),
        (lambda A, b: spsolve(A, A), "sparse right side"),
        (lambda A, b: linalg.splu(A).L, "only solve"),
        (lambda A, b: spsolve(np.outer(b, b), b), "np.linalg.solve"),
        (lambda A, b: linalg.lobpcg(A, b[:, None])[0], "eigsh"),
        (lambda A, b: linalg.norm(A, 2), "'fro'"),
    ):
        with pytest.raises(ParseError, match=told):
            sdgrad.compile_forward(function)(A, B)
    with pytest.raises(ValueError, match="square"):
        sdgrad.compile_forward(lambda A, b: spsolve(A[:3], b[:3]))(A, B)


# -- programs
def pagerank(A, v, d):
    r = np.full(A.shape[0], 1.0 / A.shape[0])
    for _ in range(20):
        r = d * (A @ r) + (1 - d) * v
    return np.sum(r**2)


def heat(k, u):
    for _ in range(5):
        wide = k * (1 + u[0] ** 2)
        L = sp.diags([wide[1:-1], -(wide[:-1] + wide[1:]), wide[1:-1]], [-1, 0, 1], format="csc")
        u = spsolve(sp.eye(N, format="csc") - 0.1 * L, u)
    return np.sum(u**2)


def laplacian(W, x):
    L = sp.diags(np.asarray(W.sum(axis=1)).ravel()) - W
    return x @ (L @ x)


ELEMENTS = np.array([[0, 1, 2], [1, 2, 3], [2, 3, 4], [3, 4, 5]])
ROWS, COLUMNS = np.repeat(ELEMENTS, 3, axis=1).ravel(), np.tile(ELEMENTS, (1, 3)).ravel()
STIFFNESS = 3 * np.eye(3) + np.array([[0, -1.0, -1], [-1, 0, -1], [-1, -1, 0]])


def elasticity(E, f):
    values = (E[:, None, None] * STIFFNESS).ravel()
    K = sp.coo_matrix((values, (ROWS, COLUMNS)), shape=(N, N)).tocsr()
    return f @ spsolve(K, f)


def logistic(w, X, y):
    return np.sum(np.log1p(np.exp(-y * (X @ w)))) + 0.1 * np.sum(w**2)


def test_programs():
    draw = np.random.default_rng(1)
    P = sp.random(N, N, 0.4, format="csr", random_state=3)
    check_grads(pagerank, (P, draw.random(N), 0.85))
    check_grads(heat, (1 + draw.random(N + 1), draw.random(N)), modes=("rev", "fwd"))
    check_grads(laplacian, (sp.csr_matrix(P + P.T), draw.random(N)))
    check_grads(elasticity, (1 + draw.random(4), draw.random(N)), modes=("rev", "fwd"))
    y = np.sign(draw.standard_normal(12))
    check_grads(logistic, (draw.standard_normal(5), sp.random(12, 5, 0.4, format="csr", random_state=4), y))
