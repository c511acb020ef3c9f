"""PolyBench correlation: the correlation matrix of the columns of a table."""

import jax.numpy as jnp
import numpy as np

SIZES = {"small": (16, 10), "medium": (500, 400), "large": (1000, 800)}
WRT = ("data",)


def inputs(size, rng):
    return (rng.random(size),)


def correlation(data):
    mean = np.mean(data, axis=0)
    stddev = np.std(data, axis=0)
    stddev[stddev <= 0.1] = 1.0
    data -= mean
    data /= np.sqrt(data.shape[0]) * stddev
    corr = np.eye(data.shape[1])
    for i in range(data.shape[1] - 1):
        corr[i, i + 1 :] = data[:, i] @ data[:, i + 1 :]
        corr[i + 1 :, i] = corr[i, i + 1 :]
    return np.sum(corr)


def jax_version(data):
    N, M = data.shape
    stddev = jnp.std(data, axis=0)
    scaled = (data - jnp.mean(data, axis=0)) / (jnp.sqrt(N) * jnp.where(stddev <= 0.1, 1.0, stddev))
    products = scaled.T @ scaled
    return jnp.sum(jnp.where(jnp.eye(M, dtype=bool), 1.0, products))
