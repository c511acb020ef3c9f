"""Writes that happen only where a condition holds."""

import dace
import numpy as np
from programs._base import arrays, program, signed


# A guarded store that is fused after a plain one: the copy of the seed was left out.
@program(arrays(6), "corpus", scalar=False, mutates="A")
def clear_where_positive(A):
    A[A > 0] = 0


@program(arrays(6), "corpus", scalar=False, mutates="A")
def clear_after_a_plain_store(A):
    A[:] = A * 3.0
    A[A > 0] = 0


@program(arrays(6), "corpus", scalar=False, mutates="A")
def clear_then_use(A):
    A[A > 0] = 0
    return A * A


# The adjoint outside of the mask must stay.
@program(lambda rng: (signed(rng, 6), rng.integers(0, 2, 6) > 0), "corpus", scalar=False, wrt=("A",), mutates="A")
def scale_under_a_mask(A, mask):
    A[mask] *= 2


@program(lambda rng: (signed(rng, 6), rng.integers(0, 2, 6) > 0), "corpus", scalar=False, wrt=("A",), mutates="A")
def scale_under_a_mask_twice(A, mask):
    A[mask] *= 2
    A[mask] = A[mask] * A[mask]


# The branch overwrites the element that its condition reads, from elements it then changes.
@program(lambda rng: (np.array([0.5, 1.5, -2.0]),), "corpus", scalar=False, mutates="A")
def branch_overwrites_its_condition(A):
    if A[0] > -3:
        A[0] = A[1] * A[2] - 10
        A[1] *= A[0]


@program(lambda rng: (np.array([0.5, 1.5, -2.0]),), "corpus", scalar=False, mutates="A")
def two_branches_on_what_they_overwrite(A):
    if A[0] > 0:
        A[0] = A[1] * A[2]
    if A[0] > 0:
        A[1] = A[0] * A[0]
    else:
        A[2] = A[0] * A[1]


@program(arrays(7), "corpus", scalar=False, mutates="A")
def map_with_a_condition_on_what_it_overwrites(A):
    for i in dace.map[0:7]:
        if A[i] < 0:
            A[i] = A[i] * A[i] * 3
