"""One program for each of NumPy's two-argument functions, and those with more."""

import numpy as np

from ._base import arrays, positive, program, untied, within


@program(arrays((3, 4), (3, 4)), "ufunc binary", scalar=False)
def ufunc_add(x, y):
    return np.add(x, y)


@program(arrays((3, 4), 4), "ufunc binary", scalar=False)
def ufunc_subtract(x, y):
    return np.subtract(x, y)


@program(arrays(5, 5), "ufunc binary", scalar=False)
def ufunc_multiply(x, y):
    return np.multiply(x, y)


@program(arrays(5, 5), "ufunc binary", scalar=False)
def ufunc_divide(x, y):
    return np.divide(x, y)


@program(positive(5, 5), "ufunc binary", scalar=False)
def ufunc_true_divide(x, y):
    return np.true_divide(x, y)


@program(arrays(9, 9), "ufunc binary", scalar=False)
def ufunc_arctan2(x, y):
    return np.arctan2(x, y)


@program(arrays(7, 7), "ufunc binary", scalar=False)
def ufunc_hypot(x, y):
    return np.hypot(x, y)


@program(arrays(6, 6), "ufunc binary", scalar=False)
def ufunc_logaddexp(x, y):
    return np.logaddexp(x, y)


@program(arrays(6, 6), "ufunc binary", scalar=False)
def ufunc_logaddexp2(x, y):
    return np.logaddexp2(x, y)


@program(positive((3, 4), (3, 4)), "ufunc binary", scalar=False)
def ufunc_power(x, y):
    return np.power(x, y)


@program(positive(5, 5), "ufunc binary", scalar=False)
def ufunc_float_power(x, y):
    return np.float_power(x, y)


@program(untied(9, 9), "ufunc binary", scalar=False)
def ufunc_maximum(x, y):
    return np.maximum(x, y)


@program(untied((3, 5), (3, 5)), "ufunc binary", scalar=False)
def ufunc_minimum(x, y):
    return np.minimum(x, y)


@program(untied(7, 7), "ufunc binary", scalar=False)
def ufunc_fmax(x, y):
    return np.fmax(x, y)


@program(untied(7, 7), "ufunc binary", scalar=False)
def ufunc_fmin(x, y):
    return np.fmin(x, y)


@program(arrays(9, 9), "ufunc binary", scalar=False)
def ufunc_copysign(x, y):
    return np.copysign(x, y)


@program(within(1.1, 1.9, 6), "ufunc binary step", scalar=False)
def ufunc_fmod(x):
    return np.fmod(x * x, 0.9)


@program(
    lambda rng: (rng.integers(-3, 3, 7) + rng.uniform(0.2, 0.8, 7), np.ones(7)),
    "ufunc binary step",
    scalar=False,
)
def ufunc_mod(x, y):
    return np.mod(x, y)


@program(
    lambda rng: (3.3 + rng.uniform(0, 0.1, 5), 1.0 + rng.uniform(0, 0.05, 5)),
    "ufunc binary step",
    scalar=False,
)
def ufunc_remainder(x, y):
    return np.remainder(x, y)


@program(
    lambda rng: (-3.3 + rng.uniform(0, 0.1, 5), 1.0 + rng.uniform(0, 0.05, 5)),
    "ufunc binary step",
    scalar=False,
)
def ufunc_mod_operator(x, y):
    return x % y


@program(lambda rng: (3.3 + rng.uniform(0, 0.1, 5), 1.0 + rng.uniform(0, 0.05, 5)), "ufunc binary step")
def ufunc_floor_divide(x, y):
    return np.sum(np.floor_divide(x, y) * x * y)


@program(arrays(9, 9), "ufunc binary step")
def ufunc_heaviside(x, y):
    return np.sum(np.heaviside(x, 0.5) * x * y)


@program(untied(11), "ufunc clip", scalar=False)
def ufunc_clip_both(x):
    return np.clip(x, -0.4, 0.6)


@program(untied(7), "ufunc clip")
def ufunc_clip_composed(x):
    return np.sum(np.clip(np.sin(x), -0.25, 0.35) * x)


@program(
    lambda rng: (untied((4, 5))(rng)[0], -0.3, 0.45),
    "ufunc clip scalar-argument needs-frontend",
    scalar=False,
)
def ufunc_clip_to_scalars(x, low, high):
    return np.clip(x, low, high)


@program(positive((3, 4)), "ufunc power", scalar=False)
def ufunc_power_constant(x):
    return x**2.5


@program(arrays((3, 4)), "ufunc power", scalar=False)
def ufunc_power_integer(x):
    return x**3


@program(arrays(5), "ufunc power", scalar=False)
def ufunc_power_negative_integer(x):
    return x**-2


@program(arrays(6), "ufunc power", scalar=False)
def ufunc_power_of_constant(x):
    return 2.0**x


@program(arrays(5), "ufunc power")
def ufunc_power_zero_and_one(x):
    return np.sum(x**0 + x**1 * x)


@program(positive(5, 7), "ufunc binary outer needs-frontend", scalar=False)
def ufunc_multiply_outer(x, y):
    return np.multiply.outer(x, y)


@program(arrays((3, 5)), "ufunc reduce", scalar=False)
def ufunc_add_reduce(x):
    return np.add.reduce(x * x, axis=1)


@program(untied((3, 5)), "ufunc reduce", scalar=False)
def ufunc_maximum_reduce(x):
    return np.maximum.reduce(x, axis=0)


@program(positive(6), "ufunc accumulate needs-frontend", scalar=False)
def ufunc_add_accumulate(x):
    return np.add.accumulate(x * x)


@program(arrays(6, 6), "ufunc out inplace", scalar=False, mutates="y")
def ufunc_out(x, y):
    np.multiply(x, y, out=y)
    return np.sin(y)


@program(arrays(7, 7), "ufunc where mask needs-frontend", scalar=False, mutates="y")
def ufunc_where(x, y):
    np.multiply(x, x, out=y, where=x > 0)
