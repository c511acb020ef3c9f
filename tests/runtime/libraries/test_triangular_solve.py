"""Systems with a triangular matrix: the node, its derivatives, and what Cholesky's are made of them."""

import itertools

import dace
import numpy as np
import pytest

import sdgrad
from sdgrad.config import config
from sdgrad.runtime.libraries.blas_environment import ScipyOpenBLAS
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


def any_system(letter, dtype, complex_alpha):
    """A graph that calls ``trsm`` with any of its options, as the generated code does."""
    options = ("order", "side", "part", "how", "unit", "m", "n", "lda", "ldb")
    sdfg = dace.SDFG(f"any_triangular_system_{letter}")
    for name in options:
        sdfg.add_symbol(name, dace.int32)
    size = 300 * 300
    sdfg.add_array("A", [size], dtype)
    sdfg.add_array("X", [size], dtype)
    state = sdfg.add_state()
    alpha = "const dace::complex128 number(0.7, 0.3);" if complex_alpha else "const double number = 0.7;"
    call = (
        f"cblas_{letter}trsm(CBLAS_ORDER(order), CBLAS_SIDE(side), CBLAS_UPLO(part), CBLAS_TRANSPOSE(how), "
        f"CBLAS_DIAG(unit), m, n, {'&' if complex_alpha else ''}number, a, lda, x, ldb);"
    )
    copy = f"std::copy_n(b, {size}, x);"
    pointer = dace.pointer(dtype)
    code = f"{alpha} {copy} {call}"
    tasklet = state.add_tasklet("call", {"a": pointer, "b": pointer}, {"x": pointer}, code, dace.Language.CPP)
    tasklet.environments = {ScipyOpenBLAS.full_class_path()}
    state.add_edge(state.add_read("A"), None, tasklet, "a", dace.Memlet(f"A[0:{size}]"))
    state.add_edge(state.add_read("X"), None, tasklet, "b", dace.Memlet(f"X[0:{size}]"))
    state.add_edge(tasklet, "x", state.add_write("X"), None, dace.Memlet(f"X[0:{size}]"))
    return sdfg.compile()


@pytest.mark.parametrize(("letter", "alpha"), [("d", 0.7), ("z", 0.7 + 0.3j)])
def test_large_systems_are_solved_by_halves(letter, alpha):
    """All options of ``trsm``, of sizes that are split, with rows that are longer than the matrices."""
    dtype = np.dtype(letter.replace("z", "D"))
    program = any_system(letter, dace.dtype_to_typeclass(dtype.type), letter == "z")

    def some(*shape):
        return RNG.standard_normal(shape) + (1j * RNG.standard_normal(shape) if letter == "z" else 0.0)

    for order, side, part, how, unit in itertools.product(
        (101, 102), (141, 142), (121, 122), (111, 112, 113), (131, 132)
    ):
        m, n = (130, 7) if side == 141 else (20, 201)
        size = m if side == 141 else n
        matrix, right = some(size, size) / size + 1.5 * np.eye(size), some(m, n)
        A, X = np.zeros(300 * 300, dtype), np.zeros(300 * 300, dtype)
        lda, ldb = size + 3, (n if order == 101 else m) + 2
        rows = (lambda x: x) if order == 101 else np.transpose
        A[: size * lda].reshape(size, lda)[:, :size] = rows(matrix)
        into = rows(X[: (m if order == 101 else n) * ldb].reshape(-1, ldb)[:, : n if order == 101 else m])
        into[:] = right
        program(A=A, X=X, order=order, side=side, part=part, how=how, unit=unit, m=m, n=n, lda=lda, ldb=ldb)
        triangle = np.tril(matrix) if part == 122 else np.triu(matrix)
        if unit == 132:
            np.fill_diagonal(triangle, 1.0)
        op = {111: triangle, 112: triangle.T, 113: triangle.conj().T}[how]
        expected = np.linalg.solve(op, alpha * right) if side == 141 else np.linalg.solve(op.T, alpha * right.T).T
        np.testing.assert_allclose(into, expected, rtol=1e-11, atol=1e-13)
