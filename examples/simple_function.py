"""The gradient of ``2 * x.x``: four times ``x``."""

import numpy as np

import sdgrad


def function(x):
    return 2.0 * np.dot(x, x)


x = np.arange(4.0)
gradient = sdgrad.grad(function)(x)
print(f"x = {x}, gradient = {gradient}")
assert np.array_equal(gradient, 4 * x)
