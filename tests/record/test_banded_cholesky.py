"""Cholesky's factors of matrices of bands: SciPy's bands, and derivatives by differences."""

import numpy as np
import pytest
import scipy.linalg

import sdgrad
from sdgrad.errors import ParseError
from sdgrad.testing import check_grads

RNG = np.random.default_rng(8)
N = 6


def bands(count, lower, dtype=float):
    """A positive definite matrix, with numbers in the corners that belong to none."""
    found = RNG.standard_normal((count + 1, N)).astype(dtype) * 0.3
    if dtype is complex:
        found += 0.3j * RNG.standard_normal((count + 1, N))
    found[0 if lower else count] = 3.0 + RNG.random(N)
    return found


@pytest.mark.parametrize("dtype", [float, complex])
@pytest.mark.parametrize("lower", [False, True])
@pytest.mark.parametrize("count", [0, 1, 3])
def test_factor_and_solution(count, lower, dtype):
    def factor(a):
        return scipy.linalg.cholesky_banded(a, lower=lower)

    def solution(a, b):
        return scipy.linalg.cho_solve_banded((factor(a), lower), b)

    a, b = bands(count, lower, dtype), RNG.standard_normal((N, 2)).astype(dtype)
    np.testing.assert_allclose(sdgrad.compile_forward(factor)(a), factor(a), rtol=1e-13)
    np.testing.assert_allclose(sdgrad.compile_forward(solution)(a, b), solution(a, b), rtol=1e-12)
    check_grads(factor, (a,), modes=("rev", "fwd"))
    check_grads(solution, (a, b), modes=("rev", "fwd"))
    check_grads(lambda a, b: np.sum(np.abs(solution(a, b[:, 0])) ** 2), (a, b), 2)


def test_log_determinant_in_a_likelihood():
    """That of a Gaussian Markov process, beside the dense one."""

    def f(phi, y):
        ab = np.stack([np.concatenate([[1.0], np.full(N - 2, 1.0 + phi**2), [1.0]]), np.full(N, -phi)])
        c = scipy.linalg.cholesky_banded(ab, lower=True)
        return 0.5 * y @ scipy.linalg.cho_solve_banded((c, True), y) - np.sum(np.log(c[0]))

    y = RNG.standard_normal(N)
    dense = np.diag([1.0, *[1.36] * (N - 2), 1.0]) - 0.6 * (np.eye(N, k=1) + np.eye(N, k=-1))
    wanted = 0.5 * y @ np.linalg.solve(dense, y) - 0.5 * np.linalg.slogdet(dense)[1]
    assert sdgrad.compile_forward(f)(0.6, y) == pytest.approx(wanted, rel=1e-12)
    check_grads(f, (0.6, y), 2)


def test_many_rows():
    """The code of a program does not grow with the matrix."""
    a = np.stack([np.full(3000, 2.5), np.full(3000, -1.0)])
    f = lambda a: np.sum(np.log(scipy.linalg.cholesky_banded(a, lower=True)[0]))  # noqa: E731
    value, slope = sdgrad.value_and_grad(f)(a)
    assert value == pytest.approx(f(a), rel=1e-13)
    inverse = scipy.linalg.solveh_banded(a, np.eye(3000)[:, [1500]], lower=True)[:, 0]
    assert slope[0, 1500] == pytest.approx(0.5 * inverse[1500], rel=1e-10)


def test_refusals():
    with pytest.raises(np.linalg.LinAlgError, match="positive definite"):
        sdgrad.compile_forward(lambda a: scipy.linalg.cholesky_banded(a))(np.array([[0.0, 2.0, 2.0], [1.0, 1.0, 1.0]]))
    with pytest.raises(ValueError, match="not compatible"):
        sdgrad.compile_forward(lambda a, b: scipy.linalg.cho_solve_banded((a, True), b))(np.ones((2, 3)), np.ones(4))
    with pytest.raises(ParseError, match="write a loop"):
        sdgrad.compile_forward(lambda a: scipy.linalg.cholesky_banded(a))(np.ones((2, 2, 3)))
