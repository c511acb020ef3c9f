"""Materials: elastic constants, phase fields, laminates, equations of state, plasticity."""

from typing import NamedTuple

import numpy as np

from people._case import case

VOIGT = [(0, 0), (1, 1), (2, 2), (1, 2), (0, 2), (0, 1)]


def rotation(axis, angle):
    x, y, z = axis / np.linalg.norm(axis)
    c, s = np.cos(angle), np.sin(angle)
    C = 1 - c
    return np.array(
        [
            [c + x * x * C, x * y * C - z * s, x * z * C + y * s],
            [y * x * C + z * s, c + y * y * C, y * z * C - x * s],
            [z * x * C - y * s, z * y * C + x * s, c + z * z * C],
        ]
    )


@case(lambda rng: ({"C11": 2.4, "C12": 1.3, "C44": 0.9}, np.array([1.0, 0.4, -0.3]), 0.6), wrt=(0, 1, 2))
def youngs_modulus_of_crystal(constants, axis, angle):
    C = np.zeros((6, 6))
    C[:3, :3] = constants["C12"]
    C[[0, 1, 2], [0, 1, 2]] = constants["C11"]
    for k in (3, 4, 5):
        C[k, k] = constants["C44"]
    c = np.zeros((3, 3, 3, 3))
    for I, (i, j) in enumerate(VOIGT):
        for J, (k, l) in enumerate(VOIGT):
            c[i, j, k, l] = c[j, i, k, l] = c[i, j, l, k] = c[j, i, l, k] = C[I, J]
    R = rotation(axis, angle)
    rotated = np.einsum("ai,bj,ck,dl,ijkl->abcd", R, R, R, R, c)
    back = np.array([[rotated[i, j, k, l] for k, l in VOIGT] for i, j in VOIGT])
    S = np.linalg.inv(back)
    return 1 / S[0, 0] + 0.1 * np.trace(back)


def laplacian(phi, h=1.0):
    total = -4 * phi
    for shift in (1, -1):
        for ax in (0, 1):
            total = total + np.roll(phi, shift, axis=ax)
    return total / h**2


@case(lambda rng: (rng.uniform(-0.5, 0.5, (8, 8)), 0.6, 1.2), wrt=(0, 1, 2))
def cahn_hilliard(c, kappa, mobility):
    dt, steps = 0.01, 15
    energies = []
    for n in range(steps):
        mu = c**3 - c - kappa * laplacian(c)
        c = c + dt * mobility * laplacian(mu)
        if n % 5 == 4:
            gx = np.roll(c, -1, axis=1) - c
            gy = np.roll(c, -1, axis=0) - c
            energies.append(np.sum(0.25 * (c**2 - 1) ** 2 + 0.5 * kappa * (gx**2 + gy**2)))
    return energies[-1] + 0.5 * np.mean(energies)


class Ply(NamedTuple):
    angle: float
    thickness: float
    E1: float
    E2: float
    nu12: float
    G12: float

    def stiffness(self):
        nu21 = self.nu12 * self.E2 / self.E1
        d = 1 - self.nu12 * nu21
        Q = np.array(
            [[self.E1 / d, self.nu12 * self.E2 / d, 0], [self.nu12 * self.E2 / d, self.E2 / d, 0], [0, 0, self.G12]]
        )
        m, n = np.cos(self.angle), np.sin(self.angle)
        T = np.array([[m * m, n * n, 2 * m * n], [n * n, m * m, -2 * m * n], [-m * n, m * n, m * m - n * n]])
        reuter = np.diag([1.0, 1.0, 2.0])
        return np.linalg.inv(T) @ Q @ reuter @ T @ np.linalg.inv(reuter)


@case(
    lambda rng: (
        [Ply(a, t, 9.0 + i, 1.1, 0.3, 0.6) for i, (a, t) in enumerate([(0.1, 0.5), (0.9, 0.4), (-0.7, 0.6)])],
        np.array([1.0, 0.3, -0.2, 0.1, 0.05, 0.0]),
    ),
    wrt=(0, 1),
)
def laminate_compliance(plies, loads):
    height = sum(p.thickness for p in plies)
    z = -height / 2
    A, B, D = np.zeros((3, 3)), np.zeros((3, 3)), np.zeros((3, 3))
    for ply in plies:
        top = z + ply.thickness
        Q = ply.stiffness()
        A += Q * (top - z)
        B += Q * (top**2 - z**2) / 2
        D += Q * (top**3 - z**3) / 3
        z = top
    ABD = np.block([[A, B], [B, D]])
    strains = np.linalg.solve(ABD, loads)
    return loads @ strains + 10 * np.abs(strains[:3]).sum()


def energy_of_state(V, E0, V0, B0, Bp, kind="birch"):
    if kind == "birch":
        eta = (V0 / V) ** (2 / 3)
        return E0 + 9 * V0 * B0 / 16 * ((eta - 1) ** 3 * Bp + (eta - 1) ** 2 * (6 - 4 * eta))
    elif kind == "murnaghan":
        return E0 + B0 * V / Bp * ((V0 / V) ** Bp / (Bp - 1) + 1) - V0 * B0 / (Bp - 1)
    elif kind == "vinet":
        x = (V / V0) ** (1 / 3)
        xi = 1.5 * (Bp - 1)
        return E0 + 9 * B0 * V0 / xi**2 * (1 + (xi * (1 - x) - 1) * np.exp(xi * (1 - x)))
    raise NotImplementedError(f"equation of state {kind}")


@case(
    lambda rng: (np.array([-3.0, 1.1, 0.8, 4.3]), np.linspace(0.9, 1.3, 9), rng.standard_normal(9), 2e-3),
)
def compare_equations_of_state(p, volumes, noise, scale):
    data = -3.0 + 2.0 * (volumes - 1.1) ** 2 + scale * noise
    misfit = {}
    for kind in ["birch", "murnaghan", "vinet"]:
        misfit[kind] = np.sum((energy_of_state(volumes, *p, kind=kind) - data) ** 2)
    total = 0.0
    for name, value in misfit.items():
        weight = 2.0 if name == "birch" else 1.0
        total += weight * value
    return 100 * total


class Bar:
    """One-dimensional plasticity with isotropic and kinematic hardening."""

    def __init__(self, E, yield_stress, H_iso, H_kin):
        self.E, self.sy = E, yield_stress
        self.Hi, self.Hk = H_iso, H_kin
        self.plastic = 0.0
        self.alpha = 0.0
        self.back = 0.0

    def update(self, strain):
        trial = self.E * (strain - self.plastic)
        xi = trial - self.back
        f = abs(xi) - (self.sy + self.Hi * self.alpha)
        if f <= 0:
            return trial
        dg = f / (self.E + self.Hi + self.Hk)
        sign = np.sign(xi)
        self.plastic = self.plastic + dg * sign
        self.back = self.back + self.Hk * dg * sign
        self.alpha = self.alpha + dg
        return trial - self.E * dg * sign


@case(lambda rng: (10.0, 1.03, 0.9, 0.5, 0.31 * np.sin(np.linspace(0, 7, 25))), wrt=(0, 1, 2, 3))
def cyclic_plasticity(E, sy, Hi, Hk, strains):
    bar = Bar(E, sy, Hi, Hk)
    stress = [bar.update(eps) for eps in strains]
    stress = np.array(stress)
    work = np.trapezoid(stress, strains)
    return work + 0.1 * bar.alpha
