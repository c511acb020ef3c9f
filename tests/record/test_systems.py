"""Linear systems of SciPy's, LU factors, matrices of a structure: beside SciPy and differences."""

import numpy as np
import pytest
import scipy.linalg
from references import assert_close

import sdgrad
from sdgrad.errors import ParseError
from sdgrad.testing import check_grads

RNG = np.random.default_rng(0)
A, B = RNG.standard_normal((4, 4)), RNG.standard_normal((4, 2))
POSITIVE, TALL, STACK = A @ A.T + np.eye(4), RNG.standard_normal((5, 3)), RNG.standard_normal((2, 3, 3))
Z = RNG.standard_normal((3, 3)) + 1j * RNG.standard_normal((3, 3))
HERMITIAN = Z @ np.conj(Z.T) + np.eye(3)
BANDS = np.vstack([RNG.standard_normal(5), RNG.standard_normal(5) + 4.0, RNG.standard_normal((2, 5))])
KINDS = ("gen", "sym", "pos", "her", "diagonal", "tridiagonal", "upper triangular", "lower triangular", "banded")


@pytest.fixture(autouse=True)
def compiled_soon():
    with sdgrad.config.override(optimization_level=0):
        yield


def both_modes(f, *args):
    check_grads(f, args, modes=("rev", "fwd"))


def test_kinds_of_matrices():
    def all_kinds(a, b):
        return tuple(scipy.linalg.solve(a, b, assume_a=kind) for kind in KINDS)

    def turned(a, b):
        some = [k for k in KINDS if k not in ("her", "banded")]
        return tuple(scipy.linalg.solve(a, b, assume_a=k, lower=True, transposed=True) for k in some)

    both_modes(all_kinds, POSITIVE + 0.1 * np.triu(A), B)
    both_modes(turned, POSITIVE + 0.1 * np.triu(A), B)
    both_modes(lambda a, b: tuple(scipy.linalg.solve(a, b, assume_a=k) for k in ("sym", "pos", "her")), HERMITIAN, Z[0])
    both_modes(lambda a, b: scipy.linalg.solve(a, b), STACK, B[:3])
    for kind in ("gen", "diagonal", "upper triangular"):
        with pytest.raises(np.linalg.LinAlgError, match=r"[Ss]ingular"):
            sdgrad.vjp(lambda a, kind=kind: scipy.linalg.solve(a, B, assume_a=kind), np.diag([1.0, 0.0, 1.0, 1.0]))
    with pytest.raises(np.linalg.LinAlgError, match="positive definite"):
        sdgrad.vjp(lambda a: scipy.linalg.solve(a, B, assume_a="pos"), -POSITIVE)
    with pytest.raises(ValueError, match="not a recognized"):
        sdgrad.vjp(lambda a: scipy.linalg.solve(a, B, assume_a="odd"), A)


def test_least_squares():
    both_modes(lambda a, b: scipy.linalg.lstsq(a, b)[:2], TALL, TALL[:, :2] + 1.0)
    both_modes(lambda a, b: scipy.linalg.lstsq(a, b)[:2], TALL, TALL[:, 0] ** 2)
    both_modes(lambda a, b: scipy.linalg.lstsq(a, b, lapack_driver="gelsy")[0], Z[:, :2], Z[0])
    found, wanted = sdgrad.vjp(lambda a: scipy.linalg.lstsq(a, A[0])[2:], A)[0], scipy.linalg.lstsq(A, A[0])[2:]
    assert found[0] == wanted[0] == 4
    assert_close(found[1], wanted[1], 1e-12, "singular values")


def factors(a):
    return scipy.linalg.lu_factor(a)[0], *scipy.linalg.lu(a), *scipy.linalg.lu(a, permute_l=True)


def test_factors():
    for matrix in (TALL, np.ascontiguousarray(TALL.T), Z):
        both_modes(factors, matrix)
    both_modes(lambda a: (*scipy.linalg.lu(a), *scipy.linalg.lu(a, p_indices=True)[1:]), STACK)
    places = lambda a: (scipy.linalg.lu_factor(a)[1], scipy.linalg.lu(a, p_indices=True)[0])  # noqa: E731
    for found, wanted in zip(sdgrad.vjp(places, TALL)[0], places(TALL), strict=True):
        assert found.dtype == wanted.dtype and np.array_equal(found, wanted)
    check_grads(lambda a: np.sum(np.sin(scipy.linalg.lu_factor(a)[0])), (A,), order=2)
    with sdgrad.config.override(verify="never"):  # SciPy refuses these
        nothing, places = sdgrad.compile_forward(lambda a: scipy.linalg.lu_factor(a))(np.full((3, 3), np.nan))
    assert np.isnan(nothing).all() and np.array_equal(places, [0, 1, 2])


