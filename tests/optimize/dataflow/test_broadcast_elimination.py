"""What is the same along a dimension is computed once, as in gradients of sums of products; and where it must not."""

import numpy as np
import pytest

import sdgrad
from sdgrad.config import config
from sdgrad.convert.callables import bind_arguments
from sdgrad.optimize import optimize
from sdgrad.optimize.dataflow.broadcast_elimination import compute_once
from sdgrad.program.custom_call import expanded
from sdgrad.program.tree import Leaf, NodeCall, walk, writes
from sdgrad.rewrite.fusion import fuse

RNG = np.random.default_rng(12)
M, K, N = 70, 40, 50


def product(A, B):
    return np.sum(A @ B)


def mean_of_chain(A, B):
    return np.mean(2.0 * (A @ B) @ B.T)


def of_columns(A, B):
    """The cotangent differs from row to row."""
    C = A @ B
    return np.sum(C, axis=0) @ B[0, :]


def bias(A, B):
    return np.sum((A @ B + B[0, :]) * 0.5 - A[:, 0].reshape(M, 1))


def overwritten(A, B):
    """What is repeated changes before the copies are read."""
    s = np.zeros(1)
    s[0] = A[0, 0]
    D = np.zeros((K, N))
    D[:] = s[0]
    s[0] = B[0, 0] * 2.0
    return np.sum(A @ D) * s[0] + np.sum(B)


def changed_by_the_same(A, B):
    s = np.zeros(K)
    D = np.zeros((K, N))
    y = 0.0
    for t in range(3):
        for i in range(K):
            D[i, :] = s[i]
            s[i] = s[i] + A[t, i] * B[i, t]
        y += np.sum(A @ D) + np.sum((A @ D) * (A @ B))
    return y


def in_a_loop(A, B):
    y = 0.0
    for t in range(4):
        D = np.zeros((K, N))
        D[:] = A[t, t] * B[0, t]
        y += np.sum((A @ D) * (A @ B))
    return y


