"""What Python and NumPy mean by a program, where a graph easily means something else. Each was wrong, or crashed."""

import numpy as np
import pytest
from references import assert_close

import sdgrad
from sdgrad.errors import ParseError

X = np.array([0.53, 1.57, -0.71, 2.03])
A = np.arange(12.0).reshape(3, 4) / 5 - 0.93
I = np.array([-1, 0, 1, -1])  # noqa: E741
FIRST, SECOND, DIAGONAL = np.array([1, 2]), np.array([0, 2]), np.array([0, 2, 1])


# Numbers that are integers first ---------------------------------------------------------------------


def sum_from_zero(x):
    s = 0
    for i in range(4):
        s = s + x[i]
    return s * 1.5


def integer_divided(x):
    m = 2
    m = m / 4
    return m * x[1]


def integer_in_a_branch(x):
    if x[0] > 1:
        m = 1
    else:
        m = x[0] * 3
    return m * x[1]


def integer_in_a_choice(x):
    s = 5 if x[0] > 10 else x[1]
    return s * 1.5


def largest_above_zero(x):
    m = 0
    for i in range(4):
        m = max(m, x[i])
    return m * 1.5


def integer_times_a_number(x, a=2.5):
    s = 3
    for i in range(2):
        s = s * a
    return s * x[0]


def integer_argument_divided(x, n=3):
    n = n / 2
    return n * x[0]


def integer_element(x, k=FIRST):
    s = k[0]
    s = s * x[0]
    return s * 1.5


def truth_and_then_a_number(x):
    b = x[0] > 0
    b = x[1]
    return b * 1.5


def number_and_then_an_index(x):
    n = 2.5
    n = int(n)
    return x[n] * n / 4


def real_and_then_complex(x):
    s = 0.0
    for i in range(4):
        s = s + x[i] * 1j
    return np.abs(s)


def steps_of_a_half(x):
    n = 0
    while n < 3:
        n += 0.5
    return n * x[0]


def zero_or(t):
    if t < 0:
        return 0
    return t


def integer_returned(x):
    return zero_or(x[0]) * 1.5


# Functions and their arguments -----------------------------------------------------------------------


def doubled_sum(a):
    a = a * 2.0
    return np.sum(a)


def function_that_binds_its_argument(x):
    return doubled_sum(x) * np.sum(x)


def not_below_zero(t):
    if t < 0:
        t = 0.0
    return t


def function_that_binds_a_number(x):
    a = x[2]
    b = not_below_zero(a)
    return a * a + b


def scaled(t):
    t *= 2.0
    return t


def function_that_updates_a_number(x):
    s = x[0]
    z = scaled(s)
    return s * z


def total(x, s=0.0):
    for i in range(4):
        s = s + x[i]
    return s


def default_that_is_bound_again(x):
    return total(x)


def add_to(d, s):
    d += s


def function_that_adds_overlapping_parts(x):
    y = x * 1.0
    add_to(y[1:], y[:-1])
    return np.sum(y * y)


# Names -----------------------------------------------------------------------------------------------


def two_targets(x):
    a = b = x[0] * 2.0
    a = a * 3.0
    return a * b


def two_targets_of_zero(x):
    a = b = 0.0
    for i in range(4):
        a = a + x[i]
        b = b + a
    return a + b


def two_counters(x):
    i = j = 0
    for _ in range(3):
        i = i + 1
        j = j + 2
    return x[i] * j


def names_that_rewrites_use(x):
    argument, argument_1, has_returned = x[0], x[1], 2.0
    y = np.abs(0.1 * argument_1) * argument
    for j in range(4):
        has_returned = has_returned + x[j]
        if j == 2:
            return has_returned * y * argument_1
    return has_returned


# Parts that overlap ----------------------------------------------------------------------------------


def sum_over_overlapping_parts(x):
    y = x * 1.0
    a = y[1:]
    a += y[:-1]
    b = y[:-1]
    b += y[1:]
    return np.sum(y * y)


def whole_from_a_part(x):
    y = x * 1.0
    r = y[:1]
    y[:] = r
    y *= y[0]
    return np.sum(y)


def parts_exchanged(x):
    y = x * 1.0
    y[:2], y[2:] = y[2:], y[:2]
    w = y[1:]
    y[1], w[1] = 5.0 * x[0], w[0] * 1.0
    return np.sum(y * x)


# Indices and arithmetic of integers ------------------------------------------------------------------


