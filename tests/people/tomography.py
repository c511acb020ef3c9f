"""Tomography: projections, algebraic and statistical reconstruction, filters, rays through grids."""

import math
from collections import namedtuple

import numpy as np

from people._case import case

Ellipse = namedtuple("Ellipse", ["density", "a", "b", "x0", "y0", "tilt"])


def project(ellipses, angles, offsets):
    sinogram = np.zeros((len(angles), len(offsets)))
    for rho, a, b, x0, y0, tilt in ellipses:
        for i, theta in enumerate(angles):
            s2 = (a * np.cos(theta - tilt)) ** 2 + (b * np.sin(theta - tilt)) ** 2
            t = offsets - x0 * np.cos(theta) - y0 * np.sin(theta)
            hit = t**2 < s2
            chord = np.sqrt(np.where(hit, s2 - t**2, 1.0))
            sinogram[i] += np.where(hit, 2 * rho * a * b * chord / s2, 0)
    return sinogram


@case(
    lambda rng: (
        [Ellipse(1.0, 0.69, 0.92, 0.0, 0.0, 0.05), Ellipse(-0.4, 0.21, 0.31, 0.22, 0.03, -0.3)],
        [0.1, 0.9, 1.7, 2.6],
    ),
    tolerance=1e-5,
)
def sinogram_moments(ellipses, angles):
    offsets = np.linspace(-1.25, 1.25, 11)
    p = project(ellipses, angles, offsets)
    mass = p.sum(axis=1)
    centre = p @ offsets / mass
    return np.var(mass) + np.sum(centre**2) + 0.1 * np.sum(p**2)


def strip_matrix(n, angles):
    """System matrix of a square image: weights of nearby pixels fall off linearly with the distance from the ray."""
    grid = np.arange(n) - (n - 1) / 2
    X, Y = np.meshgrid(grid, grid)
    rows = []
    for theta in angles:
        distance = X * np.cos(theta) + Y * np.sin(theta)
        for offset in grid:
            rows.append(np.exp(-((distance - offset) ** 2) / 0.5).ravel())
    return np.asarray(rows)


@case(lambda rng: (rng.random(36), rng.random(15), 0.7), wrt=(0, 1, 2))
def kaczmarz(truth, dose, relaxation):
    A = strip_matrix(6, angles=[0.2, 1.1, 2.0])[:15]
    b = A @ truth + 0.01 * dose
    x = np.zeros(36)
    for sweep in range(3):
        lam = relaxation / (1 + 0.3 * sweep)
        for row in range(len(b)):
            a = A[row]
            x += lam * (b[row] - a @ x) / (a @ a) * a
    return np.linalg.norm(x - truth) / np.linalg.norm(truth) + np.sum(x.reshape(6, 6)[::2, 1::2])


def ramp(n, window="hann"):
    f = np.fft.fftfreq(n)
    H = 2 * np.abs(f)
    if window == "hann":
        H *= 0.5 * (1 + np.cos(2 * np.pi * f))
    elif window == "shepp":
        H *= np.sinc(f)
    else:
        raise ValueError(window)
    return H


@case(lambda rng: (rng.random((5, 12)), np.array([0.05, 0.6, 1.3, 1.9, 2.6])), wrt=(0, 1))
def filtered_back_projection(sinogram, angles, n=7):
    n_angles, n_det = sinogram.shape
    size = 2 ** math.ceil(math.log2(2 * n_det))
    spectrum = np.fft.fft(sinogram, n=size, axis=1) * ramp(size, window="shepp")
    filtered = np.fft.ifft(spectrum, axis=1).real[:, :n_det]
    axis = np.linspace(-3, 3, n) + 0.013
    X, Y = np.meshgrid(axis, axis, indexing="ij")
    image = np.zeros((n, n))
    detector = np.arange(n_det) - n_det / 2
    for q, theta in zip(filtered, angles, strict=False):
        t = X * np.cos(theta) + Y * np.sin(theta)
        image += np.interp(t.ravel(), detector, q).reshape(n, n)
    image *= np.pi / (2 * n_angles)
    inside = X**2 + Y**2 <= 8.5
    return image[inside].std() + np.sum(image * X)


@case(lambda rng: (5 + rng.random(24), 0.2 * rng.random(25), {"background": 0.3, "beta": 0.05}), wrt=(0, 1, 2))
def emission_em(counts, attenuation, settings):
    A = strip_matrix(5, angles=np.linspace(0, np.pi, 5)[:-1])
    A = np.vstack([A, 0.5 * np.ones((4, 25))]) * np.exp(-attenuation)
    sensitivity = A.sum(axis=0)
    x = np.full(A.shape[1], counts.sum() / A.sum())
    for it in range(8):
        expected = A @ x + settings["background"]
        x *= (A.T @ (counts / expected)) / sensitivity
        if it % 2:
            image = x.reshape(5, 5)
            smooth = image.copy()
            smooth[1:-1, 1:-1] += settings["beta"] * (
                image[2:, 1:-1] + image[:-2, 1:-1] + image[1:-1, 2:] + image[1:-1, :-2] - 4 * image[1:-1, 1:-1]
            )
            x = smooth.flatten()
    expected = A @ x + settings["background"]
    return np.sum(expected - counts * np.log(expected)) + 0.1 * x.max()


def build_rays(sources, receivers, n, samples=9):
    """Rows of straight rays in compressed form, by nearest cells of sample points."""
    indptr, indices, data = [0], [], []
    for xs, ys in sources:
        for xr, yr in receivers:
            length = math.hypot(xr - xs, yr - ys)
            cells = {}
            for k in range(samples):
                t = (k + 0.5) / samples
                i, j = int(xs + t * (xr - xs)), int(ys + t * (yr - ys))
                cells[i * n + j] = cells.get(i * n + j, 0.0) + length / samples
            for cell in sorted(cells):
                indices.append(cell)
                data.append(cells[cell])
            indptr.append(len(indices))
    return np.array(indptr), np.array(indices), np.array(data)


@case(lambda rng: (1 / (2 + rng.random((4, 4))), rng.random(9)))
def crosshole_travel_times(slowness, picks):
    n = slowness.shape[0]
    indptr, indices, data = build_rays([(0.1, 0.5 + k) for k in range(3)], [(3.9, 0.7 + k) for k in range(3)], n)
    s = slowness.ravel()
    times = np.zeros(len(indptr) - 1)
    for row in range(len(times)):
        for p in range(indptr[row], indptr[row + 1]):
            times[row] += data[p] * s[indices[p]]
    roughness = np.sum(np.gradient(slowness, axis=0) ** 2) + np.sum(np.gradient(slowness, axis=1) ** 2)
    return np.sum((times - 1.5 - 0.1 * picks) ** 2) + 0.4 * roughness
