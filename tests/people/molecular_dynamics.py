"""Molecular dynamics: pair potentials, chains, Ewald sums, embedded atoms, thermostats."""

import itertools
from functools import partial

import numpy as np
from scipy.special import erfc

from people._case import case


def lennard_jones(r2, epsilon=1.0, sigma=1.0):
    s6 = (sigma**2 / r2) ** 3
    return 4 * epsilon * (s6**2 - s6)


def lattice(rng, n=2, spacing=1.3, noise=0.08):
    points = np.array(list(itertools.product(range(n), repeat=3)), dtype=float)
    return spacing * points + noise * rng.standard_normal((n**3, 3))


@case(lambda rng: (lattice(rng), 3.1, 1.1, 0.95), wrt=(0, 1, 2, 3))
def lennard_jones_pressure(positions, box, epsilon, sigma):
    n = len(positions)
    rc = 1.5
    shift = lennard_jones(rc**2, epsilon, sigma)
    energy = virial = 0.0
    for i in range(n - 1):
        for j in range(i + 1, n):
            d = positions[i] - positions[j]
            d -= box * np.round(d / box)
            r2 = np.sum(d**2)
            if r2 > rc**2:
                continue
            energy += lennard_jones(r2, epsilon, sigma) - shift
            s6 = (sigma**2 / r2) ** 3
            virial += 24 * epsilon * (2 * s6**2 - s6)
    return energy / n + virial / (3 * box**3)


class Chain:
    def __init__(self, x, v, masses, bond):
        self.x = x.copy()
        self.v = v.copy()
        self.m = masses[:, np.newaxis]
        self.bond = bond
        self.energies = []

    def forces(self):
        D, a, r0 = self.bond["D"], self.bond["a"], self.bond["r0"]
        d = np.diff(self.x, axis=0)
        r = np.linalg.norm(d, axis=1, keepdims=True)
        e = np.exp(-a * (r - r0))
        pull = 2 * D * a * (1 - e) * e * d / r
        F = np.zeros_like(self.x)
        F[:-1] += pull
        F[1:] -= pull
        self.potential = D * np.sum((1 - e) ** 2)
        return F

    def step(self, dt):
        F = self.forces()
        self.v += 0.5 * dt * F / self.m
        self.x += dt * self.v
        self.v += 0.5 * dt * self.forces() / self.m
        self.energies.append(self.potential + 0.5 * np.sum(self.m * self.v**2))


@case(
    lambda rng: (
        {"D": 1.2, "a": 1.5, "r0": 1.0},
        np.cumsum(np.array([[1.0, 0.2, 0.0]] * 5), axis=0) + 0.1 * rng.standard_normal((5, 3)),
        0.3 * rng.standard_normal((5, 3)),
        np.array([1.0, 12.0, 14.0, 12.0, 1.0]),
    ),
    wrt=(0, 1),
)
def morse_chain(bond, x0, v0, masses):
    chain = Chain(x0, v0, masses, bond)
    for _ in range(10):
        chain.step(dt=0.05)
    end_to_end = np.linalg.norm(chain.x[-1] - chain.x[0])
    drift = max(chain.energies) - min(chain.energies)
    return end_to_end + 10 * drift


@case(lambda rng: (lattice(rng, n=2, spacing=1.0)[:4], np.array([1, -1, -1, 1.0]), 2.0, 1.4), wrt=(0, 1))
def ewald_sum(r, q, L, alpha):
    real = 0.0
    for i, j in itertools.combinations(range(len(q)), 2):
        for shift in itertools.product((-1, 0, 1), repeat=3):
            d = np.linalg.norm(r[i] - r[j] + L * np.array(shift))
            real += q[i] * q[j] * erfc(alpha * d) / d
    vectors = [k for k in itertools.product(range(-2, 3), repeat=3) if 0 < sum(c * c for c in k) <= 5]
    k = 2 * np.pi / L * np.array(vectors)
    k2 = (k**2).sum(axis=1)
    structure = np.exp(1j * k @ r.T) @ q
    reciprocal = 2 * np.pi / L**3 * np.sum(np.exp(-k2 / (4 * alpha**2)) / k2 * np.abs(structure) ** 2)
    self_energy = alpha / np.sqrt(np.pi) * np.dot(q, q)
    return real + reciprocal - self_energy


def neighbours(x, cutoff):
    """Pairs of atoms that are nearer than the cutoff, as two arrays of indices."""
    d = np.linalg.norm(x[:, None] - x[None, :], axis=-1)
    first, second = np.nonzero(np.triu(d < cutoff, k=1))
    return first, second


@case(
    lambda rng: (
        {"A": 0.6, "xi": 1.3, "p": 8.0, "q": 2.5, "r0": 1.2},
        (x := lattice(rng, spacing=1.25)),
        *neighbours(x, 1.55),
    ),
    wrt=(0, 1),
)
def embedded_atom_energy(gupta, positions, first, second):
    bond = positions[first] - positions[second]
    r = np.sqrt(np.einsum("pc,pc->p", bond, bond))
    x = r / gupta["r0"] - 1
    repulsion = gupta["A"] * np.exp(-gupta["p"] * x)
    hopping = gupta["xi"] ** 2 * np.exp(-2 * gupta["q"] * x)
    density = np.zeros(len(positions))
    np.add.at(density, first, hopping)
    np.add.at(density, second, hopping)
    return 2 * repulsion.sum() - np.sqrt(density).sum()


def spring(x, k, anharmonic=0.0):
    return -k * x - anharmonic * x**3


@case(lambda rng: (np.linspace(-1, 1, 9), 1.4, 0.9, 0.7), wrt=(0, 1, 2, 3))
def langevin_correlation(x, k, gamma, kT, seed=0):
    rng = np.random.default_rng(seed)
    force = partial(spring, k=k, anharmonic=0.2)
    dt, steps = 0.1, 20
    c1 = np.exp(-gamma * dt)
    c2 = np.sqrt((1 - c1**2) * kT)
    v = np.sqrt(kT) * rng.standard_normal(x.shape)
    trajectory = [x]
    for _ in range(steps):
        v = v + 0.5 * dt * force(x)
        x = x + 0.5 * dt * v
        v = c1 * v + c2 * rng.normal(size=x.shape)
        x = x + 0.5 * dt * v
        v = v + 0.5 * dt * force(x)
        trajectory.append(x)
    X = np.stack(trajectory)
    X = X - X.mean(axis=0, keepdims=True)
    lags = [np.mean(X[: len(X) - lag] * X[lag:]) for lag in range(1, 8, 2)]
    return sum(np.exp(-0.2 * i) * c for i, c in enumerate(lags)) / np.var(X)
