"""Explicit ``dace.map`` loops in NumPy style: nested, triangular, strided, with locals and conditions."""

import math

import dace
import numpy as np

from ._base import arrays, positive, program, signed, untied

N = dace.symbol("N")
M = dace.symbol("M")


@program(arrays(6), "map", scalar=False)
def map_elementwise(A):
    B = np.empty_like(A)
    for i in dace.map[0:6]:
        B[i] = np.sin(A[i]) * A[i]
    return B


@program(arrays(6, 6), "map inplace", scalar=False, mutates="B")
def map_writes_argument(A, B):
    for i in dace.map[0 : A.shape[0]]:
        B[i] = A[i] * A[i] + 1.0


@program(arrays(6), "map inplace self", scalar=False, mutates="A")
def map_overwrites_itself(A):
    for i in dace.map[0:6]:
        A[i] = np.exp(A[i]) * A[i]


@program(arrays(7), "map inplace after-use", scalar=False, mutates="A")
def map_overwrites_part_after_use(A):
    B = A * A
    for i in dace.map[2:5]:
        A[i] = B[i] * A[i]
    return B * A


@program(arrays((4, 5)), "map two-dimensional", scalar=False)
def map_two_dimensions(A):
    B = np.zeros((5, 4))
    for i, j in dace.map[0:4, 0:5]:
        B[j, i] = A[i, j] * A[i, 0]
    return B


@program(arrays((4, 5), 5), "map nested", scalar=False)
def map_nested(A, x):
    B = np.zeros((4, 5))
    for i in dace.map[0:4]:
        for j in dace.map[0:5]:
            B[i, j] = A[i, j] * x[j] + np.sin(x[j])
    return B


@program(arrays((3, 4, 5)), "map nested three-dimensional", scalar=False)
def map_nested_three_deep(A):
    B = np.zeros((3, 4, 5))
    for i in dace.map[0:3]:
        for j in dace.map[0:4]:
            for k in dace.map[0:5]:
                B[i, j, k] = A[i, j, k] * A[2 - i, j, k]
    return B


@program(arrays((4, 5), 4), "map nested scalar-local", scalar=False)
def map_local_between_levels(A, x):
    B = np.zeros((4, 5))
    for i in dace.map[0:4]:
        s = np.sin(x[i]) * x[i]
        for j in dace.map[0:5]:
            B[i, j] = s * A[i, j] + s
    return B


@program(arrays(5), "map nested triangular", scalar=False)
def map_triangular(A):
    B = np.zeros((5, 5))
    for i in dace.map[0:5]:
        for j in dace.map[0 : i + 1]:
            B[i, j] = A[i] * A[j]
    return B


@program(arrays((5, 5)), "map nested triangular inplace", scalar=False, mutates="A")
def map_strictly_upper(A):
    for i in dace.map[0:4]:
        for j in dace.map[i + 1 : 5]:
            A[i, j] = A[j, i] * A[i, j]


@program(arrays(9), "map strided", scalar=False)
def map_step_two(A):
    B = np.zeros(9)
    for i in dace.map[0:9:2]:
        B[i] = A[i] * A[i]
    return B


@program(arrays(11), "map strided inplace", scalar=False, mutates="A")
def map_step_three_with_offset(A):
    for i in dace.map[1:10:3]:
        A[i] = A[i - 1] * A[i + 1] * A[i]


@program(arrays((7, 6)), "map strided two-dimensional", scalar=False)
def map_two_steps(A):
    B = np.ones((7, 6))
    for i, j in dace.map[0:7:3, 1:6:2]:
        B[i, j] = np.cos(A[i, j]) * A[6 - i, j]
    return B


@program(arrays(8), "map reversed-access", scalar=False)
def map_reversed_access(A):
    B = np.zeros(8)
    for i in dace.map[0:8]:
        B[7 - i] = A[i] * A[7 - i]
    return B


