"""Slices and positions by numbers that loops count: as NumPy has them. They read and wrote beside arrays."""

import numpy as np
import pytest

import sdgrad


def count(x):
    n = 0
    for v in x:
        if v > 0:
            n += 1
    return n


def from_the_end(x):
    return np.sum(x[-count(x) :])


def halves(x):
    n = count(x)
    return np.sum(x[-n // 2 :]) * 2 + np.sum(x[: -n // 2]) * 3 + np.sum(x[-(n // 2) :]) * 5


def moved(x):
    n = count(x)
    return np.sum(x[n // 2 - 3 :]) + np.sum(x[: n // 2 - 3]) * 2 + np.sum(x[1 - n :]) * 3 + np.sum(x[: n - 4]) * 5


def in_a_loop(x):
    s = 0.0
    for i in range(1, 4):
        s += np.sum(x[: -i // 2]) + np.sum(x[-i // 2 :] * 2)
    return s


def counted_down(x):
    s, i = 0.0, 4
    while i > 0:
        s += np.sum(x[-i:]) * i
        i -= 1
    return s


def counted_up(x):
    s, i = 0.0, 0
    while i < 3:
        s += np.sum(x[i - 2 :]) + np.sum(x[: i - 1]) + x[i - 3]
        i += 1
    return s


def bisected(x):
    low, high, s = 0, 4, 0.0
    while high - low > 1:
        middle = (low + high) // 2
        if x[middle] > 0.6:
            high = middle
        else:
            low = middle
        s += np.sum(x[low:high] ** 2) + np.sum(x[low - high :])
    return s


def written(x):
    n = count(x)
    y = x.copy()
    y[-n:] *= 2
    y[n - 4 :] += 1.0
    y[: n - 2] *= x[0]
    return np.sum(y * x)


def of_two_axes(x):
    A = np.outer(x, x)[:, :3] * 1.0
    n, m = count(A[0]), count(A[:, 0])
    A[n - 1 :, m - 4 :] *= 2
    return np.sum(A) + np.sum(A[-n:, -m]) + np.sum(A[n - 2 :: -1, 0])


def counted_below_zero(x):
    n = 0
    for v in x:
        if v > 0:
            n -= 1
    return np.sum(x[n:]) + x[n] * 3


def loop_from_a_count(x):
    s, A = 0.0, np.outer(x, x)
    for k in range(-count(x), count(x)):
        s += x[k] * k + A[k, 0] * np.sum(A[1:3][:, k]) + A[0, k - 1]
    return s


def loop_in_a_loop(x):
    s = 0.0
    for k in range(count(x)):
        for j in range(k - 2, k + 1):
            s += x[j] * k
    return s


def loop_that_writes(x):
    y = x.copy()
    for k in range(count(x) - 1, -count(x) - 1, -1):
        y[k] *= 1.5
    return np.sum(y * x)


def beyond(x):
    return x[count(x) + 2] * 2


def before(x):
    return x[-count(x) - 3] * 2


def loop_beyond(x):
    s = 0.0
    for k in range(count(x) + 2):
        s += x[k]
    return s


def length_as_a_position(x):
    return x[len(x[: count(x)])] * 2


def length_in_a_loop(x):
    s, y = 0.0, x[: count(x)]
    for i in range(2):
        s += x[i + len(y) - 1]
    return s


def window_at_the_end(x):
    s = 0.0
    for i in range(4):
        s += x[x[i : i + 2].shape[0] + 2] * i
    return s


def loop_over_a_part(x):
    s, y = 0.0, x[: count(x)]
    for k in range(3):
        s += y[k]
    return s


def loop_over_a_part_from_its_end(x):
    s, y = 0.0, x[count(x) :]
    for k in range(2):
        s += y[k] * y[-k - 1]
    return s


def loop_over_all_of_a_part(x):
    s, y = 0.0, x[: count(x)]
    for k in range(len(y) - 1):
        s += y[k] * y[k + 1]
    return s


def loop_that_writes_a_part(x):
    y = x.copy()
    z = y[: count(x)]
    for k in range(3):
        z[k] = z[k] * 2
    return np.sum(y * x)


def known_places_of_a_part(x):
    return np.sum(x[: count(x)][np.array([0, 2])])


@pytest.fixture(autouse=True)
def unverified():
    """The first call does not compare the value with Python's: it would tell of what is tested here."""
    with sdgrad.config.override(verify="never"):
        yield


FUNCTIONS = [
    *(from_the_end, halves, moved, in_a_loop, counted_down, counted_up, bisected, written, of_two_axes),
    *(counted_below_zero, loop_from_a_count, loop_in_a_loop, loop_that_writes, beyond, before, loop_beyond),
    *(length_as_a_position, length_in_a_loop, window_at_the_end, loop_over_a_part, loop_over_a_part_from_its_end),
    *(loop_over_all_of_a_part, loop_that_writes_a_part, known_places_of_a_part),
]
POINTS = [
    np.array([0.5, 1.5, -0.7, 2.0]),
    np.array([0.5, 1.5, 0.7, 2.0]),
    np.array([-0.5, -1.5, 0.7, -2.0]),
    np.array([-1.0, -2.0, -0.3, 0.7]),
]


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_as_numpy(function):
    both = sdgrad.value_and_grad(function)
    for x in POINTS:
        try:
            wanted = function(x.copy())
        except IndexError:
            with pytest.raises(IndexError, match="out of bounds"):
                both(x)
            continue
        value, gradient = both(x)
        assert value == pytest.approx(wanted, rel=1e-12)
        moved = 1e-6 * np.eye(4)
        right = [(function(x + h) - function(x - h)) / 2e-6 for h in moved]
        np.testing.assert_allclose(gradient, right, rtol=1e-6, atol=1e-7)


def of_an_argument(x, n):
    return np.sum(x[-n // 2 :] ** 2) + np.sum(x[: -(n // 2 + 1)]) + x[-n]


def loop_to_an_argument(x, n):
    s = 0.0
    for k in range(n):
        s += x[k] ** 2 + x[k - n]
    return s


def guarded_by_an_argument(x, n):
    s = 0.0
    for k in range(n):
        if k < 4:
            s += x[k] ** 2
    return s


@pytest.mark.parametrize("function", [of_an_argument, loop_to_an_argument, guarded_by_an_argument])
def test_arguments(function):
    x = POINTS[0]
    gradient = sdgrad.grad(function)
    for n in (1, 4, 3, 6, 2):
        try:
            function(x, n)
        except IndexError:
            with pytest.raises(IndexError, match="out of bounds"):
                gradient(x, n)
            continue
        right = [(function(x + h, n) - function(x - h, n)) / 2e-6 for h in 1e-6 * np.eye(4)]
        np.testing.assert_allclose(gradient(x, n), right, rtol=1e-6, atol=1e-7)
