"""PolyBench gesummv: alpha A x + beta B x."""

import jax.numpy as jnp
import numpy as np

SIZES = {"small": (400,), "medium": (2500,), "large": (5000,)}
WRT = ("A", "B", "x")


def inputs(size, rng):
    (n,) = size
    return rng.random((n, n)), rng.random((n, n)), rng.random(n)


def gesummv(A, B, x):
    return np.sum(1.5 * A @ x + 1.2 * B @ x)


def jax_version(A, B, x):
    return jnp.sum(1.5 * A @ x + 1.2 * B @ x)
