"""Runge-Kutta steps of ``y[0]' = x[0]``, ``y[i]' = x[i] y[i - 1]`` from zero to two.

GradBench differentiates the last element, which is zero with all derivatives if there are more elements than stages of
steps. Here it is the sum of all.
"""

import numpy as np

from benchmarks.gradbench.program import Case


def inputs(size, rng):
    n, steps = size
    return rng.random(n), steps


def slope(x, y):
    return np.concatenate([x[:1], x[1:] * y[:-1]])


def ode(x, steps):
    h = 2.0 / steps
    y = np.zeros(x.shape[0])
    for _ in range(steps):
        k1 = slope(x, y)
        k2 = slope(x, y + h * k1 / 2)
        k3 = slope(x, y + h * k2 / 2)
        k4 = slope(x, y + h * k3)
        y = y + h * (k1 + 2 * k2 + 2 * k3 + k4) / 6
    return np.sum(y)


CASES = (
    Case(ode, inputs, {"tiny": (5, 3), "small": (1000, 10), "medium": (10_000, 100), "large": (100_000, 100)}, ("x",)),
)
