"""Geophysics: waves, gravity, travel times, magnetotellurics, bending plates."""

from dataclasses import dataclass, field

import numpy as np

from people._case import case


def ricker(t, f0, delay=None):
    if delay is None:
        delay = 1.0 / f0
    a = (np.pi * f0 * (t - delay)) ** 2
    return (1 - 2 * a) * np.exp(-a)


@case(lambda rng: (1.5 + 0.3 * rng.random(30), rng.standard_normal((3, 40))))
def acoustic_misfit(velocity, observed):
    nx, nt = velocity.size, observed.shape[1]
    dx, dt = 1.0, 0.3
    receivers = [5, 14, 25]
    r2 = (velocity * dt / dx) ** 2
    previous = np.zeros(nx)
    current = np.zeros(nx)
    seismogram = np.zeros((len(receivers), nt))
    damping = np.ones(nx)
    damping[:4] = damping[-4:][::-1] = np.linspace(0.8, 0.98, 4)
    for it in range(nt):
        following = np.zeros(nx)
        following[1:-1] = (
            2 * current[1:-1] - previous[1:-1] + r2[1:-1] * (current[2:] - 2 * current[1:-1] + current[:-2])
        )
        following[10] += dt**2 * 10 * ricker(it * dt, 0.35)
        previous, current = current * damping, following * damping
        for k, ir in enumerate(receivers):
            seismogram[k, it] = current[ir]
    return 0.5 * np.sum((seismogram - observed) ** 2)


@dataclass
class Sphere:
    depth: float
    radius: float
    density: float
    x: float = 0.0
    tags: list = field(default_factory=list)

    @property
    def mass(self):
        return 4.0 / 3.0 * np.pi * self.radius**3 * self.density

    def anomaly(self, stations):
        G = 6.674
        return G * self.mass * self.depth / ((stations - self.x) ** 2 + self.depth**2) ** 1.5


@case(
    lambda rng: (
        np.array([2.0, 3.1]),
        np.array([0.7, 1.0]),
        np.array([0.6, -0.3]),
        np.linspace(-5, 5, 21),
        rng.standard_normal(21),
    ),
    wrt=(0, 1, 2),
)
def buried_spheres(depths, radii, densities, stations, g_obs):
    spheres = [
        Sphere(d, r, rho, x=2.0 * i - 1.0) for i, (d, r, rho) in enumerate(zip(depths, radii, densities, strict=False))
    ]
    total = sum(s.anomaly(stations) for s in spheres)
    # regional trend is removed by least squares
    A = np.column_stack([np.ones_like(stations), stations])
    coefficients = np.linalg.solve(A.T @ A, A.T @ (g_obs - total))
    residual = g_obs - total - A @ coefficients
    penalty = 0.1 * sum(s.mass**2 for s in spheres)
    return np.sqrt(np.mean(residual**2)) + penalty


@case(
    lambda rng: (
        [{"h": 1.0, "v": 1.5}, {"h": 2.2, "v": 2.4}, {"h": 1.7, "v": 3.3}, {"h": 3.0, "v": 4.1}],
        np.array([1.0, 2.5, 4.0]),
    ),
    tolerance=1e-5,
)
def reflection_travel_times(layers, offsets):
    """Two-point ray tracing: the ray parameter of each offset by Newton's method."""
    times = []
    for x in offsets:
        p = 0.05
        for _ in range(50):
            reach, slope = 0.0, 0.0
            for layer in layers:
                s = p * layer["v"]
                root = np.sqrt(1 - s * s)
                reach += 2 * layer["h"] * s / root
                slope += 2 * layer["h"] * layer["v"] / root**3
            miss = x - reach
            if abs(miss) < 1e-12:
                break
            p = p + miss / slope
        times.append(sum(2 * m["h"] / (m["v"] * np.sqrt(1 - (p * m["v"]) ** 2)) for m in layers))
    t = np.array(times)
    # normal moveout velocity from the t^2 - x^2 line
    slope, intercept = np.linalg.lstsq(np.vstack([offsets**2, np.ones(len(offsets))]).T, t**2, rcond=None)[0]
    return np.sqrt(1 / slope) + np.sqrt(intercept)


def impedance(rho, thickness, omega, mu0=4e-7 * np.pi):
    Z = np.sqrt(1j * omega * mu0 * rho[-1])
    for r, h in zip(rho[-2::-1], thickness[::-1], strict=True):
        k = np.sqrt(1j * omega * mu0 / r)
        intrinsic = k * r
        e = np.exp(-2 * k * h)
        belowness = (intrinsic - Z) / (intrinsic + Z)
        Z = intrinsic * (1 - belowness * e) / (1 + belowness * e)
    return Z


@case(lambda rng: (np.log([100.0, 10.0, 300.0, 30.0]), np.array([500.0, 1200.0, 2500.0]), np.logspace(-1.5, 2, 7)))
def magnetotelluric_sounding(log_rho, thickness, frequencies):
    mu0 = 4e-7 * np.pi
    rho = np.exp(log_rho)
    rho_a, phase = np.empty(len(frequencies)), np.empty(len(frequencies))
    for i, f in enumerate(frequencies):
        w = 2 * np.pi * f
        Z = impedance(rho, thickness, w)
        rho_a[i] = abs(Z) ** 2 / (w * mu0)
        phase[i] = np.degrees(np.arctan2(Z.imag, Z.real))
    smooth = np.sum(np.diff(log_rho) ** 2)
    return np.sum((np.log10(rho_a) - 1.7) ** 2) + np.sum(((phase - 45) / 10) ** 2) + 0.01 * smooth


@case(lambda rng: (np.linspace(0.8, 1.6, 16), rng.random(16), 0.4), wrt=(0, 1, 2))
def flexure_of_plate(rigidity, load, restoring, boundary="clamped"):
    n = len(rigidity)
    D2 = np.zeros((n, n))
    for i in range(1, n - 1):
        D2[i, i - 1 : i + 2] = [1.0, -2.0, 1.0]
    if boundary == "clamped":
        D2[0, 0] = D2[-1, -1] = -2.0
    elif boundary != "free":
        raise ValueError(f"unknown boundary {boundary!r}")
    K = D2.T @ np.diag(rigidity) @ D2 + restoring * np.eye(n)
    w = np.linalg.solve(K, load)
    moment = -rigidity[1:-1] * (w[2:] - 2 * w[1:-1] + w[:-2])
    return w.max() + np.sum(moment[::3] ** 2)
