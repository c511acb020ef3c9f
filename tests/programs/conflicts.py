"""Writes that meet: sums, products, minima and maxima accumulated from parallel maps."""

import math

import dace
import numpy as np

from ._base import arrays, positive, program, signed, untied

N = dace.symbol("N")


@program(arrays(7), "wcr sum known")
def accumulate_squares(A):
    s = np.zeros(1)
    for i in dace.map[0:7]:
        s[0] += A[i] * A[i]
    return s[0]


@program(arrays((4, 5)), "wcr sum", scalar=False)
def accumulate_rows(A):
    s = np.zeros(4)
    for i, j in dace.map[0:4, 0:5]:
        s[i] += A[i, j] * A[i, j]
    return s


@program(arrays((4, 5), (4, 5)), "wcr sum", scalar=False)
def accumulate_columns(A, B):
    s = np.zeros(5)
    for i, j in dace.map[0:4, 0:5]:
        s[j] += A[i, j] * B[i, j]
    return s


@program(arrays((3, 4), (4, 5)), "wcr sum matmul", scalar=False)
def accumulate_matrix_product(A, B):
    C = np.zeros((3, 5))
    for i, j, k in dace.map[0:3, 0:5, 0:4]:
        C[i, j] += A[i, k] * B[k, j]
    return C


@program(arrays(6, 3), "wcr sum inplace", scalar=False, mutates="s")
def accumulate_into_argument(A, s):
    for i in dace.map[0:6]:
        s[i % 3] += A[i] * A[i]


@program(arrays(8), "wcr sum overlap", scalar=False)
def accumulate_overlapping(A):
    B = np.zeros(9)
    for i in dace.map[0:8]:
        B[i] += A[i]
        B[i + 1] += A[i] * A[i]
    return B


@program(arrays(6), "wcr difference", scalar=False)
def accumulate_difference(A):
    s = np.ones(2)
    for i in dace.map[0:6]:
        s[0] -= A[i] * A[i]
    return s


@program(arrays(6), "wcr sum then-used", scalar=False)
def accumulated_then_used(A):
    s = np.zeros(1)
    for i in dace.map[0:6]:
        s[0] += np.sin(A[i])
    return A * s[0]


@program(positive(5), "wcr product")
def accumulate_product(A):
    p = np.ones(1)
    for i in dace.map[0:5]:
        p[0] *= A[i]
    return p[0]


def _wcr_sum(A, s):
    s[0] += np.sum(A * A)


@program(arrays(6, 2), "wcr sum tasklet inplace", scalar=False, mutates="s", reference=_wcr_sum)
def tasklet_wcr_sum(A: dace.float64[6], s: dace.float64[2]):
    for i in dace.map[0:6]:
        with dace.tasklet:
            a << A[i]
            out >> s(1, lambda x, y: x + y)[0]
            out = a * a


def _wcr_sum_rows(A, s):
    s[:] += np.sum(np.sin(A), axis=1)


@program(arrays((4, 5), 4), "wcr sum tasklet inplace", scalar=False, mutates="s", reference=_wcr_sum_rows)
def tasklet_wcr_sum_rows(A: dace.float64[4, 5], s: dace.float64[4]):
    for i, j in dace.map[0:4, 0:5]:
        with dace.tasklet:
            a << A[i, j]
            out >> s(1, lambda x, y: x + y)[i]
            out = math.sin(a)


def _wcr_product(A, p):
    p[0] *= np.prod(A)


@program(positive(5, 1), "wcr product tasklet inplace", scalar=False, mutates="p", reference=_wcr_product)
def tasklet_wcr_product(A: dace.float64[5], p: dace.float64[1]):
    for i in dace.map[0:5]:
        with dace.tasklet:
            a << A[i]
            out >> p(1, lambda x, y: x * y)[0]
            out = a


def _wcr_product_rows(A, p):
    p[:] *= np.prod(A * A, axis=1)


