"""Inputs exactly at a kink or at a tie, with the gradient that is agreed on there."""

import numpy as np

from ._base import program


def _maximum_tie(x, y):
    return np.array([0.5, 1.0, 0.0, 0.5]), np.array([0.5, 0.0, 1.0, 0.5])


@program(
    lambda rng: (np.array([1.0, 2.0, -1.0, 0.0]), np.array([1.0, 1.0, 0.5, 0.0])),
    "kink known",
    scalar=False,
    expected=_maximum_tie,
)
def maximum_at_a_tie(x, y):
    return np.maximum(x, y)


def _minimum_tie(x, y):
    return np.array([0.5, 0.0, 1.0, 0.5]), np.array([0.5, 1.0, 0.0, 0.5])


@program(
    lambda rng: (np.array([1.0, 2.0, -1.0, 0.0]), np.array([1.0, 1.0, 0.5, 0.0])),
    "kink",
    scalar=False,
    expected=_minimum_tie,
)
def minimum_at_a_tie(x, y):
    return np.minimum(x, y)


@program(
    lambda rng: (np.array([1.0, -2.0]), np.array([1.0, -2.0])),
    "kink",
    expected=lambda x, y: (0.5 * 2 * x, 0.5 * 2 * y),
)
def maximum_tie_composed(x, y):
    return np.sum(np.maximum(x, y) * np.maximum(x, y))


def _power_at_zero(x):
    return (np.array([0.0, 2.0, 0.0]),)


@program(lambda rng: (np.array([0.0, 1.0, 0.0]),), "kink known", scalar=False, expected=_power_at_zero)
def square_at_zero(x):
    return x**2


@program(
    lambda rng: (np.array([0.0, 0.0, 1.0, 2.0]), np.array([2.0, 1.0, 3.0, 1.0])),
    "kink known",
    scalar=False,
    expected=lambda x, y: (y * x ** (y - 1.0), np.array([0.0, 0.0, 0.0, 2.0 * np.log(2.0)])),
)
def power_at_zero(x, y):
    return x**y


def _guarded_root(x):
    return (np.array([0.0, 0.25, 0.0, 0.5]),)


@program(
    lambda rng: (np.array([0.0, 4.0, -1.0, 1.0]),),
    "kink where strong-zero known",
    scalar=False,
    expected=_guarded_root,
)
def guarded_root_at_zero(x):
    return np.where(x > 0, np.sqrt(x), 0)


def _guarded_log(x):
    return (np.array([0.0, 0.25, 0.0, 1.0]),)


@program(lambda rng: (np.array([0.0, 4.0, -1.0, 1.0]),), "kink where strong-zero", expected=_guarded_log)
def guarded_log_across_statements(x):
    y = np.log(np.abs(x))
    z = np.where(x > 0, y, 0.0)
    return np.sum(z)


def _guarded_division(x):
    return (np.array([0.0, -0.25, 0.0]),)


@program(lambda rng: (np.array([0.0, 2.0, 0.0]),), "kink where strong-zero", expected=_guarded_division)
def guarded_division_at_zero(x):
    return np.sum(np.where(x != 0.0, 1.0 / (x + (x == 0.0)), 0.0))


@program(lambda rng: (np.array([0.0, 2.0, -3.0]),), "kink known", scalar=False, expected=lambda x: (np.sign(x),))
def abs_at_zero(x):
    return np.abs(x)


@program(lambda rng: (np.array([0.0, 2.0, -3.0]),), "kink", expected=lambda x: (np.sign(x),))
def norm_one_at_zero(x):
    return np.sum(np.fabs(x))


@program(
    lambda rng: (np.array([0.0, 2.0, -3.0]),),
    "kink known",
    scalar=False,
    expected=lambda x: (np.array([0.0, 1.0, 0.0]),),
)
def relu_by_where_at_zero(x):
    return np.where(x > 0.0, x, 0.0)


@program(
    lambda rng: (np.array([0.0, 2.0, -3.0]),),
    "kink",
    scalar=False,
    expected=lambda x: (np.array([0.0, 1.0, 0.0]),),
)
def relu_by_mask_at_zero(x):
    return (x > 0.0) * x


@program(
    lambda rng: (np.array([1.0, 3.0, 3.0, -1.0, 3.0]),),
    "kink reduction known",
    expected=lambda x: (np.array([0.0, 1.0, 1.0, 0.0, 1.0]) / 3.0,),
)
def max_reduction_with_ties(x):
    return np.max(x)


@program(
    lambda rng: (np.array([[1.0, 2.0, 2.0], [0.0, 0.0, 0.0]]),),
    "kink reduction",
    scalar=False,
    expected=lambda x: (np.array([[1.0, 0.0, 0.0], [1 / 3, 1 / 3, 1 / 3]]),),
)
def min_reduction_with_ties(x):
    return np.min(x, axis=1)


@program(
    lambda rng: (np.array([[1.0, 2.0, 2.0], [4.0, 0.0, 4.0]]),),
    "kink reduction",
    scalar=False,
    expected=lambda x: (np.array([[0.0, 0.5, 0.5], [0.5, 0.0, 0.5]]),),
)
def max_rows_with_ties(x):
    return np.max(x, axis=1)


@program(lambda rng: (np.zeros(3),), "kink", scalar=False, expected=lambda x: (np.zeros(3),))
def product_at_zero(x):
    return x * x * x


@program(lambda rng: (np.array([0.0, 1.0, 1.7]),), "kink step", expected=lambda x: (np.floor(x),))
def floor_at_an_integer(x):
    return np.sum(np.floor(x) * x)


@program(
    lambda rng: (np.array([-0.5, 0.0, 0.5, 2.0]),),
    "kink clip",
    wrt=("x",),
    expected=lambda x: (np.array([0.0, 0.5, 1.0, 0.0]),),
)
def clip_at_its_bound(x):
    return np.sum(np.clip(x, 0.0, 1.0))
