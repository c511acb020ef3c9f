"""A charged particle in the field of two charges, one of which is moved by w (Pearlmutter & Siskind 2008).

The force is a gradient. The path is integrated by Euler's method until it meets the axis; the square of its place there
is differentiated by w. Steps of 0.1 are GradBench's.
"""

import numpy as np

import sdgrad
from benchmarks.gradbench.program import Case


def inputs(size, rng):
    return 0.0, 1.0 / size[0]


def potential(x, w):
    charges = np.array([[10.0, 10.0 - w], [10.0, 0.0]])
    return np.sum(1 / np.sqrt(np.sum((x - charges) ** 2, axis=1)))


slope = sdgrad.grad(potential)


def particle(w, dt):
    x, v = np.array([0.0, 8.0]), np.array([0.75, 0.0])
    while x[1] + dt * v[1] > 0:
        x, v = x + dt * v, v - dt * slope(x, w)
    end = x - x[1] / v[1] * v
    return end[0] ** 2


CASES = (Case(particle, inputs, {"tiny": (2,), "small": (10,), "large": (1000,)}, ("w",)),)
