"""Calls of other programs, closures over globals, and constants."""

import math

import dace
import numpy as np

from ._base import arrays, positive, program

WEIGHTS = np.array([0.5, -1.5, 2.0, 0.25, 1.0])
TABLE = np.array([[1.0, -2.0, 0.5], [0.25, 3.0, -1.0]])
OFFSETS = np.array([2, 0, 1, 1])
GAIN = 1.75
COUNT = 3
N = dace.symbol("N")


@dace.program
def _square_plus(x):
    return x * x + 1.0


@dace.program
def _scale_by(x, a):
    return np.sin(x) * a


@dace.program
def _write_squares(x, out):
    out[:] = x * x


@dace.program
def _double_in_place(x):
    x *= 2.0


@dace.program
def _two_results(x, y):
    return x * y, x + y


@dace.program
def _composed(x):
    return _square_plus(_square_plus(x))


@dace.program
def _cube_annotated(x: dace.float64[N], y: dace.float64[N]):
    for i in dace.map[0:N]:
        y[i] = x[i] * x[i] * x[i]


def _plain_helper(x):
    return np.exp(x) * x


@program(arrays(5), "call", scalar=False)
def call_once(A):
    return _square_plus(A) * 2.0


@program(arrays(5, 5), "call repeated", scalar=False)
def call_twice(A, B):
    return _square_plus(A) * _square_plus(B)


@program(arrays(5), "call repeated chain", scalar=False)
def call_on_its_result(A):
    return _square_plus(_square_plus(A))


@program(arrays(5), "call nested", scalar=False)
def call_two_levels(A):
    return _composed(A) * A


@program(arrays(5, ()), "call scalar-argument", scalar=False)
def call_with_scalar(A, c):
    return _scale_by(A, c) + _scale_by(A, 2.0)


@program(arrays((4, 5)), "call slice", scalar=False)
def call_with_slices(A):
    return _square_plus(A[1]) * _scale_by(A[2, :], 3.0)


@program(arrays((4, 6)), "call slice strided", scalar=False)
def call_with_block(A):
    return _square_plus(A[1:3, 2:5]) + A[:2, :3]


@program(arrays(5, 5), "call inplace", scalar=False, mutates="B")
def call_writes_argument(A, B):
    _write_squares(A, B)


@program(arrays((3, 5), 5), "call inplace slice", scalar=False, mutates="A")
def call_writes_slice(A, x):
    _write_squares(x, A[1])
    A[2] = A[1] * A[0]


@program(arrays(7), "call inplace slice", scalar=False, mutates="A")
def call_reads_and_writes_one_array(A):
    _write_squares(A[0:3], A[4:7])


@program(arrays(5), "call inplace augmented", scalar=False, mutates="A")
def call_doubles_in_place(A):
    B = np.sin(A)
    _double_in_place(A)
    _double_in_place(B)
    return A * B


@program(arrays(5, 5), "call outputs", scalar=False)
def call_with_two_results(A, B):
    p, s = _two_results(A, B)
    return p * s, p


@program(arrays((3, 5)), "call map", scalar=False)
def call_inside_map(A):
    B = np.zeros((3, 5))
    for i in dace.map[0:3]:
        B[i, :] = _square_plus(A[i, :])
    return B


@program(arrays(5), "call helper", scalar=False)
def call_plain_function(A):
    return _plain_helper(A) + _plain_helper(2.0 * A)


def _call_symbolic(A):
    return A[2:] ** 3 * 2.0


@program(arrays(7), "call symbol inplace", scalar=False, reference=_call_symbolic)
def call_annotated_with_symbol(A):
    B = np.zeros(5)
    _cube_annotated(A[2:7], B)
    return B * 2.0


# Globals -----------------------------------------------------------------------------------------------


@program(arrays(5), "closure constant-array", scalar=False)
def global_array(x):
    return x * WEIGHTS


@program(arrays((3, 4)), "closure constant-array matmul", scalar=False)
def global_matrix(x):
    return TABLE @ x


@program(arrays(5), "closure constant", scalar=False)
def global_scalar(x):
    return np.sin(GAIN * x) / GAIN


@program(arrays((3, 5)), "closure constant int", scalar=False)
def global_size(x):
    B = np.zeros((COUNT, 5))
    for i in dace.map[0:COUNT]:
        B[i, :] = x[i, :] * x[COUNT - 1 - i, :]
    return B


@program(arrays(6), "closure constant-array indirect", scalar=False)
def global_indices(x):
    B = np.zeros(4)
    for i in dace.map[0:4]:
        B[i] = x[OFFSETS[i]] * x[i]
    return B


@program(positive(5), "closure constant math", scalar=False)
def constants_of_math(x):
    return math.pi * x + math.e * x ** math.sqrt(2.0)


@program(arrays(4), "constant-array", scalar=False)
def local_constant_array(x):
    w = np.array([1.0, -2.0, 0.5, 3.0])
    return w * x * x


@program(arrays((3, 3)), "constant-array", scalar=False)
def identity_matrix(x):
    return x @ x + np.eye(3)


@program(arrays(5), "constant-array", scalar=False)
def grid_of_constants(x):
    t = np.linspace(0.0, 1.0, 5)
    return np.sin(x * t)
