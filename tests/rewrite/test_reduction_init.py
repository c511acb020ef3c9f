"""Sums that need no zero before them: all elements get one term each, from several places or trips."""

import types

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import sdgrad
from sdgrad.convert.callables import bind_arguments
from sdgrad.optimize import optimize
from sdgrad.program.tree import Leaf, walk
from sdgrad.rewrite.reduction_init import number

T, B, N = 4, 3, 5


def gates(X, W):
    g = X[0] @ W
    return np.sum(np.tanh(g[:, :N]) * g[:, N : 2 * N] + g[:, 2 * N :] * g[:, :N])


def overlapping(X, W):
    g = X[0] @ W
    return np.sum(np.sin(g[:, : 2 * N]) * g[:, N:])


def part_of_it(X, W):
    g = X[0] @ W
    return np.sum(g[:, 1:N] * g[:, N + 1 : 2 * N])


def each_step(X, W):
    h = np.zeros((B, N))
    G = np.zeros((T, B, N))
    for t in range(T):
        G[t] = X[t] * np.sum(W)
    for t in range(T):
        h = np.tanh(G[t] + h)
    return np.sum(h * h)


def some_steps(X, W):
    h = np.zeros((B, N))
    G = X * np.sum(W)
    for t in range(1, T):
        h = np.tanh(G[t] + h)
    return np.sum(h * h)


def twice_a_step(X, W):
    h = np.zeros((B, N))
    G = X * np.sum(W)
    for t in range(T):
        h = np.tanh(G[t] + h) * G[T - 1 - t]
    return np.sum(h * h)


def arguments():
    rng = np.random.default_rng(0)
    return rng.standard_normal((T, B, N)), 0.3 * rng.standard_normal((N, 3 * N))


def for_jax(function):
    code = function.__code__
    return types.FunctionType(code, {"np": jnp, "T": T, "B": B, "N": N, "range": range})


def by_jax(function, X, W):
    if function is not each_step:
        return jax.grad(for_jax(function), (0, 1))(X, W)

    def steps(X, W):
        h = jnp.zeros((B, N))
        for t in range(T):
            h = jnp.tanh(X[t] * jnp.sum(W) + h)
        return jnp.sum(h * h)

    return jax.grad(steps, (0, 1))(X, W)


FUNCTIONS = [gates, overlapping, part_of_it, each_step, some_steps, twice_a_step]


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_gradients(function):
    X, W = arguments()
    for found, wanted in zip(sdgrad.grad(function, wrt=("X", "W"))(X, W), by_jax(function, X, W), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-11, atol=1e-13)


def zeroed(function):
    """The containers that are set to zero in the gradient."""
    differentiated = sdgrad.value_and_grad(function, wrt=("X", "W"))
    signature, _, _, request = differentiated.question(bind_arguments(function, arguments(), {}))
    program = optimize(signature.gradient(request).result.program)
    leaves = [n for n in walk(program.body) if isinstance(n, Leaf) and n.params]
    return {s.container for n in leaves for s in n.stores if s.mode == "set" and number(s, n) == 0}


@pytest.mark.parametrize(("function", "name"), [(gates, "gradient_g"), (each_step, "gradient_G")])
def test_nothing_is_zeroed_for_them(function, name):
    assert name not in zeroed(function)


@pytest.mark.parametrize(
    ("function", "name"), [(overlapping, "gradient_g"), (part_of_it, "gradient_g"), (some_steps, "gradient_G")]
)
def test_zeros_stay_where_elements_get_none_or_several(function, name):
    assert any(n.startswith(name) for n in zeroed(function))


def carried_zeros(x):
    """What a trip does not add to is zero in the next trip, which reads it before."""
    s = 0.0
    t = np.zeros(6)
    for i in range(1, 5):
        s += np.sum(t * x)
        t[:] = 0.0
        t[i : i + 2] += np.sin(x[i : i + 2])
    return s


def test_zeros_that_the_next_trip_reads():
    x = np.linspace(0.3, 1.1, 6)
    value, gradient = sdgrad.value_and_grad(carried_zeros)(x)
    assert value == pytest.approx(carried_zeros(x), rel=1e-12)
    wanted = [(carried_zeros(x + 1e-6 * e) - carried_zeros(x - 1e-6 * e)) / 2e-6 for e in np.eye(6)]
    np.testing.assert_allclose(gradient, wanted, rtol=1e-6, atol=1e-8)