@program(arrays(12), "map multiple-index", scalar=False)
def map_scaled_index(A):
    B = np.zeros(6)
    for i in dace.map[0:6]:
        B[i] = A[2 * i] * A[2 * i + 1]
    return B


@program(arrays(12), "map multiple-index", scalar=False)
def map_linearized_index(A):
    B = np.zeros((3, 4))
    for i, j in dace.map[0:3, 0:4]:
        B[i, j] = A[4 * i + j] * A[4 * i + j]
    return B


@program(arrays(9), "map stencil", scalar=False)
def map_stencil(A):
    B = np.zeros(9)
    for i in dace.map[1:8]:
        B[i] = A[i - 1] * A[i + 1] - 2.0 * A[i]
    return B


@program(arrays(9), "map stencil chain", scalar=False)
def map_two_stencils(A):
    B = np.zeros(9)
    C = np.zeros(9)
    for i in dace.map[1:8]:
        B[i] = (A[i - 1] + A[i] + A[i + 1]) * A[i]
    for i in dace.map[2:7]:
        C[i] = B[i - 1] * B[i + 1] - B[i]
    return C


@program(arrays(6), "map index-in-value", scalar=False)
def map_uses_its_index(A):
    B = np.zeros(6)
    for i in dace.map[0:6]:
        B[i] = A[i] * i + A[i] ** 2 / (i + 1)
    return B


@program(arrays(7), "map control", scalar=False)
def map_if_on_index(A):
    B = np.zeros(7)
    for i in dace.map[0:7]:
        if i > 3:
            B[i] = A[i] * A[i]
        else:
            B[i] = np.sin(A[i])
    return B


@program(arrays(7), "map control data-condition", scalar=False)
def map_if_on_data(A):
    B = np.zeros(7)
    for i in dace.map[0:7]:
        if A[i] > 0.0:
            B[i] = A[i] * A[i]
        else:
            B[i] = np.exp(A[i])
    return B


@program(arrays(7), "map control data-condition inplace", scalar=False, mutates="A")
def map_if_without_else(A):
    for i in dace.map[0:7]:
        if A[i] < 0.0:
            A[i] = A[i] * A[i] * 3.0


@program(arrays((4, 5)), "map control data-condition nested", scalar=False)
def map_if_inside_nested(A):
    B = np.ones((4, 5))
    for i in dace.map[0:4]:
        for j in dace.map[0:5]:
            if A[i, j] > A[0, 0]:
                B[i, j] = A[i, j] * A[i, 0]
            elif A[i, j] < -0.5:
                B[i, j] = np.sin(A[i, j])
    return B


@program(arrays(7), "map control", scalar=False)
def map_branch(A):
    B = np.zeros(7)
    for i in dace.map[0:7]:
        if A[i] > 0.0:
            B[i] = A[i] * A[i]
        else:
            B[i] = -A[i]
    return B


@program(arrays(6, 6), "map outputs", scalar=False)
def map_two_results(A, B):
    C = np.zeros(6)
    D = np.zeros(6)
    for i in dace.map[0:6]:
        t = A[i] * B[i]
        C[i] = np.sin(t)
        D[i] = t * t + A[i]
    return C, D


@program(arrays(6), "map scalar-local repeated", scalar=False)
def map_local_overwritten(A):
    B = np.zeros(6)
    for i in dace.map[0:6]:
        t = A[i] * A[i]
        t = t * A[i]
        t = np.sin(t)
        B[i] = t
    return B


@program(arrays(6), "map repeated inplace", scalar=False, mutates="A")
def map_writes_twice(A):
    for i in dace.map[0:6]:
        A[i] = A[i] * A[i]
        A[i] = np.sin(A[i]) + A[i]


@program(arrays((4, 5), (4, 5)), "map slice", scalar=False)
def map_over_rows(A, B):
    C = np.zeros((4, 5))
    for i in dace.map[0:4]:
        C[i, :] = A[i, :] * B[i, :] + A[i, 0]
    return C


