"""NPBench (from OMEN, quantum transport) contour_integral: contour integrals of a resolvent, by linear solves.

The Hamiltonian has few blocks, and each point on the contour gives a matrix of their sum with powers of the point. The
results are complex; their squares are summed.
"""

import jax.numpy as jnp
import numpy as np
from jax import lax

SIZES = {"small": (8, 5, 2, 6), "medium": (100, 60, 2, 32), "large": (250, 200, 2, 32)}
WRT = ("Ham", "int_pts", "Y")


def inputs(size, rng):
    NR, NM, slab_per_bc, num_int_pts = size
    Ham = rng.random((slab_per_bc + 1, NR, NR)) + 1j * rng.random((slab_per_bc + 1, NR, NR))
    Ham[slab_per_bc // 2] += NR * np.eye(NR)
    radius = np.where(np.arange(num_int_pts) % 2 == 0, 0.7, 1.4)
    int_pts = radius * np.exp(1j * (0.1 + 6.0 * rng.random(num_int_pts)))
    Y = rng.random((NR, NM)) + 1j * rng.random((NR, NM))
    return slab_per_bc, Ham, int_pts, Y


def contour_integral(slab_per_bc, Ham, int_pts, Y):
    P0 = np.zeros(Y.shape, dtype=np.complex128)
    P1 = np.zeros(Y.shape, dtype=np.complex128)
    for idx in range(int_pts.shape[0]):
        z = int_pts[idx]
        Tz = np.zeros((Ham.shape[1], Ham.shape[2]), dtype=np.complex128)
        for n in range(slab_per_bc + 1):
            zz = np.power(z, slab_per_bc / 2 - n)
            Tz += zz * Ham[n]
        X = np.linalg.solve(Tz, Y)
        if np.abs(z) < 1.0:
            X[:] = -X
        P0 += X
        P1 += z * X
    return np.sum(np.abs(P0) ** 2) + np.sum(np.abs(P1) ** 2)


def jax_version(slab_per_bc, Ham, int_pts, Y):
    exponents = slab_per_bc / 2 - jnp.arange(slab_per_bc + 1)

    def point(integrals, z):
        P0, P1 = integrals
        Tz = jnp.tensordot(jnp.power(z, exponents), Ham, axes=1)
        X = jnp.linalg.solve(Tz, Y)
        X = jnp.where(jnp.abs(z) < 1.0, -X, X)
        return (P0 + X, P1 + z * X), None

    zero = jnp.zeros(Y.shape, dtype=jnp.complex128)
    (P0, P1), _ = lax.scan(point, (zero, zero), int_pts)
    return jnp.sum(jnp.abs(P0) ** 2) + jnp.sum(jnp.abs(P1) ** 2)
