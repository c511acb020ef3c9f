"""A function with an array for a result: its gradient needs a vector to start from, one weight for each element."""

import numpy as np

import sdgrad


def square(x):
    return x * x


x = np.arange(4.0)
y, pullback = sdgrad.vjp(square, x)
(summed,) = pullback(np.ones(4))
print(f"y = {y}, gradient of sum(y) = {summed}")
assert np.array_equal(summed, 2 * x)

(weighted,) = pullback(np.array([1.0, 0.0, 0.0, 10.0]))
assert np.array_equal(weighted, [0.0, 0.0, 0.0, 60.0])
