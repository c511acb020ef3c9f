"""Tapes that were too small for what they keep."""

import numpy as np
from programs._base import program, signed


def _arguments(*shapes):
    return lambda rng: tuple(signed(rng, s) for s in shapes)


# The last trip's remainder was taken for the largest one, and rows of the tape ran into each other.
@program(_arguments(12, 12), "corpus")
def rows_as_long_as_a_remainder(X, Z):
    for t in range(23):
        Z += X * X
        for i in range(t % 5):
            Z[i] = np.sin(Z[i])
    return np.sum(Z)


# The same for what lies within a loop as an array, and for a product that is largest in the middle.
@program(_arguments(20, 20), "corpus")
def arrays_as_long_as_a_remainder_or_a_product(X, Z):
    for t in range(9):
        v = np.sin(Z[: t % 4] * X[: t % 4])
        Z[: t % 4] = v * Z[: t % 4]
        w = np.cos(Z[: t * (8 - t)])
        Z[: t * (8 - t)] = w * w
    return np.sum(Z * X)


# Fewer elements than instances: the first and the last instance read the same one.
@program(_arguments(5, (4, 4)), "corpus")
def a_window_that_wraps(X, Z):
    s = 0.0
    for i in range(4):
        for j in range(4):
            s += np.sin(X[(i + j) % 5]) * Z[i, j]
    X[:] = X * X * s
    return np.sum(X)


# The same elements are others in each trip: all trips had one place for them.
@program(_arguments(7, (4, 4)), "corpus")
def a_window_in_each_trip(X, Z):
    s = 0.0
    for t in range(5):
        for i in range(4):
            for j in range(4):
                s += np.sin(X[i + j]) * Z[i, j]
        X[:] = np.cos(X * s)
    return s + np.sum(X)


# A tape was made before a branch, as large as a number that is computed in one of its arms.
@program(lambda rng: (signed(rng, (5, 4)), np.array([-1.0, 1.0]), np.array([0, 1])), "corpus", wrt=("C",))
def a_tape_of_a_size_that_an_arm_computes(C, Y, idx):
    k = 0
    if Y[idx[0]] > 0.2:
        return 0.0
    k = (k + idx[1]) % 5
    C[k:, :] += C[k:, :] * C[k:, :]
    return np.sum(C)
