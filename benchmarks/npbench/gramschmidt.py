"""PolyBench gramschmidt: the QR factorization by the modified Gram-Schmidt process."""

import jax.numpy as jnp
import numpy as np
from jax import lax

SIZES = {"small": (14, 10), "medium": (200, 160), "large": (400, 320)}
WRT = ("A",)


def inputs(size, rng):
    m, n = size
    return (rng.random((m, n)) + 2.0 * np.eye(m, n),)


def gramschmidt(A):
    Q = np.zeros_like(A)
    R = np.zeros((A.shape[1], A.shape[1]))
    for k in range(A.shape[1]):
        R[k, k] = np.sqrt(np.dot(A[:, k], A[:, k]))
        Q[:, k] = A[:, k] / R[k, k]
        for j in range(k + 1, A.shape[1]):
            R[k, j] = np.dot(Q[:, k], A[:, j])
            A[:, j] -= Q[:, k] * R[k, j]
    return np.sum(Q) + np.sum(R)


def jax_version(A):
    m, n = A.shape
    index = jnp.arange(n)

    def column(k, state):
        A, Q, R = state
        length = jnp.sqrt(jnp.dot(A[:, k], A[:, k]))
        q = A[:, k] / length
        products = jnp.where(index > k, q @ A, 0.0)
        A = A - jnp.outer(q, products)
        return A, Q.at[:, k].set(q), R.at[k].set(products.at[k].set(length))

    _, Q, R = lax.fori_loop(0, n, column, (A, jnp.zeros((m, n)), jnp.zeros((n, n))))
    return jnp.sum(Q) + jnp.sum(R)
