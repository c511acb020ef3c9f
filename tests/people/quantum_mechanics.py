"""Quantum mechanics: bound states, wave packets, circuits, self-consistent fields, open systems."""

import functools

import numpy as np
from scipy.special import eval_hermite, factorial

from people._case import case


@case(lambda rng: ({"depth": 6.0, "width": 1.1, "barrier": 0.9}, np.linspace(-3.2, 3.2, 24)))
def double_well_states(well, x):
    dx = x[1] - x[0]
    V = -well["depth"] * (np.exp(-(((x - 1) / well["width"]) ** 2)) + 0.8 * np.exp(-(((x + 1) / well["width"]) ** 2)))
    V += well["barrier"] * np.exp(-8 * x**2)
    off = np.full(len(x) - 1, -0.5 / dx**2)
    H = np.diag(V + 1 / dx**2) + np.diag(off, 1) + np.diag(off, -1)
    energies, states = np.linalg.eigh(H)
    ground = states[:, 0] / np.sqrt(dx)
    density = np.abs(ground) ** 2
    position = np.trapezoid(x * density, x)
    dipole = states[:, 0] @ (x * states[:, 1])
    return energies[1] - energies[0] + position**2 + dipole**2


@case(lambda rng: (-2.0, 1.8, {"height": 1.1, "width": 0.7}), wrt=(0, 1, 2))
def tunnelling_of_wave_packet(x0, k0, barrier):
    n, L = 32, 16.0
    x = np.arange(n) * L / n - L / 2
    k = 2 * np.pi * np.fft.fftfreq(n, d=L / n)
    psi = np.exp(-0.5 * (x - x0) ** 2 + 1j * k0 * x)
    psi /= np.linalg.norm(psi)
    V = barrier["height"] / np.cosh(x / barrier["width"]) ** 2
    dt = 0.1
    half = np.exp(-0.5j * dt * V)
    kinetic = np.exp(-0.5j * dt * k**2)
    flux = []
    for _ in range(15):
        psi = half * np.fft.ifft(kinetic * np.fft.fft(half * psi))
        slope = (np.roll(psi, -1) - np.roll(psi, 1)) / (2 * L / n)
        flux.append(np.imag(np.conj(psi) * slope)[n // 2])
    transmitted = np.sum(np.abs(psi[x > 0]) ** 2)
    momentum = np.vdot(psi, np.fft.ifft(k * np.fft.fft(psi))).real
    return transmitted + 0.3 * momentum + 0.1 * sum(flux)


PAULI = {
    "I": np.eye(2, dtype=complex),
    "X": np.array([[0, 1], [1, 0]], dtype=complex),
    "Y": np.array([[0, -1j], [1j, 0]]),
    "Z": np.diag([1.0 + 0j, -1.0]),
}


def operator(word):
    return functools.reduce(np.kron, [PAULI[c] for c in word])


def rotation(word, angle):
    P = operator(word)
    return np.cos(angle / 2) * np.eye(len(P)) - 1j * np.sin(angle / 2) * P


@case(
    lambda rng: (rng.uniform(0, 2, (2, 3)), [("ZZI", 0.8), ("IZZ", 0.6), ("XII", 0.3), ("IXI", 0.4), ("IIX", 0.5)]),
    wrt=0,
)
def variational_circuit(angles, terms):
    n = angles.shape[1]
    state = np.zeros(2**n, dtype=complex)
    state[0] = 1.0
    cz = np.diag([1, 1, 1, -1]).astype(complex)
    for layer in angles:
        for qubit, theta in enumerate(layer):
            word = "".join("Y" if q == qubit else "I" for q in range(n))
            state = rotation(word, theta) @ state
        for q in range(n - 1):
            gate = np.kron(np.kron(np.eye(2**q), cz), np.eye(2 ** (n - q - 2)))
            state = gate @ state
    H = sum(c * operator(word) for word, c in terms)
    energy = np.real(state.conj() @ H @ state)
    # purity of the first qubit
    psi = state.reshape(2, -1)
    rho = psi @ psi.conj().T
    return energy + np.trace(rho @ rho).real


@case(
    lambda rng: (np.array([-1.2, -0.9, -0.4]), 0.35, np.array([1.0, 0.7, 1.3])),
    wrt=(0, 1, 2),
)
def self_consistent_field(levels, hopping, repulsion, mixing=0.5, tol=1e-12):
    n = levels.size
    overlap = np.eye(n) + 0.1 * (np.eye(n, k=1) + np.eye(n, k=-1))
    core = np.diag(levels) - hopping * (np.eye(n, k=1) + np.eye(n, k=-1))
    s, U = np.linalg.eigh(overlap)
    X = U @ np.diag(s**-0.5) @ U.T
    D = np.zeros((n, n))
    energy, cycles = 0.0, 0
    while cycles < 80:
        fock = core + np.diag(repulsion * np.diag(D) / 2)
        e, C = np.linalg.eigh(X.T @ fock @ X)
        C = X @ C[:, :1]
        new = 2 * C @ C.T
        D = mixing * new + (1 - mixing) * D
        last, energy = energy, 0.5 * np.sum(D * (core + fock))
        cycles += 1
        if cycles > 30 and abs(energy - last) < tol:
            break
    else:
        raise RuntimeError(f"not converged after {cycles} cycles")
    population = np.diag(D @ overlap)
    return energy + e[1] - e[0] + np.sum(population[::2] ** 2)


def lindblad(rho, H, jumps):
    out = -1j * (H @ rho - rho @ H)
    for rate, L in jumps:
        Ld = L.conj().T
        out += rate * (L @ rho @ Ld - 0.5 * (Ld @ L @ rho + rho @ Ld @ L))
    return out


@case(lambda rng: ({"omega": 1.1, "g": 0.4, "drive": 0.3}, [0.2, 0.05]), wrt=(0, 1))
def damped_cavity(parameters, rates):
    levels = 4
    a = np.diag(np.sqrt(np.arange(1, levels)), k=1).astype(complex)
    number = a.conj().T @ a
    H = parameters["omega"] * number + parameters["drive"] * (a + a.conj().T)
    H = H + parameters["g"] * number @ number
    alpha = 0.6 + 0.2j
    m = np.arange(levels)
    psi = np.exp(-(abs(alpha) ** 2) / 2) * alpha**m / np.sqrt(factorial(m))
    rho = np.outer(psi, psi.conj())
    rho /= np.trace(rho).real
    jumps = list(zip(rates, (a, number), strict=True))
    dt = 0.1
    for _ in range(10):
        k1 = lindblad(rho, H, jumps)
        k2 = lindblad(rho + 0.5 * dt * k1, H, jumps)
        rho = rho + dt * k2
    photons = np.trace(number @ rho).real
    basis = np.array([eval_hermite(k, 0.3) / np.sqrt(2.0**k * factorial(k)) for k in m]) * np.exp(-0.045)
    return photons + abs(rho[0, 1]) + (basis @ rho @ basis).real
