"""The adjoint of a Cholesky factorization: by blocks, by rows, and its own derivatives."""

import dace
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import sdgrad
from sdgrad.config import config
from sdgrad.runtime.libraries.cholesky import CholeskyAdjoint

RNG = np.random.default_rng(3)


def matrix(n, dtype=np.float64):
    B = RNG.standard_normal((n, n))
    return (B @ B.T / n + 2 * np.eye(n)).astype(dtype)


def weighted(A, W):
    return np.sum(np.linalg.cholesky(A) * W)


def of_jax(A, W):
    """As NumPy reads it: the lower triangle."""
    symmetric = jnp.tril(A) + jnp.tril(A, -1).T
    return jnp.sum(jnp.linalg.cholesky(symmetric) * W)


@pytest.mark.parametrize("n", [1, 2, 7, 17, 65, 150])
def test_gradient(n):
    A, W = matrix(n), RNG.standard_normal((n, n))
    wanted = jax.grad(of_jax)(A, W)
    found = sdgrad.grad(weighted, wrt="A")(A, W)
    np.testing.assert_allclose(found, np.asarray(wanted), rtol=1e-9, atol=1e-11)


def test_single_precision():
    A, W = matrix(40, np.float32), RNG.standard_normal((40, 40)).astype(np.float32)
    found = sdgrad.grad(weighted, wrt="A")(A, W)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, jax.grad(of_jax)(A.astype(float), W.astype(float)), rtol=2e-3, atol=1e-4)


def test_a_part_of_an_array():
    def part(A):
        return np.sum(np.linalg.cholesky(A[1:-1, 2:]) ** 3)

    A = RNG.standard_normal((22, 22))
    A[1:-1, 2:] = matrix(20)
    wanted = jax.grad(lambda A: jnp.sum(_factor(A[1:-1, 2:]) ** 3))(A)
    np.testing.assert_allclose(sdgrad.grad(part)(A), wanted, rtol=1e-9, atol=1e-12)


def _factor(A):
    return jnp.linalg.cholesky(jnp.tril(A) + jnp.tril(A, -1).T)


@pytest.mark.parametrize("n", [1, 6, 70])
def test_second_derivatives(n):
    """Of a function in which both the factor and its cotangent depend on the matrix."""

    def likelihood(A, y):
        L = np.linalg.cholesky(A)
        return np.sum(np.log(np.diag(L))) + np.sum((L @ y) ** 3) + np.sum(np.sin(L))

    def in_jax(A, y):
        L = _factor(A)
        return jnp.sum(jnp.log(jnp.diag(L))) + jnp.sum((L @ y) ** 3) + jnp.sum(jnp.sin(L))

    A, y, V = matrix(n), RNG.standard_normal(n), RNG.standard_normal((n, n))

    def slope(A, y):
        return np.sum(sdgrad.grad(likelihood, wrt="A")(A, y) * V)

    wanted = jax.grad(lambda A: jnp.sum(jax.grad(in_jax)(A, y) * V))(A)
    np.testing.assert_allclose(sdgrad.grad(slope, wrt="A")(A, y), wanted, rtol=1e-7, atol=1e-8)
    _, moved = sdgrad.jvp(sdgrad.grad(likelihood, wrt="A"), (A, y), (V, np.zeros(n)))
    _, other = jax.jvp(lambda A: jax.grad(in_jax)(A, y), (A,), (V,))
    np.testing.assert_allclose(moved, other, rtol=1e-7, atol=1e-8)


def test_without_blas():
    """The node alone, by rows: the same as by blocks."""
    n = 30
    found = {}
    L, S = np.linalg.cholesky(matrix(n)), RNG.standard_normal((n, n))
    for blas in ("openblas", "none"):
        sdfg = dace.SDFG(f"cholesky_adjoint_{blas}")
        for name in "LSG":
            sdfg.add_array(name, [n, n], dace.float64)
        state = sdfg.add_state()
        node = CholeskyAdjoint()
        state.add_node(node)
        for name, connector in (("L", "_l"), ("S", "_s")):
            state.add_edge(state.add_read(name), None, node, connector, dace.Memlet(f"{name}[0:{n}, 0:{n}]"))
        state.add_edge(node, "_g", state.add_write("G"), None, dace.Memlet(f"G[0:{n}, 0:{n}]"))
        found[blas] = np.full((n, n), np.nan)
        with config.override(blas=blas):
            sdfg(L=L, S=S, G=found[blas])
    assert not np.triu(found["none"], 1).any()
    np.testing.assert_allclose(found["none"], found["openblas"], rtol=1e-10, atol=1e-12)
