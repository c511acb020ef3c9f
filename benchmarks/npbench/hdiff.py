"""NPBench hdiff, the horizontal diffusion of the COSMO weather model: a Laplacian, and limited fluxes."""

import jax.numpy as jnp
import numpy as np

SIZES = {"small": (32, 32, 16), "medium": (128, 128, 64), "large": (256, 256, 80)}
WRT = ("u", "coefficient")


def inputs(size, rng):
    i, j, k = size
    return rng.random((i + 4, j + 4, k)), rng.random((i, j, k))


def hdiff(u, coefficient):
    laplacian = 4.0 * u[1:-1, 1:-1] - (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2])
    dx = laplacian[1:, 1:-1] - laplacian[:-1, 1:-1]
    flux_x = np.where(dx * (u[2:-1, 2:-2] - u[1:-2, 2:-2]) > 0, 0.0, dx)
    dy = laplacian[1:-1, 1:] - laplacian[1:-1, :-1]
    flux_y = np.where(dy * (u[2:-2, 2:-1] - u[2:-2, 1:-2]) > 0, 0.0, dy)
    return np.sum(u[2:-2, 2:-2] - coefficient * (flux_x[1:] - flux_x[:-1] + flux_y[:, 1:] - flux_y[:, :-1]))


def jax_version(u, coefficient):
    laplacian = 4.0 * u[1:-1, 1:-1] - (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2])
    dx = laplacian[1:, 1:-1] - laplacian[:-1, 1:-1]
    flux_x = jnp.where(dx * (u[2:-1, 2:-2] - u[1:-2, 2:-2]) > 0, 0.0, dx)
    dy = laplacian[1:-1, 1:] - laplacian[1:-1, :-1]
    flux_y = jnp.where(dy * (u[2:-2, 2:-1] - u[2:-2, 1:-2]) > 0, 0.0, dy)
    return jnp.sum(u[2:-2, 2:-2] - coefficient * (flux_x[1:] - flux_x[:-1] + flux_y[:, 1:] - flux_y[:, :-1]))
