"""PolyBench jacobi-1d: the mean of three neighbours, again and again, between two arrays."""

import jax.numpy as jnp
import numpy as np
from jax import lax

SIZES = {"small": (6, 24), "medium": (1000, 8000), "large": (2000, 16000)}
WRT = ("A", "B")


def inputs(size, rng):
    steps, n = size
    return steps, rng.random(n), rng.random(n)


def jacobi_1d(TSTEPS, A, B):
    for t in range(1, TSTEPS):
        B[1:-1] = 0.33333 * (A[:-2] + A[1:-1] + A[2:])
        A[1:-1] = 0.33333 * (B[:-2] + B[1:-1] + B[2:])
    return np.sum(A) + np.sum(B)


def jax_version(TSTEPS, A, B):
    def step(_, state):
        A, B = state
        B = B.at[1:-1].set(0.33333 * (A[:-2] + A[1:-1] + A[2:]))
        A = A.at[1:-1].set(0.33333 * (B[:-2] + B[1:-1] + B[2:]))
        return A, B

    A, B = lax.fori_loop(1, TSTEPS, step, (A, B))
    return jnp.sum(A) + jnp.sum(B)
