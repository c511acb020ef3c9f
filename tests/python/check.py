"""Programs of a file, and the comparison of one with NumPy and differences."""

from collections.abc import Callable

import numpy as np
from references import assert_close

import sdgrad

X = np.array([0.53, 1.57, -0.71, 2.03])
OTHER = np.array([-1.21, 0.37, 0.83, -0.45])


class Programs(list):
    """Functions of an array of four numbers that return a number: as a decorator, collect one."""

    def __call__(self, function: Callable) -> Callable:
        self.append(function)
        return function


def name_of(function) -> str:
    """What a test is called."""
    return getattr(function, "__name__", str(function))


def differences(f: Callable, x: np.ndarray) -> np.ndarray:
    steps = 1e-6 * np.eye(x.size)
    return np.array([(f(x + h) - f(x - h)) / 2e-6 for h in steps])


def check(f: Callable, *points: np.ndarray) -> None:
    """One compiled program has NumPy's value and the gradient of differences, at one point or several."""
    both = sdgrad.value_and_grad(f)
    for x in points or (X,):
        value, gradient = both(x.copy())
        assert_close(value, f(x.copy()), 1e-12, "value")
        assert_close(gradient, differences(f, x), 1e-6, "gradient")
