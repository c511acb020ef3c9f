"""NPBench (from Cython's documentation) compute: clip(x, 2, 10) a + y b + c."""

import jax.numpy as jnp
import numpy as np

SIZES = {"small": (30, 40), "medium": (2000, 2000), "large": (5000, 5000)}
WRT = ("array_1", "array_2")


def inputs(size, rng):
    return 12.0 * rng.random(size), 12.0 * rng.random(size), 4.0, 3.0, 9.0


def compute(array_1, array_2, a, b, c):
    return np.sum(np.clip(array_1, 2, 10) * a + array_2 * b + c)


def jax_version(array_1, array_2, a, b, c):
    return jnp.sum(jnp.clip(array_1, 2, 10) * a + array_2 * b + c)
