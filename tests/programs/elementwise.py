"""Elementwise expressions: scalars of Python, compositions, broadcasting, shared subexpressions."""

import numpy as np

from ._base import arrays, between, positive, program, signed, untied


@program(arrays(5), "linear", scalar=False)
def scale(x):
    return 3.0 * x


@program(arrays((3, 4)), "linear", scalar=False)
def affine(x):
    return (2.0 * x - 1.0) / 4.0 + 0.5


@program(arrays((3, 4)), "linear", scalar=False)
def negate(x):
    return -x + 1


@program(arrays(5), "linear", scalar=False)
def integer_constants(x):
    return 2 * x - x / 3 + 1


@program(arrays(7), "rational", scalar=False)
def constant_over_array(x):
    return 1.0 / x


@program(arrays((3, 4), (3, 4), (3, 4)), "rational", scalar=False)
def rational(x, y, z):
    return x * y / (1.0 + z * z)


@program(arrays(6), "shared")
def sum_of_squares(x):
    return np.sum(x * x)


@program(arrays(6), "shared")
def used_three_times(x):
    return np.sum(x * x * x + np.sin(x) * x)


@program(arrays((3, 4)), "shared", scalar=False)
def shared_intermediate(x):
    t = np.exp(x)
    return t * t + np.sin(t) / t


@program(arrays(5, 5), "shared", scalar=False)
def diamond(x, y):
    t = x * y
    a = np.sin(t)
    b = np.cos(t)
    return a * b + t


@program(arrays(6), "chain")
def deep_chain(x):
    return np.sum(np.tanh(np.exp(np.sin(np.cos(np.tanh(x * x))))))


@program(arrays((4, 3)), "chain", scalar=False)
def statements_in_a_row(x):
    a = x + 1.0
    b = a * x
    c = b - a
    d = c * c
    return d * b


@program(arrays(5), "rename", scalar=False)
def rebound_name(x):
    y = x * 2.0
    y = np.sin(y)
    y = y * y + x
    return y


@program(positive(8), "composed")
def sigmoid(x):
    return np.sum(1.0 / (1.0 + np.exp(-x)))


@program(arrays(8), "composed", scalar=False)
def softplus(x):
    return np.log(1.0 + np.exp(x))


@program(arrays(8), "composed", scalar=False)
def gelu_tanh(x):
    return 0.5 * x * (1.0 + np.tanh(0.7978845608 * (x + 0.044715 * x * x * x)))


@program(arrays(8), "composed", scalar=False)
def swish(x):
    return x / (1.0 + np.exp(-x))


@program(positive((3, 5)), "composed", scalar=False)
def sqrt_of_polynomial(x):
    return np.sqrt(x * x + 2.0 * x + 1.5)


@program(positive(6, 6), "composed", scalar=False)
def x_to_the_x(x, y):
    return x**x + y ** (x * y)


@program(arrays(7), "composed", scalar=False)
def gaussian(x):
    return np.exp(-0.5 * x**2) / np.sqrt(2.0 * np.pi)


# Broadcasting ----------------------------------------------------------------------------------


@program(arrays((3, 5), 5), "broadcast", scalar=False)
def broadcast_row(x, y):
    return x * y


@program(arrays((3, 5), (3, 1)), "broadcast", scalar=False)
def broadcast_column(x, y):
    return x + np.sin(y)


@program(arrays((4, 1), (1, 3)), "broadcast", scalar=False)
def broadcast_both(x, y):
    return x * y + x


@program(arrays((2, 3, 4), (3, 4), 4), "broadcast", scalar=False)
def broadcast_three_ranks(x, y, z):
    return x * y - z / (1.5 + y * y)


@program(arrays((2, 1, 4), (3, 1)), "broadcast", scalar=False)
def broadcast_middle(x, y):
    return np.exp(x * y)


@program(arrays((3, 4), 1), "broadcast", scalar=False)
def broadcast_single_element(x, y):
    return x * y


@program(arrays((3, 4), ()), "broadcast scalar-argument", scalar=False)
def broadcast_scalar(x, a):
    return np.sin(a * x) + a


@program(arrays(5, 3), "broadcast newaxis", scalar=False)
def broadcast_newaxis(x, y):
    return x[:, np.newaxis] * y[np.newaxis, :]


@program(arrays(5, 3), "broadcast newaxis")
def broadcast_none(x, y):
    return np.sum(np.tanh(x[:, None] - y))


# Several outputs, outputs that are inputs ----------------------------------------------------------


@program(arrays(5), "outputs", scalar=False)
def two_outputs(x):
    return np.sin(x), np.cos(x)


@program(arrays(5, (3, 4)), "outputs", scalar=False)
def outputs_of_different_shape(x, y):
    return x * 2.0, np.sum(y * y), y * x[1]


@program(arrays(5), "outputs identity", scalar=False)
def identity(x):
    return x


@program(arrays(5, 5), "outputs identity", scalar=False)
def unmodified_and_product(x, y):
    return x, x * y


@program(arrays(4), "outputs", scalar=False)
def output_used_by_output(x):
    a = x * x
    b = np.sin(a)
    return a, b


# DaCe, one value returned twice: KeyError: 'a'.
@program(arrays(4), "outputs dace-frontend-fails", scalar=False)
def same_value_twice(x):
    a = x * x
    return a, a


@program(arrays(5), "copy", scalar=False)
def copied_input(x):
    y = np.copy(x)
    return y * x


@program(arrays(5, 4), "unused")
def unused_input(x, y):
    return np.sum(x * x)


@program(arrays(5, 5), "unused deadcode")
def dead_code(x, y):
    t = np.exp(x * y)
    u = t * t + y
    return np.sum(x * 3.0)


@program(arrays(5), "unused constant", scalar=False)
def constant_output(x):
    return np.ones(4), x * 2.0


@program(arrays(5, 5), "unused deadcode", scalar=False)
def overwritten_before_use(x, y):
    t = np.exp(x)
    t = y * y
    return t * 2.0


# Scalars ---------------------------------------------------------------------------------------


@program(arrays((), ()), "scalar-argument")
def scalars_only(a, b):
    return np.sin(a) * b + a / b


@program(arrays(6, (), ()), "scalar-argument")
def scalar_coefficients(x, a, b):
    return np.sum(a * x * x + b * x)


@program(arrays(6, ()), "scalar-argument", scalar=False)
def scalar_computed_first(x, a):
    c = a * a + 1.0
    d = np.sin(c) / c
    return d * x + c


@program(arrays(6), "scalar-local", scalar=False)
def scalar_from_elements(x):
    c = x[0] * x[3]
    return c * x


@program(arrays(6), "scalar-local")
def scalar_from_reduction(x):
    m = np.sum(x * x)
    return m * m + np.sin(m)


@program(lambda rng: (signed(rng, 5), between(rng, 0.5, 1.5), 3), "scalar-argument int", scalar=False)
def integer_scalar_side_input(x, a, n):
    return x * a * n + n


@program(arrays(1), "size-one")
def one_element(x):
    return x[0] * x[0] * x[0]


@program(arrays((1, 5, 1)), "size-one", scalar=False)
def singleton_dimensions(x):
    return np.sin(x) * x


@program(untied(5, 5, 5), "composed", scalar=False)
def maximum_of_three(x, y, z):
    return np.maximum(np.maximum(x, y), z)


@program(arrays(5, 5), "linear shared", scalar=False)
def cancels(x, y):
    return x * y - x * y + x
