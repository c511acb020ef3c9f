"""NPBench stockham_fft: the fast Fourier transform of radix R by Stockham's algorithm, which sorts as it goes.

Each of the K passes permutes, multiplies by twiddle factors and transforms R numbers at a time. The result is complex;
its absolute values are summed.
"""

import jax.numpy as jnp
import numpy as np

SIZES = {"small": (2, 5), "medium": (2, 16), "large": (2, 20)}
WRT = ("x",)


def inputs(size, rng):
    R, K = size
    return R, K, rng.standard_normal(R**K) + 1j * rng.standard_normal(R**K)


def stockham_fft(R, K, x):
    N = R**K
    dft_mat = np.exp(-2.0j * np.pi * np.outer(np.arange(R), np.arange(R)) / R)
    y = np.copy(x)
    for i in range(K):
        yv = np.reshape(y, (R**i, R, R ** (K - i - 1)))
        permuted = np.transpose(yv, axes=(1, 0, 2))
        twiddle = np.exp(-2.0j * np.pi * np.outer(np.arange(R), np.arange(R**i)) / R ** (i + 1))
        twiddled = permuted * np.reshape(twiddle, (R, R**i, 1))
        y[:] = np.reshape(dft_mat @ np.reshape(twiddled, (R, N // R)), (N,))
    return np.sum(np.abs(y))


def jax_version(R, K, x):
    dft_mat = jnp.exp(-2.0j * jnp.pi * jnp.outer(jnp.arange(R), jnp.arange(R)) / R)
    y = x
    for i in range(K):
        permuted = jnp.transpose(jnp.reshape(y, (R**i, R, R ** (K - i - 1))), (1, 0, 2))
        twiddle = jnp.exp(-2.0j * jnp.pi * jnp.outer(jnp.arange(R), jnp.arange(R**i)) / R ** (i + 1))
        twiddled = permuted * twiddle[:, :, None]
        y = jnp.reshape(dft_mat @ jnp.reshape(twiddled, (R, -1)), -1)
    return jnp.sum(jnp.abs(y))
