"""PolyBench atax: transpose(A) (A x)."""

import jax.numpy as jnp
import numpy as np

SIZES = {"small": (400, 500), "medium": (2500, 3000), "large": (5000, 6000)}
WRT = ("A", "x")


def inputs(size, rng):
    m, n = size
    return rng.random((m, n)), rng.random(n)


def atax(A, x):
    return np.sum((A @ x) @ A)


def jax_version(A, x):
    return jnp.sum((A @ x) @ A)