@program(arrays((4, 5)), "map slice reduction", scalar=False)
def map_reduces_rows(A):
    s = np.zeros(4)
    for i in dace.map[0:4]:
        s[i] = np.sum(A[i, :] * A[i, :])
    return s


@program(arrays((4, 5)), "map nested slice reduction", scalar=False)
def map_normalizes_rows(A):
    B = np.zeros((4, 5))
    for i in dace.map[0:4]:
        s = np.sum(np.exp(A[i, :]))
        B[i, :] = np.exp(A[i, :]) / s
    return B


@program(positive(6), "map math", scalar=False)
def map_math_functions(A):
    B = np.zeros(6)
    for i in dace.map[0:6]:
        B[i] = math.sin(A[i]) * math.exp(A[i]) + math.sqrt(A[i]) * math.log(A[i])
    return B


@program(arrays(6, ()), "map scalar-argument", scalar=False)
def map_scalar_argument(A, c):
    B = np.zeros(6)
    for i in dace.map[0:6]:
        B[i] = A[i] * c + c * c
    return B


@program(untied(6, 6), "map minmax", scalar=False)
def map_min_and_max(A, B):
    C = np.zeros(6)
    for i in dace.map[0:6]:
        C[i] = max(A[i], B[i]) * min(A[i], 0.3)
    return C


# Symbolic sizes ------------------------------------------------------------------------------------


def _divided_by_size(A):
    return np.sum(A * A) / A.shape[0]


@program(arrays(7), "symbol", reference=_divided_by_size)
def divided_by_size(A: dace.float64[N]):
    return np.sum(A * A) / N


def _scaled_by_symbols(A, B):
    B[:] = A * (A.shape[0] + 1) - A.shape[1] / A.shape[0]


# DaCe: wrong value without an error, M / N of two integer symbols is an integer division in C++.
@program(
    arrays((3, 5), (3, 5)),
    "symbol inplace dace-frontend-fails",
    scalar=False,
    mutates="B",
    reference=_scaled_by_symbols,
)
def scaled_by_symbols(A: dace.float64[N, M], B: dace.float64[N, M]):
    B[:] = A * (N + 1) - M / N


def _symbol_in_index(A, B):
    B[:] = A
    B[-1] = A[0] * A[A.shape[0] // 2]


@program(arrays(8, 8), "symbol inplace element", scalar=False, mutates="B", reference=_symbol_in_index)
def symbol_in_index(A: dace.float64[N], B: dace.float64[N]):
    B[:] = A
    B[N - 1] = A[0] * A[N // 2]


def _symbolic_slices(A):
    n = A.shape[0]
    return np.sum(A[1 : n - 1] * A[2:n] * A[0 : n - 2])


@program(arrays(9), "symbol slice", reference=_symbolic_slices)
def symbolic_slices(A: dace.float64[N]):
    return np.sum(A[1 : N - 1] * A[2:N] * A[0 : N - 2])


def _symbolic_map(A, B):
    for i in range(A.shape[0] - 1):
        B[i] = A[A.shape[0] - 1 - i] * A[i] + B[i] * i


@program(arrays(7, 7), "symbol map inplace", scalar=False, mutates="B", reference=_symbolic_map)
def symbolic_map(A: dace.float64[N], B: dace.float64[N]):
    for i in dace.map[0 : N - 1]:
        B[i] = A[N - 1 - i] * A[i] + B[i] * i


def _symbolic_matvec(A, x):
    return A @ x / A.shape[1]


@program(arrays((4, 7), 7), "symbol matmul", scalar=False, reference=_symbolic_matvec)
def symbolic_matvec(A: dace.float64[M, N], x: dace.float64[N]):
    return (A @ x) / N


@program(lambda rng: (signed(rng, (3, 5)),), "map shape-attribute", scalar=False)
def map_over_shape(A):
    B = np.zeros_like(A)
    for i, j in dace.map[0 : A.shape[0], 0 : A.shape[1]]:
        B[i, j] = A[i, j] ** 2 / A.shape[1]
    return B
