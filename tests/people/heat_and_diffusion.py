"""Heat and diffusion: explicit and implicit schemes, spectra, layers, radiation, random walks."""

import numpy as np
from scipy.special import erfc

from people._case import case


def thomas(lower, diagonal, upper, rhs):
    n = len(rhs)
    c, d = np.zeros(n), np.zeros(n)
    c[0], d[0] = upper[0] / diagonal[0], rhs[0] / diagonal[0]
    for i in range(1, n):
        pivot = diagonal[i] - lower[i] * c[i - 1]
        c[i] = upper[i] / pivot if i < n - 1 else 0.0
        d[i] = (rhs[i] - lower[i] * d[i - 1]) / pivot
    x = np.empty(n)
    x[-1] = d[-1]
    for i in reversed(range(n - 1)):
        x[i] = d[i] - c[i] * x[i + 1]
    return x


@case(lambda rng: (rng.uniform(0.5, 1.5, 9), rng.random(10)), wrt=(0, 1))
def crank_nicolson(conductivity, T, dt=0.02, steps=4):
    """Conductivities between the nodes of an insulated rod."""
    n = T.size
    r = dt / 2 * (n - 1) ** 2 * conductivity / 10
    lower = np.concatenate(([0.0], -r))
    upper = np.concatenate((-r, [0.0]))
    diagonal = 1 - lower - upper
    total = T.sum()
    for _ in range(steps):
        rhs = T.copy()
        rhs[:-1] += r * np.diff(T)
        rhs[1:] -= r * np.diff(T)
        T = thomas(lower, diagonal, upper, rhs)
    assert T.shape == (n,)
    return np.sum(T[::2] ** 2) + (T.sum() - total) ** 2


@case(lambda rng: ({"conductivity": 1.0, "film": 5.0, "emissivity": 0.8}, 20 + 5 * rng.random((6, 6))), wrt=(0, 1))
def plate_with_losses(material, T):
    sigma, ambient = 5.67e-8, 293.15
    T = T + 273.15
    source = np.zeros_like(T)
    source[2:4, 2:4] = 400.0
    trace = []
    for step in range(30):
        Tp = np.pad(T, 1, mode="edge")
        laplacian = Tp[2:, 1:-1] + Tp[:-2, 1:-1] + Tp[1:-1, 2:] + Tp[1:-1, :-2] - 4 * T
        loss = material["film"] * (T - ambient)
        loss = loss + material["emissivity"] * sigma * (T**4 - ambient**4)
        T = T + 0.1 * material["conductivity"] * laplacian + 1e-3 * (source - loss)
        if step % 10 == 0:
            trace.append(T.max())
    return np.mean(T) - ambient + 0.1 * sum(trace) / len(trace)


@case(lambda rng: (rng.standard_normal(16), 0.4, 1.5), wrt=(0, 1, 2))
def spectral_heat(u, kappa, exponent):
    """Fractional diffusion with a reaction, by splitting."""
    k = 2 * np.pi * np.fft.rfftfreq(u.size, d=1 / u.size) / 4
    decay = np.exp(-kappa * 0.05 * k**exponent)
    for _ in range(4):
        u = u / np.sqrt(u**2 + (1 - u**2) * np.exp(-0.1))
        u = np.fft.irfft(decay * np.fft.rfft(u), n=16)
    spectrum = np.abs(np.fft.rfft(u))[1:] ** 2
    return spectrum.sum() + u[3]


def harmonic_mean(a, b):
    return 2 * a * b / (a + b)


@case(lambda rng: ([("brick", 0.10, 0.8), ("wool", 0.12, 0.04), ("plaster", 0.02, 0.5)], (21.0, -3.0)), wrt=(0, 1))
def heat_through_wall(layers, temperatures):
    inside, outside = temperatures
    cell = 0.01
    conductivities, widths = [], []
    for name, thickness, lam in layers:
        count = {"brick": 4, "wool": 6, "plaster": 2}[name]
        conductivities.extend([lam] * count)
        widths += [thickness / count] * count
    lam, dx = np.array(conductivities), np.array(widths)
    conductance = harmonic_mean(lam[:-1] / dx[:-1], lam[1:] / dx[1:])
    n = len(lam)
    K = np.zeros((n, n))
    for i, g in enumerate(conductance):
        K[i : i + 2, i : i + 2] += g * np.array([[1, -1], [-1, 1]])
    rhs = np.zeros(n)
    K[0, 0] += 8.0
    rhs[0] += 8.0 * inside
    K[-1, -1] += 25.0
    rhs[-1] = 25.0 * outside
    T = np.linalg.solve(K, rhs)
    dew = np.interp(0.15, np.cumsum(dx) - dx / 2, T)
    return 8.0 * (inside - T[0]) + cell * dew


@case(lambda rng: (0.02, 0.8, np.array([0.3, 0.5, 0.9, 1.4])), wrt=(0, 1, 2), tolerance=1e-5)
def melting_front(diffusivity, stefan, depths):
    """Neumann's solution of the melting problem; the front by Newton's method."""
    lam = 0.8
    while True:
        e = np.exp(lam**2)
        g = np.sqrt(np.pi) * lam * e * (1 - erfc(lam)) - stefan
        slope = np.sqrt(np.pi) * e * (1 - erfc(lam)) * (1 + 2 * lam**2) + 2 * lam
        change = g / slope
        lam = lam - change
        if abs(change) < 1e-12:
            break
    times = depths**2 / (4 * diffusivity * lam**2)
    probe = 0.2
    heat = [1 - (1 - erfc(probe / (2 * np.sqrt(diffusivity * t)))) / (1 - erfc(lam)) for t in times]
    return np.log(times).sum() + sum(h**2 for h in heat)
