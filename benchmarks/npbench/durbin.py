"""PolyBench durbin: the Toeplitz system of the Yule-Walker equations, by the Levinson-Durbin recursion."""

import jax.numpy as jnp
import numpy as np
from jax import lax

SIZES = {"small": (16,), "medium": (1500,), "large": (4000,)}
WRT = ("r",)


def inputs(size, rng):
    (n,) = size
    decay = 0.5 ** np.minimum(np.arange(1, n + 1), 12)
    return (decay * (0.5 + 0.4 * rng.random(n)) * np.where(np.arange(n) < 12, 1.0, 12.0 / n),)


def durbin(r):
    y = np.zeros_like(r)
    alpha = -r[0]
    beta = 1.0
    y[0] = -r[0]
    for k in range(1, r.shape[0]):
        beta *= 1.0 - alpha * alpha
        alpha = -(r[k] + np.dot(np.flip(r[:k]), y[:k])) / beta
        y[:k] += alpha * np.flip(y[:k])
        y[k] = alpha
    return np.sum(y)


def jax_version(r):
    n = r.shape[0]
    index = jnp.arange(n)

    def step(k, state):
        y, alpha, beta = state
        mirror = jnp.where(index < k, k - 1 - index, 0)
        beta = beta * (1.0 - alpha * alpha)
        alpha = -(r[k] + jnp.dot(jnp.where(index < k, r[mirror], 0.0), y)) / beta
        y = y + alpha * jnp.where(index < k, y[mirror], 0.0)
        return y.at[k].set(alpha), alpha, beta

    y, _, _ = lax.fori_loop(1, n, step, (jnp.zeros(n).at[0].set(-r[0]), -r[0], 1.0))
    return jnp.sum(y)
