"""Arrays of one shape that are never there together are one, and all others are not."""

import types

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import sdgrad
from sdgrad.convert.callables import bind_arguments
from sdgrad.optimize import optimize
from sdgrad.optimize.dataflow.buffer_sharing import share_memory

N = 80  # squares of it are large enough to be shared


def stages(A):
    x = np.tanh(A @ A) @ A
    y = np.tanh(x @ A) @ x
    z = np.tanh(y @ A) @ y
    return np.sum(np.tanh(z @ A) @ z)


def kept_for_long(A):
    first = np.tanh(A @ A)
    x = first
    for _ in range(4):
        x = np.sin(x @ A) + 0.1 * x
    return np.sum(x * first)


def in_a_loop(A):
    """What a loop uses it uses in every trip."""
    x = np.copy(A)
    y = np.zeros_like(A)
    for t in range(5):
        y = np.tanh(x @ A) + 0.5 * y
        x = np.sin(y @ x)
    z = np.cos(x @ A)
    return np.sum(z @ y)


def parts(A):
    left = np.tanh(A @ A)
    rows = left[2:40]
    right = np.sin(left @ A)
    return np.sum(rows @ right) + np.sum(np.exp(-right @ right.T))


FUNCTIONS = (stages, kept_for_long, in_a_loop, parts)


def matrix():
    return np.random.default_rng(0).standard_normal((N, N)) / N


@pytest.mark.parametrize("function", FUNCTIONS)
def test_gradient(function):
    of_jax = types.FunctionType(function.__code__, {**function.__globals__, "np": jnp})
    wanted = jax.grad(of_jax)(matrix())
    differentiated = sdgrad.grad(function)
    for _ in range(2):  # the second call finds what the first one left
        np.testing.assert_allclose(differentiated(matrix()), wanted, rtol=1e-9, atol=1e-12)


def program_of(function):
    differentiated = sdgrad.grad(function)
    signature, _, _, request = differentiated.question(bind_arguments(function, (matrix(),), {}))
    return signature.differentiated(request).program


def large(program):
    return [n for n, c in program.containers.items() if c.transient and c.view_of is None and c.shape == (N, N)]


@pytest.mark.parametrize("function", FUNCTIONS)
def test_there_are_fewer_arrays(function):
    with sdgrad.config.override(without=("buffer-sharing",)):
        apart = optimize(program_of(function))
    together = share_memory(apart)
    used = set(str(together).replace("[", " ").split())
    assert set(together.arguments) == set(apart.arguments)
    assert len(large(together)) < len(large(apart)) or function is in_a_loop
    assert all(c.view_of is None or c.view_of in together.containers for c in together.containers.values())
    assert set(large(together)) & used
