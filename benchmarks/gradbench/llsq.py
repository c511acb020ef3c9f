"""Linear least squares: a polynomial with m coefficients fitted to the sign of t at n points.

The points are an argument, so that no engine computes their powers ahead.
"""

import numpy as np

from benchmarks.gradbench.program import Case


def inputs(size, rng):
    n, m = size
    return rng.random(m), np.linspace(-1.0, 1.0, n)


def llsq(x, t):
    powers = t[:, np.newaxis] ** np.arange(x.shape[0])
    return 0.5 * np.sum((np.sign(t) - powers @ x) ** 2)


CASES = (
    Case(llsq, inputs, {"tiny": (7, 4), "small": (128, 128), "medium": (2048, 128), "large": (16392, 128)}, ("x",)),
)
