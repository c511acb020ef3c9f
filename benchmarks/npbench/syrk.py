"""PolyBench syrk: the lower triangle of C := alpha A transpose(A) + beta C."""

import jax.numpy as jnp
import numpy as np

SIZES = {"small": (12, 10), "medium": (250, 200), "large": (500, 400)}
WRT = ("C", "A")


def inputs(size, rng):
    n, m = size
    return 1.5, 1.2, rng.random((n, n)), rng.random((n, m))


def syrk(alpha, beta, C, A):
    for i in range(A.shape[0]):
        C[i, : i + 1] *= beta
        for k in range(A.shape[1]):
            C[i, : i + 1] += alpha * A[i, k] * A[: i + 1, k]
    return np.sum(C)


def jax_version(alpha, beta, C, A):
    return jnp.sum(jnp.tril(alpha * A @ A.T + beta * C) + jnp.triu(C, 1))
