"""Reductions and scans along axes."""

import numpy as np

from ._base import arrays, positive, program, signed, untied


@program(arrays((3, 4, 5)), "reduction sum")
def sum_all(x):
    return np.sum(x)


@program(arrays((3, 5)), "reduction sum", scalar=False)
def sum_first_axis(x):
    return np.sum(x * x, axis=0)


@program(arrays((3, 5)), "reduction sum negative-axis", scalar=False)
def sum_last_axis(x):
    return np.sum(np.sin(x), axis=-1)


@program(arrays((2, 3, 4)), "reduction sum", scalar=False)
def sum_two_axes(x):
    return np.sum(x * x, axis=(0, 2))


@program(arrays((2, 3, 4)), "reduction sum negative-axis", scalar=False)
def sum_two_negative_axes(x):
    return np.sum(x * x, axis=(-1, -3))


@program(arrays((3, 4)), "reduction sum keepdims needs-frontend", scalar=False)
def sum_keepdims(x):
    return x / np.sum(x * x, axis=1, keepdims=True)


@program(arrays((2, 3, 4)), "reduction sum keepdims needs-frontend", scalar=False)
def sum_two_axes_keepdims(x):
    return x * np.sum(np.sin(x), axis=(0, 2), keepdims=True)


@program(arrays((3, 4)), "reduction sum method")
def sum_method(x):
    return x.sum() * x.sum()


@program(arrays((3, 4)), "reduction sum method needs-frontend", scalar=False)
def sum_method_axis(x):
    return np.sin(x.sum(axis=1))


@program(arrays((4, 5)), "reduction sum")
def sum_of_sums(x):
    return np.sum(np.sum(x * x, axis=1) * np.sum(x, axis=1))


@program(arrays((3, 4)), "reduction sum", scalar=False)
def sum_used_elementwise(x):
    return x * np.sum(x)


@program(positive(6), "reduction prod needs-frontend")
def prod_all(x):
    return np.prod(x)


@program(arrays((3, 4)), "reduction prod needs-frontend", scalar=False)
def prod_axis(x):
    return np.prod(x, axis=1)


@program(lambda rng: (np.array([0.7, 0.0, -1.3, 2.1]),), "reduction prod zero needs-frontend")
def prod_with_a_zero(x):
    return np.prod(x)


@program(
    lambda rng: (np.array([[0.7, 0.0, 0.0], [1.5, 0.0, -2.0]]),),
    "reduction prod zero needs-frontend",
    scalar=False,
)
def prod_with_two_zeros(x):
    return np.prod(x, axis=1)


@program(arrays((3, 4)), "reduction mean")
def mean_all(x):
    return np.mean(x * x)


@program(arrays((3, 4)), "reduction mean", scalar=False)
def mean_axis(x):
    return np.mean(x * x, axis=0)


@program(arrays((3, 4)), "reduction mean keepdims needs-frontend", scalar=False)
def mean_keepdims(x):
    return x - np.mean(x, axis=-1, keepdims=True)


@program(arrays((3, 4)), "reduction mean method needs-frontend")
def mean_method(x):
    return np.sum(x.mean(axis=1) * x.mean(axis=1))


@program(untied(11), "reduction max")
def max_all(x):
    return np.max(x)


@program(untied((3, 5)), "reduction max", scalar=False)
def max_axis(x):
    return np.max(x, axis=1)


@program(untied((3, 5)), "reduction max keepdims needs-frontend", scalar=False)
def max_keepdims(x):
    return x - np.max(x, axis=1, keepdims=True)


@program(untied((3, 5)), "reduction max", scalar=False)
def amax_of_expression(x):
    return np.amax(x * x * x, axis=0)


@program(untied(9), "reduction min")
def min_all(x):
    return np.min(x) * np.sum(x)


@program(untied((4, 3)), "reduction min", scalar=False)
def min_axis(x):
    return np.min(x, axis=0)


@program(untied((4, 3)), "reduction max min method")
def max_minus_min(x):
    return x.max() - x.min()


