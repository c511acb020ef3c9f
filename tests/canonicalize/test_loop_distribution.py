"""Loops as nests: which become leaves, and that nothing changes where order matters."""

import numpy as np
import pytest

import sdgrad
from sdgrad.convert.callables import bind_arguments
from sdgrad.program.tree import Leaf, Loop, walk
from sdgrad.specialize.signature import Signature

N = 6


def product_of_triangles(A, B):
    C = np.zeros((N, N))
    for i in range(N):
        for j in range(i + 1):
            t = 2.0 * A[i, j]
            for k in range(j, N):
                C[i, k] += t * B[j, k]
    return np.sum(C * C)


def what_a_trip_hands_on(A, B):
    C = np.zeros((N, N))
    for i in range(N - 1, -1, -1):
        row = A[i, :] * 2.0
        top = np.max(row)
        C[i, :] = row * top + B[:, i]
    return np.sum(np.sin(C))


def differences(A, B):
    for i in range(N):
        A[i, :] = A[i, :] - np.sum(B[i, :])
    return np.sum(A * B)


def reads_what_comes_later(A, B):
    for i in range(N - 1):
        B[i, :] = B[i, :] + A[i, i] * np.sum(B[i + 1, :])
    return np.sum(B * A)


NESTS = [product_of_triangles, what_a_trip_hands_on, differences, reads_what_comes_later]


def reads_what_came_before(A, B):
    for i in range(1, N):
        B[i, :] = B[i, :] + A[i, i] * B[i - 1, :]
    return np.sum(B * A)


def last_one_counts(A, B):
    t = np.zeros(N)
    for i in range(N):
        t[:] = A[i, :] * B[i, :]
    return np.sum(t)


def handed_on(A, B):
    t = 0.5
    for i in range(N):
        A[i, 0] = A[i, 0] * t
        t = np.sin(B[i, 0])
    return np.sum(A) + t


def sum_then_product(A, B):
    for i in range(N):
        A[0, :] += B[i, :]
        A[0, :] *= B[:, i]
    return np.sum(A)


def after_the_loop(A, B):
    k = 0
    for i in range(N):
        A[i, 0] = B[0, i]
        k = i
    return np.sum(A) * B[k, k]


def some_trips_read_others(A, B):
    for i in range(N):
        A[i, :] = A[N - 1 - i, :] * B[i, :]
    return np.sum(A)


ORDERED = [reads_what_came_before, last_one_counts, handed_on, sum_then_product, some_trips_read_others]


def arguments():
    rng = np.random.default_rng(0)
    return rng.standard_normal((N, N)), rng.standard_normal((N, N))


def loops(function):
    names = bind_arguments(function, arguments(), {})
    program = Signature.of(function, names).program
    return [n for n in walk(program.body) if isinstance(n, Loop)]


@pytest.mark.parametrize("function", NESTS, ids=lambda f: f.__name__)
def test_trips_in_any_order_are_a_nest(function):
    assert not loops(function)


@pytest.mark.parametrize("function", ORDERED, ids=lambda f: f.__name__)
def test_other_loops_stay(function):
    assert loops(function)


@pytest.mark.parametrize("function", [*NESTS, *ORDERED, after_the_loop], ids=lambda f: f.__name__)
def test_gradients(function):
    value, gradients = sdgrad.value_and_grad(function, wrt=("A", "B"))(*arguments())
    assert value == pytest.approx(function(*arguments()), rel=1e-12)
    for k, found in enumerate(gradients):
        direction = np.random.default_rng(k).standard_normal((N, N))
        at = []
        for step in (1e-6, -1e-6):
            moved = list(arguments())
            moved[k] = moved[k] + step * direction
            at.append(function(*moved))
        assert np.sum(found * direction) == pytest.approx((at[0] - at[1]) / 2e-6, rel=1e-6)


def started_by_no_trip(A, B):
    t = np.sum(A[0, :])
    for _ in range(3, 3):
        t = np.sum(B[0, :])
    return t * t


def test_loops_over_nothing():
    A, B = arguments()
    value, gradient = sdgrad.value_and_grad(started_by_no_trip)(A, B)
    assert value == pytest.approx(np.sum(A[0]) ** 2)
    np.testing.assert_allclose(gradient[0], 2 * np.sum(A[0]))


def test_a_matrix_product_is_one_leaf():
    """The loops of a product, and its adjoint, are products for BLAS."""

    names = bind_arguments(product, arguments(), {})
    body = Signature.of(product, names).program.body
    assert any(isinstance(n, Leaf) and len(n.params) == 3 for n in body)


def product(A, B):
    C = np.zeros((N, N))
    for i in range(N):
        for j in range(N):
            for k in range(N):
                C[i, j] += A[i, k] * B[k, j]
    return np.sum(C * C)


def assigned_by_no_trip(A, B):
    s = B[0, 0]
    for _ in range(0):
        s = np.sin(A[0, 0])
    t = B[1, 1]
    for i in range(1, 2):
        t = A[i, i] * 2.0
    return np.sum(A) + s * t


def test_loops_over_nothing_assign_nothing():
    A, B = arguments()
    value, (dA, dB) = sdgrad.value_and_grad(assigned_by_no_trip, wrt=("A", "B"))(A, B)
    assert value == pytest.approx(assigned_by_no_trip(A, B))
    assert dB[0, 0] == pytest.approx(2 * A[1, 1]) and dB[1, 1] == 0.0
    assert dA[1, 1] == pytest.approx(1 + 2 * B[0, 0]) and dA[0, 0] == 1.0
