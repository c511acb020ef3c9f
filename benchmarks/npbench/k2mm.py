"""PolyBench 2mm: D := alpha A B C + beta D."""

import jax.numpy as jnp
import numpy as np

SIZES = {"small": (160, 180, 200, 220), "medium": (800, 850, 900, 950), "large": (1400, 1500, 1600, 1700)}
WRT = ("A", "B", "C", "D")


def inputs(size, rng):
    n, m, k, p = size
    return rng.random((n, k)), rng.random((k, m)), rng.random((m, p)), rng.random((n, p))


def k2mm(A, B, C, D):
    return np.sum(1.5 * A @ B @ C + 1.2 * D)


def jax_version(A, B, C, D):
    return jnp.sum(1.5 * A @ B @ C + 1.2 * D)
