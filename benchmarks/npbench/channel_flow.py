"""NPBench (from "CFD Python: 12 steps to Navier-Stokes", step 12) channel_flow: flow through a channel until steady.

The channel is periodic along the second axis, and a force drives the flow. Steps are made until the flow increases by
less than a thousandth. JAX cannot differentiate such a loop, so its version has MAX_STEPS of which the ones too many do
nothing; the inputs of all sizes need fewer. The fields begin with small random values, not at rest, so that a gradient
goes to all of them.
"""

import jax.numpy as jnp
import numpy as np
from jax import lax

SIZES = {"small": (10, 8, 4), "medium": (60, 60, 10), "large": (100, 100, 20)}
WRT = ("u", "v", "p")
MAX_STEPS = 850


def inputs(size, rng):
    nx, ny, nit = size
    dx, dy = 2.0 / (nx - 1), 2.0 / (ny - 1)
    profile = np.sin(np.linspace(0.0, np.pi, ny))[:, np.newaxis]
    u, v, p = (0.01 * rng.random((ny, nx)) * profile for _ in range(3))
    return nit, u, v, 0.2 * dx * dy, dx, dy, p, 1.0, 1.0, 1.0


def build_up_b(b, rho, dt, u, v, dx, dy):
    b[1:-1, 1:-1] = rho * (
        1 / dt * ((u[1:-1, 2:] - u[1:-1, :-2]) / (2 * dx) + (v[2:, 1:-1] - v[:-2, 1:-1]) / (2 * dy))
        - ((u[1:-1, 2:] - u[1:-1, :-2]) / (2 * dx)) ** 2
        - 2 * ((u[2:, 1:-1] - u[:-2, 1:-1]) / (2 * dy) * (v[1:-1, 2:] - v[1:-1, :-2]) / (2 * dx))
        - ((v[2:, 1:-1] - v[:-2, 1:-1]) / (2 * dy)) ** 2
    )
    b[1:-1, -1] = rho * (
        1 / dt * ((u[1:-1, 0] - u[1:-1, -2]) / (2 * dx) + (v[2:, -1] - v[:-2, -1]) / (2 * dy))
        - ((u[1:-1, 0] - u[1:-1, -2]) / (2 * dx)) ** 2
        - 2 * ((u[2:, -1] - u[:-2, -1]) / (2 * dy) * (v[1:-1, 0] - v[1:-1, -2]) / (2 * dx))
        - ((v[2:, -1] - v[:-2, -1]) / (2 * dy)) ** 2
    )
    b[1:-1, 0] = rho * (
        1 / dt * ((u[1:-1, 1] - u[1:-1, -1]) / (2 * dx) + (v[2:, 0] - v[:-2, 0]) / (2 * dy))
        - ((u[1:-1, 1] - u[1:-1, -1]) / (2 * dx)) ** 2
        - 2 * ((u[2:, 0] - u[:-2, 0]) / (2 * dy) * (v[1:-1, 1] - v[1:-1, -1]) / (2 * dx))
        - ((v[2:, 0] - v[:-2, 0]) / (2 * dy)) ** 2
    )


def pressure_poisson_periodic(nit, p, dx, dy, b):
    pn = np.zeros_like(p)
    for q in range(nit):
        pn[:] = p
        p[1:-1, 1:-1] = ((pn[1:-1, 2:] + pn[1:-1, :-2]) * dy**2 + (pn[2:, 1:-1] + pn[:-2, 1:-1]) * dx**2) / (
            2 * (dx**2 + dy**2)
        ) - dx**2 * dy**2 / (2 * (dx**2 + dy**2)) * b[1:-1, 1:-1]
        p[1:-1, -1] = ((pn[1:-1, 0] + pn[1:-1, -2]) * dy**2 + (pn[2:, -1] + pn[:-2, -1]) * dx**2) / (
            2 * (dx**2 + dy**2)
        ) - dx**2 * dy**2 / (2 * (dx**2 + dy**2)) * b[1:-1, -1]
        p[1:-1, 0] = ((pn[1:-1, 1] + pn[1:-1, -1]) * dy**2 + (pn[2:, 0] + pn[:-2, 0]) * dx**2) / (
            2 * (dx**2 + dy**2)
        ) - dx**2 * dy**2 / (2 * (dx**2 + dy**2)) * b[1:-1, 0]
        p[-1, :] = p[-2, :]
        p[0, :] = p[1, :]


