"""Several names of one array, or of parts of it: what is written through one is seen through the others."""

import numpy as np
import pytest

from python.check import Programs, check, name_of

program = Programs()


# Parts that overlap ----------------------------------------------------------------------------------


@program
def sum_over_overlapping_parts(x):
    y = x * 1.0
    a = y[1:]
    a += y[:-1]
    b = y[:-1]
    b += y[1:]
    return np.sum(y * y)


@program
def whole_from_a_part(x):
    y = x * 1.0
    r = y[:1]
    y[:] = r
    y *= y[0]
    return np.sum(y)


@program
def parts_exchanged(x):
    y = x * 1.0
    y[:2], y[2:] = y[2:], y[:2]
    w = y[1:]
    y[1], w[1] = 5.0 * x[0], w[0] * 1.0
    return np.sum(y * x)


@program
def written_from_itself(x):
    y = x * 1.0
    y[:] = y[::-1]
    y -= y[0]
    y[1:] /= 1.0 + y[:-1] ** 2
    y[::2] = y[1::2] + y[2]
    np.add(y[:3], x[1:], out=y[1:])
    A = np.outer(y, x)
    A[:] = A.T * 2.0
    A += A[1] + A[:, 2:3]
    return np.sum(A * np.arange(16.0).reshape(4, 4)) + np.sum(y * x)


@program
def rows_exchanged(x):
    A, B = np.outer(x, x + 1.0), np.outer(x, x - 1.0)
    A[[0, 2]] = A[[2, 0]]
    B[0], B[2] = B[2], B[0].copy()
    B[:, 1], B[:, 3] = B[:, 3], B[:, 1]
    return np.sum(A[0] * A[2] * x) + np.sum(B * np.arange(16.0).reshape(4, 4))


# Names -----------------------------------------------------------------------------------------------


@program
def updates_and_new_arrays(x):
    y = x * 1.0
    same, part, alone = y, y[1:], y.copy()
    y += 1.0
    y = y * 2.0
    y[0] = 5.0
    same[2] *= 3.0
    part[-1] = same[0] * y[1]
    return np.sum(same * x) + np.sum(part**2) + np.sum(alone * y)


@program
def views_of_views(x):
    A = np.zeros((2, 3, 4))
    A[:] = x
    flat, turned = A.reshape(-1), A.transpose(2, 0, 1)
    turned[1, 1] = x[0] * x[:3]
    flat[5:9] *= x
    column = A[:, ::2, -1][1:, None]
    column[0, 0, 1] = 7.0 * x[1]
    np.swapaxes(A, 0, 1)[2][0][::-2] += x[2]
    A[..., 0][1, 1] *= x[3]
    return np.sum(A * A * np.arange(24.0).reshape(2, 3, 4)) + np.sum(column)


@program
def indices_make_copies(x):
    y = x * 1.0
    chosen, masked, first, flat = y[[0, 1]], y[y > 0.0], y[0], y.flatten()
    y[0] = 9.0
    y[y > 5.0] = x[1]
    chosen[1] = 2.0 * chosen[0]
    flat[2] = 1.0
    y[[1, 3]] += chosen
    return np.sum(y * x) + np.sum(chosen) * np.sum(masked) + first * flat[1]


@program
def rows_that_a_loop_binds(x):
    A = np.outer(x, x) + 1.0
    for row in A:
        row *= row[0]
    for k, row in enumerate(A[1:]):
        row[k] = np.sum(A[k])
        row = row * 100.0
    for i in range(4):
        column = A[:, i]
        column[i] += 2.0
    return np.sum(A * x)


@program
def arrays_of_a_tuple(x):
    a, b = x * 1.0, x * 2.0
    for y in (a, b, a):
        y += x[0]
        y = y * 100.0
    pair = [a, b]
    pair[0][1] = pair[1][2] * x[3]
    pair[1] = pair[0]
    pair[1][0] = 4.0
    return np.sum(a * x) + np.sum(b * b)


@program
def chosen_by_an_integer(x, n=3):
    a, b = x * 1.0, x * 2.0
    c = a if n > 2 else b
    d = (b, a)[n % 2]
    c[0] = x[1] * 3.0
    d *= 2.0
    if n == 3:
        b = a
    b[1] = c[0] * x[2]
    return np.sum(a * x) + np.sum(b)


@program
def arrays_that_change_places(x):
    a, b = x * 1.0, x * 2.0
    first = a
    for _ in range(3):
        b[:] = 0.5 * a + x[0]
        a, b = b, a
    return np.sum(a * x) + b[1] ** 2 + 0.0 * len(first)


# Functions -------------------------------------------------------------------------------------------


def add_to(d, s):
    d += s


@program
def function_that_adds_overlapping_parts(x):
    y = x * 1.0
    add_to(y[1:], y[:-1])
    return np.sum(y * y)


def identity(y):
    return y


def tail(y):
    return y[1:]


@program
def returned_argument_written(x):
    y = x * 2.0
    z = identity(y)
    z[0] = 5.0
    return np.sum(y * y)


@program
def argument_of_a_part_written(x):
    y = x * 2.0
    z = tail(y)
    y[1] = 5.0
    return np.sum(z * z)


def written_and_bound(a):
    a[0] = 1.0
    for _ in range(2):
        a = a * 2.0
    return np.sum(a)


@program
def function_that_writes_and_binds_its_argument(x):
    y = x * 2.0
    return written_and_bound(y) * np.sum(y)


def mixed(out, a, b):
    out[1:] = a[:-1] * b[1:]
    a[0] = out[1]
    return out


@program
def one_array_for_several_arguments(x):
    y, z = x * 1.0, x + 1.0
    r = mixed(y, y, y)
    mixed(z[::-1], z, r)
    return np.sum(y * x) + np.sum(z * z) + r[0]


@program
def written_by_a_closure(x):
    y = x * 1.0
    row = y[1:3]

    def smooth(w):
        y[w] = 0.5 * (y[w - 1] + y[w])
        row[0] += x[w]

    for w in range(1, 4):
        smooth(w)
    return np.sum(y * y) + np.sum(row * x[:2])


@program
def the_argument_is_written(x):
    y = x[1:]
    x[1] = x[0] * 2.0
    y *= y[0]
    x += 1.0
    return np.sum(x * x)


class Field:
    def __init__(self, values):
        self.values = values
        self.inner = values[1:-1]

    def relaxed(self):
        self.inner += 0.5 * (self.values[:-2] - self.inner)
        return self.values


@program
def parts_that_an_object_holds(x):
    y = x * 1.0
    field = Field(y)
    z = field.relaxed()
    z[1] *= x[3]
    field.relaxed()[2] += 1.0
    return np.sum(y * y) + np.sum(field.inner)


@pytest.mark.parametrize("f", program, ids=name_of)
def test_program(f):
    check(f)
