"""PolyBench heat-3d: the heat equation in three dimensions, explicitly, between two arrays."""

import jax.numpy as jnp
import numpy as np
from jax import lax

SIZES = {"small": (4, 8), "medium": (20, 50), "large": (40, 80)}
WRT = ("A", "B")


def inputs(size, rng):
    steps, n = size
    return steps, rng.random((n, n, n)), rng.random((n, n, n))


def heat_3d(TSTEPS, A, B):
    for t in range(1, TSTEPS):
        B[1:-1, 1:-1, 1:-1] = (
            0.125 * (A[2:, 1:-1, 1:-1] - 2.0 * A[1:-1, 1:-1, 1:-1] + A[:-2, 1:-1, 1:-1])
            + 0.125 * (A[1:-1, 2:, 1:-1] - 2.0 * A[1:-1, 1:-1, 1:-1] + A[1:-1, :-2, 1:-1])
            + 0.125 * (A[1:-1, 1:-1, 2:] - 2.0 * A[1:-1, 1:-1, 1:-1] + A[1:-1, 1:-1, :-2])
            + A[1:-1, 1:-1, 1:-1]
        )
        A[1:-1, 1:-1, 1:-1] = (
            0.125 * (B[2:, 1:-1, 1:-1] - 2.0 * B[1:-1, 1:-1, 1:-1] + B[:-2, 1:-1, 1:-1])
            + 0.125 * (B[1:-1, 2:, 1:-1] - 2.0 * B[1:-1, 1:-1, 1:-1] + B[1:-1, :-2, 1:-1])
            + 0.125 * (B[1:-1, 1:-1, 2:] - 2.0 * B[1:-1, 1:-1, 1:-1] + B[1:-1, 1:-1, :-2])
            + B[1:-1, 1:-1, 1:-1]
        )
    return np.sum(A) + np.sum(B)


def _diffused(x):
    inner = x[1:-1, 1:-1, 1:-1]
    return (
        0.125 * (x[2:, 1:-1, 1:-1] - 2.0 * inner + x[:-2, 1:-1, 1:-1])
        + 0.125 * (x[1:-1, 2:, 1:-1] - 2.0 * inner + x[1:-1, :-2, 1:-1])
        + 0.125 * (x[1:-1, 1:-1, 2:] - 2.0 * inner + x[1:-1, 1:-1, :-2])
        + inner
    )


def jax_version(TSTEPS, A, B):
    def step(_, state):
        A, B = state
        B = B.at[1:-1, 1:-1, 1:-1].set(_diffused(A))
        A = A.at[1:-1, 1:-1, 1:-1].set(_diffused(B))
        return A, B

    A, B = lax.fori_loop(1, TSTEPS, step, (A, B))
    return jnp.sum(A) + jnp.sum(B)
