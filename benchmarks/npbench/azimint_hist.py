"""NPBench (from pyFAI) azimint_hist: azimuthal integration, the mean of the data in each bin of the radius.

Bins as `numpy.histogram` makes them: equally wide from the least to the largest radius.
"""

import jax
import jax.numpy as jnp
import numpy as np

SIZES = {"small": (400, 10), "medium": (1_000_000, 1000), "large": (4_000_000, 1000)}
WRT = ("data",)


def inputs(size, rng):
    n, npt = size
    return rng.random(n), rng.random(n), npt


def azimint_hist(data, radius, npt):
    count = np.zeros(npt)
    weight = np.zeros(npt)
    rmin = np.min(radius)
    rmax = np.max(radius)
    bins = np.minimum((npt * (radius - rmin) / (rmax - rmin)).astype(np.int64), npt - 1)
    for i in range(data.shape[0]):
        count[bins[i]] += 1.0
        weight[bins[i]] += data[i]
    return np.sum(weight / count)


def jax_version(data, radius, npt):
    rmin, rmax = jnp.min(radius), jnp.max(radius)
    bins = jnp.minimum((npt * (radius - rmin) / (rmax - rmin)).astype(int), npt - 1)
    count = jax.ops.segment_sum(jnp.ones_like(data), bins, npt)
    weight = jax.ops.segment_sum(data, bins, npt)
    return jnp.sum(weight / count)
