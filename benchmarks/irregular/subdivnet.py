"""SubdivNet's mesh convolution (Hu et al., 2022, equation 4): a face's features, combined with its three neighbours'.

``adjacent[i]`` are the faces around face i, in order. The four products' weights are those of the face itself, of the
sum of its neighbours, of the differences from one neighbour to the next, and of those from it to its neighbours.
"""

import jax.numpy as jnp
import numpy as np

SIZES = {"small": (20, 3, 4), "medium": (20_000, 16, 32), "large": (100_000, 16, 32)}
WRT = ("x", "w0", "w1", "w2", "w3")


def inputs(size, rng):
    faces, features, made = size
    weights = [rng.standard_normal((features, made)) for _ in range(4)]
    return rng.integers(0, faces, (faces, 3)), rng.standard_normal((faces, features)), *weights


def subdivnet(adjacent, x, w0, w1, w2, w3):
    around = np.zeros_like(x)
    ring = np.zeros_like(x)
    apart = np.zeros_like(x)
    for i in range(x.shape[0]):
        for j in range(3):
            around[i] += x[adjacent[i, j]]
            ring[i] += np.abs(x[adjacent[i, (j + 1) % 3]] - x[adjacent[i, j]])
            apart[i] += np.abs(x[adjacent[i, j]] - x[i])
    y = x @ w0 + around @ w1 + ring @ w2 + apart @ w3
    return np.sum(y * y)


def jax_version(adjacent, x, w0, w1, w2, w3):
    neighbours = x[adjacent]
    around = jnp.sum(neighbours, axis=1)
    ring = jnp.sum(jnp.abs(jnp.roll(neighbours, -1, axis=1) - neighbours), axis=1)
    apart = jnp.sum(jnp.abs(neighbours - x[:, None]), axis=1)
    y = x @ w0 + around @ w1 + ring @ w2 + apart @ w3
    return jnp.sum(y * y)
