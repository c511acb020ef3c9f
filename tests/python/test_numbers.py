"""Integers, truth values, real and complex numbers, and indices computed from them."""

import math

import numpy as np
import pytest

import sdgrad
from python.check import OTHER, Programs, X, check, name_of

program = Programs()

A = np.arange(12.0).reshape(3, 4) / 5 - 0.93
I = np.array([-1, 0, 1, -1])  # noqa: E741
FIRST, SECOND, DIAGONAL = np.array([1, 2]), np.array([0, 2]), np.array([0, 2, 1])


# Numbers that are integers first ---------------------------------------------------------------------


@program
def sum_from_zero(x):
    s = 0
    for i in range(4):
        s = s + x[i]
    return s * 1.5


@program
def integer_divided(x):
    m = 2
    m = m / 4
    return m * x[1]


@program
def integer_in_a_branch(x):
    if x[0] > 1:
        m = 1
    else:
        m = x[0] * 3
    return m * x[1]


@program
def integer_in_a_choice(x):
    s = 5 if x[0] > 10 else x[1]
    return s * 1.5


@program
def largest_above_zero(x):
    m = 0
    for i in range(4):
        m = max(m, x[i])
    return m * 1.5


@program
def integer_times_a_number(x, a=2.5):
    s = 3
    for i in range(2):
        s = s * a
    return s * x[0]


@program
def integer_argument_divided(x, n=3):
    n = n / 2
    return n * x[0]


@program
def integer_element(x, k=FIRST):
    s = k[0]
    s = s * x[0]
    return s * 1.5


@program
def truth_and_then_a_number(x):
    b = x[0] > 0
    b = x[1]
    return b * 1.5


@program
def number_and_then_an_index(x):
    n = 2.5
    n = int(n)
    return x[n] * n / 4


@program
def real_and_then_complex(x):
    s = 0.0
    for i in range(4):
        s = s + x[i] * 1j
    return np.abs(s)


@program
def steps_of_a_half(x):
    n = 0
    while n < 3:
        n += 0.5
    return n * x[0]


def zero_or(t):
    if t < 0:
        return 0
    return t


@program
def integer_returned(x):
    return zero_or(x[0]) * 1.5


# Indices and arithmetic of integers ------------------------------------------------------------------


@program
def index_before_the_first(x):
    s = 0.0
    y = np.zeros(4)
    for i in range(4):
        s += x[i] * x[i - 1]
        if x[i] > 0.0:
            y[i - 1] = x[i] * s + x[i - 2]
    return s * np.sum(y * y)


@program
def negative_indices_by_name(x, k=-1):
    i = -1
    return x[i] * x[0] + x[k]


@program
def negative_indices_in_arrays(x, k=I):
    y, z = np.zeros(4), np.zeros(4)
    y[k] = x
    z[k] += x * x
    s = x[k[0]] * x[k[1]]
    for i in range(4):
        s += x[k[i]] * x[i]
        y[k[i]] *= x[i]
    return s + np.sum(x[k] * x) + np.sum(y * z)


