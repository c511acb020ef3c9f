"""Discrete Fourier transforms against JAX, complex and real input."""

import types

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import sdgrad


def spectrum(x):
    y = np.fft.fft(x)
    return np.sum(np.abs(y) ** 2 * np.real(y))


def inverse(x):
    y = np.fft.ifft(np.fft.fft(x) * x)
    return np.sum(np.real(y * y * y))


def filtered(x):
    y = np.fft.fft(x)
    return np.sum(np.real(np.fft.ifft(y * y)) * np.real(x))


@pytest.mark.parametrize("kind", [np.complex128, np.float64], ids=["complex", "real"])
@pytest.mark.parametrize("function", [spectrum, inverse, filtered], ids=lambda f: f.__name__)
def test_gradient(function, kind):
    rng = np.random.default_rng(0)
    x = rng.standard_normal(7).astype(kind)
    if kind is np.complex128:
        x = x + 1j * rng.standard_normal(7)
    expected = jax.grad(types.FunctionType(function.__code__, {"np": jnp}))(x)
    np.testing.assert_allclose(sdgrad.grad(function)(x), np.conj(expected), rtol=1e-10, atol=1e-12)
