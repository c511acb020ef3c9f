"""Products over triangles: they are BLAS calls, and what they compute."""

import numpy as np
import pytest

import sdgrad
from sdgrad.convert.callables import bind_arguments
from sdgrad.optimize import optimize
from sdgrad.program.tree import NodeCall, walk

N, K = 150, 20


def lower(A, B, C, s):
    for i in range(N):
        for j in range(i + 1):
            for k in range(K):
                C[i, j] += s * A[i, k] * B[j, k]
    return np.sum(C * C)


def transposed_and_subtracted(A, B, C, s):
    for i in range(N):
        for j in range(i + 1, N):
            for k in range(K):
                C[j, i] -= A[i, k] * B[j, k] * s
    return np.sum(C * C)


def summed_over_a_triangle(A, B, C, s):
    for i in range(N):
        for j in range(K):
            for r in range(i):
                A[i, j] += C[i, r] * B[r, j] * s
    return np.sum(A * A)


def columns_below(A, B, C, s):
    D = np.zeros((N, K))
    for i in range(N):
        for j in range(K):
            D[i, j] = np.dot(C[i + 1 :, i], B[i + 1 :, j])
    return np.sum(D * D * s)


def slanted(A, B, C, s):
    D = np.zeros((N, N))
    for i in range(N):
        D[i, i:] = C[:, i] @ C[:, i:] / s
        D[i:, i] = D[i, i:]
    return np.sum(D * D)


def in_place(A, B, C, s):
    for i in range(N):
        for j in range(K):
            B[i, j] += s * np.dot(C[i + 1 :, i], B[i + 1 :, j])
    return np.sum(B * B)


PROGRAMS = [lower, transposed_and_subtracted, summed_over_a_triangle, columns_below, slanted, in_place]
WRT = ("A", "B", "C", "s")


def arguments():
    rng = np.random.default_rng(0)
    shapes = [(N, K), (N, K), (N, N)]
    return [0.3 * rng.standard_normal(shape) for shape in shapes] + [0.7]


@pytest.mark.parametrize("function", PROGRAMS, ids=lambda f: f.__name__)
def test_gradients(function):
    value, gradients = sdgrad.value_and_grad(function, wrt=WRT)(*arguments())
    assert value == pytest.approx(function(*arguments()), rel=1e-12)
    for k, found in enumerate(gradients):
        direction = np.random.default_rng(k).standard_normal(np.shape(found))
        at = []
        for step in (1e-5, -1e-5):
            moved = arguments()
            moved[k] = moved[k] + step * direction
            at.append(function(*moved))
        slope = (at[0] - at[1]) / 2e-5
        assert np.sum(found * direction) == pytest.approx(slope, rel=1e-6, abs=1e-6 * abs(value))


@pytest.mark.parametrize("function", PROGRAMS, ids=lambda f: f.__name__)
def test_they_are_calls(function):
    gradient = sdgrad.value_and_grad(function, wrt=WRT)
    signature, _, _, request = gradient.question(bind_arguments(gradient.f, tuple(arguments()), {}))
    program = optimize(signature.gradient(request).result.program)
    assert sum(isinstance(n, NodeCall) for n in walk(program.body)) >= 3  # the product, and two of its adjoint


def test_what_an_update_overwrites_is_kept_once():
    """Instances of a triangle read the same elements; the tape has these, and not one for each instance."""
    plan = sdgrad.explain(in_place, *arguments(), wrt="C")
    assert plan.bytes_kept <= 8 * N * K
