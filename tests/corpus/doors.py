"""What graphs say in other words than functions: conditions and indices in symbols, steps from arguments, casts."""

import dace
import numpy as np
from programs._base import positive, program, signed


# A symbol that the end of an iteration assigns decided about the next one, and the loop never saw the new value.
@program(positive(3), "corpus", scalar=False, mutates="A")
def while_on_an_element(A):
    while A[0] < 10.0:
        A[0] = A[0] * A[0] + 1.0
    return A[0] * 2.0


@program(positive(6), "corpus", scalar=False, mutates="A")
def while_on_elements_in_while(A):
    while A[0] < 100.0:
        while A[1] < A[0]:
            A[1] = A[1] * 2.0 + A[2]
        A[0] = A[0] + A[1]
    return A * A


@dace.program
def _grow(x):
    while x[0] < 10.0:
        x[0] = x[0] * 2.0 + x[1]


@program(positive((3, 6)), "corpus", scalar=False, mutates="A")
def while_in_a_called_program(A):
    for i in range(3):
        _grow(A[i])
    return A * A


# The engine wants to know which way a loop counts.
@program(lambda rng: (signed(rng, 9), 2), "corpus", scalar=False, mutates="A")
def steps_from_an_argument(A, k):
    for i in range(0, 9, k):
        A[i] = A[i] * A[i]
    return A * A


@program(lambda rng: (signed(rng, 9), -2), "corpus", scalar=False, mutates="A")
def steps_against_an_argument(A, k):
    for i in range(0, 9, -k):
        A[i] = A[i] * A[i]
    return A * A


@program(lambda rng: (signed(rng, 9), np.array([3, -2])), "corpus", scalar=False, mutates="A")
def steps_down_by_data(A, K):
    for i in range(0, 9, K[0]):
        A[i] = A[i] * A[i]
    for i in range(8, 0, K[1]):
        A[i] = A[i] * A[i - 1]
    for j in dace.map[0:9]:
        A[j] = A[j] * 2.0


# The bound is a symbol that the loop around assigns; the step is known there.
@program(lambda rng: (signed(rng, 9),), "corpus", scalar=False, mutates="A")
def steps_of_a_loop_around(A):
    for k in range(2, 5):
        for i in range(0, 9 - k, k):
            A[i] = A[i] * A[i + k]
    return A * A


# The sweep back assigned the symbol from what was overwritten, in a branch where nothing has a derivative.
@program(positive(6), "corpus")
def indices_from_branches(A):
    n = 6
    s = 1.0
    while n > 1:
        if n % 2 == 0:
            n = n // 2
        else:
            n = 3 * n + 1
        s = s * (A[n % 6] + 0.5)
    return s


@program(lambda rng: (signed(rng, 6), np.array([2, 0, 3, 1])), "corpus", wrt=("A",))
def indices_chosen_and_overwritten(A, J):
    s = 1.0
    for i in range(4):
        if J[i] > 1:
            k = J[i]
        else:
            k = J[i] + 1
        s = s * (A[k] + 2.0)
        J[i] = 5
    return s


# DaCe's parser casts by ``decltype(__out)``.
@program(positive(5), "corpus", scalar=False)
def grid_by_a_step(A):
    return A * np.arange(0.0, 1.0, 0.2) * A


# The length of a temporary is in symbols that the loop hands on: its size was not theirs, but of no meaning.
@program(lambda rng: (signed(rng, 6), np.array([2, 0, 3, 1])), "corpus", scalar=False, mutates="A")
def parts_at_places_of_data(A, N):
    for i in range(4):
        A[N[i] : N[i] + 2] = A[N[i] : N[i] + 2] * A[i]
    return A * 2.0
