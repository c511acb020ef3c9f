"""Slices that a loop moves along an array: NumPy cuts off what lies outside of it."""

import numpy as np
import pytest
from references import assert_close

import sdgrad
from python.check import OTHER, Programs, check, name_of

program = Programs()
LONG = np.array([0.53, 1.57, -0.71, 2.03, -1.21, 0.37, 0.83, -0.45, 1.11])


@program
def beyond_the_end(x):
    y = np.zeros(x.size)
    for i in range(x.size):
        y[i] = np.sum(x[i : i + 3] ** 2)
    return y @ y


@program
def cut_off_at_both_ends(x):
    y = np.zeros(x.size)
    for i in range(x.size):
        y[i] = np.mean(x[max(0, i - 2) : i + 3])
    return y @ y


@program
def cut_off_by_hand(x):
    n, total = len(x), 0.0
    for i in range(n):
        first, last = max(i - 2, 0), min(i + 3, n)
        weights = np.exp(x[first:last] - np.max(x[first:last]))
        total += (weights @ x[first:last] / np.sum(weights)) * x[i]
    return total


@program
def written_through(x):
    y = np.zeros(x.size)
    for i in range(x.size):
        y[i : i + 4] += x[i : i + 4] * x[i]
    return y @ y


@program
def filled_beyond_the_end(x):
    y = x * 1.0
    for i in range(0, x.size + 3, 2):
        y[i : i + 3] = x[0] * i
    return y @ x


@program
def begins_behind_the_end(x):
    total = x[0]
    for i in range(x.size + 3):
        total = total + np.sum(x[i + 1 :]) * x[1] + np.sum(x[i + 2 : i + 5])
    return total


@program
def ends_before_it_begins(x):
    total = x[0]
    for i in range(x.size):
        total = total + np.sum(x[i : x.size - i] ** 2) + np.sum(x[5 : i + 2])
    return total


@program
def counted_from_the_end(x):
    total = 0.0
    for i in range(1, x.size):
        total = total + np.sum(x[-i:] ** 2) * x[i] + np.sum(x[:-i])
    return total


@program
def from_the_end_in_some_trips(x):
    total = x[0] * 1.0
    for i in range(x.size):
        total = total + np.sum(x[i - 2 : i + 3] ** 2)
    return total


@program
def of_two_loops(x):
    total = 0.0
    for i in range(x.size):
        for j in range(i):
            total = total + np.sum(x[i - j : i + j + 1] ** 2) * x[j]
    return total


@program
def downward(x):
    total = 0.0
    for i in range(x.size - 1, -1, -1):
        total = total + np.prod(x[i : i + 2])
    return total


@program
def moved_by_a_while(x):
    total, i = 0.0, 0
    while i < x.size:
        total = total + np.sum(x[i : i + 2] ** 2) * x[0]
        i += 2
    return total


@program
def of_rows(x):
    a = np.outer(x, x + 1.0)
    total = 0.0
    for i in range(x.size):
        for j in range(x.size):
            total = total + np.max(a[max(i - 1, 0) : i + 2, max(j - 1, 0) : j + 2])
    return total


@program
def ends_before_the_first(x):
    s = 0.0
    for k in range(3):
        s += np.sum(x[: k - 3] ** 2)
    return s


@program
def ends_far_before_the_first(x):
    s = x[0] * 1.0
    for k in range(15):
        s += np.sum(x[: -k - 1] ** 2) + np.sum(x[-k - 1 :] ** 2)
    return s


@program
def numbers_beyond_the_array(x):
    total = x[0] * 1.0
    for i in range(x.size):
        total += np.sum(x[i:100] ** 2) + np.sum(x[-30:i]) * x[1] + np.prod(x[: i + 1][-2:])
    return total


@program
def backward(x):
    total = x[0] * 1.0
    for i in range(x.size + 2):
        total += np.sum(x[i::-1] ** 2) + np.sum(x[i + 3 : i : -1]) * x[1] + np.sum(x[i : i + 5 : 2])
    return total


@program
def steps_that_lead_nowhere(x):
    total = x[0] * 1.0
    for i in range(x.size):
        total += np.sum(x[i + 1 : i : 2]) + np.sum(x[i:4:3] ** 2) * x[2] + np.sum(x[2 : i + 1 : -1])
    return total


@program
def beyond_the_row(x):
    b = np.arange(12.0).reshape(3, 4) * x[0] ** 2
    s = 0.0
    for k in range(4):
        s += np.sum(b[0, k : k + 2])
    return s


@pytest.mark.parametrize("function", program, ids=name_of)
def test_program(function):
    check(function, LONG)


def banded(x, width):
    total = 0.0
    for i in range(x.size):
        total = total + np.sum(x[max(i - width, 0) : i + width + 1] ** 2) * x[i]
    return total


def test_the_width_of_a_window_is_known():
    """One program for each width."""
    both = sdgrad.value_and_grad(banded)
    for width in (1, 3, 20, 1):
        value, gradient = both(LONG, width)
        assert_close(value, banded(LONG, width), 1e-12, "value")
        steps = 1e-6 * np.eye(LONG.size)
        right = [(banded(LONG + h, width) - banded(LONG - h, width)) / 2e-6 for h in steps]
        assert_close(gradient, np.array(right), 1e-6, "gradient")


def test_a_value_that_fits_the_whole_window_only():
    def wrong(x):
        y = np.zeros(4)
        for i in range(4):
            y[i : i + 2] = x[:2]
        return np.sum(y)

    with pytest.raises(ValueError, match="broadcast"):
        wrong(OTHER)
    with pytest.raises(Exception, match=r"broadcast|not equal"):
        sdgrad.grad(wrong)(OTHER)