@program
def quotients_and_powers_of_indices(x, n=3):
    s = x[0] * 2**-n
    for i in range(1, 4):
        s += x[0] * ((i - 3) // 2) + x[1] * i**0.5
    return s


@program
def points(x, i=DIAGONAL):
    B = A * x[0]
    B[i, i] = 2.0
    return np.sum(B * B)


@program
def points_in_a_row(x, i=SECOND):
    B = A * x[0]
    B[1, i] = x[:2]
    return np.sum(B * B)


@program
def remainders_of_negative_integers(x, n=-7, m=3):
    s = x[0] * (n % m) + x[1] * (n // m) + x[2] * (m % n) + x[3] * (-m // 2)
    for i in range(-3, 4):
        q, r = divmod(i, 3)
        s += x[r] * q + x[i % 4] * (i // -2) + x[0] * (i % -2) + x[1] * ((-i) ** 3 - i**2)
    return s


@program
def bits_of_counters(x, n=5):
    s = 0.0
    for i in range(6):
        s += x[i & 3] * (i >> 1) + x[(i ^ n) % 4] * (1 << i) + x[1] * (i | n) - x[2] * ~i
    return s + x[n >> 1] * bin(n).count("1")


@program
def integers_of_data(x):
    n = int(x[3])
    k = np.argmax(x) - 1
    m = round(x[1]) + math.floor(x[2]) + math.ceil(x[0]) + math.trunc(-x[3])
    place = np.floor(np.abs(x)).astype(int)
    return x[n] * x[k] + x[m] * n + np.sum(x[place] * place) + x[-n] * int(-x[1]) + x[int(x[0] > 0.0)]


@program
def rounded_to_even(x):
    half = np.array([0.5, 1.5, -2.5, 3.5])
    return np.sum(np.round(half) * x) + round(2.5) * x[0] + round(-3.5) * x[1] + round(2.675, 2) * x[2]


# Real numbers ----------------------------------------------------------------------------------------


@program
def remainders_of_real_numbers(x):
    s = x[3] % 0.75 + (-x[1]) % 1.0 + x[0] // 0.4 * x[1] + np.fmod(x[2], 0.3) + math.fmod(-x[3], 1.5)
    q, r = divmod(x[1], 0.6)
    return s * q + r * (x[2] % -0.4)


@program
def powers(x):
    s = x[0] ** 2 + x[1] ** -2 + x[1] ** 0.5 + 2.0 ** x[2] + x[1] ** x[0] + x[2] ** 3
    return s + x[2] ** 0 + 0 ** abs(x[0]) + (-2) ** 3 * x[3] + 10**-2 * x[0] + pow(x[3], 3) + (-x[2]) ** 1.5


@program
def truth_values_as_numbers(x):
    up = x > 0.0
    n = sum(v > 0.0 for v in x) + True + (x[0] < x[1])
    s = (x[0] > 0.0) * x[1] - (x[2] > 0.0) * x[3] + n * x[0] + np.sum(up) * x[2] + np.sum(up * x)
    return s + x[int(True)] * (x[0] > 0 and True) + np.mean(up) * x[1] + (up[0] + up[1]) * (1.0 - up[2]) * x[3]


@program
def largest_and_smallest_numbers(x):
    low, high = float("inf"), -math.inf
    for v in x:
        low, high = min(low, v), max(v, high)
    big = 10**18 * x[0] * 1e-18
    eps = np.finfo(float).eps + 1e-400
    return low * high + big + (0.0 if math.isinf(low) else x[1]) + 0x10 * 1_0.5e-1 * x[2] + eps + np.iinfo(int).bits


@program
def numbers_of_one_kind_or_another(x):
    s, n = np.float64(2.0), np.int64(3)
    y = np.arange(4) * x + np.ones(4, dtype=int) / n
    y[1] = n
    z = np.zeros(4, dtype=int)
    z[2] = 2.9
    z[1:] += n // 2
    return np.sum(y * z) * s + n / 2 * x[0] + np.sum(z / 2) * x[1] + y.astype(int)[1] * x[2] + int("2") * float("1.5")


# Complex numbers -------------------------------------------------------------------------------------


@program
def complex_arithmetic(x):
    z = x[0] + 1j * x[1]
    w = 2.0 - 3j + z.conjugate() * z
    for k in range(3):
        z = z * z / w + 0.5j * x[2]
        if z.real > 0.1 * k:
            w = w - z.imag
    return abs(z) ** 2 + (z * w).real + np.angle(w) * x[3] + (1j**2).real * x[0]


@program
def complex_arrays(x):
    z = np.exp(1j * x)
    z[0] = x[1]
    z[1:3] *= 1.0 - 2j
    u = np.array([x[0], 1j * x[1]])
    A = np.outer(z, z.conj())
    return np.sum(np.abs(A[0])) + (A[1] @ z).imag + np.sum(z.real * x) + np.vdot(u, z[:2]).real


@pytest.mark.parametrize("f", program, ids=name_of)
def test_program(f):
    check(f)


def test_signs_of_remainders():
    check(remainders_of_negative_integers, OTHER)


def index_that_becomes_real(x):
    for i in range(3):
        pass
    i = i * 0.5 + x[0]
    return i * x[1]


def test_a_loop_variable_that_becomes_a_number():
    """Right, or refused: not cut off."""
    try:
        value = sdgrad.value_and_grad(index_that_becomes_real)(X.copy())[0]
    except sdgrad.SdgradError:
        return
    assert abs(value - index_that_becomes_real(X.copy())) < 1e-12
