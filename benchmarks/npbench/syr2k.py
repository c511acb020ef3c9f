"""PolyBench syr2k: the lower triangle of C := alpha A transpose(B) + alpha B transpose(A) + beta C."""

import jax.numpy as jnp
import numpy as np

SIZES = {"small": (12, 10), "medium": (250, 200), "large": (500, 400)}
WRT = ("C", "A", "B")


def inputs(size, rng):
    n, m = size
    return 1.5, 1.2, rng.random((n, n)), rng.random((n, m)), rng.random((n, m))


def syr2k(alpha, beta, C, A, B):
    for i in range(A.shape[0]):
        C[i, : i + 1] *= beta
        for k in range(A.shape[1]):
            C[i, : i + 1] += A[: i + 1, k] * alpha * B[i, k] + B[: i + 1, k] * alpha * A[i, k]
    return np.sum(C)


def jax_version(alpha, beta, C, A, B):
    product = A @ B.T
    return jnp.sum(jnp.tril(alpha * (product + product.T) + beta * C) + jnp.triu(C, 1))
