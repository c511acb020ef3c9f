"""The determinant by minors: recursively, and as the sum over all permutations, which is one array operation."""

import itertools

import numpy as np

from benchmarks.gradbench.program import Case


def matrix(size, rng):
    return (rng.random((size[0], size[0])),)


def with_permutations(size, rng):
    permutations = np.array(list(itertools.permutations(range(size[0]))))
    later = np.triu(permutations[:, :, np.newaxis] > permutations[:, np.newaxis], 1)
    return *matrix(size, rng), permutations, 1.0 - 2.0 * (np.sum(later, axis=(1, 2)) % 2)


def det(A):
    """Expansion along the first row."""
    n = A.shape[0]
    if n == 1:
        return A[0, 0]
    total = 0.0
    for j in range(n):
        minor = np.concatenate([A[1:, :j], A[1:, j + 1 :]], axis=1)
        total = total + (-1) ** j * A[0, j] * det(minor)
    return total


def det_permutations(A, permutations, signs):
    return np.sum(signs * np.prod(A[np.arange(A.shape[0]), permutations], axis=1))


CASES = (
    Case(det, matrix, {"tiny": (3,), "small": (5,), "medium": (6,)}, ("A",)),
    Case(det_permutations, with_permutations, {"tiny": (4,), "small": (5,), "medium": (7,), "large": (9,)}, ("A",)),
)
