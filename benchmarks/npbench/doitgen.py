"""PolyBench doitgen, of multiresolution analysis: the last axis of an array, multiplied by a matrix in place."""

import jax.numpy as jnp
import numpy as np

SIZES = {"small": (6, 8, 10), "medium": (100, 90, 110), "large": (180, 160, 200)}
WRT = ("A", "C4")


def inputs(size, rng):
    r, q, p = size
    return rng.random((r, q, p)), rng.random((p, p))


def doitgen(A, C4):
    for r in range(A.shape[0]):
        for q in range(A.shape[1]):
            A[r, q, :] = A[r, q, :] @ C4
    return np.sum(A)


def jax_version(A, C4):
    return jnp.sum(A @ C4)
