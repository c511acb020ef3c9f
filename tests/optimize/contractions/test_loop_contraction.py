"""Products that loops add up: behind the loop where that can be, and right everywhere."""

import types

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import sdgrad
from sdgrad.config import config
from sdgrad.convert.callables import bind_arguments
from sdgrad.optimize import optimize
from sdgrad.program.tree import Loop, NodeCall, walk

T, B, N = 6, 20, 24


def recurrent(X, W, V, b):
    h = np.zeros((B, N))
    for t in range(T):
        h = np.tanh(X[t] @ V + h @ W + b)
    return np.sum(h * h)


def recurrent_backwards(X, W, V, b):
    h = np.zeros((B, N))
    total = 0.0
    for t in range(T - 1, -1, -1):
        h = np.tanh(X[t] @ V + h @ W) * b
        total = total + np.sum(h * h)
    return total


def gated(X, W, V, b):
    h = np.ones((B, N))
    for t in range(T):
        z = 1 / (1 + np.exp(-(X[t] @ V)))
        n = np.tanh((z * h) @ W + b)
        h = (1 - z) * h + z * n
    return np.sum(np.sin(h))


def weights_that_change(X, W, V, b):
    """The gradient of W flows through every trip: its products cannot wait."""
    h = np.ones((B, N))
    for t in range(T):
        h = np.tanh(X[t] @ V + h @ W)
        W = 0.5 * W + 0.1 * (h.T @ h)
    return np.sum(h * h) + np.sum(W * b)


def nested(X, W, V, b):
    h = np.ones((B, N))
    for t in range(T):
        for s in range(3):
            h = np.tanh(X[t] @ V + h @ W + s * b)
    return np.sum(h * h)


def some_trips_only(X, W, V, b):
    h = np.ones((B, N))
    for t in range(T):
        if t % 2 == 0:
            h = np.tanh(X[t] @ V + h @ W)
        else:
            h = h * b
    return np.sum(h * h)


def no_trips(X, W, V, b):
    h = X[0]
    for t in range(T, T):
        h = np.tanh(X[t] @ V + h @ W)
    return np.sum(h * h * b) + np.sum(W) + np.sum(V)


def stops_early(X, W, V, b):
    h = np.zeros((B, N))
    for t in range(T):
        h = np.tanh(X[t] @ V + h @ W + b)
        if np.sum(h) > 1e3:
            break
    return np.sum(h * h)


FUNCTIONS = (recurrent, recurrent_backwards, gated, weights_that_change, nested, some_trips_only, no_trips, stops_early)


def arguments():
    rng = np.random.default_rng(0)
    shapes = ((T, B, N), (N, N), (N, N), (N,))
    return [0.3 * rng.standard_normal(s) for s in shapes]


@pytest.mark.parametrize("kernels", ["openblas", "none"])
@pytest.mark.parametrize("function", FUNCTIONS)
def test_gradient(function, kernels, monkeypatch):
    monkeypatch.setattr(config, "blas", kernels)
    of_jax = types.FunctionType(function.__code__, {**function.__globals__, "np": jnp})
    wanted = jax.grad(of_jax, argnums=(0, 1, 2, 3))(*arguments()) if function is not stops_early else None
    found = sdgrad.grad(function, wrt=(0, 1, 2, 3))(*arguments())
    if wanted is None:  # the condition never holds here
        wanted = sdgrad.grad(recurrent, wrt=(0, 1, 2, 3))(*arguments())
    for ours, theirs in zip(found, wanted, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-11)


def calls(function):
    """Of the gradient: calls of BLAS in loops, and all of them."""
    f = sdgrad.grad(function, wrt=(0, 1, 2, 3))
    signature, _, _, request = f.question(bind_arguments(f.f, arguments(), {}))
    program = optimize(signature.gradient(request).result.program)
    loops = [n for n in program.body if isinstance(n, Loop)]
    inside = [n for n in walk(tuple(loops)) if isinstance(n, NodeCall)]
    return len(inside), sum(isinstance(n, NodeCall) for n in walk(program.body))


def test_products_are_behind_the_loop():
    """Forward and again on the way back, x V and h W; their cotangents by x and h. Those by V and W are behind it."""
    assert calls(recurrent) == (6, 8)
    with config.override(without=("loop-contraction",)):
        assert calls(recurrent) == (8, 8)


def test_products_that_later_trips_need_stay():
    """But for the one by V, which does not change."""
    inside, every = calls(weights_that_change)
    assert every - inside == 1
