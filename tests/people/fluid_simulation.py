"""Fluids: lattice Boltzmann, projection, finite volumes, vortices, particles."""

import numpy as np

from people._case import case

VELOCITIES = np.array([(0, 0), (1, 0), (0, 1), (-1, 0), (0, -1), (1, 1), (-1, 1), (-1, -1), (1, -1)])
WEIGHTS = np.array([4 / 9] + [1 / 9] * 4 + [1 / 36] * 4)
OPPOSITE = [0, 3, 4, 1, 2, 7, 8, 5, 6]


def equilibrium(rho, u):
    cu = 3 * np.einsum("id,dxy->ixy", VELOCITIES, u)
    return rho * WEIGHTS[:, None, None] * (1 + cu + 0.5 * cu**2 - 1.5 * np.sum(u**2, axis=0))


@case(lambda rng: (0.7, 0.05, 1 + 0.01 * rng.standard_normal((6, 5))), wrt=(0, 1, 2))
def lattice_boltzmann(tau, inflow, density):
    obstacle = np.zeros((6, 5), dtype=bool)
    obstacle[2, 2] = True
    u = np.zeros((2, 6, 5))
    u[0] = inflow
    f = equilibrium(density, u)
    for _ in range(5):
        rho = f.sum(axis=0)
        u = np.tensordot(VELOCITIES.T, f, axes=1) / rho
        f += (equilibrium(rho, u) - f) / tau
        bounced = f[OPPOSITE][:, obstacle]
        f[:, obstacle] = bounced
        for i, (cx, cy) in enumerate(VELOCITIES):
            f[i] = np.roll(f[i], (cx, cy), axis=(0, 1))
    u = np.tensordot(VELOCITIES.T, f, axes=1) / f.sum(axis=0)
    vorticity = np.gradient(u[1], axis=0) - np.gradient(u[0], axis=1)
    return 1e4 * np.mean(vorticity**2)


def laplace_of(p):
    return p[2:, 1:-1] + p[:-2, 1:-1] + p[1:-1, 2:] + p[1:-1, :-2]


def pressure_poisson(p, b, sweeps):
    for _ in range(sweeps):
        p[1:-1, 1:-1] = 0.25 * (laplace_of(p) - b[1:-1, 1:-1])
        p[:, -1] = p[:, -2]
        p[0, :] = p[1, :]
        p[-1, :] = p[-2, :]
        p[:, 0] = 0
    return p


@case(lambda rng: (1.0, {"nu": 0.1, "rho": 1.2}), wrt=(0, 1))
def lid_driven_cavity(lid, fluid, n=7, dt=0.02):
    h = 1.0 / (n - 1)
    u, v, p = np.zeros((n, n)), np.zeros((n, n)), np.zeros((n, n))
    u[-1, :] = lid
    inner = (slice(1, -1), slice(1, -1))
    for step in range(5):
        ux, vy = (u[1:-1, 2:] - u[1:-1, :-2]) / (2 * h), (v[2:, 1:-1] - v[:-2, 1:-1]) / (2 * h)
        uy, vx = (u[2:, 1:-1] - u[:-2, 1:-1]) / (2 * h), (v[1:-1, 2:] - v[1:-1, :-2]) / (2 * h)
        b = np.zeros_like(p)
        b[inner] = fluid["rho"] * h**2 * ((ux + vy) / dt - ux**2 - 2 * uy * vx - vy**2)
        p = pressure_poisson(p, b, sweeps=6)
        un, vn = u.copy(), v.copy()
        diffusion = fluid["nu"] * dt / h**2
        gx = dt / (2 * fluid["rho"] * h) * (p[1:-1, 2:] - p[1:-1, :-2])
        gy = dt / (2 * fluid["rho"] * h) * (p[2:, 1:-1] - p[:-2, 1:-1])
        u[inner] += -dt * (un[inner] * ux + vn[inner] * uy) - gx + diffusion * (laplace_of(un) - 4 * un[inner])
        v[inner] += -dt * (un[inner] * vx + vn[inner] * vy) - gy + diffusion * (laplace_of(vn) - 4 * vn[inner])
    return np.sum(u**2 + v**2) + np.abs(p).max()


