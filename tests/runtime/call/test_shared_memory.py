"""Arguments that share memory, of which one is written: refused, for the program would not see its own writes."""

import numpy as np
import pytest

import sdgrad
from sdgrad.errors import ArgumentError

GLOBAL = np.array([0.5, 1.5, -0.7])


def both_written(x, y):
    x += y
    y *= x
    return np.sum(x * y)


def one_written(x, y):
    x *= 2.0
    return np.sum(x * y)


def with_a_global(x):
    x *= 2.0
    return np.sum(x * GLOBAL)


def read_only(x, y):
    return np.sum(x * y)


@pytest.mark.parametrize("function", [both_written, one_written])
@pytest.mark.parametrize("inplace", [False, True])
def test_refused(function, inplace):
    gradient = sdgrad.grad(function, inplace=inplace)
    x, y = np.array([0.5, 1.5, -0.7, 2.0]), np.array([1.0, 2.0, 3.0, 4.0])
    for _ in range(2):  # the second time around by a prepared call
        gradient(x.copy(), y.copy())
        with pytest.raises(ArgumentError, match="'x' and 'y' share memory, and '.' is written: pass a copy"):
            gradient(x, x)
    narrow = sdgrad.grad(function, inplace=inplace)
    for _ in range(2):
        narrow(x[:3].copy(), y[1:].copy())
        with pytest.raises(ArgumentError, match="share memory"):
            narrow(x[:3], x[1:])


def test_tangents_may_be_the_arguments():
    x, y = np.array([0.5, 1.5, -0.7, 2.0]), np.array([1.0, 2.0, 3.0, 4.0])
    apart = sdgrad.jvp(one_written, (x, y), (x.copy(), y.copy()))
    assert apart[1] == sdgrad.jvp(one_written, (x, y), (x, y))[1] != 0
    assert apart[1] == sdgrad.jvp(one_written, (x, y), (x, np.array([y, x])[0]))[1]


def test_what_lies_side_by_side_is_taken():
    gradient = sdgrad.grad(one_written)
    x = np.array([0.5, 1.5, -0.7, 2.0])
    for first, second in ((x[:2], x[2:]), (x[::2], x[1::2])):
        for _ in range(2):
            np.testing.assert_allclose(gradient(first, second), 2.0 * second)


def test_arrays_of_the_module():
    gradient = sdgrad.grad(with_a_global)
    for _ in range(2):
        np.testing.assert_allclose(gradient(GLOBAL.copy()), 2.0 * GLOBAL)
        with pytest.raises(ArgumentError, match="share memory"):
            gradient(GLOBAL)


def test_what_is_only_read_may_be_shared():
    gradient = sdgrad.grad(read_only, wrt=("x", "y"))
    x = np.array([0.5, 1.5, -0.7])
    for _ in range(2):
        assert all(np.array_equal(g, x) for g in gradient(x, x))
