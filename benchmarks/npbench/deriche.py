"""PolyBench deriche: the recursive filter of Deriche's edge detector, along both axes in both directions."""

import jax.numpy as jnp
import numpy as np
from jax import lax

SIZES = {"small": (10, 12), "medium": (500, 400), "large": (1000, 800)}
WRT = ("image",)


def inputs(size, rng):
    return 0.25, rng.random(size)


def deriche(alpha, image):
    W, H = image.shape
    k = (1.0 - np.exp(-alpha)) * (1.0 - np.exp(-alpha)) / (1.0 + alpha * np.exp(-alpha) - np.exp(2.0 * alpha))
    a1 = k
    a2 = k * np.exp(-alpha) * (alpha - 1.0)
    a3 = k * np.exp(-alpha) * (alpha + 1.0)
    a4 = -k * np.exp(-2.0 * alpha)
    b1 = 2.0 ** (-alpha)
    b2 = -np.exp(-2.0 * alpha)

    y1 = np.zeros_like(image)
    y1[:, 0] = a1 * image[:, 0]
    y1[:, 1] = a1 * image[:, 1] + a2 * image[:, 0] + b1 * y1[:, 0]
    for j in range(2, H):
        y1[:, j] = a1 * image[:, j] + a2 * image[:, j - 1] + b1 * y1[:, j - 1] + b2 * y1[:, j - 2]
    y2 = np.zeros_like(image)
    y2[:, H - 2] = a3 * image[:, H - 1]
    for j in range(H - 3, -1, -1):
        y2[:, j] = a3 * image[:, j + 1] + a4 * image[:, j + 2] + b1 * y2[:, j + 1] + b2 * y2[:, j + 2]
    rows = y1 + y2

    y1[0, :] = a1 * rows[0, :]
    y1[1, :] = a1 * rows[1, :] + a2 * rows[0, :] + b1 * y1[0, :]
    for i in range(2, W):
        y1[i, :] = a1 * rows[i, :] + a2 * rows[i - 1, :] + b1 * y1[i - 1, :] + b2 * y1[i - 2, :]
    y2[W - 1, :] = 0.0
    y2[W - 2, :] = a3 * rows[W - 1, :]
    for i in range(W - 3, -1, -1):
        y2[i, :] = a3 * rows[i + 1, :] + a4 * rows[i + 2, :] + b1 * y2[i + 1, :] + b2 * y2[i + 2, :]
    return np.sum(y1 + y2)


def _filtered(x, now, before, b1, b2):
    """The recursive filter along the first axis: ``y[i] = now x[i] + before x[i-1] + b1 y[i-1] + b2 y[i-2]``."""
    zero = jnp.zeros_like(x[0])

    def step(state, row):
        last_row, y1, y2 = state
        y = now * row + before * last_row + b1 * y1 + b2 * y2
        return (row, y, y1), y

    return lax.scan(step, (zero, zero, zero), x)[1]


def jax_version(alpha, image):
    decay = jnp.exp(-alpha)
    k = (1.0 - decay) ** 2 / (1.0 + alpha * decay - jnp.exp(2.0 * alpha))
    b1, b2 = 2.0**-alpha, -(decay**2)

    def both_ways(x):
        forth = _filtered(x, k, k * decay * (alpha - 1.0), b1, b2)
        shifted = jnp.concatenate([jnp.zeros_like(x[:1]), x[:0:-1]])
        back = _filtered(shifted, k * decay * (alpha + 1.0), -k * decay**2, b1, b2)
        return forth + back[::-1]

    return jnp.sum(both_ways(both_ways(image.T).T))