def flux(q, gamma):
    rho, momentum, energy = q
    u = momentum / rho
    pressure = (gamma - 1) * (energy - 0.5 * rho * u**2)
    return np.stack([momentum, momentum * u + pressure, u * (energy + pressure)]), u, pressure


@case(lambda rng: ([1.0, 0.2, 1.0], [0.3, 0.1, 0.2], 1.4), wrt=(0, 1, 2))
def shock_tube(left, right, gamma):
    """Rusanov fluxes, with the largest step that is stable."""
    n, dx, t, t_end = 24, 1 / 24, 0.0, 0.12
    x = (np.arange(n) + 0.5) * dx
    rho, u, p = (np.where(x < 0.5, a, b) for a, b in zip(left, right, strict=True))
    q = np.array([rho, rho * u, p / (gamma - 1) + 0.5 * rho * u**2])
    while t < t_end:
        padded = np.pad(q, [(0, 0), (1, 1)], mode="edge")
        F, u, p = flux(padded, gamma)
        speed = np.abs(u) + np.sqrt(gamma * p / padded[0])
        fastest = np.maximum(speed[1:], speed[:-1])
        dt = min(0.8 * dx / speed.max(), t_end - t)
        face = 0.5 * (F[:, 1:] + F[:, :-1]) - 0.5 * fastest * (padded[:, 1:] - padded[:, :-1])
        q = q - dt / dx * np.diff(face, axis=1)
        t += dt
    entropy = np.log(flux(q, gamma)[2] / q[0] ** gamma)
    return 10 * np.dot(q[0], entropy) * dx


class Vortices:
    def __init__(self, positions, strengths, core):
        self.z = positions[:, 0] + 1j * positions[:, 1]
        self.strengths = strengths
        self.core = core

    def velocity(self, z):
        separation = z[:, None] - self.z[None, :]
        distance = separation.real**2 + separation.imag**2
        kernel = np.conj(separation) / (distance + self.core**2)
        return np.conj((kernel * self.strengths).sum(axis=1) / (2j * np.pi))

    def advance(self, tracers, dt):
        middle = self.z + 0.5 * dt * self.velocity(self.z)
        moved = tracers + dt * self.velocity(tracers)
        start, self.z = self.z, middle
        self.z = start + dt * self.velocity(middle)
        return moved


@case(lambda rng: (rng.standard_normal((4, 2)), rng.uniform(0.5, 2, 4), 0.3), wrt=(0, 1, 2))
def point_vortices(positions, strengths, core):
    flow = Vortices(positions, strengths, core)
    tracers = np.exp(2j * np.pi * np.arange(6) / 6)
    for _ in range(8):
        tracers = flow.advance(tracers, dt=0.1)
    area = 0.5 * np.imag(np.sum(np.conj(tracers) * np.roll(tracers, -1)))
    return area + np.abs(flow.z.mean()) ** 2


def poly6(r2, h):
    return 315 / (64 * np.pi * h**9) * np.clip(h**2 - r2, 0, None) ** 3


@case(lambda rng: (rng.uniform(0, 1, (9, 2)), np.zeros((9, 2)), {"stiffness": 0.05, "viscosity": 0.1}), wrt=(0, 2))
def particles_in_a_box(x, v, fluid, h=0.5, dt=0.02):
    mass = 1 / len(x)
    for step in range(6):
        offset = x[:, None, :] - x[None, :, :]
        r2 = (offset**2).sum(axis=-1)
        rho = mass * poly6(r2, h).sum(axis=1)
        p = fluid["stiffness"] * (rho - 1.0)
        r = np.sqrt(r2 + 1e-4)
        slope = -45 / (np.pi * h**6) * np.maximum(h - r, 0) ** 2
        pair = (p[:, None] + p[None, :]) / (2 * rho[None, :]) * slope / r
        force = -mass * (pair[..., None] * offset).sum(axis=1)
        force += fluid["viscosity"] * mass * np.einsum("ij,ijk->ik", np.exp(-r2 / h**2), v[None] - v[:, None])
        force[:, 1] -= 1.0 * rho
        v += dt * force / rho[:, np.newaxis]
        x += dt * v
        outside = x[:, 1] < -5
        v[outside, 1] *= -0.5
    return np.sum(mass * x[:, 1]) + 0.5 * mass * np.sum(v**2)
