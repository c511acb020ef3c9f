"""PolyBench seidel-2d: the mean of a point and its eight neighbours in place, so that a sweep sees its own results."""

import jax.numpy as jnp
import numpy as np
from jax import lax

SIZES = {"small": (4, 10), "medium": (20, 200), "large": (40, 400)}
WRT = ("A",)


def inputs(size, rng):
    steps, n = size
    return steps, rng.random((n, n))


def seidel_2d(TSTEPS, A):
    for t in range(TSTEPS - 1):
        for i in range(1, A.shape[0] - 1):
            A[i, 1:-1] += (
                A[i - 1, :-2] + A[i - 1, 1:-1] + A[i - 1, 2:] + A[i, 2:] + A[i + 1, :-2] + A[i + 1, 1:-1] + A[i + 1, 2:]
            )
            for j in range(1, A.shape[1] - 1):
                A[i, j] += A[i, j - 1]
                A[i, j] /= 9.0
    return np.sum(A)


def jax_version(TSTEPS, A):
    N = A.shape[0]

    def point(left, rest):
        mean = (rest + left) / 9.0
        return mean, mean

    def row(i, A):
        above, here, below = A[i - 1], A[i], A[i + 1]
        rest = here[1:-1] + here[2:] + above[:-2] + above[1:-1] + above[2:] + below[:-2] + below[1:-1] + below[2:]
        _, means = lax.scan(point, here[0], rest)
        return A.at[i, 1:-1].set(means)

    def sweep(_, A):
        return lax.fori_loop(1, N - 1, row, A)

    return jnp.sum(lax.fori_loop(0, TSTEPS - 1, sweep, A))