@program(untied((2, 3, 4)), "reduction max", scalar=False)
def max_two_axes(x):
    return np.max(x, axis=(1, 2))


@program(arrays(7), "reduction std needs-frontend")
def std_all(x):
    return np.std(x)


@program(arrays((4, 3)), "reduction std needs-frontend", scalar=False)
def std_axis(x):
    return np.std(x, axis=0)


@program(arrays(7), "reduction var needs-frontend")
def var_all(x):
    return np.var(x)


@program(arrays((4, 3)), "reduction var needs-frontend", scalar=False)
def var_axis(x):
    return np.var(x, axis=1)


@program(arrays((4, 3)), "reduction var needs-frontend", scalar=False)
def var_ddof(x):
    return np.var(x, axis=0, ddof=1)


@program(arrays(7), "reduction norm needs-frontend")
def norm_vector(x):
    return np.linalg.norm(x)


@program(arrays((3, 4)), "reduction norm needs-frontend")
def norm_matrix(x):
    return np.linalg.norm(x)


@program(arrays((3, 4)), "reduction norm needs-frontend", scalar=False)
def norm_axis(x):
    return np.linalg.norm(x, axis=1)


@program(arrays((3, 4)), "reduction norm needs-frontend")
def norm_one(x):
    return np.sum(np.linalg.norm(x, ord=1, axis=0))


@program(arrays(7), "scan cumsum needs-frontend", scalar=False)
def cumsum(x):
    return np.cumsum(x * x)


@program(arrays((3, 4)), "scan cumsum needs-frontend", scalar=False)
def cumsum_axis(x):
    return np.cumsum(x, axis=1) * x


@program(arrays((3, 4)), "scan cumsum needs-frontend", scalar=False)
def cumsum_flattened(x):
    return np.cumsum(np.sin(x))


@program(arrays(6), "scan cumprod needs-frontend", scalar=False)
def cumprod(x):
    return np.cumprod(x)


@program(arrays((3, 4)), "scan cumprod needs-frontend", scalar=False)
def cumprod_axis(x):
    return np.cumprod(x, axis=0)


@program(lambda rng: (np.array([0.5, 0.0, 2.0, -1.5]),), "scan cumprod zero needs-frontend", scalar=False)
def cumprod_with_a_zero(x):
    return np.cumprod(x)


@program(arrays(8), "diff needs-frontend", scalar=False)
def diff(x):
    return np.diff(x * x)


@program(arrays((3, 5)), "diff needs-frontend", scalar=False)
def diff_axis(x):
    return np.diff(x, axis=0) * x[1:]


@program(arrays(8), "diff needs-frontend", scalar=False)
def diff_second_order(x):
    return np.diff(np.sin(x), n=2)


@program(arrays((4, 4)), "trace needs-frontend")
def trace(x):
    return np.trace(x * x)


@program(arrays((4, 4)), "trace needs-frontend")
def trace_of_product(x):
    return np.trace(x @ x)


@program(lambda rng: (signed(rng, (3, 4)), rng.integers(0, 2, (3, 4)) > 0), "reduction sum mask bool")
def sum_masked_by_product(x, mask):
    return np.sum(x * x * mask)


@program(arrays((3, 4, 5)), "reduction sum chain", scalar=False)
def reduce_in_steps(x):
    a = np.sum(x * x, axis=2)
    b = np.max(a, axis=0)
    return a / b


@program(arrays((3, 4)), "reduction slice")
def reductions_of_slices(x):
    return np.sum(x[1:, :2]) * np.sum(x[0]) + np.max(x[:, 3])


@program(untied(7), "reduction argmax int")
def value_at_argmax(x):
    i = np.argmax(x)
    return x[i] * x[i]


@program(arrays((3, 4)), "reduction average needs-frontend")
def average_weighted(x):
    return np.sum(np.average(x * x, axis=0))


@program(arrays((2, 3, 4)), "reduction sum mean", scalar=False)
def mean_two_axes(x):
    return np.mean(np.exp(x), axis=(0, 1))
