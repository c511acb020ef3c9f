"""PolyBench bicg, the kernel of the biconjugate gradient method: transpose(A) r and A p."""

import jax.numpy as jnp
import numpy as np

SIZES = {"small": (500, 400), "medium": (3000, 2500), "large": (6000, 5000)}
WRT = ("A", "p", "r")


def inputs(size, rng):
    n, m = size
    return rng.random((n, m)), rng.random(m), rng.random(n)


def bicg(A, p, r):
    s = r @ A
    q = A @ p
    return np.sum(s) + np.sum(q)


def jax_version(A, p, r):
    s = r @ A
    q = A @ p
    return jnp.sum(s) + jnp.sum(q)
