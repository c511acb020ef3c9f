"""Matrix products at sizes where the engine calls BLAS: every operand layout, against JAX."""

import types

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import sdgrad
from sdgrad.optimize import optimize
from sdgrad.program.tree import NodeCall, walk
from sdgrad.specialize.signature import Signature


def matmul(A, B):
    return np.sum(np.sin(A @ B))


def transposed_left(A, B):
    return np.sum(np.sin(A.T @ B))


def transposed_right(A, B):
    return np.sum(np.sin(A @ B.T))


def both_transposed(A, B):
    return np.sum(np.sin(A.T @ B.T))


def scaled(A, B):
    return np.sum(np.sin(1.5 * A @ B) + 2.0 * (A @ B))


def sliced(A, B):
    return np.sum(np.sin(A[1:, 2:] @ B[2:, :-1]))


def strided(A, B):
    return np.sum(np.sin(A[:, ::2] @ B[::2, :]))


def squared(A, B):
    return np.sum(np.sin(A @ A.T) * (B.T @ B))


def chained(A, B):
    return np.sum(np.sin((A @ B) @ (A @ B).T))


def permuted(A, B):
    return np.sum(np.sin(np.einsum("kj,ik->ji", A, B)))


def matrix_vector(A, B):
    return np.sum(np.sin(A @ B[:, 0]))


def vector_matrix(A, B):
    return np.sum(np.sin(A[0, :] @ B))


def transposed_matrix_vector(A, B):
    return np.sum(np.sin(A.T @ B[0, :]))


def dot(A, B):
    return np.sin(A.reshape(-1) @ B.reshape(-1))


def outer(A, B):
    return np.sum(np.sin(np.outer(A[0, :], B[:, 0])))


def batched(A, B):
    return np.sum(np.sin(A @ B))


def batched_einsum(A, B):
    return np.sum(np.sin(np.einsum("bij,bkj->bik", A, B)))


def batched_shared(A, B):
    return np.sum(np.sin(A @ B))


def convolved(A, B):
    """One matrix for all of a batch: of the adjoints, one sums over the batch."""
    return np.sum(np.sin(np.einsum("ok,nkp->nop", A, B)))


def attended(A, B):
    """Two batch dimensions."""
    return np.sum(np.sin(np.einsum("bhqd,bhkd->bhqk", A, B)))


CASES = [
    (matmul, (30, 40), (40, 50)),
    (transposed_left, (40, 30), (40, 50)),
    (transposed_right, (30, 40), (50, 40)),
    (both_transposed, (40, 30), (50, 40)),
    (scaled, (30, 40), (40, 50)),
    (sliced, (30, 42), (42, 31)),
    (strided, (30, 60), (60, 31)),
    (squared, (30, 40), (25, 30)),
    (chained, (20, 30), (30, 25)),
    (permuted, (40, 30), (50, 40)),
    (matrix_vector, (70, 90), (90, 3)),
    (vector_matrix, (3, 90), (90, 70)),
    (transposed_matrix_vector, (90, 70), (3, 90)),
    (dot, (80, 90), (90, 80)),
    (outer, (3, 90), (70, 3)),
    (batched, (5, 20, 30), (5, 30, 25)),
    (batched_einsum, (5, 20, 30), (5, 25, 30)),
    (batched_shared, (5, 20, 30), (30, 25)),
    (convolved, (12, 40), (3, 40, 50)),
    (attended, (2, 3, 20, 30), (2, 3, 25, 30)),
]


COMPLEX = (matmul, transposed_left, sliced, matrix_vector, batched)
VARIANTS = [(*c, np.float64) for c in CASES] + [(*c, np.complex128) for c in CASES if c[0] in COMPLEX]


@pytest.mark.parametrize(
    ("function", "a", "b", "dtype"), VARIANTS, ids=[f"{c[0].__name__}-{c[3].__name__}" for c in VARIANTS]
)
def test_gradient(function, a, b, dtype):
    rng = np.random.default_rng(0)
    args = [rng.standard_normal(s) / 4 for s in (a, b)]
    if dtype is np.complex128:
        args = [x + 1j * rng.standard_normal(x.shape) / 4 for x in args]
        outputs, pullback = sdgrad.vjp(function, *args)
        seed = 0.7 - 0.2j
        found = pullback(np.asarray(seed))
    else:
        outputs, found = sdgrad.value_and_grad(function, wrt=(0, 1))(*args)
        seed = 1.0
    reference = types.FunctionType(function.__code__, {"np": jnp})
    value, pull = jax.vjp(reference, *map(jnp.asarray, args))
    np.testing.assert_allclose(outputs, value, rtol=1e-11)
    # JAX's cotangents are the conjugates of ours
    for mine, theirs in zip(found, pull(jnp.conj(jnp.asarray(seed, dtype=value.dtype))), strict=True):
        np.testing.assert_allclose(mine, np.conj(theirs), rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("function", [matmul, transposed_left, permuted, batched_shared, convolved, attended])
def test_products_and_their_adjoints_are_calls(function):
    shapes = {c[0]: c[1:] for c in CASES}[function]
    args = dict(zip("AB", (np.ones(s) for s in shapes), strict=True))
    sdgrad.grad(function, wrt=(0, 1))(**args)
    (gradient,) = Signature.of(function, args).gradients.values()
    calls = [n for n in walk(optimize(gradient.result.program).body) if isinstance(n, NodeCall)]
    assert [c.kind.replace("Gemm", "MatMul") for c in calls] == ["MatMul"] * 3
