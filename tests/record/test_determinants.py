"""Determinants, also of matrices without an inverse: derivatives beside minors that NumPy computes."""

import numpy as np
import pytest
from references import assert_close

import sdgrad
from sdgrad.testing import check_grads

RNG = np.random.default_rng(0)


@pytest.fixture(autouse=True)
def compiled_soon():
    with sdgrad.config.override(optimization_level=0):
        yield


def cofactors(a):
    def minor(i, j):
        return (-1) ** (i + j) * np.linalg.det(np.delete(np.delete(a, i, 0), j, 1))

    n = len(a)
    return np.array([[minor(i, j) for j in range(n)] for i in range(n)])


def of_rank(n, rank):
    return RNG.standard_normal((n, rank)) @ RNG.standard_normal((rank, n))


@pytest.mark.parametrize("n", [2, 3, 4, 5, 6])
def test_derivatives_of_determinants_of_every_rank(n):
    def det(x):
        return np.linalg.det(x)

    slope = sdgrad.grad(det)
    direction = RNG.standard_normal((n, n))
    special = [np.eye(n), np.zeros((n, n)), np.ones((n, n)), np.diag([0.0, *range(1, n)])]
    for x in [of_rank(n, rank) for rank in range(n, max(n - 4, 0), -1)] + special:
        scale = max(1.0, np.linalg.norm(x, 2)) ** (n - 1)
        assert np.abs(slope(x) - cofactors(x)).max() <= 1e-13 * scale
        assert abs(sdgrad.jvp(det, (x,), (direction,))[1] - np.sum(cofactors(x) * direction)) <= 1e-12 * scale
        wanted = (cofactors(x + 1e-5 * direction) - cofactors(x - 1e-5 * direction)) / 2e-5
        assert np.abs(sdgrad.hvp(det, (x,), (direction,)) - wanted).max() <= 1e-8 * scale


def test_determinants_of_stacks_and_complex_matrices():
    x = RNG.standard_normal((2, 5, 5))
    z = RNG.standard_normal((5, 5)) + 1j * RNG.standard_normal((5, 5))
    check_grads(lambda a: np.linalg.det(a), (x,), modes=("rev", "fwd"))
    check_grads(lambda a: (np.linalg.det(a), *np.linalg.slogdet(a)), (z,), modes=("rev", "fwd"))
    check_grads(lambda a: np.sum(np.linalg.slogdet(a)[1] ** 2), (x,), order=2)
    check_grads(lambda a: np.abs(np.linalg.det(a) + np.linalg.slogdet(a)[0]) ** 2, (z,), order=2)


def test_singular_matrices_have_a_sign_and_a_logarithm():
    f = lambda a: tuple(np.linalg.slogdet(a))  # noqa: E731
    for n in (2, 3, 5):
        for x in (np.zeros((n, n)), np.ones((n, n)), np.diag([0.0, *range(1, n)])):
            assert sdgrad.vjp(f, x)[0] == (0.0, -np.inf) == f(x)
    assert np.isnan(sdgrad.grad(lambda a: np.linalg.slogdet(a)[1])(np.ones((3, 3)))).all()


def test_products_that_leave_the_range_in_between():
    x = np.diag([1e200, 1e200, 1e-200, 1e-200, 3.0])
    assert_close(sdgrad.vjp(lambda a: np.linalg.det(a), x)[0], 3.0, 1e-12, "determinant")


def test_without_a_library():
    x = RNG.standard_normal((5, 5))
    with sdgrad.config.override(blas="none"):
        value, slope = sdgrad.value_and_grad(lambda a: np.linalg.det(a) + np.linalg.slogdet(a)[0])(x)
    assert_close(value, np.linalg.det(x) + np.linalg.slogdet(x)[0], 1e-12, "value")
    assert_close(slope, cofactors(x), 1e-12, "gradient")
