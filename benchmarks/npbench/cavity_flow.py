"""NPBench (from "CFD Python: 12 steps to Navier-Stokes", step 11) cavity_flow: flow in a box under a moving lid.

The pressure is found by some sweeps over Poisson's equation in every step. The fields begin with small random values,
not at rest, so that a gradient goes to all of them.
"""

import jax.numpy as jnp
import numpy as np
from jax import lax

SIZES = {"small": (12, 10, 3, 4), "medium": (100, 100, 20, 20), "large": (200, 200, 30, 30)}
WRT = ("u", "v", "p")


def inputs(size, rng):
    nx, ny, nt, nit = size
    u, v, p = (0.1 * rng.random((ny, nx)) for _ in range(3))
    return nt, nit, u, v, 0.1 / ((nx - 1) * (ny - 1)), 2.0 / (nx - 1), 2.0 / (ny - 1), p, 1.0, 0.1


def build_up_b(b, rho, dt, u, v, dx, dy):
    b[1:-1, 1:-1] = rho * (
        1 / dt * ((u[1:-1, 2:] - u[1:-1, :-2]) / (2 * dx) + (v[2:, 1:-1] - v[:-2, 1:-1]) / (2 * dy))
        - ((u[1:-1, 2:] - u[1:-1, :-2]) / (2 * dx)) ** 2
        - 2 * ((u[2:, 1:-1] - u[:-2, 1:-1]) / (2 * dy) * (v[1:-1, 2:] - v[1:-1, :-2]) / (2 * dx))
        - ((v[2:, 1:-1] - v[:-2, 1:-1]) / (2 * dy)) ** 2
    )


def pressure_poisson(nit, p, dx, dy, b):
    pn = np.zeros_like(p)
    for q in range(nit):
        pn[:] = p
        p[1:-1, 1:-1] = ((pn[1:-1, 2:] + pn[1:-1, :-2]) * dy**2 + (pn[2:, 1:-1] + pn[:-2, 1:-1]) * dx**2) / (
            2 * (dx**2 + dy**2)
        ) - dx**2 * dy**2 / (2 * (dx**2 + dy**2)) * b[1:-1, 1:-1]
        p[:, -1] = p[:, -2]
        p[0, :] = p[1, :]
        p[:, 0] = p[:, 1]
        p[-1, :] = 0.0


def cavity_flow(nt, nit, u, v, dt, dx, dy, p, rho, nu):
    un = np.zeros_like(u)
    vn = np.zeros_like(v)
    b = np.zeros_like(p)
    for n in range(nt):
        un[:] = u
        vn[:] = v
        build_up_b(b, rho, dt, u, v, dx, dy)
        pressure_poisson(nit, p, dx, dy, b)
        u[1:-1, 1:-1] = (
            un[1:-1, 1:-1]
            - un[1:-1, 1:-1] * dt / dx * (un[1:-1, 1:-1] - un[1:-1, :-2])
            - vn[1:-1, 1:-1] * dt / dy * (un[1:-1, 1:-1] - un[:-2, 1:-1])
            - dt / (2 * rho * dx) * (p[1:-1, 2:] - p[1:-1, :-2])
            + nu * dt / dx**2 * (un[1:-1, 2:] - 2 * un[1:-1, 1:-1] + un[1:-1, :-2])
            + nu * dt / dy**2 * (un[2:, 1:-1] - 2 * un[1:-1, 1:-1] + un[:-2, 1:-1])
        )
        v[1:-1, 1:-1] = (
            vn[1:-1, 1:-1]
            - un[1:-1, 1:-1] * dt / dx * (vn[1:-1, 1:-1] - vn[1:-1, :-2])
            - vn[1:-1, 1:-1] * dt / dy * (vn[1:-1, 1:-1] - vn[:-2, 1:-1])
            - dt / (2 * rho * dy) * (p[2:, 1:-1] - p[:-2, 1:-1])
            + nu * dt / dx**2 * (vn[1:-1, 2:] - 2 * vn[1:-1, 1:-1] + vn[1:-1, :-2])
            + nu * dt / dy**2 * (vn[2:, 1:-1] - 2 * vn[1:-1, 1:-1] + vn[:-2, 1:-1])
        )
        u[0, :] = 0.0
        u[:, 0] = 0.0
        u[:, -1] = 0.0
        u[-1, :] = 1.0
        v[0, :] = 0.0
        v[-1, :] = 0.0
        v[:, 0] = 0.0
        v[:, -1] = 0.0
    return np.sum(u) + np.sum(v) + np.sum(p)


def _source(u, v, rho, dt, dx, dy):
    du_dx = (u[1:-1, 2:] - u[1:-1, :-2]) / (2 * dx)
    du_dy = (u[2:, 1:-1] - u[:-2, 1:-1]) / (2 * dy)
    dv_dx = (v[1:-1, 2:] - v[1:-1, :-2]) / (2 * dx)
    dv_dy = (v[2:, 1:-1] - v[:-2, 1:-1]) / (2 * dy)
    return rho * (1 / dt * (du_dx + dv_dy) - du_dx**2 - 2 * du_dy * dv_dx - dv_dy**2)


def _moved(w, u, v, dt, dx, dy, nu):
    """A component `w` of the velocity after advection and diffusion, inside."""
    here = w[1:-1, 1:-1]
    return (
        here
        - u[1:-1, 1:-1] * dt / dx * (here - w[1:-1, :-2])
        - v[1:-1, 1:-1] * dt / dy * (here - w[:-2, 1:-1])
        + nu * dt / dx**2 * (w[1:-1, 2:] - 2 * here + w[1:-1, :-2])
        + nu * dt / dy**2 * (w[2:, 1:-1] - 2 * here + w[:-2, 1:-1])
    )


def jax_version(nt, nit, u, v, dt, dx, dy, p, rho, nu):
    def step(_, fields):
        u, v, p = fields
        b = _source(u, v, rho, dt, dx, dy)

        def sweep(_, p):
            neighbours = (p[1:-1, 2:] + p[1:-1, :-2]) * dy**2 + (p[2:, 1:-1] + p[:-2, 1:-1]) * dx**2
            p = p.at[1:-1, 1:-1].set((neighbours - dx**2 * dy**2 * b) / (2 * (dx**2 + dy**2)))
            p = p.at[:, -1].set(p[:, -2])
            p = p.at[0, :].set(p[1, :])
            p = p.at[:, 0].set(p[:, 1])
            return p.at[-1, :].set(0.0)

        p = lax.fori_loop(0, nit, sweep, p)
        u_inner = _moved(u, u, v, dt, dx, dy, nu) - dt / (2 * rho * dx) * (p[1:-1, 2:] - p[1:-1, :-2])
        v_inner = _moved(v, u, v, dt, dx, dy, nu) - dt / (2 * rho * dy) * (p[2:, 1:-1] - p[:-2, 1:-1])
        return jnp.zeros_like(u).at[-1].set(1.0).at[1:-1, 1:-1].set(u_inner), jnp.pad(v_inner, 1), p

    u, v, p = lax.fori_loop(0, nt, step, (u, v, p))
    return jnp.sum(u) + jnp.sum(v) + jnp.sum(p)
