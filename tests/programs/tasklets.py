"""Explicit tasklets in ``dace.map``: statements, locals, conditions, several outputs, special functions."""

import math

import dace
import numpy as np

from ._base import arrays, program

N = dace.symbol("N")


def _square(A):
    return A * A


@program(arrays(6), "tasklet map", scalar=False, reference=_square)
def tasklet_square(A: dace.float64[6]):
    B = np.empty_like(A)
    for i in dace.map[0:6]:
        with dace.tasklet:
            a << A[i]
            b >> B[i]
            b = a * a
    return B


def _statements(A):
    t = np.sin(A)
    u = t * A
    return u * t + A


@program(arrays(6), "tasklet map statements", scalar=False, reference=_statements)
def tasklet_statements(A: dace.float64[6]):
    B = np.empty_like(A)
    for i in dace.map[0:6]:
        with dace.tasklet:
            a << A[i]
            b >> B[i]
            t = math.sin(a)
            u = t * a
            b = u * t + a
    return B


def _overwritten_local(A):
    return np.exp(A * A) * A


@program(arrays(6), "tasklet map statements repeated", scalar=False, reference=_overwritten_local)
def tasklet_local_overwritten(A: dace.float64[6]):
    B = np.empty_like(A)
    for i in dace.map[0:6]:
        with dace.tasklet:
            a << A[i]
            b >> B[i]
            t = a * a
            t = math.exp(t)
            t = t * a
            b = t
    return B


def _conditional(A):
    return np.where(A > 0, A * A, np.sin(A))


@program(arrays(7), "tasklet map control", scalar=False, reference=_conditional)
def tasklet_if_else(A: dace.float64[7]):
    B = np.empty_like(A)
    for i in dace.map[0:7]:
        with dace.tasklet:
            a << A[i]
            b >> B[i]
            if a > 0:
                b = a * a
            else:
                b = math.sin(a)
    return B


def _ternary(A):
    return np.where(A > 0.5, np.cos(A), 3.0 * A)


@program(arrays(7), "tasklet map control ternary known", scalar=False, reference=_ternary)
def tasklet_ternary(A: dace.float64[7]):
    B = np.empty_like(A)
    for i in dace.map[0:7]:
        with dace.tasklet:
            a << A[i]
            b >> B[i]
            b = math.cos(a) if a > 0.5 else 3.0 * a
    return B


def _several_branches(A):
    return np.where(A > 0.6, A * A * A, np.where(A > -0.6, 2.0 * A, A * A)) * A


@program(arrays(11), "tasklet map control statements", scalar=False, reference=_several_branches)
def tasklet_elif(A: dace.float64[11]):
    B = np.empty_like(A)
    for i in dace.map[0:11]:
        with dace.tasklet:
            a << A[i]
            b >> B[i]
            t = a * a
            if a > 0.6:
                t = t * a
            elif a > -0.6:
                t = 2.0 * a
            b = t * a
    return B


def _diff_named(A, B):
    return np.where(A - B > 0, (A - B) ** 2, B - A)


@program(arrays(7, 7), "tasklet map control names", scalar=False, reference=_diff_named)
def tasklet_connector_named_diff(A: dace.float64[7], B: dace.float64[7]):
    C = np.empty_like(A)
    for i in dace.map[0:7]:
        with dace.tasklet:
            gift << A[i]
            shift << B[i]
            diff_if >> C[i]
            delta = gift - shift
            diff_if = delta * delta if delta > 0 else -delta
    return C


def _two_outputs(A, B):
    return A * B + np.sin(A), A / B


@program(arrays(6, 6), "tasklet map outputs", scalar=False, reference=_two_outputs)
def tasklet_two_outputs(A: dace.float64[6], B: dace.float64[6]):
    C = np.empty_like(A)
    D = np.empty_like(A)
    for i in dace.map[0:6]:
        with dace.tasklet:
            a << A[i]
            b << B[i]
            c >> C[i]
            d >> D[i]
            c = a * b + math.sin(a)
            d = a / b
    return C, D


