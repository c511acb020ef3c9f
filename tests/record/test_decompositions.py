"""Decompositions of matrices: values beside NumPy's, gradients by differences, in both modes and both orders."""

import jax
import numpy as np
import pytest
import scipy.linalg
from references import assert_close

import sdgrad
from sdgrad.testing import check_grads

RNG = np.random.default_rng(0)
SQUARE, TALL = RNG.standard_normal((4, 4)), RNG.standard_normal((5, 3))
WIDE, SYMMETRIC = np.ascontiguousarray(TALL.T), SQUARE + SQUARE.T
POSITIVE = SQUARE @ SQUARE.T + np.eye(4)
STACK = RNG.standard_normal((2, 3, 3)) + np.eye(3)
WEIGHTS = RNG.standard_normal((5, 5))


def weighted(x):
    """A sum with weights of functions that do not see the signs of vectors."""
    return np.sum(x * x * WEIGHTS[: x.shape[-2], : x.shape[-1]])


def eigenvectors(x):
    w, v = np.linalg.eigh(x)
    return np.sum(w**3) + weighted(v)


def of_upper_triangle(x):
    w, v = np.linalg.eigh(x, "U")
    return np.sum(w**3) + weighted(v)


def singular_vectors(x):
    u, s, v = np.linalg.svd(x, full_matrices=False)
    return np.sum(s**3) + weighted(u) + weighted(v)


def orthogonal(x):
    q, r = np.linalg.qr(x)
    return np.sum(np.sin(q)) + np.sum(r * r * WEIGHTS[: r.shape[0], : r.shape[1]])


def least_squares(x):
    found, rest, _, s = np.linalg.lstsq(x, np.arange(5.0), rcond=None)
    return np.sum(found**2) + rest[0] + np.sum(s)


def generalised(x):
    w, v = scipy.linalg.eigh(x, POSITIVE)
    return np.sum(w**3) + weighted(v)


CASES = {
    "eigh": (eigenvectors, SYMMETRIC),
    "eigh of the other triangle": (of_upper_triangle, SYMMETRIC),
    "eigvalsh": (lambda x: np.sum(np.linalg.eigvalsh(x) ** 3), SYMMETRIC),
    "eigh of a stack": (lambda x: np.sum(np.linalg.eigh(x + x.transpose(0, 2, 1))[1] ** 4), STACK),
    "generalised": (generalised, SYMMETRIC),
    "svd tall": (singular_vectors, TALL),
    "svd wide": (singular_vectors, WIDE),
    "svd square": (singular_vectors, SQUARE),
    "svdvals": (lambda x: np.sum(np.linalg.svd(x, compute_uv=False) ** 3), TALL),
    "svd of a stack": (lambda x: np.sum(np.linalg.svd(x)[1] ** 3), STACK),
    "qr tall": (orthogonal, TALL),
    "qr square": (orthogonal, SQUARE),
    "qr wide": (orthogonal, WIDE),
    "qr r": (lambda x: np.sum(np.linalg.qr(x, mode="r") ** 3 * WEIGHTS[:3, :3]), TALL),
    "pinv": (lambda x: np.sum(np.sin(np.linalg.pinv(x))), TALL),
    "pinv wide": (lambda x: np.sum(np.sin(np.linalg.pinv(x))), WIDE),
    "cond": (np.linalg.cond, SQUARE),
    "cond 1": (lambda x: np.linalg.cond(x, 1), SQUARE),
    "norm 2": (lambda x: np.linalg.norm(x, 2), TALL),
    "norm nuc": (lambda x: np.linalg.norm(x, "nuc"), WIDE),
    "norm -2 of a stack": (lambda x: np.sum(np.linalg.norm(x, -2, axis=(1, 2), keepdims=True)), STACK),
    "lstsq": (least_squares, TALL),
    "polar": (lambda x: np.sum(np.sin(scipy.linalg.polar(x)[0])) + np.sum(scipy.linalg.polar(x)[1] ** 2), TALL),
    "scipy's": (
        lambda x: (
            np.sum(scipy.linalg.svd(x, full_matrices=False)[1] ** 3)
            + weighted(scipy.linalg.qr(x, mode="economic")[1])
            + np.sum(np.sin(scipy.linalg.pinv(x)))
        ),
        TALL,
    ),
}


def differences(f, x, h=1e-6):
    found = np.zeros_like(x)
    for i in np.ndindex(x.shape):
        step = np.zeros_like(x)
        step[i] = h
        found[i] = (f(x + step) - f(x - step)) / (2 * h)
    return found


@pytest.mark.parametrize("name", CASES)
def test_gradients(name):
    f, x = CASES[name]
    value, gradient = sdgrad.value_and_grad(f)(x)
    assert_close(value, f(x), 1e-12, "value")
    assert_close(gradient, differences(f, x), 1e-6, "gradient")
    direction = np.random.default_rng(1).standard_normal(x.shape)
    assert_close(sdgrad.jvp(f, (x,), (direction,))[1], np.sum(gradient * direction), 1e-11, "forward mode")
    slope = sdgrad.grad(f)
    wanted = (slope(x + 1e-5 * direction) - slope(x - 1e-5 * direction)) / 2e-5
    assert_close(sdgrad.hvp(f, (x,), (direction,)), wanted, 1e-6, "second derivative")


