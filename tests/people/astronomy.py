"""Astronomy: orbits, transits, distances, many bodies, blended images."""

import math
from collections import namedtuple

import numpy as np

from people._case import case

Orbit = namedtuple("Orbit", "period eccentricity omega K t0")


def eccentric_anomaly(M, e, tol=1e-13, max_iter=40):
    if not 0 <= tol < 1:
        raise ValueError(f"tolerance must be small, not {tol}")
    E = M + e * np.sin(M)
    n = 0
    while n < max_iter:
        step = (E - e * np.sin(E) - M) / (1 - e * np.cos(E))
        E = E - step
        n += 1
        if np.max(np.abs(step)) < tol:
            break
    return E


def radial_velocity(orbit, t, gamma=0.0):
    M = 2 * np.pi * (t - orbit.t0) / orbit.period
    E = eccentric_anomaly(M, orbit.eccentricity)
    nu = 2 * np.arctan2(
        np.sqrt(1 + orbit.eccentricity) * np.sin(E / 2), np.sqrt(1 - orbit.eccentricity) * np.cos(E / 2)
    )
    return gamma + orbit.K * (np.cos(nu + orbit.omega) + orbit.eccentricity * np.cos(orbit.omega))


@case(
    lambda rng: (
        Orbit(4.2, 0.31, 0.7, 2.1, 0.2),
        np.sort(rng.uniform(0, 9, 15)),
        rng.standard_normal(15),
        np.full(15, 0.8),
    )
)
def radial_velocity_chi2(orbit, t, v, sigma):
    model = radial_velocity(orbit, t, gamma=0.1)
    assert model.shape == v.shape
    return np.sum(((v - model) / sigma) ** 2)


@case(
    lambda rng: (
        {"rp": 0.12, "b": 0.3, "u": np.array([0.4, 0.2]), "duration": 2.0},
        np.linspace(-1.93, 1.93, 24),
        1 + 0.003 * rng.standard_normal(24),
    )
)
def transit_light_curve(star, t, flux, err=0.003):
    u1, u2 = star["u"]
    # sky-projected separation of planet and star
    x = 2 * t / star["duration"] * np.sqrt((1 + star["rp"]) ** 2 - star["b"] ** 2)
    z2 = x**2 + star["b"] ** 2
    inside = z2 < 0.95
    mu = np.sqrt(np.where(inside, 1 - z2, 0.05))
    intensity = np.where(inside, 1 - u1 * (1 - mu) - u2 * (1 - mu) ** 2, 0.0)
    norm = 1 - u1 / 3 - u2 / 6
    model = 1 - star["rp"] ** 2 * intensity / norm
    out_of_transit = ~inside
    baseline = np.mean(flux[out_of_transit])
    resid = (flux / baseline - model) / err
    return 0.5 * np.sum(resid**2) / len(t)


def hubble(z, Om, w, h):
    return 100 * h * np.sqrt(Om * (1 + z) ** 3 + (1 - Om) * (1 + z) ** (3 * (1 + w)))


@case(lambda rng: (0.3, -0.9, 0.7, np.sort(rng.uniform(0.05, 1.2, 12)), rng.standard_normal(12)), wrt=(0, 1, 2))
def supernova_distances(Om, w, h, z_obs, noise):
    c = 299792.458
    grid = np.linspace(0.0, 1.3, 40)
    inv = c / hubble(grid, Om, w, h)
    dz = np.diff(grid)
    comoving = np.concatenate(([0.0], np.cumsum(0.5 * (inv[1:] + inv[:-1]) * dz)))
    d_l = (1 + z_obs) * np.interp(z_obs, grid, comoving)
    mu = 5 * np.log10(d_l) + 25
    observed = 5 * np.log10((1 + z_obs) * z_obs * 4200.0) + 25 + 0.1 * noise
    delta = mu - observed
    # analytic marginalisation over the absolute magnitude
    weights = np.ones_like(z_obs) / 0.15**2
    A = np.sum(weights * delta**2)
    B = np.sum(weights * delta)
    C = weights.sum()
    return A - B**2 / C + math.log(C / (2 * math.pi))


def accelerations(pos, masses, G=1.0, softening=0.05):
    acc = np.zeros_like(pos)
    n = len(masses)
    for i in range(n):
        for j in range(n):
            if i == j:
                continue
            d = pos[j] - pos[i]
            r2 = d @ d + softening**2
            acc[i] += G * masses[j] * d / r2**1.5
    return acc


@case(
    lambda rng: (
        [
            {"mass": 1.0, "x": np.array([0.0, 0.0, 0.0]), "v": np.array([0.0, 0.0, 0.0])},
            {"mass": 0.1, "x": np.array([1.0, 0.0, 0.1]), "v": np.array([0.0, 1.0, 0.0])},
            {"mass": 0.02, "x": np.array([-1.6, 0.2, 0.0]), "v": np.array([0.1, -0.8, 0.05])},
        ],
        0.05,
    )
)
def leapfrog_orbits(bodies, dt):
    masses = [b["mass"] for b in bodies]
    pos = np.array([b["x"] for b in bodies])
    vel = np.array([b["v"] for b in bodies])
    history = []
    acc = accelerations(pos, masses)
    for _ in range(12):
        vel += 0.5 * dt * acc
        pos += dt * vel
        acc = accelerations(pos, masses)
        vel += 0.5 * dt * acc
        history.append(pos.copy())
    track = np.array(history)
    separation = np.linalg.norm(track[:, 1] - track[:, 2], axis=-1)
    kinetic = 0.5 * sum(m * np.dot(v, v) for m, v in zip(masses, vel, strict=True))
    return separation.mean() + kinetic


@case(
    lambda rng: ([(2.0, 5.2, 6.1, 1.3), (1.1, 9.3, 8.2, 1.8), (0.7, 3.3, 10.4, 1.1)], rng.random((14, 14))),
)
def blended_galaxies(sources, image):
    ny, nx = image.shape
    yy, xx = np.mgrid[0:ny, 0:nx]
    scene = np.zeros(image.shape)
    for flux, x0, y0, s in sources:
        scene += flux * np.exp(-0.5 * ((xx - x0) ** 2 + (yy - y0) ** 2) / s**2) / (2 * np.pi * s**2)
    psf = np.exp(-0.5 * (np.minimum(xx, nx - xx) ** 2 + np.minimum(yy, ny - yy) ** 2) / 1.5**2)
    psf /= psf.sum()
    seen = np.real(np.fft.ifft2(np.fft.fft2(scene) * np.fft.fft2(psf)))
    return np.sum((10 * seen - image) ** 2)
