"""PolyBench lu: both triangular factors of a matrix in its place, without pivoting."""

import jax.numpy as jnp
import numpy as np
from jax import lax

SIZES = {"small": (12,), "medium": (200,), "large": (400,)}
WRT = ("A",)


def inputs(size, rng):
    (n,) = size
    return (rng.random((n, n)) + n * np.eye(n),)


def lu(A):
    for i in range(A.shape[0]):
        for j in range(i):
            A[i, j] -= A[i, :j] @ A[:j, j]
            A[i, j] /= A[j, j]
        for j in range(i, A.shape[0]):
            A[i, j] -= A[i, :i] @ A[:i, j]
    return np.sum(A)


def jax_version(A):
    index = jnp.arange(A.shape[0])

    def eliminate(k, A):
        factors = jnp.where(index > k, A[:, k] / A[k, k], 0.0)
        A = A - jnp.outer(factors, jnp.where(index > k, A[k], 0.0))
        return A.at[:, k].set(jnp.where(index > k, factors, A[:, k]))

    return jnp.sum(lax.fori_loop(0, A.shape[0], eliminate, A))