def halves_of_rows(A, B):
    """Part of an array is not the same as the rest."""
    D = np.zeros((K, N))
    D[: K // 2] = A[0, 0]
    D[K // 2 :] = B[0, 0]
    return np.sum((A @ D) ** 2)


def triangle(A, B):
    C = np.zeros((K, N))
    for i in range(K):
        for j in range(i):
            for k in range(N):
                C[i, k] += A[i, j] * B[j, k]
    return np.sum(C)


def below_the_diagonal(A, B):
    """How many terms there are depends on the element."""
    C = np.zeros((K, K))
    for i in range(K):
        for k in range(N):
            C[i, : i + 1] += B[: i + 1, k] * B[i, k] + A[i, : i + 1] * B[i, k]
    return np.sum(C)


def slanted(A, B):
    C = np.zeros((K, N))
    for i in range(K):
        for j in range(N):
            C[i, j] += np.dot(A[i + 1 : K, i], B[i + 1 :, j])
    return np.sum(C) * 0.5


def rows_from(A, B):
    """One term less from row to row; the last row has none."""
    C = np.zeros((K, N))
    for i in range(K):
        for j in range(i + 1, K):
            for k in range(N):
                C[i, k] += A[i, j] * B[j, k]
    return np.sum(C)


def down_the_columns(A, B):
    """Longer sums for smaller rows, that begin where others end."""
    C = np.zeros((K, N))
    for i in range(K):
        for j in range(K - i):
            for k in range(N):
                C[i, k] += A[i, j] * B[j, k]
    return np.sum(C) + np.sum(C)


def halves_from_the_middle(A, B):
    """The first row has several terms, and there are sums over another parameter."""
    C = np.zeros((K, 3))
    for i in range(8, K):
        for c in range(3):
            for j in range(4, i - 2):
                for k in range(N):
                    C[i, c] += A[i, j] * B[j, k] * 0.5
    return np.sum(C)


def one_row(A, B):
    C = np.zeros((1, N))
    for i in range(1):
        for j in range(i + 2):
            for k in range(N):
                C[i, k] += A[i, j] * B[j, k]
    return np.sum(C)


def both_halves(A, B):
    """Sums over both halves of a matrix share the array that they are added to."""
    C = np.ones((K, N))
    for i in range(K):
        for j in range(i + 1):
            for k in range(N):
                C[i, k] += A[i, j] * B[j, k]
        for j in range(i, K):
            for k in range(N):
                C[i, k] += A[j, i] * B[j, k]
    return np.sum(C)


def weighted(A, B):
    """Nothing is the same."""
    return np.sum((A @ B) ** 2)


PROGRAMS = [
    product,
    mean_of_chain,
    of_columns,
    bias,
    overwritten,
    changed_by_the_same,
    in_a_loop,
    halves_of_rows,
    triangle,
]
PROGRAMS += [below_the_diagonal, slanted, weighted, rows_from, down_the_columns, halves_from_the_middle, one_row]
PROGRAMS += [both_halves]


def arguments():
    return RNG.standard_normal((M, K)), RNG.standard_normal((K, N))


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_gradients(f):
    A, B = arguments()
    value, gradients = sdgrad.value_and_grad(f, wrt=("A", "B"))(A, B)
    np.testing.assert_allclose(value, f(A, B), rtol=1e-10)
    for k, found in enumerate(gradients):
        direction = RNG.standard_normal(found.shape)
        ends = [f(*(x + s * 1e-5 * direction if j == k else x for j, x in enumerate((A, B)))) for s in (1, -1)]
        wanted = (ends[0] - ends[1]) / 2e-5
        scale = abs(wanted) + 1e-3 * np.linalg.norm(found)
        assert abs(np.sum(found * direction) - wanted) < 1e-6 * scale
    with config.override(without=("broadcast-elimination",)):
        others = sdgrad.grad(f, wrt=("A", "B"))(A, B)
    for found, other in zip(gradients, others, strict=True):
        np.testing.assert_allclose(found, other, rtol=1e-9, atol=1e-10 * np.max(np.abs(other)))


def program_of(f, *args):
    function = sdgrad.value_and_grad(f, wrt=("A", "B"))
    signature, _, _, request = function.question(bind_arguments(function.f, args, {}))
    return optimize(signature.gradient(request).result.program)


@pytest.mark.parametrize(
    ("f", "left"), [(product, 1), (mean_of_chain, 2), (weighted, 3)], ids=["product", "chain", "weighted"]
)
def test_products_that_remain(f, left):
    program = program_of(f, *arguments())
    assert sum(isinstance(n, NodeCall) and n.node.label == "matmul" for n in walk(program.body)) == left


@pytest.mark.parametrize(
    ("f", "forward"),
    [(triangle, 1), (below_the_diagonal, 1), (rows_from, 1), (down_the_columns, 1), (both_halves, 2)],
    ids=["triangle", "below_the_diagonal", "rows_from", "down_the_columns", "both_halves"],
)
def test_sums_run(f, forward):
    """In gradients of sums over triangles no sum begins anew: only the function itself has nests of three loops."""
    function = sdgrad.value_and_grad(f, wrt=("A", "B"))
    signature, _, _, request = function.question(bind_arguments(function.f, arguments(), {}))
    program = compute_once(fuse(expanded(signature.gradient(request).result.program)))
    assert sum(isinstance(n, Leaf) and len(n.params) > 2 for n in walk(program.body)) == forward


def test_no_array_of_equal_elements_is_kept():
    program = program_of(product, *arguments())
    written = {w for n in walk(program.body) for w in writes(n)}
    assert [n for n in written if program.containers[n].shape == (M, N)] == ["t"]
    assert not any(isinstance(n, Leaf) and len(n.params) > 2 for n in walk(program.body))
