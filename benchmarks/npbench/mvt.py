"""PolyBench mvt: x1 + A y1 and x2 + transpose(A) y2."""

import jax.numpy as jnp
import numpy as np

SIZES = {"small": (400,), "medium": (2800,), "large": (5600,)}
WRT = ("A", "x1", "x2", "y1", "y2")


def inputs(size, rng):
    (n,) = size
    return rng.random((n, n)), rng.random(n), rng.random(n), rng.random(n), rng.random(n)


def mvt(A, x1, x2, y1, y2):
    first = x1 + A @ y1
    second = x2 + y2 @ A
    return np.sum(first) + np.sum(second)


def jax_version(A, x1, x2, y1, y2):
    first = x1 + A @ y1
    second = x2 + y2 @ A
    return jnp.sum(first) + jnp.sum(second)
