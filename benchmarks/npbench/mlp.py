"""NPBench mlp: three dense layers, relu after two of them and softmax after the last.

The sum of a softmax is constant, so the sum of its squares is taken.
"""

import jax.numpy as jnp
import numpy as np

SIZES = {"small": (16, 100, 80, 60, 10), "medium": (64, 2000, 1000, 1000, 100), "large": (128, 4000, 2000, 2000, 200)}
WRT = ("x", "W1", "b1", "W2", "b2", "W3", "b3")


def inputs(size, rng):
    batch, *widths = size
    layers = []
    for fan_in, fan_out in zip(widths, widths[1:], strict=False):
        layers += [rng.standard_normal((fan_in, fan_out)) / fan_in**0.5, rng.standard_normal(fan_out)]
    return (rng.random((batch, widths[0])), *layers)


def mlp(x, W1, b1, W2, b2, W3, b3):
    h1 = np.maximum(x @ W1 + b1, 0)
    h2 = np.maximum(h1 @ W2 + b2, 0)
    z = h2 @ W3 + b3
    e = np.exp(z - np.max(z, axis=-1, keepdims=True))
    y = e / np.sum(e, axis=-1, keepdims=True)
    return np.sum(y * y)


def jax_version(x, W1, b1, W2, b2, W3, b3):
    h1 = jnp.maximum(x @ W1 + b1, 0)
    h2 = jnp.maximum(h1 @ W2 + b2, 0)
    z = h2 @ W3 + b3
    e = jnp.exp(z - jnp.max(z, axis=-1, keepdims=True))
    y = e / jnp.sum(e, axis=-1, keepdims=True)
    return jnp.sum(y * y)
