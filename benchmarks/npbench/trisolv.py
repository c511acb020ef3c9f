"""PolyBench trisolv: a triangular system by forward substitution."""

import jax.numpy as jnp
import numpy as np
from jax import lax

SIZES = {"small": (16,), "medium": (2000,), "large": (4000,)}
WRT = ("L", "b")


def inputs(size, rng):
    (n,) = size
    return rng.random((n, n)) / n + np.eye(n), rng.random(n)


def trisolv(L, b):
    x = np.zeros_like(b)
    for i in range(b.shape[0]):
        x[i] = (b[i] - L[i, :i] @ x[:i]) / L[i, i]
    return np.sum(x)


def jax_version(L, b):
    n = b.shape[0]

    def substitute(i, x):
        return x.at[i].set((b[i] - L[i] @ x) / L[i, i])

    return jnp.sum(lax.fori_loop(0, n, substitute, jnp.zeros(n)))
