"""PolyBench jacobi-2d: the mean of a point and its four neighbours, again and again, between two arrays."""

import jax.numpy as jnp
import numpy as np
from jax import lax

SIZES = {"small": (5, 12), "medium": (50, 300), "large": (100, 600)}
WRT = ("A", "B")


def inputs(size, rng):
    steps, n = size
    return steps, rng.random((n, n)), rng.random((n, n))


def jacobi_2d(TSTEPS, A, B):
    for t in range(1, TSTEPS):
        B[1:-1, 1:-1] = 0.2 * (A[1:-1, 1:-1] + A[1:-1, :-2] + A[1:-1, 2:] + A[2:, 1:-1] + A[:-2, 1:-1])
        A[1:-1, 1:-1] = 0.2 * (B[1:-1, 1:-1] + B[1:-1, :-2] + B[1:-1, 2:] + B[2:, 1:-1] + B[:-2, 1:-1])
    return np.sum(A) + np.sum(B)


def _mean(x):
    return 0.2 * (x[1:-1, 1:-1] + x[1:-1, :-2] + x[1:-1, 2:] + x[2:, 1:-1] + x[:-2, 1:-1])


def jax_version(TSTEPS, A, B):
    def step(_, state):
        A, B = state
        B = B.at[1:-1, 1:-1].set(_mean(A))
        A = A.at[1:-1, 1:-1].set(_mean(B))
        return A, B

    A, B = lax.fori_loop(1, TSTEPS, step, (A, B))
    return jnp.sum(A) + jnp.sum(B)
