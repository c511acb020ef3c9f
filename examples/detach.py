"""A value taken as a constant: ``z = u * x`` with ``u = x * x`` detached has the gradient ``u``, not ``3 * x * x``."""

import numpy as np

import sdgrad


def detached(x):
    u = sdgrad.stop_gradient(x * x)
    return np.sum(u * x)


def whole(x):
    u = x * x
    return np.sum(u * x)


x = np.arange(4.0)
print(f"detached: {sdgrad.grad(detached)(x)}, whole: {sdgrad.grad(whole)(x)}")
assert np.array_equal(sdgrad.grad(detached)(x), x * x)
assert np.array_equal(sdgrad.grad(whole)(x), 3 * x * x)
