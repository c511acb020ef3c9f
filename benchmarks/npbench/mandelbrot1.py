"""NPBench mandelbrot1: iterations of z -> z^2 + c on a grid of c, each until |z| reaches the horizon.

The complex result is summed as the squares of |z|, with the counts of iterations, which are constant between jumps. It
is differentiated by the real and imaginary parts of the grid.
"""

import jax.numpy as jnp
import numpy as np
from jax import lax

SIZES = {"small": (10, 12, 6), "medium": (250, 200, 12), "large": (500, 400, 20)}
WRT = ("x", "y")


def inputs(size, rng):
    xn, yn, maxiter = size
    x = np.linspace(-2.25, 0.75, xn) + 0.01 * rng.random(xn)
    y = np.linspace(-1.25, 1.25, yn) + 0.01 * rng.random(yn)
    return x, y, maxiter, 2.0


def mandelbrot1(x, y, maxiter, horizon):
    C = x + y[:, np.newaxis] * 1j
    count = np.zeros(C.shape, dtype=np.int64)
    Z = np.zeros(C.shape, dtype=np.complex128)
    for n in range(maxiter):
        inside = np.abs(Z) < horizon
        count[inside] = n
        Z[:] = np.where(inside, Z * Z + C, Z)
    count[count == maxiter - 1] = 0
    return np.sum(np.abs(Z) ** 2) + np.sum(count)


def jax_version(x, y, maxiter, horizon):
    C = x + y[:, None] * 1j

    def iteration(n, state):
        Z, count = state
        inside = Z.real**2 + Z.imag**2 < horizon**2
        return jnp.where(inside, Z * Z + C, Z), jnp.where(inside, n, count)

    Z, count = lax.fori_loop(0, maxiter, iteration, (jnp.zeros_like(C), jnp.zeros(C.shape, dtype=int)))
    return jnp.sum(Z.real**2 + Z.imag**2) + jnp.sum(jnp.where(count == maxiter - 1, 0, count))
