"""PolyBench fdtd-2d: Maxwell's equations in two dimensions, by finite differences in time."""

import jax.numpy as jnp
import numpy as np
from jax import lax

SIZES = {"small": (5, 12, 14), "medium": (50, 400, 450), "large": (100, 800, 900)}
WRT = ("ex", "ey", "hz", "fict")


def inputs(size, rng):
    steps, nx, ny = size
    return steps, rng.random((nx, ny)), rng.random((nx, ny)), rng.random((nx, ny)), rng.random(steps)


def fdtd_2d(TMAX, ex, ey, hz, fict):
    for t in range(TMAX):
        ey[0, :] = fict[t]
        ey[1:, :] -= 0.5 * (hz[1:, :] - hz[:-1, :])
        ex[:, 1:] -= 0.5 * (hz[:, 1:] - hz[:, :-1])
        hz[:-1, :-1] -= 0.7 * (ex[:-1, 1:] - ex[:-1, :-1] + ey[1:, :-1] - ey[:-1, :-1])
    return np.sum(ex) + np.sum(ey) + np.sum(hz)


def jax_version(TMAX, ex, ey, hz, fict):
    def step(t, fields):
        ex, ey, hz = fields
        ey = ey.at[0, :].set(fict[t])
        ey = ey.at[1:, :].add(-0.5 * (hz[1:, :] - hz[:-1, :]))
        ex = ex.at[:, 1:].add(-0.5 * (hz[:, 1:] - hz[:, :-1]))
        hz = hz.at[:-1, :-1].add(-0.7 * (ex[:-1, 1:] - ex[:-1, :-1] + ey[1:, :-1] - ey[:-1, :-1]))
        return ex, ey, hz

    ex, ey, hz = lax.fori_loop(0, TMAX, step, (ex, ey, hz))
    return jnp.sum(ex) + jnp.sum(ey) + jnp.sum(hz)