@pytest.mark.parametrize("name", ["svd tall", "qr tall", "pinv"])
def test_jax_says_the_same(name):
    f, x = CASES[name]
    text = {"svd tall": singular_vectors, "qr tall": orthogonal}.get(name)

    def in_jax(v):
        import jax.numpy as jnp

        if text is singular_vectors:
            u, s, w = jnp.linalg.svd(v, full_matrices=False)
            return jnp.sum(s**3) + jnp.sum(u * u * WEIGHTS[:5, :3]) + jnp.sum(w * w * WEIGHTS[:3, :3])
        if text is orthogonal:
            q, r = jnp.linalg.qr(v)
            return jnp.sum(jnp.sin(q)) + jnp.sum(r * r * WEIGHTS[:3, :3])
        return jnp.sum(jnp.sin(jnp.linalg.pinv(v)))

    assert_close(sdgrad.grad(f)(x), np.asarray(jax.grad(in_jax)(x)), 1e-10, "gradient")


def test_equal_values_have_derivatives_and_their_vectors_have_none():
    unit = np.eye(3)
    for f in (lambda x: np.sum(np.linalg.eigh(x)[0] ** 3), lambda x: np.sum(np.linalg.svd(x)[1] ** 3)):
        assert_close(sdgrad.grad(f)(unit), 3 * unit, 1e-14, "of values")
    assert np.isnan(sdgrad.grad(lambda x: np.linalg.eigh(x)[1][0, 0])(unit)).any()


LARGE = {
    "eigh": lambda x: np.sum(np.linalg.eigh(x)[0] ** 2) + np.sum(np.linalg.eigh(x)[1] ** 4),
    "svd": lambda x: np.sum(np.linalg.svd(x)[1]) + np.sum(np.linalg.svd(x)[0] ** 4),
    "qr": lambda x: np.sum(np.linalg.qr(x)[0] ** 3) + np.sum(np.linalg.qr(x)[1] ** 2),
}


@pytest.mark.parametrize("name", LARGE)
def test_matrices_of_many_elements(name):
    """A rule with a constant of many elements was refused."""
    x = np.random.default_rng(2).standard_normal((30, 30))
    x, direction = x + x.T, np.tril(np.random.default_rng(3).standard_normal((30, 30)))
    f = LARGE[name]
    wanted = (f(x + 1e-6 * direction) - f(x - 1e-6 * direction)) / 2e-6
    assert_close(np.sum(sdgrad.grad(f)(x) * direction), wanted, 1e-6, "slope")


def test_rank():
    singular = np.ones((3, 3))
    assert sdgrad.vjp(lambda x: x * np.linalg.matrix_rank(x), singular)[0][0, 0] == 1.0


def factors_in_a_loop(x):
    inverses, factors = np.zeros_like(x), np.zeros_like(x)
    for k in range(x.shape[0]):
        inverses[k] = np.linalg.inv(x[k])
        factors[k] = np.linalg.cholesky(x[k])
    return inverses, factors


def test_a_factorization_that_fails_in_a_loop_leaves_no_numbers():
    x = np.stack([np.eye(2) * 4, np.ones((2, 2)), -np.eye(2), np.full((2, 2), 0.5) + np.eye(2)])
    for kind in (np.float64, np.complex64):
        inverses, factors = sdgrad.compile_forward(factors_in_a_loop)(x.astype(kind))
        assert [np.isnan(v).any() for v in inverses] == [False, True, False, False]
        assert [np.isnan(v).any() for v in factors] == [False, True, True, False]
        np.testing.assert_allclose(inverses[[0, 2, 3]], np.linalg.inv(x[[0, 2, 3]]), rtol=1e-5)
        np.testing.assert_allclose(factors[[0, 3]], np.linalg.cholesky(x[[0, 3]]), rtol=1e-5)


def some_eigenvalues(s, m):
    w, v = scipy.linalg.eigh(s, subset_by_index=[1, 2])
    return np.sum(v**4) + np.sum(w**3) + np.sum(scipy.linalg.eigvalsh(s, m, subset_by_index=(0, 1)) ** 3)


def test_eigenvalues_by_their_places():
    s, m = np.diag([1.0, 3.0, 4.5, 7.0]) + 0.3, np.eye(4) + 0.1
    assert sdgrad.value_and_grad(some_eigenvalues)(s, m)[0] == pytest.approx(some_eigenvalues(s, m), rel=1e-12)
    check_grads(some_eigenvalues, (s, m), wrt=("s", "m"))
    with pytest.raises(ValueError, match="eigenvalue indices"):
        sdgrad.grad(lambda s: scipy.linalg.eigvalsh(s, subset_by_index=[2, 4])[0])(s)


def test_single_precision_is_kept():
    x = SYMMETRIC.astype(np.float32)
    value, pull = sdgrad.vjp(np.linalg.eigvalsh, x)
    assert value.dtype == np.float32 and pull(np.ones_like(value))[0].dtype == np.float32
