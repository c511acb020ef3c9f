"""The logarithm of a sum of exponentials, about the largest element."""

import numpy as np

from benchmarks.gradbench.program import Case


def inputs(size, rng):
    return (rng.uniform(-100.0, 100.0, size),)


def lse(x):
    largest = np.max(x)
    return largest + np.log(np.sum(np.exp(x - largest)))


CASES = (Case(lse, inputs, {"tiny": (9,), "small": (2500,), "medium": (80_000,), "large": (1_280_000,)}, ("x",)),)
