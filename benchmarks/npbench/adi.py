"""PolyBench adi: heat conduction in two dimensions by alternating implicit steps along columns and rows."""

import jax.numpy as jnp
import numpy as np
from jax import lax

SIZES = {"small": (4, 10), "medium": (50, 150), "large": (100, 300)}
WRT = ("u",)


def inputs(size, rng):
    steps, n = size
    return steps, rng.random((n, n))


def adi(TSTEPS, u):
    N = u.shape[0]
    v = np.zeros_like(u)
    p = np.zeros_like(u)
    q = np.zeros_like(u)
    mul1 = 2.0 * N * N / TSTEPS
    mul2 = 1.0 * N * N / TSTEPS
    a = -mul1 / 2.0
    b = 1.0 + mul1
    c = a
    d = -mul2 / 2.0
    e = 1.0 + mul2
    f = d
    for t in range(TSTEPS):
        v[0, 1:-1] = 1.0
        p[1:-1, 0] = 0.0
        q[1:-1, 0] = v[0, 1:-1]
        for j in range(1, N - 1):
            p[1:-1, j] = -c / (a * p[1:-1, j - 1] + b)
            q[1:-1, j] = (-d * u[j, :-2] + (1.0 + 2.0 * d) * u[j, 1:-1] - f * u[j, 2:] - a * q[1:-1, j - 1]) / (
                a * p[1:-1, j - 1] + b
            )
        v[N - 1, 1:-1] = 1.0
        for j in range(N - 2, 0, -1):
            v[j, 1:-1] = p[1:-1, j] * v[j + 1, 1:-1] + q[1:-1, j]

        u[1:-1, 0] = 1.0
        p[1:-1, 0] = 0.0
        q[1:-1, 0] = u[1:-1, 0]
        for j in range(1, N - 1):
            p[1:-1, j] = -f / (d * p[1:-1, j - 1] + e)
            q[1:-1, j] = (-a * v[:-2, j] + (1.0 + 2.0 * a) * v[1:-1, j] - c * v[2:, j] - d * q[1:-1, j - 1]) / (
                d * p[1:-1, j - 1] + e
            )
        u[1:-1, N - 1] = 1.0
        for j in range(N - 2, 0, -1):
            u[1:-1, j] = p[1:-1, j] * u[1:-1, j + 1] + q[1:-1, j]
    return np.sum(u)


def _solve(right, low, diagonal):
    """The tridiagonal systems of one sweep, one for each column of `right`; both boundary values are 1."""
    ones = jnp.ones(right.shape[1])

    def forward(before, row):
        p, q = before
        after = (-low / (low * p + diagonal), (row - low * q) / (low * p + diagonal))
        return after, after

    def backward(after, row):
        p, q = row
        return p * after + q, p * after + q

    _, rows = lax.scan(forward, (0.0 * ones, ones), right)
    return lax.scan(backward, ones, rows, reverse=True)[1]


def jax_version(TSTEPS, u):
    N = u.shape[0]
    a, d = -1.0 * N * N / TSTEPS, -0.5 * N * N / TSTEPS

    def step(_, u):
        right = -d * u[1:-1, :-2] + (1.0 + 2.0 * d) * u[1:-1, 1:-1] - d * u[1:-1, 2:]
        v = jnp.ones((N, N - 2)).at[1:-1].set(_solve(right, a, 1.0 - 2.0 * a))
        right = -a * v[:-2] + (1.0 + 2.0 * a) * v[1:-1] - a * v[2:]
        u = u.at[1:-1, 0].set(1.0).at[1:-1, -1].set(1.0)
        return u.at[1:-1, 1:-1].set(_solve(right.T, d, 1.0 - 2.0 * d).T)

    return jnp.sum(lax.fori_loop(0, TSTEPS, step, u))
