"""PolyBench 3mm: (A B) (C D)."""

import jax.numpy as jnp
import numpy as np

SIZES = {
    "small": (160, 170, 180, 190, 200),
    "medium": (700, 750, 800, 850, 900),
    "large": (1200, 1300, 1400, 1500, 1600),
}
WRT = ("A", "B", "C", "D")


def inputs(size, rng):
    n, m, k, p, q = size
    return rng.random((n, k)), rng.random((k, m)), rng.random((m, q)), rng.random((q, p))


def k3mm(A, B, C, D):
    return np.sum((A @ B) @ (C @ D))


def jax_version(A, B, C, D):
    return jnp.sum((A @ B) @ (C @ D))
