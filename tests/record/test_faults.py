"""Programs that were wrong, or crashed, when functions were first recorded: values and gradients."""

import math
import random
from collections import deque

import numpy as np
import pytest

import sdgrad
from sdgrad.errors import ParseError

X = np.array([0.5, 1.2, 0.3, 0.9])
K = np.array([0.3, 0.4, -0.2, 0.7])


def overwritten_in_the_statement_that_reads_it(x):
    cost = 0.0
    for _ in range(3):
        u = np.sum(K * x)
        cost += u * u
        x = 0.5 * x
    return cost


def queue(x):
    last = deque([0.0, 0.0], maxlen=2)
    s = 0.0
    for k in range(5):
        last.append(x[k % 4] * k)
        s = s + len(last) * last[0]
    return s + sum(last)


def repeated_list(x, n=3):
    return np.sum(np.array([x, 2 * x] * n) ** 2) + len([0.0] * n) * x[0]


def power(x, n=4):
    return x[0] if n == 0 else x[1] * power(x, n - 1)


def integers_and_complex_numbers(x):
    z = x + 1j
    return np.sum(abs(1 / z) + abs(1 - z) + abs(z**2) + abs(np.exp(-1j * x) + 1) + abs(z / 2) + (z**3).imag)


def appended_by_the_counter(x):
    found = []
    for k in range(6):
        x = np.sin(x) + 0.1
        if k % 2 == 0:
            found.append(x.max())
    return np.sum(np.array(found))


def appended_by_labels(x, labels=(1, 3, 3, 2)):
    found = [x[0]]
    for k in range(1, 4):
        if labels[k] != labels[k - 1]:
            found.append(x[k] ** 2)
    return sum(found)


def ranges_as_indices(x):
    L = np.zeros((5, 5))
    L[range(1, 5), range(4)] = x
    return np.sum(L @ L) + np.sum(L * L)


def factorials(x):
    return sum(x[0] ** n / math.factorial(n) for n in range(6))


def texts_of_a_counter(x):
    s = 0.0
    for k, v in enumerate(x):
        word = "".join("Y" if q == k else "I" for q in range(3))
        s += v * v * (2 if word[0] == "Y" else 1)
    return s


def one_row(x):
    return np.linalg.slogdet(np.array([[x[0]]]))[1] + np.linalg.det(np.array([[x[1]]]))


def outer_of_growing_parts(x):
    s = 0.0
    for k in range(3):
        s += np.sum(np.outer(x[k % 2 :: 2], x[: k + 1]))
    return s


def joined_by_subscripts(x):
    return np.sum(np.r_[x, x[0], 1.0] ** 2) + np.sum(np.c_[x, x**2] * x[:, None])


def up_to_the_last_ones(x):
    s = 0.0
    for lag in range(1, 3):
        s += np.sum(x[lag:] * x[:-lag])
    return s


def in_place_of_rows(x):
    S = np.zeros((4, 4))
    for k in range(4):
        for j in range(4):
            if j - k >= 0:
                S[j] += x * x[j - k]
    return np.sum(S * S)


PROGRAMS = [
    overwritten_in_the_statement_that_reads_it, queue, repeated_list, power, integers_and_complex_numbers,
    appended_by_the_counter, appended_by_labels, ranges_as_indices, factorials, texts_of_a_counter, one_row,
    outer_of_growing_parts, joined_by_subscripts, up_to_the_last_ones, in_place_of_rows,
]  # fmt: skip


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_value_and_gradient(f):
    value, gradient = sdgrad.value_and_grad(f)(X.copy())
    np.testing.assert_allclose(value, f(X.copy()), rtol=1e-12)
    wanted = [(f(X + h) - f(X - h)) / 2e-6 for h in 1e-6 * np.eye(4)]
    np.testing.assert_allclose(gradient, wanted, rtol=1e-6, atol=1e-7)


def test_complex_numbers_as_arguments():
    value, slope = sdgrad.value_and_grad(lambda z, s: abs(s * z), 1)(0.3 + 0.1j, 0.7)
    assert value == pytest.approx(0.7 * abs(0.3 + 0.1j)) and slope == pytest.approx(abs(0.3 + 0.1j))


# -- arrays of two names: those that are refused are in test_errors.py
def exchanged(x):
    a, b = np.sin(x), np.cos(x)
    for k in range(4):
        a[k] = b[k] * x[k]
        a, b = b, a
    return np.sum(a * x) + np.sum(b)


def test_exchanged_arrays_are_two():
    assert sdgrad.value_and_grad(exchanged)(X)[0] == pytest.approx(exchanged(X))


# -- numbers that are others at each call
DRAWN = {
    "global": lambda x: np.sum(x * np.random.rand(4)),
    "without a seed": lambda x: np.sum(x * np.random.default_rng().random(4)),
    "from outside": lambda x, rng=np.random.default_rng(0): np.sum(x * rng.random(4)),  # noqa: B008
    "of Python": lambda x: np.sum(x) * random.random(),
}


@pytest.mark.parametrize("f", DRAWN.values(), ids=DRAWN)
def test_random_numbers_without_a_seed(f):
    with pytest.raises(ParseError, match="draws other numbers at each call(.|\n)*default_rng"):
        sdgrad.grad(f)(X)


def with_a_seed(x, seed=3):
    return np.sum(x * np.random.default_rng(seed).random(4))


def test_random_numbers_with_a_seed_are_constants():
    np.testing.assert_array_equal(sdgrad.grad(with_a_seed)(X), np.random.default_rng(3).random(4))


# -- sizes that only a run knows
def parts(x, k):
    return np.sum(x[: k[0]] * x[k[1] : 3])


def test_sizes_are_compared():
    f = sdgrad.value_and_grad(parts)
    assert f(X, np.array([2, 1]))[0] == pytest.approx(parts(X, [2, 1]))
    with pytest.raises(ValueError, match="not equal"):
        f(X, np.array([3, 1]))


# -- annotations of DaCe
def test_symbols_are_the_sizes_of_a_call():
    import dace

    N = dace.symbol("N")

    @dace.program
    def mean(x: dace.float64[N], y: dace.float64[N]):
        return np.sum(x * np.tanh(y)) / N

    np.testing.assert_allclose(sdgrad.grad(mean)(X, X), np.tanh(X) / 4)
    with pytest.raises(sdgrad.errors.ArgumentError, match="N is 4"):
        sdgrad.grad(mean)(X, X[1:])


# -- integers


def test_powers_of_integers_are_exact():
    """They were computed in double precision."""

    def remainders(x, a, n):
        return x * np.sum(a**n % 1000)

    a, n = np.array([3, 5, -7, 1]), np.array([37, 25, 20, 3])
    assert sdgrad.grad(remainders, wrt="x")(2.0, a, n) == remainders(1.0, a, n)