def channel_flow(nit, u, v, dt, dx, dy, p, rho, nu, F):
    un = np.zeros_like(u)
    vn = np.zeros_like(v)
    b = np.zeros_like(p)
    udiff = 1.0
    while udiff > 0.001:
        un[:] = u
        vn[:] = v
        build_up_b(b, rho, dt, u, v, dx, dy)
        pressure_poisson_periodic(nit, p, dx, dy, b)
        u[1:-1, 1:-1] = (
            un[1:-1, 1:-1]
            - un[1:-1, 1:-1] * dt / dx * (un[1:-1, 1:-1] - un[1:-1, :-2])
            - vn[1:-1, 1:-1] * dt / dy * (un[1:-1, 1:-1] - un[:-2, 1:-1])
            - dt / (2 * rho * dx) * (p[1:-1, 2:] - p[1:-1, :-2])
            + nu * dt / dx**2 * (un[1:-1, 2:] - 2 * un[1:-1, 1:-1] + un[1:-1, :-2])
            + nu * dt / dy**2 * (un[2:, 1:-1] - 2 * un[1:-1, 1:-1] + un[:-2, 1:-1])
            + F * dt
        )
        u[1:-1, -1] = (
            un[1:-1, -1]
            - un[1:-1, -1] * dt / dx * (un[1:-1, -1] - un[1:-1, -2])
            - vn[1:-1, -1] * dt / dy * (un[1:-1, -1] - un[:-2, -1])
            - dt / (2 * rho * dx) * (p[1:-1, 0] - p[1:-1, -2])
            + nu * dt / dx**2 * (un[1:-1, 0] - 2 * un[1:-1, -1] + un[1:-1, -2])
            + nu * dt / dy**2 * (un[2:, -1] - 2 * un[1:-1, -1] + un[:-2, -1])
            + F * dt
        )
        u[1:-1, 0] = (
            un[1:-1, 0]
            - un[1:-1, 0] * dt / dx * (un[1:-1, 0] - un[1:-1, -1])
            - vn[1:-1, 0] * dt / dy * (un[1:-1, 0] - un[:-2, 0])
            - dt / (2 * rho * dx) * (p[1:-1, 1] - p[1:-1, -1])
            + nu * dt / dx**2 * (un[1:-1, 1] - 2 * un[1:-1, 0] + un[1:-1, -1])
            + nu * dt / dy**2 * (un[2:, 0] - 2 * un[1:-1, 0] + un[:-2, 0])
            + F * dt
        )
        v[1:-1, 1:-1] = (
            vn[1:-1, 1:-1]
            - un[1:-1, 1:-1] * dt / dx * (vn[1:-1, 1:-1] - vn[1:-1, :-2])
            - vn[1:-1, 1:-1] * dt / dy * (vn[1:-1, 1:-1] - vn[:-2, 1:-1])
            - dt / (2 * rho * dy) * (p[2:, 1:-1] - p[:-2, 1:-1])
            + nu * dt / dx**2 * (vn[1:-1, 2:] - 2 * vn[1:-1, 1:-1] + vn[1:-1, :-2])
            + nu * dt / dy**2 * (vn[2:, 1:-1] - 2 * vn[1:-1, 1:-1] + vn[:-2, 1:-1])
        )
        v[1:-1, -1] = (
            vn[1:-1, -1]
            - un[1:-1, -1] * dt / dx * (vn[1:-1, -1] - vn[1:-1, -2])
            - vn[1:-1, -1] * dt / dy * (vn[1:-1, -1] - vn[:-2, -1])
            - dt / (2 * rho * dy) * (p[2:, -1] - p[:-2, -1])
            + nu * dt / dx**2 * (vn[1:-1, 0] - 2 * vn[1:-1, -1] + vn[1:-1, -2])
            + nu * dt / dy**2 * (vn[2:, -1] - 2 * vn[1:-1, -1] + vn[:-2, -1])
        )
        v[1:-1, 0] = (
            vn[1:-1, 0]
            - un[1:-1, 0] * dt / dx * (vn[1:-1, 0] - vn[1:-1, -1])
            - vn[1:-1, 0] * dt / dy * (vn[1:-1, 0] - vn[:-2, 0])
            - dt / (2 * rho * dy) * (p[2:, 0] - p[:-2, 0])
            + nu * dt / dx**2 * (vn[1:-1, 1] - 2 * vn[1:-1, 0] + vn[1:-1, -1])
            + nu * dt / dy**2 * (vn[2:, 0] - 2 * vn[1:-1, 0] + vn[:-2, 0])
        )
        u[0, :] = 0.0
        u[-1, :] = 0.0
        v[0, :] = 0.0
        v[-1, :] = 0.0
        udiff = (np.sum(u) - np.sum(un)) / np.sum(u)
    return np.sum(u) + np.sum(v) + np.sum(p)


