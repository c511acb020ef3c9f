"""Systems of equations are factorized once: for the solution, its adjoint and its tangent."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import sdgrad
from sdgrad.convert.callables import bind_arguments
from sdgrad.program.tree import NodeCall, walk


def system(A, B):
    return np.sum(np.abs(np.linalg.solve(A, B)) ** 2)


def repeated(A, B):
    """A matrix of its own in each trip, and a solution that is used again."""
    s = 0.0
    for k in range(4):
        M = A * (k + 1.0) + B @ B.T
        X = np.linalg.solve(M, B)
        s += np.sum(np.abs(np.linalg.solve(M, X * X)) ** 2)
    return s


def jax_system(A, B):
    return jnp.sum(jnp.abs(jnp.linalg.solve(A, B)) ** 2)


def jax_repeated(A, B):
    s = 0.0
    for k in range(4):
        M = A * (k + 1.0) + B @ B.T
        X = jnp.linalg.solve(M, B)
        s += jnp.sum(jnp.abs(jnp.linalg.solve(M, X * X)) ** 2)
    return s


PAIRS = {"system": (system, jax_system), "repeated": (repeated, jax_repeated)}


def arguments(dtype, n=7, columns=3):
    r = np.random.default_rng(0)
    given = r.standard_normal((n, n)) + 0.1 * np.eye(n), r.standard_normal((n, columns))  # rows are interchanged
    if dtype == np.complex128:
        given = tuple(a + 1j * r.standard_normal(a.shape) for a in given)
    return tuple(a.astype(dtype) for a in given)


def calls(f, given):
    question = sdgrad.value_and_grad(f, wrt=("A", "B"))
    signature, _, _, request = question.question(bind_arguments(f, given, {}))
    program = signature.differentiated(request).program
    return [n.kind for n in walk(program.body) if isinstance(n, NodeCall)]


@pytest.mark.parametrize("blas", ["openblas", "none"])
@pytest.mark.parametrize("dtype", [np.float64, np.complex128])
@pytest.mark.parametrize("name", PAIRS)
def test_gradients(name, dtype, blas):
    f, reference = PAIRS[name]
    given = arguments(dtype)
    with sdgrad.config.override(blas=blas):
        value, found = sdgrad.value_and_grad(f, wrt=("A", "B"))(*given)
    wanted, right = jax.value_and_grad(reference, argnums=(0, 1))(*given)
    assert value == pytest.approx(float(wanted), rel=1e-9)
    for mine, own in zip(found, right, strict=True):
        np.testing.assert_allclose(mine, np.conj(own), rtol=1e-7, atol=1e-9 * np.max(np.abs(own)))


def test_single_precision():
    given = arguments(np.float32)
    found = sdgrad.grad(system, wrt=("A", "B"))(*given)
    right = jax.grad(jax_system, argnums=(0, 1))(*(a.astype(float) for a in given))
    for mine, own in zip(found, right, strict=True):
        np.testing.assert_allclose(mine, own, rtol=1e-2, atol=1e-3 * np.max(np.abs(own)))


def test_tangents_and_second_derivatives():
    given = arguments(np.float64)
    r = np.random.default_rng(1)
    moved = tuple(r.standard_normal(a.shape) for a in given)
    _, found = sdgrad.jvp(system, given, moved)
    _, right = jax.jvp(jax_system, given, moved)
    assert found == pytest.approx(float(right), rel=1e-9)
    mine = sdgrad.hvp(system, given, moved)
    own = jax.jvp(jax.grad(jax_system, argnums=(0, 1)), given, moved)[1]
    for a, b in zip(mine, own, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-8 * np.max(np.abs(b)))


def test_one_factorization():
    assert sorted(calls(system, arguments(np.float64))) == ["FactoredSolve", "FactoredSolve", "Factorization"]


def test_only_the_right_side():
    A, B = arguments(np.float64)
    (found,) = sdgrad.grad(system, wrt=("B",))(A, B)
    np.testing.assert_allclose(found, 2 * np.linalg.solve(A.T, np.linalg.solve(A, B)), rtol=1e-9)


def test_a_singular_matrix():
    A = np.ones((4, 4))
    with pytest.raises(np.linalg.LinAlgError, match="Singular matrix"):
        sdgrad.grad(system, wrt=("B",))(A, np.ones((4, 2)))