def _output_uses_output(A):
    s = np.sin(A)
    return s, s * s * A


@program(arrays(6), "tasklet map outputs statements", scalar=False, reference=_output_uses_output)
def tasklet_output_from_output(A: dace.float64[6]):
    C = np.empty_like(A)
    D = np.empty_like(A)
    for i in dace.map[0:6]:
        with dace.tasklet:
            a << A[i]
            c >> C[i]
            d >> D[i]
            s = math.sin(a)
            c = s
            d = s * s * a
    return C, D


def _same_input_twice(A):
    return np.sum(A * A)


@program(arrays(6), "tasklet map wcr known", reference=_same_input_twice)
def tasklet_sum_of_squares(A: dace.float64[6]):
    s = np.zeros([1])
    for i in dace.map[0:6]:
        with dace.tasklet:
            a << A[i]
            b << A[i]
            c >> s(1, lambda x, y: x + y)[0]
            c = a * b
    return s[0]


def _neighbours(A, B):
    B[1:-1] = A[:-2] * A[2:] + A[1:-1] ** 2


@program(arrays(9, 9), "tasklet map stencil inplace", scalar=False, mutates="B", reference=_neighbours)
def tasklet_three_reads(A: dace.float64[N], B: dace.float64[N]):
    for i in dace.map[1 : N - 1]:
        with dace.tasklet:
            left << A[i - 1]
            mid << A[i]
            right << A[i + 1]
            out >> B[i]
            out = left * right + mid**2


def _updates_itself(A):
    A[:] = A * np.sin(A)


@program(arrays(6), "tasklet map inplace self", scalar=False, mutates="A", reference=_updates_itself)
def tasklet_overwrites_its_input(A: dace.float64[6]):
    for i in dace.map[0:6]:
        with dace.tasklet:
            a << A[i]
            b >> A[i]
            b = a * math.sin(a)


def _without_map(A, B):
    A[2] = A[0] * A[1] * B[3]


@program(arrays(5, 5), "tasklet inplace element", scalar=False, mutates="A", reference=_without_map)
def tasklet_alone(A: dace.float64[5], B: dace.float64[5]):
    with dace.tasklet:
        a << A[0]
        b << A[1]
        c << B[3]
        d >> A[2]
        d = a * b * c


def _vector_read(A):
    return A[:, 0] * A[:, 1] + A[:, 3]


@program(arrays((5, 4)), "tasklet map array-connector", scalar=False, reference=_vector_read)
def tasklet_reads_a_row(A: dace.float64[5, 4]):
    B = np.zeros([5])
    for i in dace.map[0:5]:
        with dace.tasklet:
            a << A[i, :]
            b >> B[i]
            b = a[0] * a[1] + a[3]
    return B


def _vector_written(A, B):
    B[:, 0] = A * A
    B[:, 1] = np.sin(A)
    B[:, 2] = 2.0


@program(
    arrays(5, (5, 3)),
    "tasklet map array-connector inplace",
    scalar=False,
    mutates="B",
    reference=_vector_written,
)
def tasklet_writes_a_row(A: dace.float64[5], B: dace.float64[5, 3]):
    for i in dace.map[0:5]:
        with dace.tasklet:
            a << A[i]
            b >> B[i, :]
            b[0] = a * a
            b[1] = math.sin(a)
            b[2] = 2.0


def _indexed_inside(A, idx):
    return A[idx] * A[idx]


@program(
    lambda rng: (rng.uniform(0.3, 1.5, 7), np.array([2, 0, 6, 2, 5])),
    "tasklet map indirect array-connector",
    scalar=False,
    reference=_indexed_inside,
)
def tasklet_indexes_inside(A: dace.float64[7], idx: dace.int64[5]):
    B = np.zeros([5])
    for i in dace.map[0:5]:
        with dace.tasklet:
            a << A[:]
            k << idx[i]
            b >> B[i]
            b = a[k] * a[k]
    return B