def _left(x):
    return jnp.roll(x, 1, axis=1)[1:-1]


def _right(x):
    return jnp.roll(x, -1, axis=1)[1:-1]


def _source(u, v, rho, dt, dx, dy):
    du_dx, dv_dx = ((_right(w) - _left(w)) / (2 * dx) for w in (u, v))
    du_dy, dv_dy = ((w[2:] - w[:-2]) / (2 * dy) for w in (u, v))
    return rho * (1 / dt * (du_dx + dv_dy) - du_dx**2 - 2 * du_dy * dv_dx - dv_dy**2)


def _moved(w, u, v, dt, dx, dy, nu):
    """A component `w` of the velocity after advection and diffusion, inside."""
    here = w[1:-1]
    return (
        here
        - u[1:-1] * dt / dx * (here - _left(w))
        - v[1:-1] * dt / dy * (here - w[:-2])
        + nu * dt / dx**2 * (_right(w) - 2 * here + _left(w))
        + nu * dt / dy**2 * (w[2:] - 2 * here + w[:-2])
    )


def jax_version(nit, u, v, dt, dx, dy, p, rho, nu, F):
    def step(state):
        u, v, p, _ = state
        b = _source(u, v, rho, dt, dx, dy)

        def sweep(_, p):
            neighbours = (_right(p) + _left(p)) * dy**2 + (p[2:] + p[:-2]) * dx**2
            inner = (neighbours - dx**2 * dy**2 * b) / (2 * (dx**2 + dy**2))
            return jnp.concatenate([inner[:1], inner, inner[-1:]])

        p = lax.fori_loop(0, nit, sweep, p)
        edges = ((1, 1), (0, 0))
        u_inner = _moved(u, u, v, dt, dx, dy, nu) - dt / (2 * rho * dx) * (_right(p) - _left(p)) + F * dt
        v_inner = _moved(v, u, v, dt, dx, dy, nu) - dt / (2 * rho * dy) * (p[2:] - p[:-2])
        increase = (jnp.sum(u_inner) - jnp.sum(u)) / jnp.sum(u_inner)
        return jnp.pad(u_inner, edges), jnp.pad(v_inner, edges), p, increase

    def step_unless_steady(state, _):
        return lax.cond(state[3] > 0.001, step, lambda state: state, state), None

    (u, v, p, _), _ = lax.scan(step_unless_steady, (u, v, p, 1.0), length=MAX_STEPS)
    return jnp.sum(u) + jnp.sum(v) + jnp.sum(p)
