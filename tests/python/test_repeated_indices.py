"""Repeated indices mean what they mean in NumPy: the last value wins, and ``h[i] += a`` adds once."""

import numpy as np
import pytest

import sdgrad

I, J = np.array([0, 0]), np.array([2, 0, 2])
W = np.array([1.0, 2.0, 3.0])


def assigned(a):
    h = np.zeros(3) * a[0]
    h[I] = a[:2]
    return np.sum(h**2)


def added(a):
    h = np.zeros(3)
    h[J] += a
    return np.sum(h**3 * W)


def subtracted(a):
    h = np.cos(a)
    h[J] -= a * a
    return np.sum(h**3 * W)


def multiplied(a):
    h = np.cos(a)
    h[J] *= a
    return np.sum(h**2 * W)


def divided(a):
    h = np.cos(a)
    h[J] /= a + 3
    return np.sum(h**2 * W)


def to_a_power(a):
    h = np.cos(a) + 2
    h[J] **= a
    return np.sum(h * W)


def rows(a):
    h = np.zeros((2, 3))
    h[I] = np.stack((2 * a, a * a))
    return np.sum(h**2)


def read_and_written(a):
    h = a * a
    h[I] = h[J[:2]] * a[1:]
    return np.sum(h**2 * W)


def in_a_loop(a):
    h = a * a
    for k in range(2):
        h[J] = h * a + k
    return np.sum(h**2 * W)


def accumulated(a):
    h = np.cos(a)
    np.add.at(h, J, a * a)
    return np.sum(h**2 * W)


FUNCTIONS = (assigned, added, subtracted, multiplied, divided, to_a_power, rows, read_and_written, in_a_loop)
A = np.array([0.7, 1.1, 1.3])


def differences(f, a, step=1e-5):
    return np.array([(f(a + step * d) - f(a - step * d)) / (2 * step) for d in np.eye(len(a))])


@pytest.mark.parametrize("f", [*FUNCTIONS, accumulated])
def test_constant_indices(f):
    value, found = sdgrad.value_and_grad(f)(A)
    assert value == pytest.approx(f(A.copy()), rel=1e-14)
    np.testing.assert_allclose(found, differences(f, A), rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("f", [*FUNCTIONS, accumulated])
def test_second_derivatives(f):
    gradient = sdgrad.grad(f)
    wanted = differences(gradient, A)
    np.testing.assert_allclose(sdgrad.hessian(f)(A), wanted, rtol=1e-7, atol=1e-7)
    np.testing.assert_allclose(sdgrad.jacobian(gradient, mode="reverse")(A), wanted, rtol=1e-7, atol=1e-7)
    np.testing.assert_allclose(sdgrad.hvp(f, (A,), (A,)), wanted @ A, rtol=1e-7, atol=1e-7)


def with_argument(a, i):
    h = np.cos(a)
    h[i] += a * a
    h[i] = h * a
    return np.sum(h**2 * W)


@pytest.mark.parametrize("indices", [(2, 0, 2), (0, 0, 0), (-1, 2, 1)])
def test_indices_that_are_arguments(indices):
    i = np.array(indices)
    value, found = sdgrad.value_and_grad(with_argument)(A, i)
    assert value == pytest.approx(with_argument(A, i), rel=1e-14)
    np.testing.assert_allclose(found, differences(lambda a: with_argument(a, i), A), rtol=1e-8, atol=1e-9)
    np.testing.assert_allclose(
        sdgrad.hessian(with_argument)(A, i),
        differences(lambda a: sdgrad.grad(with_argument)(a, i), A),
        rtol=1e-7,
        atol=1e-7,
    )


def test_one_element():
    def f(a):
        h = np.zeros(1)
        h[I] = a
        return h[0] ** 2

    np.testing.assert_array_equal(sdgrad.grad(f)(np.array([3.0, 5.0])), [0.0, 10.0])
