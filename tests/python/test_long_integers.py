"""Python's integers have no end: what would not fit in 64 bits is computed by Python, or the call raises an error."""

import math

import numpy as np
import pytest

import sdgrad


def cube(x, n):
    return x * n**3


def product(x, n):
    return x * (n * n * n % 1009)


def shifted(x, n):
    return x * (1 << n)


def factorial(x, n):
    found = 1
    for k in range(n):
        found = found * (k + 1)
    return x / found


def power(x, n):
    found = x
    for k in range(n):
        found = found + x / 2**k
    return found


def doubled(x, n):
    found = 1
    for _ in range(n):
        found = found + found
    return x * found


def fibonacci(x, n):
    a, b = 0, 1
    for _ in range(n):
        a, b = b, a + b
    return x / b


def bessel(x):
    total, factor, base = 0.0, 1, 1
    for k in range(30):
        if k > 0:
            factor *= k
            base *= 4
        total = total + (-1) ** k * x ** (2 * k) / (factor * factor * base)
    return total


def generated(x):
    seed, total = 12345, 0.0
    for _ in range(300):
        seed = (1103515245 * seed + 12345) % 2**31
        total = total + x * (seed / 2**31)
    return total


CASES = {cube: (3, 3_000_000), product: (5, 3_000_000), shifted: (5, 70), factorial: (5, 25, 20, 40)}
CASES |= {power: (20, 80), doubled: (20, 80), fibonacci: (20, 100)}


@pytest.mark.parametrize("f", CASES, ids=lambda f: f.__name__)
def test_long_results(f):
    gradient = sdgrad.grad(f)
    for n in CASES[f]:  # the second is too long for the program of the first
        assert gradient(1.0, n) == pytest.approx(f(1.0, n), rel=1e-14)


def test_series():
    x = 1.5
    terms = ((-1) ** k * 2 * k * x ** (2 * k - 1) / (math.factorial(k) ** 2 * 4**k) for k in range(1, 30))
    assert sdgrad.grad(bessel)(x) == pytest.approx(math.fsum(terms), rel=1e-13)


def test_short_products_in_long_loops():
    assert sdgrad.grad(generated)(2.0) == pytest.approx(generated(1.0), rel=1e-13)


def converging(x):
    """Add a series until its terms are small: the trips have no end that is known."""
    total, factor, k, term = 0.0, 1, 0, 1.0
    while abs(term) > 1e-14:
        term = x**k / factor
        total = total + term
        k += 1
        factor *= k
    return total


def stopping(x):
    total, factor = 0.0, 1
    for k in range(100):
        term = x**k / factor
        total = total + term
        factor *= k + 1
        if abs(term) < 1e-14:
            break
    return total


@pytest.mark.parametrize("f", [converging, stopping])
def test_series_that_converge(f):
    gradient = sdgrad.grad(f)
    for x in (0.5, 9.0):
        assert gradient(x) == pytest.approx(math.exp(x), rel=1e-12)


def divided(x):
    """Ask for a remainder of an integer that grows: only Python's own has one."""
    factor, total = 1, 0.0
    for k in range(1, 40):
        factor = factor * k
        if factor % 7 == 0:
            total = total + x
    return total / factor


def doubled_sizes(x, n):
    size, total = 1, 0.0
    for _ in range(n):
        size = 2 * size
        total = total + np.sum(x[:size])
    return total


def padded(x):
    size = 1
    while size < len(x):
        size *= 2
    y = np.zeros(size)
    y[: len(x)] = x
    return np.sum(y**2)


def test_integers_that_are_needed_as_such():
    assert sdgrad.grad(divided)(1.0) == pytest.approx(divided(1.0), rel=1e-14)
    found = sdgrad.grad(doubled_sizes)(np.ones(32), 4)
    np.testing.assert_array_equal(found, np.sum([np.arange(32) < 2**k for k in range(1, 5)], axis=0))
    np.testing.assert_array_equal(sdgrad.grad(padded)(np.ones(5)), 2.0 * np.ones(5))


def generated_of_64_bits(x):
    seed, total = 12345, 0.0
    for _ in range(1000):
        seed = (6364136223846793005 * seed + 1442695040888963407) % 2**60
        total = total + x * seed
    return total


