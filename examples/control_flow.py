"""Python's ``while`` and ``if`` on data: the function is piecewise linear, so its gradient is its value over ``a``."""

import numpy as np

import sdgrad


def f(a):
    b = a * 2.0
    while np.sqrt(np.sum(b * b)) < 1000.0:
        b = b * 2.0
    if np.sum(b) > 0.0:  # noqa: SIM108 - the textbook has it so
        c = b
    else:
        c = 100.0 * b
    return np.sum(c)


for start in (0.7, -1.3, 12.0):
    a = np.array([start])
    value, gradient = sdgrad.value_and_grad(f)(a)
    print(f"f({start}) = {value}, gradient {gradient[0]}")
    assert np.isclose(gradient[0], value / start)
