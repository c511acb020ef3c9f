"""PolyBench gemm: C := alpha A B + beta C."""

import jax.numpy as jnp
import numpy as np

SIZES = {"small": (200, 220, 240), "medium": (1000, 1100, 1200), "large": (1800, 2000, 2200)}
WRT = ("A", "B", "C")


def inputs(size, rng):
    n, m, k = size
    return rng.random((n, k)), rng.random((k, m)), rng.random((n, m))


def gemm(A, B, C):
    return np.sum(1.5 * A @ B + 1.2 * C)


def jax_version(A, B, C):
    return jnp.sum(1.5 * A @ B + 1.2 * C)
