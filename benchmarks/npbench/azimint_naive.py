"""NPBench (from pyFAI) azimint_naive: azimuthal integration, the mean of the data in each ring, one ring at a time."""

import jax.numpy as jnp
import numpy as np
from jax import lax

SIZES = {"small": (400, 10), "medium": (100_000, 100), "large": (400_000, 200)}
WRT = ("data",)


def inputs(size, rng):
    n, npt = size
    return rng.random(n), rng.random(n), npt


def azimint_naive(data, radius, npt):
    rmax = np.max(radius)
    res = np.zeros(npt)
    for i in range(npt):
        r1 = rmax * i / npt
        r2 = rmax * (i + 1) / npt
        mask = np.logical_and(r1 <= radius, radius < r2)
        res[i] = np.sum(np.where(mask, data, 0.0)) / np.sum(mask)
    return np.sum(res)


def jax_version(data, radius, npt):
    rmax = jnp.max(radius)

    def ring(i, res):
        mask = (rmax * i / npt <= radius) & (radius < rmax * (i + 1) / npt)
        return res.at[i].set(jnp.sum(jnp.where(mask, data, 0.0)) / jnp.sum(mask))

    return jnp.sum(lax.fori_loop(0, npt, ring, jnp.zeros(npt)))
