"""Choices: top-level ``if`` on data and on scalars, ternaries, ``np.where`` and boolean masks."""

import numpy as np

from ._base import arrays, between, positive, program, signed, untied


@program(arrays(6), "if data-condition", scalar=False)
def if_on_element(A):
    if A[0] > 0.0:
        B = A * A
    else:
        B = np.sin(A)
    return B


@program(arrays(6), "if data-condition inplace", scalar=False, mutates="A")
def if_in_place(A):
    if A[1] < 2.0:
        A[2:] = A[2:] * A[:-2]
    return A * 2.0


@program(arrays(6, 6), "if data-condition", scalar=False)
def if_on_sum(A, B):
    s = np.sum(A * B)
    if s > 0.0:
        C = A * s
    else:
        C = B * s * s
    return C


@program(lambda rng: (signed(rng, 6), between(rng, 0.3, 0.9)), "if scalar-argument", scalar=False)
def if_on_scalar_argument(A, c):
    B = np.copy(A)
    if c > 1.0:
        B *= c
    elif c > 0.2:
        B *= c * c
    else:
        B[:] = 0.0
    return B * A


@program(lambda rng: (signed(rng, 6), 2), "if scalar-argument int", scalar=False)
def if_on_integer(A, mode):
    B = np.zeros(6)
    if mode == 1:
        B[:] = A
    elif mode == 2:
        B[:] = A * A
    return B


@program(arrays(6), "if data-condition nested", scalar=False)
def if_nested(A):
    B = A * 1.0
    if A[0] > -2.0:
        if A[1] > 2.0:
            B[:] = A * A
        else:
            B[:] = np.exp(A)
            B[0] = A[3]
    return B * A


@program(arrays(6), "if data-condition repeated", scalar=False)
def if_twice_in_a_row(A):
    B = A * A
    if B[0] > 0.01:
        B *= 2.0
    if B[1] > 100.0:
        B *= 3.0
    return B


@program(arrays(6), "if data-condition combined", scalar=False)
def if_with_and_or(A):
    B = A * A
    if (A[0] > -2.0 and A[1] < 2.0) or A[2] > 5.0:
        B = B * A
    return B


@program(arrays(6), "if data-condition overwrites-condition", scalar=False, mutates="A")
def if_overwrites_its_condition(A):
    if A[0] > -3.0:
        A[0] = A[1] * A[2] - 10.0
        A[1] = A[0] * A[1]


@program(arrays((), ()), "if scalar-argument")
def if_scalars_only(a, b):
    if a > b:
        c = a * a
    else:
        c = a * b
    return c * 2.0


# DaCe: In assignments, the rhs may only be data, numerical/boolean constants and symbols.
@program(arrays(6), "ternary dace-frontend-fails", scalar=False)
def ternary_on_scalar(A):
    s = 2.0 if A[0] > 0.0 else -3.0
    return A * s


# DaCe: In assignments, the rhs may only be data, numerical/boolean constants and symbols.
@program(arrays(6), "ternary dace-frontend-fails", scalar=False)
def ternary_of_elements(A):
    s = A[1] * A[1] if A[0] > A[2] else A[3]
    return A * s


# np.where ------------------------------------------------------------------------------------------


@program(arrays(7), "where known", scalar=False)
def where_arrays(x):
    return np.where(x > 0.0, x * x, np.sin(x))


@program(arrays(7), "where known", scalar=False)
def where_constant(x):
    return np.where(x > 0.0, x, 0.1)


@program(arrays(7), "where needs-frontend", scalar=False)
def where_both_constant(x):
    return np.where(x > 0.0, 2.0, -1.0) * x


@program(arrays((3, 4), 4), "where broadcast", scalar=False)
def where_broadcast(x, y):
    return np.where(x > y, x, y * y)


@program(arrays((3, 4), (3, 1)), "where broadcast", scalar=False)
def where_broadcast_condition(x, y):
    return np.where(y > 0.0, x, -2.0 * x)


@program(arrays(7, ()), "where scalar-argument", scalar=False)
def where_with_scalar(x, a):
    return np.where(x > 0.0, a, x * a)


@program(arrays(7), "where nested", scalar=False)
def where_nested(x):
    return np.where(x > 0.5, x * x, np.where(x < -0.5, -x, np.sin(x)))


@program(arrays(7, 7), "where combined", scalar=False)
def where_and(x, y):
    return np.where((x > 0.0) & (y > 0.0), x * y, x - y)


@program(arrays(7, 7), "where combined", scalar=False)
def where_logical(x, y):
    return np.where(np.logical_or(x > 0.0, np.logical_not(y > 0.0)), x, y)


@program(arrays((4, 3)), "where slice inplace", scalar=False, mutates="x")
def where_in_place(x):
    x[1:] = np.where(x[1:] > x[:-1], x[1:], x[:-1] * 2.0)


@program(positive(7), "where guarded", scalar=False)
def where_guards_division(x):
    return np.where(x > 0.5, 1.0 / x, 2.0)


# Comparisons times values, boolean masks -----------------------------------------------------------


@program(arrays(9), "mask known", scalar=False)
def comparison_times_value(A):
    return (A > 0) * A


@program(untied(7, 7), "mask known", scalar=False)
def comparisons_select(A, B):
    return (A > B) * A * A + (A <= B) * np.sin(B)


@program(arrays((3, 4)), "mask inplace known", scalar=False, mutates="A")
def mask_zeroed(A):
    A[A > 0] = 0


@program(arrays(9), "mask inplace after-use known", scalar=False, mutates="A")
def mask_zeroed_after_use(A):
    B = A * A
    A[A < 0] = 0.0
    return A * B


@program(
    lambda rng: (signed(rng, 8), rng.integers(0, 2, 8) > 0),
    "mask inplace bool known",
    scalar=False,
    mutates="A",
)
def mask_augmented(A, mask):
    A[mask] *= 2.0


@program(lambda rng: (signed(rng, 8), rng.integers(0, 2, 8) > 0), "mask inplace bool", scalar=False, mutates="A")
def mask_argument_assigned(A, mask):
    B = np.sin(A)
    A[mask] = 1.5
    return A * B


@program(arrays(8), "mask inplace augmented", scalar=False, mutates="A")
def mask_of_expression(A):
    B = A * A
    A[B > 0.3] += 1.0
    return A * B


@program(arrays(8), "mask local", scalar=False)
def mask_kept_in_a_variable(A):
    positive_part = A > 0.0
    return positive_part * A * 2.0 + A * positive_part


@program(untied(9), "minmax", scalar=False)
def leaky_relu(x):
    return np.maximum(x, 0.1 * x)


@program(untied(9), "minmax", scalar=False)
def relu(x):
    return np.maximum(x, 0.0)


@program(untied(9), "minmax", scalar=False)
def relu_six(x):
    return np.minimum(np.maximum(x, 0), 0.6)


# DaCe: Boolean array indexing is only supported for assignment targets.
@program(
    lambda rng: (*arrays(8, 8)(rng), rng.integers(0, 2, 8) > 0),
    "mask inplace bool dace-frontend-fails",
    scalar=False,
    mutates="A",
)
def mask_from_another_array(A, B, mask):
    A[mask] = B[mask] * 2.0
