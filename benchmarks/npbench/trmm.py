"""PolyBench trmm: B := alpha transpose(A) B, for a lower triangular matrix A with ones on its diagonal."""

import jax.numpy as jnp
import numpy as np

SIZES = {"small": (12, 10), "medium": (200, 250), "large": (400, 500)}
WRT = ("A", "B")


def inputs(size, rng):
    m, n = size
    return 1.5, rng.random((m, m)), rng.random((m, n))


def trmm(alpha, A, B):
    for i in range(B.shape[0]):
        for j in range(B.shape[1]):
            B[i, j] += np.dot(A[i + 1 :, i], B[i + 1 :, j])
    B *= alpha
    return np.sum(B)


def jax_version(alpha, A, B):
    return jnp.sum(alpha * (B + jnp.tril(A, -1).T @ B))
