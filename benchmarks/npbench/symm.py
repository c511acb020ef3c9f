"""PolyBench symm: C := alpha A B + beta C, for a symmetric matrix A of which the lower triangle is read."""

import jax.numpy as jnp
import numpy as np

SIZES = {"small": (10, 12), "medium": (150, 200), "large": (300, 400)}
WRT = ("C", "A", "B")


def inputs(size, rng):
    m, n = size
    return 1.5, 1.2, rng.random((m, n)), rng.random((m, m)), rng.random((m, n))


def symm(alpha, beta, C, A, B):
    temp2 = np.zeros(C.shape[1])
    C *= beta
    for i in range(C.shape[0]):
        for j in range(C.shape[1]):
            C[:i, j] += alpha * B[i, j] * A[i, :i]
            temp2[j] = B[:i, j] @ A[i, :i]
        C[i, :] += alpha * B[i, :] * A[i, i] + alpha * temp2
    return np.sum(C)


def jax_version(alpha, beta, C, A, B):
    symmetric = jnp.tril(A) + jnp.tril(A, -1).T
    return jnp.sum(alpha * symmetric @ B + beta * C)
