"""Eigenvalues of general matrices, and decompositions of complex ones: beside NumPy, differences and JAX."""

import jax
import numpy as np
import pytest
import scipy.linalg
from references import assert_close

import sdgrad
from sdgrad.errors import ParseError
from sdgrad.testing import check_grads

RNG = np.random.default_rng(0)
A, TALL = RNG.standard_normal((4, 4)), RNG.standard_normal((5, 3)) + 1j * RNG.standard_normal((5, 3))
Z = RNG.standard_normal((3, 3)) + 1j * RNG.standard_normal((3, 3))
HERMITIAN, STACK = Z @ np.conj(Z.T) + np.eye(3), RNG.standard_normal((2, 3, 3))


@pytest.fixture(autouse=True)
def compiled_soon():
    with sdgrad.config.override(optimization_level=0):
        yield


def both_modes(f, *args):
    check_grads(f, args, modes=("rev", "fwd"))


def spectral(x):
    w, v = np.linalg.eig(x)
    return np.sum(w**3), np.abs(v), (v * np.exp(w)) @ np.linalg.inv(v)


def test_general_eigenvalues():
    both_modes(np.linalg.eig, Z)
    both_modes(spectral, A + 0.5j * A.T)  # of a real one, pairs change their order
    both_modes(lambda x: np.abs(np.linalg.eig(x)[1]) * np.linalg.eigvals(x).real[..., None, :], STACK)
    check_grads(lambda x: np.sum(np.abs(scipy.linalg.eig(x)[1]) ** 4) + np.sum(np.sin(np.abs(scipy.linalg.eigvals(x)))),
                (A,), order=2)  # fmt: skip
    both_modes(lambda x, b: np.sum(scipy.linalg.eigvals(x, b) ** 2), A, A + 5.0 * np.eye(4))


def test_general_eigenvalues_are_complex():
    for matrix in (A, A + A.T):
        w, v = sdgrad.vjp(np.linalg.eig, matrix)[0]
        assert w.dtype == v.dtype == np.complex128
        assert_close(w, np.linalg.eig(matrix)[0].astype(complex), 1e-13, "values")
        assert_close(v, np.linalg.eig(matrix)[1].astype(complex), 1e-12, "vectors")
    w, pull = sdgrad.vjp(np.linalg.eigvals, A.astype(np.float32))
    assert w.dtype == np.complex64 and pull(w)[0].dtype == np.float32


def test_jax_says_the_same_of_eigenvalues():
    def f(x, numpy):
        return numpy.sum(numpy.abs(numpy.linalg.eigvals(x)) ** 3)

    found = sdgrad.grad(lambda x: f(x, np))(A)
    assert_close(found, np.asarray(jax.grad(lambda x: f(x, jax.numpy))(A)), 1e-11, "gradient")


def test_equal_general_eigenvalues():
    assert_close(
        sdgrad.grad(lambda x: np.sum(np.linalg.eigvals(x) ** 2).real)(np.eye(3)), 2 * np.eye(3), 1e-14, "values"
    )
    assert np.isnan(sdgrad.grad(lambda x: np.linalg.eig(x)[1][0, 0].real)(np.eye(3))).any()


def hermitian(x):
    w, v = np.linalg.eigh(x)
    return w, np.abs(v), (v * w**2) @ np.conj(v.T), np.linalg.eigvalsh(x, "U")


def generalised(x, b):
    w, v = scipy.linalg.eigh(x, b)
    return w, np.abs(v), scipy.linalg.eigvalsh(x, b, lower=False)


def singular(x):
    u, s, v = np.linalg.svd(x, full_matrices=False)
    return s, np.abs(u), np.abs(v), (u * np.sin(s)) @ v, np.linalg.norm(x, "nuc")


def test_hermitian_matrices():
    both_modes(hermitian, HERMITIAN)
    both_modes(hermitian, Z)  # the other triangle is not read, nor are imaginary parts of the diagonal
    both_modes(generalised, Z, HERMITIAN)
    both_modes(lambda d, e: scipy.linalg.eigvalsh_tridiagonal(d, e), A[0], A[1, :3])
    check_grads(lambda x: np.sum(np.abs(np.linalg.eigh(x)[1]) ** 4), (HERMITIAN,), order=2)


def test_complex_singular_values():
    both_modes(singular, TALL)
    both_modes(singular, np.ascontiguousarray(TALL.T))
    check_grads(lambda x: np.sum(np.real(singular(x)[3]) ** 2), (Z,), order=2)


