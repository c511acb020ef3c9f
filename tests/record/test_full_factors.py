"""Factors with the vectors beside, with pivots, of Hermitian matrices: beside NumPy and SciPy, differences and JAX."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.linalg
from references import assert_close

import sdgrad
from sdgrad.errors import ParseError

RNG = np.random.default_rng(0)


def drawn(*shape, of_complex=False):
    found = RNG.standard_normal(shape)
    return found + 1j * RNG.standard_normal(shape) if of_complex else found


TALL, WIDE, SQUARE, STACK = drawn(5, 3), drawn(3, 5), drawn(4, 4), drawn(2, 4, 2)
COMPLEX_TALL, COMPLEX_WIDE, COMPLEX_SQUARE = (drawn(*s, of_complex=True) for s in ((5, 3), (3, 5), (4, 4)))
EQUAL = 2.0 * scipy.linalg.qr(WIDE.T, mode="economic")[0].T
WEIGHTS, COMPLEX_WEIGHTS = drawn(5, 5), drawn(5, 5, of_complex=True)


@pytest.fixture(autouse=True)
def compiled_soon():
    with sdgrad.config.override(optimization_level=0):
        yield


def by_weights(x):
    """A sum with weights of the parts of a matrix."""
    return np.sum(np.real(x * np.conj(COMPLEX_WEIGHTS[: x.shape[-2], : x.shape[-1]])))


def on(basis):
    """A function of the space of columns."""
    return by_weights(basis @ np.conj(np.swapaxes(basis, -1, -2)))


def sizes(x):
    """A function of vectors that sees no signs and phases."""
    return np.sum(np.abs(x) ** 4 * WEIGHTS[: x.shape[-2], : x.shape[-1]])


def singular(a):
    u, s, v = np.linalg.svd(a)
    k = s.shape[-1]
    beside = u[..., :, k:] if a.shape[-2] > k else np.swapaxes(v[..., k:, :], -1, -2)
    return on(beside) + np.sum(s**3) + sizes(u[..., :, :k]) + sizes(v[..., :k, :])


def orthogonal(a):
    q, r = np.linalg.qr(a, mode="complete")
    n = a.shape[-1]
    return on(q[..., :, n:]) + by_weights(q[..., :, :n]) + by_weights(r**2)


def pivoted(a):
    q, r, order = scipy.linalg.qr(a, mode="economic", pivoting=True)
    return by_weights(q) + by_weights(r**2) + np.sum(order * np.abs(r[0]))


def mirrored(a):
    r, q = scipy.linalg.rq(a, mode="economic")
    full = scipy.linalg.rq(a)
    beside = full[1][: q.shape[1] - q.shape[0]]
    return by_weights(q) + by_weights(r**2) + by_weights(full[0]) + on(np.swapaxes(beside, 0, 1))


def of_spaces(a):
    """The two projections add up to the identity: only different weights leave a gradient."""
    return on(scipy.linalg.null_space(a)) + 3.0 * on(scipy.linalg.orth(np.conj(np.swapaxes(a, 0, 1))))


def hermitian(a):
    u, s, v = np.linalg.svd(a, hermitian=True)
    values = np.linalg.svd(a, compute_uv=False, hermitian=True)
    return sizes(u) + sizes(v) + np.sum(s**3) + values[1] ** 2 + by_weights(np.linalg.pinv(a, hermitian=True))


def made_of_factors(a):
    """Products with factors, angles between spaces of columns, eigenvalues by bands."""
    left, r, order = scipy.linalg.qr_multiply(a, WEIGHTS[:3, :2], "left", pivoting=True)
    right, _ = scipy.linalg.qr_multiply(a, WEIGHTS[0], conjugate=True)
    angles = scipy.linalg.subspace_angles(a[:, :2], COMPLEX_WEIGHTS[:, :3])
    near = scipy.linalg.subspace_angles(a[:, 1:], a[:, :2] + 0.01 * WEIGHTS[:, :2])
    w, v = scipy.linalg.eig_banded(a.T)
    values = scipy.linalg.eigvals_banded(a, lower=True)
    total = by_weights(left) + np.sum(np.real(right) ** 3) + by_weights(r**2) + np.sum(angles**2) + np.sum(near**3)
    return total + np.sum(w**3) + sizes(v) + values[0] ** 2 + np.sum(order * np.abs(left[:3, 0]))


CASES = {
    "products": (made_of_factors, TALL), "products complex": (made_of_factors, COMPLEX_TALL),
    "svd tall": (singular, TALL), "svd wide": (singular, WIDE), "svd of a stack": (singular, STACK),
    "svd complex wide": (singular, COMPLEX_WIDE),
    "qr tall": (orthogonal, TALL), "qr complex": (orthogonal, COMPLEX_TALL),
    "pivoted wide": (pivoted, WIDE), "pivoted complex": (pivoted, COMPLEX_SQUARE),
    "rq wide": (mirrored, WIDE), "rq tall": (mirrored, TALL), "rq complex": (mirrored, COMPLEX_WIDE),
    "spaces": (of_spaces, WIDE), "spaces complex": (of_spaces, COMPLEX_WIDE),
    "hermitian": (hermitian, SQUARE), "hermitian complex": (hermitian, COMPLEX_SQUARE),
}  # fmt: skip

TWICE = ("svd tall", "svd wide", "qr tall", "pivoted wide", "rq wide", "spaces", "hermitian")


def slope(f, x, direction, h=1e-6):
    return (f(x + h * direction) - f(x - h * direction)) / (2 * h)


def differences(f, x):
    found = np.zeros_like(x)
    for i in np.ndindex(x.shape):
        step = np.zeros_like(x)
        for unit in (1, 1j) if x.dtype.kind == "c" else (1,):
            step[i] = unit
            found[i] += unit * slope(f, x, step)
    return found


@pytest.mark.parametrize("name", CASES)
def test_gradients(name):
    f, x = CASES[name]
    value, gradient = sdgrad.value_and_grad(f)(x)
    assert_close(value, f(x), 1e-12, "value")
    assert_close(gradient, differences(f, x), 1e-6, "gradient")
    direction = np.random.default_rng(1).standard_normal(x.shape).astype(x.dtype)
    along = np.sum(np.real(np.conj(gradient) * direction))
    assert_close(sdgrad.jvp(f, (x,), (direction,))[1], along, 1e-11, "forward mode")
    if name in TWICE:
        wanted = slope(sdgrad.grad(f), x, direction, 1e-5)
        assert_close(sdgrad.hvp(f, (x,), (direction,)), wanted, 1e-6, "second derivative")


def test_gauge():
    """The derivative of a basis of the space beside has no part within this space, and is what tangents are."""
    tangent = drawn(3, 5)
    beside = np.linalg.svd(WIDE)[2][3:]
    moved = sdgrad.jvp(lambda a: np.linalg.svd(a)[2][3:], (WIDE,), (tangent,))[1]
    assert_close(moved, -(beside @ tangent.T) @ np.linalg.pinv(WIDE).T, 1e-12, "tangent")
    left = np.linalg.qr(TALL, mode="complete")[0][:, 3:]
    moved = sdgrad.jvp(lambda a: np.linalg.qr(a, mode="complete")[0][:, 3:], (TALL,), (tangent.T,))[1]
    assert_close(moved, -(np.linalg.pinv(TALL).T @ tangent @ left), 1e-12, "tangent of QR")


def all_factors(*matrices):
    found = []
    for a in matrices:
        found += [*np.linalg.svd(a), *np.linalg.qr(a, mode="complete"), *scipy.linalg.rq(a), *scipy.linalg.qr(a)]
        found += [*scipy.linalg.qr(a, pivoting=True), *scipy.linalg.qr(a, mode="economic", pivoting=True)]
        found += [*scipy.linalg.qr(a, mode="r", pivoting=True), *scipy.linalg.rq(a, mode="economic")]
        found += [scipy.linalg.orth(a), scipy.linalg.null_space(a), scipy.linalg.rq(a, mode="r")]
        if a.shape[0] == a.shape[1]:
            found += [*np.linalg.svd(a, hermitian=True), np.linalg.pinv(a, hermitian=True)]
            found += [np.linalg.svd(a, compute_uv=False, hermitian=True), np.linalg.matrix_rank(a, hermitian=True)]
    return found


@pytest.mark.parametrize("dtype, precision", [("f8", 1e-11), ("c16", 1e-11), ("f4", 2e-3)])
def test_values(dtype, precision):
    given = (COMPLEX_TALL, COMPLEX_WIDE, COMPLEX_SQUARE) if dtype == "c16" else (TALL, WIDE, SQUARE)
    given = [a.astype(dtype) for a in given]
    found, wanted = sdgrad.compile_forward(all_factors)(*given), all_factors(*given)
    for k, (one, other) in enumerate(zip(found, wanted, strict=True)):
        assert np.asarray(one).dtype == np.asarray(other).dtype, k
        assert_close(one, other, precision, f"result {k}")


def test_matrices_without_elements():
    def factors(a, b):
        return (*np.linalg.svd(a), *np.linalg.svd(b), *np.linalg.qr(b, mode="complete"), scipy.linalg.null_space(a))

    given = WIDE[:0], TALL[:, :0]
    for one, other in zip(sdgrad.compile_forward(factors)(*given), factors(*given), strict=True):
        assert_close(one, other, 1e-15, "factor")


def test_jax_says_the_same_of_projections():
    def of_null_space(a):
        return jnp.sum((jnp.eye(5) - jnp.linalg.pinv(a) @ a) * COMPLEX_WEIGHTS.real)

    def ours(a):
        return on(scipy.linalg.null_space(a))

    assert_close(sdgrad.grad(ours)(WIDE), np.asarray(jax.grad(of_null_space)(WIDE)), 1e-11, "gradient")
    assert_close(
        sdgrad.grad(ours)(EQUAL), np.asarray(jax.grad(of_null_space)(EQUAL)), 1e-11, "of equal singular values"
    )


def test_a_rank_that_decides_the_size_is_refused():
    of_rank_two = WIDE.copy()
    of_rank_two[2] = WIDE[0] - WIDE[1]
    for f in (scipy.linalg.null_space, scipy.linalg.orth):
        compiled = sdgrad.compile_forward(f)
        compiled(WIDE)
        with pytest.raises(np.linalg.LinAlgError, match="the rank of a matrix is less"):
            compiled(of_rank_two)


@pytest.mark.parametrize(
    "f, message",
    [
        (lambda x: np.sum(np.linalg.qr(x, mode="raw")[0]), "mode='raw'"),
        (lambda x: np.sum(scipy.linalg.qr(x, mode="raw")[1]), "mode='raw'"),
    ],
)
def test_what_is_refused(f, message):
    with pytest.raises(ParseError, match=message):
        sdgrad.grad(f)(TALL)
    with pytest.raises(ValueError, match="Unrecognized mode"):
        sdgrad.grad(lambda x: np.sum(np.linalg.qr(x, mode="best")[0]))(TALL)
