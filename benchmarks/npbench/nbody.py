"""NPBench nbody: stars under their own gravity, by the leapfrog method, and their energies after every step."""

import jax.numpy as jnp
import numpy as np
from jax import lax

SIZES = {"small": (8, 4), "medium": (60, 50), "large": (120, 100)}
WRT = ("mass", "pos", "vel")


def inputs(size, rng):
    n, steps = size
    mass = 20.0 * (0.5 + rng.random((n, 1))) / n
    pos, vel = rng.standard_normal((n, 3)), rng.standard_normal((n, 3))
    return mass, pos, vel, steps, 0.01, 1.0, 0.1


def acceleration(pos, mass, G, softening):
    dx = np.add.outer(-pos[:, 0], pos[:, 0])
    dy = np.add.outer(-pos[:, 1], pos[:, 1])
    dz = np.add.outer(-pos[:, 2], pos[:, 2])
    inv_r3 = (dx**2 + dy**2 + dz**2 + softening**2) ** (-1.5)
    ax = G * (dx * inv_r3) @ mass
    ay = G * (dy * inv_r3) @ mass
    az = G * (dz * inv_r3) @ mass
    return np.hstack((ax, ay, az))


def potential(pos, mass, G):
    dx = np.add.outer(-pos[:, 0], pos[:, 0])
    dy = np.add.outer(-pos[:, 1], pos[:, 1])
    dz = np.add.outer(-pos[:, 2], pos[:, 2])
    inv_r = 1.0 / np.sqrt(dx**2 + dy**2 + dz**2 + np.eye(pos.shape[0]))
    return G * np.sum(np.triu(-(mass * mass.T) * inv_r, 1))


def nbody(mass, pos, vel, steps, dt, G, softening):
    KE = np.zeros(steps + 1)
    PE = np.zeros(steps + 1)
    vel -= np.mean(mass * vel, axis=0) / np.mean(mass)
    acc = acceleration(pos, mass, G, softening)
    KE[0] = 0.5 * np.sum(mass * vel**2)
    PE[0] = potential(pos, mass, G)
    for i in range(steps):
        vel += acc * dt / 2.0
        pos += vel * dt
        acc[:] = acceleration(pos, mass, G, softening)
        vel += acc * dt / 2.0
        KE[i + 1] = 0.5 * np.sum(mass * vel**2)
        PE[i + 1] = potential(pos, mass, G)
    return np.sum(KE) + np.sum(PE)


def jax_version(mass, pos, vel, steps, dt, G, softening):
    n = mass.shape[0]

    def acceleration(pos):
        apart = pos[None, :, :] - pos[:, None, :]
        inv_r3 = (jnp.sum(apart**2, axis=-1) + softening**2) ** -1.5
        return G * jnp.einsum("ijk,ij,j->ik", apart, inv_r3, mass[:, 0])

    def energies(pos, vel):
        apart = pos[None, :, :] - pos[:, None, :]
        inv_r = 1.0 / jnp.sqrt(jnp.sum(apart**2, axis=-1) + jnp.eye(n))
        return 0.5 * jnp.sum(mass * vel**2), -G * jnp.sum(jnp.triu(mass * mass.T * inv_r, 1))

    def step(state, _):
        pos, vel, acc = state
        vel = vel + acc * dt / 2.0
        pos = pos + vel * dt
        acc = acceleration(pos)
        vel = vel + acc * dt / 2.0
        return (pos, vel, acc), energies(pos, vel)

    vel = vel - jnp.mean(mass * vel, axis=0) / jnp.mean(mass)
    first = energies(pos, vel)
    _, (KE, PE) = lax.scan(step, (pos, vel, acceleration(pos)), length=steps)
    return first[0] + first[1] + jnp.sum(KE) + jnp.sum(PE)
