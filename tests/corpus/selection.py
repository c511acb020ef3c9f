"""What a program selects, and what it does not."""

import numpy as np
from programs._base import program, signed

REPEATED = np.array([0, 0])
TRIANGLE = np.array([2, 0, 2])


# Each instance clears what the one before it has written: the clearing was left out where it was of no use afterwards.
@program(lambda rng: (signed(rng, 2),), "corpus both")
def repeated_indices_of_a_product(a):
    h = np.zeros(2) * a[0]
    h[REPEATED] = a * a
    return np.sum(h * h)


@program(lambda rng: (signed(rng, 3),), "corpus both")
def repeated_indices_read_and_written(a):
    h = a * a
    h[TRIANGLE] = h * a
    h[TRIANGLE] *= a
    return np.sum(h * h * h)


# The adjoint of what was not selected was zero, and met infinity in a product.
@program(
    lambda rng: (np.array([0.5, 1.5, 800.0]), np.array([1.0, -2.0, 1.0])),
    "corpus",
    wrt=("a",),
    expected=lambda a, b: np.array([np.exp(0.5), -2 * np.exp(1.5), 0.0]),
)
def an_arm_that_overflows(a, b):
    return np.sum(np.where(a < 100, b * np.exp(a), 1.0))


def _extreme(a):
    slope = np.exp(-a) / (1 + np.exp(-a)) ** 2
    return np.array([np.sinh(0.5) * 0.5 + np.cosh(0.5), 0.0, 0.0]) - slope


@program(lambda rng: (np.array([0.5, 1.5, 1e3]),), "corpus", expected=_extreme)
def an_extreme_of_what_overflows(a):
    return np.sum(np.minimum(np.cosh(a) * a, 2.0)) + np.sum(1 / (1 + np.exp(a)))


# What was selected has a limit, which the product of zero and infinity hides.
@program(
    lambda rng: (np.array([0.5, 1.5, 0.0]), np.array([2.0, 0.0, 1.0])),
    "corpus",
    wrt=("a",),
    expected=lambda a, w: np.array([-1.0, 0.0, -0.5 / np.sqrt(1.5)]) + 2.0,
)
def a_root_of_weight_zero(a, w):
    r = np.sqrt(a)
    return np.sum(w * np.sqrt(np.abs(a - 1.5))) + np.sum(r**2) + np.sum(np.exp(np.log(a)))
