"""Systems with a triangular matrix: the node, its derivatives, and what Cholesky's are made of them."""

import dace
import numpy as np
import pytest

import sdgrad
from sdgrad.config import config
from sdgrad.runtime.libraries.triangular_solve import TriangularSolve

ORDER, WIDTH = 5, 3
SHAPES = {"left": (ORDER, WIDTH), "right": (WIDTH, ORDER)}
RNG = np.random.default_rng(0)


def graph(side, adjoint, dtype, padded=0, label=""):
    sdfg = dace.SDFG(f"solve_{side}_{int(adjoint)}_{dtype.to_string()}_{label}")
    sdfg.add_array("A", [ORDER, 2, ORDER + padded], dtype)
    sdfg.add_array("B", SHAPES[side], dtype)
    sdfg.add_array("X", SHAPES[side], dtype)
    state = sdfg.add_state()
    node = TriangularSolve("solve", side=side, adjoint=adjoint)
    state.add_node(node)
    state.add_edge(state.add_read("A"), None, node, "_a", dace.Memlet(f"A[0:{ORDER}, 1, 0:{ORDER}]"))
    state.add_edge(state.add_read("B"), None, node, "_b", dace.Memlet.from_array("B", sdfg.arrays["B"]))
    state.add_edge(node, "_x", state.add_write("X"), None, dace.Memlet.from_array("X", sdfg.arrays["X"]))
    return sdfg


def values(side, dtype, padded=0):
    def some(*shape):
        real = RNG.standard_normal(shape)
        return (real + 1j * RNG.standard_normal(shape) if np.dtype(dtype).kind == "c" else real).astype(dtype)

    A = 0.3 * some(ORDER, 2, ORDER + padded)
    A[range(ORDER), 1, range(ORDER)] += 2.0
    return A.astype(dtype), some(*SHAPES[side])


def solved(A, B, side, adjoint):
    lower = np.tril(A[:, 1, :ORDER])
    op = lower.conj().T if adjoint else lower
    return np.linalg.solve(op, B) if side == "left" else np.linalg.solve(op.T, B.T).T


@pytest.mark.parametrize("blas", ["openblas", "none"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex128])
@pytest.mark.parametrize("adjoint", [False, True])
@pytest.mark.parametrize("side", ["left", "right"])
def test_solutions(side, adjoint, dtype, blas):
    A, B = values(side, dtype, 2)
    X = np.zeros_like(B)
    with config.override(blas=blas):
        graph(side, adjoint, dace.dtype_to_typeclass(dtype), 2, blas)(A=A, B=B, X=X)
    np.testing.assert_allclose(X, solved(A, B, side, adjoint), rtol=2e-5 if dtype == np.float32 else 1e-12)


@pytest.mark.parametrize("adjoint", [False, True])
@pytest.mark.parametrize("side", ["left", "right"])
def test_gradients(side, adjoint):
    """Against derivatives by complex steps, in which an adjoint is a transpose."""
    A, B = values(side, np.float64)
    X, seed = np.zeros_like(B), RNG.standard_normal(B.shape)
    sdfg = graph(side, adjoint, dace.float64, label="backward")
    sdgrad.add_backward_pass(sdfg, ["A", "B"], ["X"])
    gA, gB = np.zeros_like(A), np.zeros_like(B)
    sdfg(A=A, B=B, X=X, gradient_A=gA, gradient_B=gB, gradient_X=seed.copy())
    assert not gA[:, 0].any() and not np.triu(gA[:, 1], 1).any()
    for k, (found, at) in enumerate(((gA, A), (gB, B))):
        move = RNG.standard_normal(at.shape)
        a, b = (x + 1e-20j * move if k == i else x for i, x in enumerate((A, B)))
        lower = np.tril(a[:, 1])
        op = lower.T if adjoint else lower
        moved = np.linalg.solve(op, b) if side == "left" else np.linalg.solve(op.T, b.T).T
        assert np.sum(found * move) == pytest.approx(np.sum(seed * moved.imag) / 1e-20, rel=1e-10)


def likelihood(K, y):
    L = np.linalg.cholesky(K)
    return np.sum(np.log(np.diagonal(L))) + np.sum((L @ y) ** 2)


def test_derivatives_of_cholesky_to_second_order():
    B = RNG.standard_normal((ORDER, ORDER))
    K, y = B @ B.T + ORDER * np.eye(ORDER), RNG.standard_normal(ORDER)
    sdgrad.testing.check_grads(likelihood, (K, y), order=2)
