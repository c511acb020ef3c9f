"""PolyBench ludcmp: a linear system by LU factorization and two substitutions."""

import jax.numpy as jnp
import numpy as np
from jax import lax

SIZES = {"small": (12,), "medium": (200,), "large": (400,)}
WRT = ("A", "b")


def inputs(size, rng):
    (n,) = size
    return rng.random((n, n)) + n * np.eye(n), rng.random(n)


def ludcmp(A, b):
    n = A.shape[0]
    x = np.zeros_like(b)
    y = np.zeros_like(b)
    for i in range(n):
        for j in range(i):
            A[i, j] -= A[i, :j] @ A[:j, j]
            A[i, j] /= A[j, j]
        for j in range(i, n):
            A[i, j] -= A[i, :i] @ A[:i, j]
    for i in range(n):
        y[i] = b[i] - A[i, :i] @ y[:i]
    for i in range(n - 1, -1, -1):
        x[i] = (y[i] - A[i, i + 1 :] @ x[i + 1 :]) / A[i, i]
    return np.sum(x) + np.sum(y)


def jax_version(A, b):
    n = A.shape[0]
    index = jnp.arange(n)

    def eliminate(k, A):
        factors = jnp.where(index > k, A[:, k] / A[k, k], 0.0)
        A = A - jnp.outer(factors, jnp.where(index > k, A[k], 0.0))
        return A.at[:, k].set(jnp.where(index > k, factors, A[:, k]))

    def forward(i, y):
        return y.at[i].set(b[i] - jnp.where(index < i, A[i], 0.0) @ y)

    def backward(step, x):
        i = n - 1 - step
        return x.at[i].set((y[i] - jnp.where(index > i, A[i], 0.0) @ x) / A[i, i])

    A = lax.fori_loop(0, n, eliminate, A)
    y = lax.fori_loop(0, n, forward, jnp.zeros(n))
    x = lax.fori_loop(0, n, backward, jnp.zeros(n))
    return jnp.sum(x) + jnp.sum(y)
