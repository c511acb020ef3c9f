"""Chemistry: kinetics, equilibria, molecular mechanics, orbitals, phase equilibria."""

import re
from dataclasses import dataclass

import numpy as np
from scipy.special import erf, erfc

from people._case import case

GAS_CONSTANT = 8.314


def parse(equation):
    """Return the coefficients of the species in "A + 2 B -> C", negative on the left."""
    left, right = equation.split("->")
    coefficients = {}
    for side, sign in ((left, -1), (right, 1)):
        for term in side.split("+"):
            number, name = re.fullmatch(r"\s*(\d*)\s*([A-Z]\w*)\s*", term).groups()
            coefficients[name] = coefficients.get(name, 0) + sign * int(number or 1)
    return coefficients


@case(
    lambda rng: ([(2.0, 8.0e3), (5.0, 1.2e4), (1.0, 9.0e3)], {"A": 1.0, "B": 0.8, "C": 0.1, "D": 0.0}, 350.0), (0, 1, 2)
)
def reaction_network(arrhenius, start, temperature):
    equations = ["A + B -> C", "C -> A + B", "2 C -> D"]
    species = sorted(start)
    stoichiometry = np.array([[parse(e).get(s, 0) for s in species] for e in equations])
    orders = np.clip(-stoichiometry, 0, None)
    k = np.array([A * np.exp(-E / (GAS_CONSTANT * temperature)) for A, E in arrhenius])
    c = np.array([start[s] for s in species])
    for _ in range(30):
        rates = k * np.prod(c**orders, axis=1)
        c = c + 0.1 * rates @ stoichiometry
    return c[species.index("D")] * 10 + c[0]


@dataclass(frozen=True)
class Box:
    side: float
    cutoff: float = 1.8

    def displacement(self, a, b):
        d = a - b
        return d - self.side * np.round(d / self.side)


def salt_crystal(rng):
    corners = np.array([[i, j, k] for i in (0, 1) for j in (0, 1) for k in (0, 1)], dtype=float)
    return 1.9 * corners + 0.1 * rng.standard_normal((8, 3))


@case(
    lambda rng: (salt_crystal(rng), {"epsilon": 0.8, "sigma": 1.1, "alpha": 0.9}, np.tile([1.0, -1.0], 4)),
    wrt=(0, 1, 2),
)
def lattice_energy(positions, force_field, charges):
    box = Box(side=3.8, cutoff=2.6)
    i, j = np.triu_indices(len(positions), k=1)
    d = box.displacement(positions[i], positions[j])
    r = np.linalg.norm(d, axis=1)
    near = r < box.cutoff
    s6 = (force_field["sigma"] / r) ** 6
    switch = np.where(near, (1 - (r / box.cutoff) ** 2) ** 2, 0.0)
    dispersion = 4 * force_field["epsilon"] * np.sum((s6**2 - s6) * switch)
    coulomb = np.sum(charges[i] * charges[j] * erfc(force_field["alpha"] * r) / r)
    reciprocal = 0.0
    for n in [(1, 0, 0), (0, 1, 0), (0, 0, 1), (1, 1, 0)]:
        g = 2 * np.pi / box.side * np.array(n)
        structure = np.sum(charges * np.exp(1j * positions @ g))
        g2 = g @ g
        reciprocal += 4 * np.pi / box.side**3 * np.exp(-g2 / (4 * force_field["alpha"] ** 2)) / g2 * abs(structure) ** 2
    return dispersion + coulomb + reciprocal


@case(lambda rng: (2.0, np.array([0.17, 0.62, 3.4]), np.array([0.44, 0.54, 0.15])), wrt=(0, 1, 2))
def hydrogen_ion(distance, exponents, contraction):
    """The ground state of H2+ with one contracted s function on each atom."""
    centres = [0.0, distance]

    def f0(t):
        return 0.5 * np.sqrt(np.pi / t) * erf(np.sqrt(t))

    a, b = exponents[:, None], exponents[None, :]
    norms = contraction * (2 * exponents / np.pi) ** 0.75
    weights = np.outer(norms, norms)
    S, H = np.zeros((2, 2)), np.zeros((2, 2))
    for i, x in enumerate(centres):
        for j, y in enumerate(centres):
            p, mu = a + b, a * b / (a + b)
            bell = np.exp(-mu * (x - y) ** 2)
            overlap = (np.pi / p) ** 1.5 * bell
            middle = (a * x + b * y) / p
            kinetic = mu * (3 - 2 * mu * (x - y) ** 2) * overlap
            attraction = sum(-2 * np.pi / p * bell * f0(p * (middle - c) ** 2 + 1e-3) for c in centres)
            S[i, j] = np.sum(weights * overlap)
            H[i, j] = np.sum(weights * (kinetic + attraction))
    s, U = np.linalg.eigh(S)
    X = U @ np.diag(s**-0.5) @ U.T
    energies, orbitals = np.linalg.eigh(X.T @ H @ X)
    ground = X @ orbitals[:, 0]
    return energies[0] + 1 / distance + 0.1 * np.abs(ground).sum()


def activity(ionic_strength, charge, A=0.509):
    root = np.sqrt(ionic_strength)
    return 10 ** (-A * charge**2 * (root / (1 + root) - 0.3 * ionic_strength))


@case(lambda rng: ({"pKa": 4.76, "acid": 0.1, "salt": 0.05}, np.linspace(0.01, 0.08, 5)), wrt=(0, 1))
def buffer_titration(buffer, base_added):
    curve = []
    for base in base_added:
        pH = buffer["pKa"]
        for _ in range(25):
            h = 10**-pH
            sodium = buffer["salt"] + base
            gamma = activity(sodium + h, 1)
            Ka = 10 ** -buffer["pKa"] / gamma**2
            total = buffer["acid"] + buffer["salt"]
            balance = sodium + h - 1e-14 / h - total * Ka / (Ka + h)
            slope = h + 1e-14 / h + total * Ka * h / (Ka + h) ** 2
            step = balance / slope / np.log(10)
            if abs(step) < 1e-13:
                break
            pH = pH + step
        curve.append(pH)
    return np.polyfit(base_added, curve, 1)[0] / 10 + np.mean(curve)


def wilson(x, Lambda):
    inner = Lambda @ x
    return np.exp(1 - np.log(inner) - Lambda.T @ (x / inner))


ANTOINE = {"acetone": (7.12, 1210.6, 229.7), "methanol": (8.08, 1582.3, 239.7), "water": (8.07, 1730.6, 233.4)}


@case(lambda rng: (np.array([0.2, 0.5, 0.3]), 0.1 * rng.standard_normal((3, 3)), 70.0), wrt=(0, 1, 2))
def flash_drum(feed, log_lambda, celsius, pressure=600.0):
    """The share of vapour, by the equation of Rachford and Rice, with liquid that is not ideal."""
    saturation = np.array([10 ** (A - B / (C + celsius)) for A, B, C in ANTOINE.values()])
    Lambda = np.exp(log_lambda)
    Lambda[range(3), range(3)] = 1.0
    x, V = feed, 0.5
    for outer in range(8):
        K = wilson(x / x.sum(), Lambda) * saturation / pressure
        for inner in range(6):
            denominator = 1 + V * (K - 1)
            f = np.sum(feed * (K - 1) / denominator)
            df = -np.sum(feed * (K - 1) ** 2 / denominator**2)
            V -= f / df
        x = feed / (1 + V * (K - 1))
    return V + np.linalg.norm(K * x, ord=2)
