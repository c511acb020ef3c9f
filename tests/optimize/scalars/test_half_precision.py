"""Half precision beside double precision of the same numbers."""

import types

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import sdgrad


def positive_part(x):
    return np.sum(np.maximum(x, 0) * x)


def chosen(x):
    return np.sum(np.where(x > 0, x * x, 0) + np.where(x < -0.5, np.sin(x), 2))


def cut_off(x):
    return np.sum(np.clip(x * 2, -1, 1) ** 3)


def powers(x):
    return np.sum(np.exp(x) * np.abs(x) ** 1.5) / 4


def recurrent(x):
    s = 0.0
    for i in range(4):
        s = s * x[i] + x[i] if x[i] > 0 else s + x[i]
    return s


@pytest.mark.parametrize("function", [positive_part, chosen, cut_off, powers, recurrent])
def test_gradient(function):
    x = np.linspace(-0.9, 1.1, 12).astype(np.float16)
    of_jax = types.FunctionType(function.__code__, {**function.__globals__, "np": jnp})
    wanted = jax.grad(of_jax)(x.astype(np.float64))
    found = sdgrad.grad(function)(x)
    assert found.dtype == np.float16
    np.testing.assert_allclose(found.astype(np.float64), wanted, atol=5e-3, rtol=5e-3)
