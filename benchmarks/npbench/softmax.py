"""NPBench softmax over the last of four axes, as attention uses it.

The sum of a softmax is constant, so the sum of its squares is taken.
"""

import jax.numpy as jnp
import numpy as np

SIZES = {"small": (4, 4, 64, 64), "medium": (16, 8, 128, 128), "large": (32, 8, 256, 128)}
WRT = ("x",)


def inputs(size, rng):
    return (rng.standard_normal(size),)


def softmax(x):
    e = np.exp(x - np.max(x, axis=-1, keepdims=True))
    y = e / np.sum(e, axis=-1, keepdims=True)
    return np.sum(y * y)


def jax_version(x):
    e = jnp.exp(x - jnp.max(x, axis=-1, keepdims=True))
    y = e / jnp.sum(e, axis=-1, keepdims=True)
    return jnp.sum(y * y)
