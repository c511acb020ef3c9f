"""PolyBench cholesky: the lower factor of a positive definite matrix, in place of its lower triangle."""

import jax.numpy as jnp
import numpy as np
from jax import lax

SIZES = {"small": (12,), "medium": (200,), "large": (500,)}
WRT = ("A",)


def inputs(size, rng):
    (n,) = size
    B = rng.random((n, n))
    return (B @ B.T + n * np.eye(n),)


def cholesky(A):
    for i in range(A.shape[0]):
        for j in range(i):
            A[i, j] -= A[i, :j] @ A[j, :j]
            A[i, j] /= A[j, j]
        A[i, i] -= A[i, :i] @ A[i, :i]
        A[i, i] = np.sqrt(A[i, i])
    return np.sum(A)


def jax_version(A):
    index = jnp.arange(A.shape[0])

    def column(j, A):
        known = jnp.where(index < j, A[j], 0.0)
        rest = A[:, j] - A @ known
        root = jnp.sqrt(rest[j])
        return A.at[:, j].set(jnp.where(index > j, rest / root, jnp.where(index == j, root, A[:, j])))

    return jnp.sum(lax.fori_loop(0, A.shape[0], column, A))
