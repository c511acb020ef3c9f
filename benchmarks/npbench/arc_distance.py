"""NPBench (from Pythran) arc_distance: angles between points on a sphere, by the haversine formula."""

import jax.numpy as jnp
import numpy as np

SIZES = {"small": (20_000,), "medium": (1_000_000,), "large": (4_000_000,)}
WRT = ("theta1", "phi1", "theta2", "phi2")


def inputs(size, rng):
    (n,) = size
    return rng.random(n), rng.random(n), rng.random(n) + 1, rng.random(n) + 1


def arc_distance(theta1, phi1, theta2, phi2):
    h = np.sin((theta2 - theta1) / 2) ** 2 + np.cos(theta1) * np.cos(theta2) * np.sin((phi2 - phi1) / 2) ** 2
    return np.sum(2 * np.arctan2(np.sqrt(h), np.sqrt(1 - h)))


def jax_version(theta1, phi1, theta2, phi2):
    h = jnp.sin((theta2 - theta1) / 2) ** 2 + jnp.cos(theta1) * jnp.cos(theta2) * jnp.sin((phi2 - phi1) / 2) ** 2
    return jnp.sum(2 * jnp.arctan2(jnp.sqrt(h), jnp.sqrt(1 - h)))
