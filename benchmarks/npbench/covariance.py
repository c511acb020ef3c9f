"""PolyBench covariance: the covariance matrix of the columns of a table."""

import jax.numpy as jnp
import numpy as np

SIZES = {"small": (16, 10), "medium": (500, 400), "large": (1000, 800)}
WRT = ("data",)


def inputs(size, rng):
    return (rng.random(size),)


def covariance(data):
    mean = np.mean(data, axis=0)
    data -= mean
    cov = np.zeros((data.shape[1], data.shape[1]))
    for i in range(data.shape[1]):
        cov[i, i:] = data[:, i] @ data[:, i:] / (data.shape[0] - 1.0)
        cov[i:, i] = cov[i, i:]
    return np.sum(cov)


def jax_version(data):
    centred = data - jnp.mean(data, axis=0)
    return jnp.sum(centred.T @ centred / (data.shape[0] - 1.0))
