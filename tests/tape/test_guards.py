"""What the tape keeps of comparisons: their answers, where what they compare is lost and nothing else needs it."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import sdgrad
from sdgrad.convert.callables import bind_arguments

N, STEPS = 7, 5


def shortest(x, w):
    for k in range(N):
        x[:] = np.minimum(x, np.add.outer(x[:, k], x[k, :]))
    return np.sum(x * w)


def rectified(x, w):
    for _ in range(STEPS):
        x[:] = np.where(x > 0.1, x, 0.3 * x) + w
    return np.sum(x)


def between(x, w):
    for _ in range(STEPS):
        x[:] = np.where((x > -1.0) & (x < 1.0), x, 0.5) + w
    return np.sum(x * x)


def largest(x, w):
    for _ in range(STEPS):
        x[:] = np.maximum(x + w, 0.1) - np.maximum(0.2, x)
    return np.sum(x)


def compared_and_multiplied(x, w):
    """The value itself is needed, too: what it is compared with is not kept beside it."""
    for _ in range(STEPS):
        x[:] = np.where(x > 0.0, x * x, 0.25 * x) + w
    return np.sum(x)


def from_the_start(x, w):
    """Nothing is lost: nothing is kept."""
    return np.sum(np.maximum(x, w) * np.where(x > w, 2.0, 3.0))


FUNCTIONS = [shortest, rectified, between, largest, compared_and_multiplied, from_the_start]
BYTES = {shortest: {"int8"}, rectified: {"int8"}, between: {"int8"}, largest: {"int8"}}
BYTES |= {compared_and_multiplied: {"float64"}, from_the_start: set()}


def arguments():
    rng = np.random.default_rng(8)
    return rng.standard_normal((N, N)), rng.standard_normal((N, N)) / N


def differences(f):
    """Central differences: a program without ties is smooth around its arguments."""
    found = []
    for k, v in enumerate(arguments()):
        own = np.zeros_like(v)
        for index in np.ndindex(v.shape):
            ends = []
            for step in (1e-6, -1e-6):
                args = arguments()
                args[k][index] += step
                ends.append(f(*args))
            own[index] = (ends[0] - ends[1]) / 2e-6
        found.append(own)
    return found


@pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: f.__name__)
def test_gradients(f):
    for found, wanted in zip(sdgrad.grad(f, wrt=("x", "w"))(*arguments()), differences(f), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-6, atol=1e-7 * np.max(np.abs(wanted)))


@pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: f.__name__)
def test_what_is_kept_by_leaves(f):
    function = sdgrad.grad(f, wrt=("x", "w"))
    signature, _, _, request = function.question(bind_arguments(f, arguments(), {}))
    plan = signature.differentiated(request).plan
    kept = {str(np.dtype(k.tape.dtype.type)) for leaf in plan.leaves.values() for k in leaf.kept}
    assert kept == BYTES[f]


def test_ties_are_halves_as_before():
    """Both operands of an extreme get half of its cotangent where they are equal: as in JAX."""

    def extremes(x, w):
        for _ in range(3):
            x[:] = np.minimum(x, w) + 0.5 * np.maximum(w, x)
            w[:] = np.maximum(x - w, w)
        return np.sum(x * w)

    def of_jax(x, w):
        for _ in range(3):
            x = jnp.minimum(x, w) + 0.5 * jnp.maximum(w, x)
            w = jnp.maximum(x - w, w)
        return jnp.sum(x * w)

    x = np.array([0.5, 1.0, 2.0, -1.0, 0.25])
    w = np.array([0.5, 2.0, 2.0, 1.0, 0.25])
    wanted = jax.grad(of_jax, argnums=(0, 1))(x, w)
    for found, right in zip(sdgrad.grad(extremes, wrt=("x", "w"))(x.copy(), w.copy()), wanted, strict=True):
        np.testing.assert_allclose(found, right, rtol=1e-14)


def test_second_derivatives():
    def f(x):
        y = 1.0 * x
        for _ in range(3):
            y[:] = np.where(y > 0.5, y * y, np.maximum(y, 0.2 * y) * x)
        return np.sum(y)

    def of_jax(x):
        y = x
        for _ in range(3):
            y = jnp.where(y > 0.5, y * y, jnp.maximum(y, 0.2 * y) * x)
        return jnp.sum(y)

    x = np.array([0.9, 0.3, -0.7, 1.4])
    np.testing.assert_allclose(sdgrad.hessian(f)(x), jax.hessian(of_jax)(x), rtol=1e-12, atol=1e-14)