def test_solutions_by_factors():
    def all_ways(a, b):
        found = scipy.linalg.lu_factor(a)
        return tuple(scipy.linalg.lu_solve(found, b, trans=t) for t in (0, 1, 2))

    both_modes(all_ways, A, B)
    both_modes(all_ways, Z, Z[0])
    order = np.array([2, 2, 2], np.int32)
    f = lambda a, p: scipy.linalg.lu_solve((a, p), np.arange(3.0))  # noqa: E731
    triangles = np.eye(3) + np.arange(9.0).reshape(3, 3)
    assert_close(sdgrad.vjp(lambda a: f(a, order), triangles)[0], f(triangles, order), 1e-12, "factors of others")
    with pytest.raises(ParseError, match="write a loop"):
        sdgrad.vjp(lambda a: scipy.linalg.lu_solve(scipy.linalg.lu_factor(a), B[:3, 0]), STACK)


def test_bands():
    def several(a, b):
        return scipy.linalg.solve_banded((2, 1), a, b), scipy.linalg.solve_banded((1, 2), np.roll(a, 1, 0), b[:, 0])

    both_modes(several, BANDS, TALL)
    both_modes(several, BANDS + 0.3j, TALL + 1j)
    check_grads(lambda a: np.sum(np.sin(scipy.linalg.solve_banded((2, 1), a, TALL))), (BANDS,), order=2)
    with pytest.raises(np.linalg.LinAlgError, match="singular"):
        sdgrad.vjp(lambda a: scipy.linalg.solve_banded((2, 1), a, TALL), 0.0 * BANDS)
    with pytest.raises(ValueError, match="lower and upper diagonals"):
        sdgrad.vjp(lambda a: scipy.linalg.solve_banded((1, 1), a, TALL), BANDS)


def test_bands_of_positive_definite_matrices():
    bands = 0.3 * BANDS[1:]

    def both(a, b):
        return scipy.linalg.solveh_banded(a, b, lower=True), scipy.linalg.solveh_banded(np.flip(a, 0), b[:, 0])

    both_modes(both, bands, TALL)
    both_modes(both, bands + 0.1j, TALL + 1j)
    with pytest.raises(np.linalg.LinAlgError, match="not positive definite"):
        sdgrad.vjp(lambda a: scipy.linalg.solveh_banded(a, TALL, lower=True), -bands)


def test_matrices_of_a_structure():
    def several(c, r):
        return (
            scipy.linalg.toeplitz(c, r), scipy.linalg.toeplitz(c), scipy.linalg.hankel(c), scipy.linalg.hankel(c, r),
            scipy.linalg.circulant(c), scipy.linalg.companion(c), scipy.linalg.leslie(r, c),
            scipy.linalg.block_diag(c, r[:, None], 2.0), scipy.linalg.khatri_rao(r[:, None] * c, r[None, :4] + c),
        )  # fmt: skip

    both_modes(several, A[0] + 3.0, BANDS[1])
    both_modes(several, A[0] + 3j, BANDS[1] + 1j)
    both_modes(lambda x: (scipy.linalg.fiedler(x), scipy.linalg.toeplitz(x), scipy.linalg.circulant(x)), A)
    wanted = [scipy.linalg.convolution_matrix(A[0], n, mode) for n in (1, 3, 6) for mode in ("full", "same", "valid")]
    found = sdgrad.vjp(
        lambda x: tuple(scipy.linalg.convolution_matrix(x, n, m) for n in (1, 3, 6) for m in ("full", "same", "valid")),
        A[0],
    )[0]
    assert all(np.array_equal(a, b) for a, b in zip(found, wanted, strict=True))
    with pytest.raises(ValueError, match="must not be zero"):
        sdgrad.vjp(scipy.linalg.companion, np.array([0.0, 1.0, 2.0]))


def test_systems_of_a_structure():
    def several(c, r, b):
        return (
            scipy.linalg.solve_toeplitz((c, r), b), scipy.linalg.solve_toeplitz(c, b[:, 0]),
            scipy.linalg.matmul_toeplitz((c, r), b), scipy.linalg.solve_circulant(c, b),
        )  # fmt: skip

    column = A[0] + np.array([4.0, 0.0, 0.0, 0.0])
    both_modes(several, column, A[1], B)
    with pytest.raises(np.linalg.LinAlgError, match="near singular"):
        sdgrad.vjp(lambda c: scipy.linalg.solve_circulant(c, c), np.ones(4))


def test_single_precision_is_kept():
    def several(a):
        return scipy.linalg.lu_factor(a)[0], scipy.linalg.solve(a, a[0]), scipy.linalg.toeplitz(a[0])

    found, pull = sdgrad.vjp(several, A.astype(np.float32))
    for got, wanted in zip(found, several(A), strict=True):
        assert got.dtype == np.float32
        assert_close(got, wanted, 1e-3, "value")
    assert pull(found)[0].dtype == np.float32


def test_triangle_of_one_element():
    both_modes(lambda a, b: scipy.linalg.solve_triangular(a, b, trans=1), np.array([[2.0]]), np.array([3.0]))
    both_modes(lambda a, b: scipy.linalg.solve_triangular(a, b, lower=True), np.array([[2.0]]), np.ones((1, 3)))