def index_before_the_first(x):
    s = 0.0
    y = np.zeros(4)
    for i in range(4):
        s += x[i] * x[i - 1]
        if x[i] > 0.0:
            y[i - 1] = x[i] * s + x[i - 2]
    return s * np.sum(y * y)


def negative_indices_by_name(x, k=-1):
    i = -1
    return x[i] * x[0] + x[k]


def negative_indices_in_arrays(x, k=I):
    y, z = np.zeros(4), np.zeros(4)
    y[k] = x
    z[k] += x * x
    s = x[k[0]] * x[k[1]]
    for i in range(4):
        s += x[k[i]] * x[i]
        y[k[i]] *= x[i]
    return s + np.sum(x[k] * x) + np.sum(y * z)


def quotients_and_powers_of_indices(x, n=3):
    s = x[0] * 2**-n
    for i in range(1, 4):
        s += x[0] * ((i - 3) // 2) + x[1] * i**0.5
    return s


def steps_by_name(x, down=-2):
    st = -1
    s = 0.0
    for i in range(3, -1, st):
        s = s * 0.5 + x[i]
    for i in range(3, -1, down):
        s = s * 0.5 + x[i]
    return s


def value_of_or(x):
    z = x[0] or x[1]
    return z * 1.5


def value_of_and(x):
    z = x[0] > 0 and x[1]
    return z * 1.5


def points(x, i=DIAGONAL):
    B = A * x[0]
    B[i, i] = 2.0
    return np.sum(B * B)


def points_in_a_row(x, i=SECOND):
    B = A * x[0]
    B[1, i] = x[:2]
    return np.sum(B * B)


def identity(y):
    return y


def tail(y):
    return y[1:]


def returned_argument_written(x):
    y = x * 2.0
    z = identity(y)
    z[0] = 5.0
    return np.sum(y * y)


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


def function_that_writes_and_binds_its_argument(x):
    y = x * 2.0
    return written_and_bound(y) * np.sum(y)


PROGRAMS = [
    sum_from_zero, integer_divided, integer_in_a_branch, integer_in_a_choice, largest_above_zero,
    integer_times_a_number, integer_argument_divided, integer_element, truth_and_then_a_number,
    number_and_then_an_index, real_and_then_complex, steps_of_a_half, integer_returned,
    function_that_binds_its_argument, function_that_binds_a_number, function_that_updates_a_number,
    default_that_is_bound_again, function_that_adds_overlapping_parts, two_targets, two_targets_of_zero, two_counters,
    names_that_rewrites_use, sum_over_overlapping_parts, whole_from_a_part, parts_exchanged, index_before_the_first,
    negative_indices_by_name, negative_indices_in_arrays, quotients_and_powers_of_indices, steps_by_name, value_of_or,
    value_of_and, points, points_in_a_row, returned_argument_written, argument_of_a_part_written,
    function_that_writes_and_binds_its_argument,
]  # fmt: skip


def differences(f, x):
    steps = 1e-6 * np.eye(x.size)
    return np.array([(f(x + h) - f(x - h)) / 2e-6 for h in steps])


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_program(program):
    value, gradient = sdgrad.value_and_grad(program)(X.copy())
    assert_close(value, program(X.copy()), 1e-12, "value")
    assert_close(gradient, differences(program, X), 1e-6, "gradient")


# What is refused, since a graph would do something else ----------------------------------------------


def end_before_the_first(x):
    s = 0.0
    for k in range(3):
        s += np.sum(x[: k - 3])
    return s


def beyond_the_row(x):
    B = A * x[0]
    s = 0.0
    for k in range(4):
        s += np.sum(B[0, k : k + 2])
    return s


def index_that_becomes_real(x):
    for i in range(3):
        pass
    i = i * 0.5 + x[0]
    return i * x[1]


REFUSED = [
    (end_before_the_first, "negative end"),
    (beyond_the_row, "reaches beyond its array"),
]


@pytest.mark.parametrize("program, words", REFUSED, ids=lambda f: getattr(f, "__name__", ""))
def test_refused(program, words):
    with pytest.raises(ParseError, match=words) as caught:
        sdgrad.grad(program)(X.copy())
    assert "line" in str(caught.value) or ".py:" in str(caught.value)


def test_a_loop_variable_that_becomes_a_number():
    """Right, or refused: not cut off."""
    try:
        value = sdgrad.value_and_grad(index_that_becomes_real)(X.copy())[0]
    except sdgrad.SdgradError:
        return
    assert abs(value - index_that_becomes_real(X.copy())) < 1e-12
