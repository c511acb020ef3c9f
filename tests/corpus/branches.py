"""Decisions on values that the branch itself overwrites, and reductions in place."""

import dace
import numpy as np
from programs._base import arrays, positive, program, signed


# The condition was evaluated again on the value after the branch.
@program(lambda rng: (np.array([1.45, 0.3, 0.7]),), "corpus")
def scalar_reassigned_under_its_condition(A):
    w = A[0]
    if w > 0.1:
        w = A[1] * 0.01
    return w * 2.0


@program(lambda rng: (np.array([1.45, 0.3, 0.7]),), "corpus")
def sum_reassigned_under_its_condition(A):
    t = np.sum(A)
    if t > 1.0:
        t = 0.1 * t * A[0]
    return t * t


def _local_reassigned(A, B):
    return np.where(B > 1.0, A * 0.1, B)


@program(
    lambda rng: (np.array([0.5, 0.2, 0.9]), np.array([1.5, 0.4, 2.0])),
    "corpus",
    scalar=False,
    reference=_local_reassigned,
)
def local_reassigned_in_a_map(A, B):
    C = np.zeros(3)
    for i in dace.map[0:3]:
        w = B[i]
        if w > 1.0:
            w = A[i] * 0.1
        C[i] = w
    return C


def _times_two(A):
    A *= 2.0
    return A * 1.5


# A product accumulated with a factor that carries no derivative lost the factor.
@program(positive(5), "corpus", scalar=False, reference=_times_two)
def product_with_a_constant(A):
    for i in dace.map[0:5]:
        A[i] *= 2.0
    return A * 1.5


def _pairwise(A, B):
    for i in range(5):
        B[i // 2] *= A[i]
    return B * 1.5


# The share of what a product started from was applied once for each factor.
@program(positive(5, 5), "corpus", scalar=False, reference=_pairwise)
def product_of_several_factors(A, B):
    for i in dace.map[0:5]:
        B[i // 2] *= A[i]
    return B * 1.5


@program(lambda rng: (rng.random(4), np.array([0, 2, 2, 1]), rng.random(4)), "corpus", scalar=False, wrt=("A", "B"))
def augmented_with_repeated_indices(A, idx, B):
    A[idx] += B * A[0]
    return A * A


@program(arrays((3, 3), 3), "corpus", scalar=False)
def two_products_returned(A, x):
    return A @ x, x @ A


def _squared(x):
    return x * x


# What a function returns, bound to a name that another arm binds too: the frontend took it to be defined twice.
@program(lambda rng: (np.array([0.5, 0.2, 0.9]),), "corpus call")
def call_in_one_arm(A):
    if A[0] > 0.1:
        y = _squared(A)
    else:
        y = A * 3.0
    return np.sum(y)


# An index that every arm assigns, in a branch whose condition is gone: the adjoint asked its caller for it.
@program(lambda rng: (signed(rng, (3, 5)), signed(rng, 5), signed(rng, 3), 1), "corpus nojax", wrt=("B", "Z"),
         scalar=True, expected=lambda B, Y, Z, k: (np.outer(Z, np.eye(5)[2]), B[:, 2]))  # fmt: skip
def indices_after_returns_in_branches(B, Y, Z, k):
    v = B[:, k + 1]
    if Z[2] < 5.0:
        if k == 3:
            pass
        elif k == 2:
            return np.sum(B)
        if Y[k + 1] > 5.0:
            return np.sum(Z)
    return np.sum(v * Z)


# An array that only some runs have was a value that could not be written.
@program(lambda rng: (signed(rng, 4),), "corpus")
def array_of_some_runs(x):
    for i in range(3):
        if x[i] > 50.0:
            return np.sum(x)
        v = x * 2.0
    v[1:] = 3.0 * x[0]
    v[0] += x[1]
    return np.sum(v * x)
