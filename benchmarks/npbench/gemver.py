"""PolyBench gemver: a rank-two update of A, then two products with it."""

import jax.numpy as jnp
import numpy as np

SIZES = {"small": (400,), "medium": (2000,), "large": (4000,)}
WRT = ("A", "u1", "v1", "u2", "v2", "w", "x", "y", "z")


def inputs(size, rng):
    (n,) = size
    return (rng.random((n, n)), *(rng.random(n) for _ in range(8)))


def gemver(A, u1, v1, u2, v2, w, x, y, z):
    updated = A + np.outer(u1, v1) + np.outer(u2, v2)
    moved = x + 1.2 * (y @ updated) + z
    return np.sum(w + 1.5 * (updated @ moved))


def jax_version(A, u1, v1, u2, v2, w, x, y, z):
    updated = A + jnp.outer(u1, v1) + jnp.outer(u2, v2)
    moved = x + 1.2 * (y @ updated) + z
    return jnp.sum(w + 1.5 * (updated @ moved))