def test_other_complex_decompositions():
    def several(x):
        q, r = np.linalg.qr(x)
        return q, r, np.linalg.pinv(x), np.linalg.cond(x), scipy.linalg.pinv(x, rtol=1e-9)

    both_modes(several, TALL)
    both_modes(np.linalg.qr, np.ascontiguousarray(TALL.T))
    both_modes(lambda x, b: np.linalg.lstsq(x, b)[:2], TALL, TALL[:, 0] + 1j)
    both_modes(lambda x: (scipy.linalg.pinvh(x), scipy.linalg.pinvh(x, lower=False)), HERMITIAN)
    flat = np.ones((3, 3)) + 0j
    ranks = lambda x: (scipy.linalg.pinvh(x, return_rank=True)[1], np.linalg.matrix_rank(x))  # noqa: E731
    assert sdgrad.vjp(ranks, flat)[0] == (1, 1)
    both_modes(lambda x: np.linalg.pinv(x), STACK)
    both_modes(np.linalg.cholesky, HERMITIAN)


def test_polar_factors():
    both_modes(lambda x: (*scipy.linalg.polar(x), *scipy.linalg.polar(x[:3], side="left")), TALL)
    both_modes(scipy.linalg.polar, 2.0 * np.linalg.qr(A)[0])  # of equal singular values
    both_modes(scipy.linalg.polar, np.ascontiguousarray(A[:2]))
    both_modes(scipy.linalg.orthogonal_procrustes, A[:, :3], A[:, 1:])
    check_grads(lambda x: np.sum(np.sin(scipy.linalg.polar(x)[0])), (A,), order=2)


@pytest.mark.parametrize("a", [np.eye(2), 2.0 * np.eye(3)[:, :2], 2.0 * np.eye(3)[:2], np.diag([1.0, -1.0, 0.5])])
def test_polar_factors_are_smooth_at_equal_singular_values(a):
    """Their first derivatives are checked against SciPy's values, the second ones against these."""
    weights = np.random.default_rng(1).standard_normal((2, *a.shape))

    def f(x):
        w, p = scipy.linalg.polar(x)
        return np.sum(w * weights[0]) + np.sum((w @ p) ** 2 * weights[1]) + np.sum(p**3)

    gradient, step = sdgrad.grad(f), 1e-5
    slopes, bends = np.zeros(a.shape), np.zeros(a.shape * 2)
    for place in np.ndindex(a.shape):
        moved = [a.copy() for _ in range(2)]
        for m, sign in zip(moved, (1, -1), strict=True):
            m[place] += sign * step
        slopes[place] = (f(moved[0]) - f(moved[1])) / (2 * step)
        bends[(..., *place)] = (gradient(moved[0]) - gradient(moved[1])) / (2 * step)
    np.testing.assert_allclose(gradient(a), slopes, rtol=1e-7, atol=1e-8)
    np.testing.assert_allclose(sdgrad.hessian(f)(a), bends, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize(
    "f, message",
    [
        (np.linalg.eigvalsh, "Eigenvalues did not converge"),
        (lambda x: np.linalg.svd(x)[1], "SVD did not converge"),
        (np.linalg.eigvals, "must not contain infs or NaNs"),
    ],
)
def test_what_is_no_number_is_an_error_as_in_numpy(f, message):
    for value in (np.nan, np.inf):
        bad = np.where(np.eye(3) > 0, value, 1.0)
        for call in (f, lambda x: sdgrad.vjp(f, x)[0]):
            with pytest.raises(np.linalg.LinAlgError, match=message):
                call(bad)


def test_infinite_singular_values_alone_are_none():
    bad = np.full((3, 3), np.inf)
    assert np.isnan(sdgrad.vjp(np.linalg.svdvals, bad)[0]).all()
    assert sdgrad.vjp(lambda x: np.linalg.cond(x), np.zeros((2, 2)))[0] == np.linalg.cond(np.zeros((2, 2)))


@pytest.mark.parametrize(
    "f, message",
    [
        (lambda x: np.abs(scipy.linalg.eig(x, left=True)[1]), "left=True"),
        (lambda x: np.abs(scipy.linalg.eig(x, x)[1]), "of two matrices"),
        (lambda x: scipy.linalg.eig_banded(x, select="i", select_range=(0, 1))[0], "take a part"),
        (lambda x: scipy.linalg.eigh_tridiagonal(x[0], x[1, 1:], select="i", select_range=(0, 1))[0], "take a part"),
    ],
)
def test_what_is_refused(f, message):
    with pytest.raises(ParseError, match=message):
        sdgrad.vjp(f, A)


def test_eigenvalues_of_defective_matrices_have_no_derivative():
    """There is one eigenvector for several values. Beside such a matrix derivatives are right."""
    squares = sdgrad.grad(lambda k: np.sum(np.linalg.eigvals(np.array([[0.0, 1.0], [-k, -2.0]])) ** 2).real)
    assert np.isnan(squares(1.0))
    assert squares(1.0 + 1e-12) == pytest.approx(-2.0, rel=1e-7)
    assert squares(1.7) == pytest.approx(-2.0, rel=1e-14)