@pytest.mark.parametrize("f", [lambda x, n: x * (n % 7), lambda x, n: x * (n / 2), lambda x, n: x if n > 0 else -x])
def test_long_arguments(f):
    gradient = sdgrad.grad(f)
    for n in (5, 2**63, 2**64 - 1, 2**64 + 3, -(2**70), 5):
        assert gradient(1.0, n) == pytest.approx(f(1.0, n), rel=1e-15)


def test_long_factors():
    gradient = sdgrad.grad(lambda x, n: x * ((n * 6364136223846793005 + 1) % 1000))
    for n in (1, 12345, 2**61, 1):
        assert gradient(1.0, n) == (n * 6364136223846793005 + 1) % 1000


def test_errors():
    with pytest.raises(OverflowError, match=r"(?s)seed = \(636.*64 bits.*1\.0 in place of 1"):
        sdgrad.grad(generated_of_64_bits)(1.0)


def caught(x, n):
    """Have a handler that would not see the error: Python raises none."""
    try:
        found = 1
        while found * 1.0 < n * x:
            found = found * 3
    except OverflowError:
        return x
    return x * found


def test_handlers():
    assert sdgrad.grad(caught)(1.0, 50) == 81.0


SHIFTS = {
    "1 << n": lambda x, n: x * (1 << n),
    "constant >> n": lambda x, n: x * (1000 >> n),
    "n >> 70": lambda x, n: x * (n >> 70),
    "a condition": lambda x, n: x * (5 if (1 << n) > 1000 else 3),
    "a remainder": lambda x, n: x * ((1 << n) % 1000),
    "a mask": lambda x, n: x * (5 if 2**35 & (1 << n) else 3),
}


@pytest.mark.parametrize("name", SHIFTS)
def test_shifts(name):
    gradient = sdgrad.grad(SHIFTS[name])
    for n in (3, 31, 32, 35, 40, 64, 3):
        assert gradient(1.0, n) == SHIFTS[name](1.0, n)


@pytest.mark.parametrize(
    "f", [lambda x, n, m: x * (n * m), lambda x, n, m: x * (n + m), lambda x, n, m: x * (n * (n + 1) // 2 - abs(m))]
)
def test_products_and_sums_of_arguments(f):
    gradient = sdgrad.grad(f)
    for n, m in ((3, 4), (2**32, 2**31), (2**40, -(2**40)), (2**62, 2**62), (-(2**63), 5), (3, 4)):
        assert gradient(1.0, n, m) == pytest.approx(f(1.0, n, m), rel=1e-15)


LONG_CONSTANTS = {
    "least": lambda x, n: x * min(n, 2**70),
    "less": lambda x, n: x * (3.0 if n < 2**70 else 5.0),
    "a remainder": lambda x, n: x * ((n * 5 + 1) % 2**64 >> 1),
    "a negative one": lambda x, n: x * (n % 2**65),
}


@pytest.mark.parametrize("name", LONG_CONSTANTS)
def test_long_constants(name):
    gradient = sdgrad.grad(LONG_CONSTANTS[name])
    for n in (5, -1, 2**62, 5):
        assert gradient(1.0, n) == LONG_CONSTANTS[name](1.0, n)


def tripled_and(rest):
    """Return a function that triples an integer for as long as data say, and needs it as such afterwards."""

    def f(x, w):
        a = 1
        while np.sum(x) > 1.0:
            x = x * 0.5
            a *= 3
        return np.sum(x * w[rest(a)])

    return f


@pytest.mark.parametrize("rest", [lambda a: a % 5, lambda a: a & 3, lambda a: (a >> 1) % 4, lambda a: a // 7 % 3])
def test_integers_that_data_count(rest):
    f, w = tripled_and(rest), np.arange(1.0, 6.0)
    gradient = sdgrad.value_and_grad(f)
    for size in (0.5, 3.0, 40.0, 1e5):
        x = np.array([size, size])
        assert gradient(x, w)[0] == pytest.approx(f(x, w))
    with pytest.raises(OverflowError, match="64 bits"):
        gradient(np.array([1e15, 1e15]), w)
