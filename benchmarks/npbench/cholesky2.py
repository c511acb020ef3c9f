"""NPBench cholesky2: PolyBench's cholesky by the library's factorization; the upper triangle stays.

The factorization reads the lower triangle only.
"""

import jax.numpy as jnp
import numpy as np

SIZES = {"small": (20,), "medium": (500,), "large": (1200,)}
WRT = ("A",)


def inputs(size, rng):
    (n,) = size
    B = rng.random((n, n))
    return (B @ B.T + n * np.eye(n),)


def cholesky2(A):
    A[:] = np.linalg.cholesky(A) + np.triu(A, k=1)
    return np.sum(A)


def jax_version(A):
    symmetric = jnp.tril(A) + jnp.tril(A, k=-1).T
    return jnp.sum(jnp.linalg.cholesky(symmetric) + jnp.triu(A, k=1))