@program(positive((3, 4), 3), "wcr product tasklet inplace", scalar=False, mutates="p", reference=_wcr_product_rows)
def tasklet_wcr_product_rows(A: dace.float64[3, 4], p: dace.float64[3]):
    for i, j in dace.map[0:3, 0:4]:
        with dace.tasklet:
            a << A[i, j]
            out >> p(1, lambda x, y: x * y)[i]
            out = a * a


def _wcr_max(A, m):
    m[0] = np.maximum(m[0], np.max(A))


@program(
    lambda rng: (*untied(7)(rng), np.array([-2.0])),
    "wcr max tasklet inplace",
    scalar=False,
    mutates="m",
    reference=_wcr_max,
)
def tasklet_wcr_max(A: dace.float64[7], m: dace.float64[1]):
    for i in dace.map[0:7]:
        with dace.tasklet:
            a << A[i]
            out >> m(1, lambda x, y: max(x, y))[0]
            out = a


def _wcr_max_rows(A, m):
    m[:] = np.maximum(m, np.max(A * A * A, axis=1))


@program(untied((4, 3), 4), "wcr max tasklet inplace", scalar=False, mutates="m", reference=_wcr_max_rows)
def tasklet_wcr_max_rows(A: dace.float64[4, 3], m: dace.float64[4]):
    for i, j in dace.map[0:4, 0:3]:
        with dace.tasklet:
            a << A[i, j]
            out >> m(1, lambda x, y: max(x, y))[i]
            out = a * a * a


def _wcr_min(A, m):
    m[0] = np.minimum(m[0], np.min(np.sin(A)))


@program(untied(7, 1), "wcr min tasklet inplace", scalar=False, mutates="m", reference=_wcr_min)
def tasklet_wcr_min(A: dace.float64[7], m: dace.float64[1]):
    for i in dace.map[0:7]:
        with dace.tasklet:
            a << A[i]
            out >> m(1, lambda x, y: min(x, y))[0]
            out = math.sin(a)


def _wcr_sum_and_max(A, s, m):
    s[0] += np.sum(A * A)
    m[0] = np.maximum(m[0], np.max(A))


@program(
    untied(7, 1, 1),
    "wcr sum max tasklet inplace outputs",
    scalar=False,
    mutates="s m",
    reference=_wcr_sum_and_max,
)
def tasklet_wcr_two_kinds(A: dace.float64[7], s: dace.float64[1], m: dace.float64[1]):
    for i in dace.map[0:7]:
        with dace.tasklet:
            a << A[i]
            total >> s(1, lambda x, y: x + y)[0]
            largest >> m(1, lambda x, y: max(x, y))[0]
            total = a * a
            largest = a


def _wcr_symbolic(A, B):
    B[:-1] += A[:-1] * A[1:]
    B[1:] += A[:-1]


@program(arrays(7, 7), "wcr sum tasklet inplace symbol", scalar=False, mutates="B", reference=_wcr_symbolic)
def tasklet_wcr_neighbours(A: dace.float64[N], B: dace.float64[N]):
    for i in dace.map[0 : N - 1]:
        with dace.tasklet:
            a << A[i]
            b << A[i + 1]
            left >> B(1, lambda x, y: x + y)[i]
            left = a * b
        with dace.tasklet:
            a << A[i]
            right >> B(1, lambda x, y: x + y)[i + 1]
            right = a


@program(lambda rng: (signed(rng, 8), rng.integers(0, 4, 8)), "wcr sum indirect known", scalar=False)
def histogram_of_weights(w, bins):
    h = np.zeros(4)
    for i in dace.map[0:8]:
        h[bins[i]] += w[i] * w[i]
    return h


@program(arrays((4, 4)), "wcr sum nested", scalar=False)
def accumulate_triangular(A):
    s = np.zeros(4)
    for i in dace.map[0:4]:
        for j in dace.map[0 : i + 1]:
            s[i] += A[i, j] * A[j, i]
    return s


@program(arrays((4, 5)), "wcr sum nested scalar-local", scalar=False)
def accumulate_in_a_local(A):
    s = np.zeros(4)
    for i in dace.map[0:4]:
        t = np.zeros(1)
        for j in dace.map[0:5]:
            t[0] += A[i, j] * A[i, j]
        s[i] = t[0] * t[0]
    return s
