"""A saddle point: the largest value over y of a function of x and y, by ascent, is differentiated by x.

The ascent (Pearlmutter & Siskind 2008, with GradBench's steps) follows a gradient, until that or a step is short.
"""

import numpy as np

import sdgrad
from benchmarks.gradbench.program import Case


def inputs(size, rng):
    n = size[0]
    return np.linspace(1.0, 1.5, n), np.ones(n)


def function(x, y):
    return np.sum(x**2) - np.sum(y**2)


slope = sdgrad.grad(function, wrt="y")


def ascend(x, y):
    """The place of the largest value over y: steps grow after ten good ones, and shrink after a bad one."""
    value, g, rate, good = function(x, y), slope(x, y), 1e-5, 0
    while np.sqrt(np.sum(g**2)) > 1e-5 and rate * np.sqrt(np.sum(g**2)) > 1e-5:
        there = y + rate * g
        if good == 10:
            rate, good = 2 * rate, 0
        elif function(x, there) > value:
            y, good = there, good + 1
            value, g = function(x, y), slope(x, y)
        else:
            rate, good = rate / 2, 0
    return y


def saddle(x, start):
    return function(x, ascend(x, start))


CASES = (Case(saddle, inputs, {"tiny": (2,), "small": (2,), "large": (1000,)}, ("x",)),)
