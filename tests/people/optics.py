"""Optics: thin films, ray tracing, diffraction, polarisation, aberrations."""

import math
from functools import reduce

import numpy as np
from scipy.special import j1

from people._case import case


def interface(n1, n2, cos1, cos2, polarisation):
    if polarisation == "s":
        r = (n1 * cos1 - n2 * cos2) / (n1 * cos1 + n2 * cos2)
        t = 2 * n1 * cos1 / (n1 * cos1 + n2 * cos2)
    else:
        r = (n2 * cos1 - n1 * cos2) / (n2 * cos1 + n1 * cos2)
        t = 2 * n1 * cos1 / (n2 * cos1 + n1 * cos2)
    return np.array([[1, r], [r, 1]]) / t


@case(lambda rng: ([(1.38, 0.1), (2.1, 0.06), (1.46, 0.09)], np.linspace(0.45, 0.65, 6), 0.3), wrt=(0, 2))
def thin_film_reflectance(stack, wavelengths, angle):
    total = 0.0
    substrate = 1.52 + 0.01j
    for polarisation in "sp":
        for lam in wavelengths:
            n, cos = 1.0, np.cos(angle)
            M = np.eye(2, dtype=complex)
            for index, thickness in stack:
                inner = np.sqrt(1 - (np.sin(angle) / index) ** 2)
                M = M @ interface(n, index, cos, inner, polarisation)
                delta = 2 * np.pi * index * thickness * inner / lam
                M = M @ np.diag([np.exp(-1j * delta), np.exp(1j * delta)])
                n, cos = index, inner
            M = M @ interface(n, substrate, cos, np.sqrt(1 - (np.sin(angle) / substrate) ** 2 + 0j), polarisation)
            total += np.abs(M[1, 0] / M[0, 0]) ** 2
    return 100 * total / (2 * len(wavelengths))


def refract(direction, normal, eta):
    cosine = -normal @ direction
    k = 1 - eta**2 * (1 - cosine**2)
    if k < 0:
        raise ValueError("total internal reflection")
    return eta * direction + (eta * cosine - math.sqrt(k)) * normal


def hit_sphere(origin, direction, centre, radius):
    oc = origin - centre
    b = np.dot(oc, direction)
    root = np.sqrt(b * b - (np.dot(oc, oc) - radius**2))
    near = -b - root if radius > 0 else -b + root
    point = origin + near * direction
    return point, (point - centre) / radius


@case(
    lambda rng: (
        [
            {"vertex": 0.0, "radius": 50.0, "index": 1.517},
            {"vertex": 6.0, "radius": -42.0, "index": 1.62},
            {"vertex": 9.0, "radius": -130.0, "index": 1.0},
        ],
        np.array([1.0, 3.0, 5.0]),
    )
)
def doublet_spot_size(surfaces, heights):
    """Mean squared size of the spot that an achromatic doublet makes."""
    spots = []
    for h in heights:
        point, ray = np.array([0.0, h, -10.0]), np.array([0.0, 0.0, 1.0])
        index = 1.0
        for surface in surfaces:
            centre = np.array([0.0, 0.0, surface["vertex"] + surface["radius"]])
            point, normal = hit_sphere(point, ray, centre, surface["radius"])
            ray = refract(ray, normal, index / surface["index"])
            index = surface["index"]
        travel = (95.0 - point[2]) / ray[2]
        spots.append((point + travel * ray)[1])
    return np.mean(np.square(spots))


@case(lambda rng: (0.5, 1.2, 6.0), wrt=(0, 1, 2))
def angular_spectrum(wavelength, waist, distance):
    """Light in a bucket behind a Gaussian beam with a wire in it."""
    n, dx = 12, 0.5
    axis = (np.arange(n) - n // 2) * dx
    X, Y = np.meshgrid(axis, axis)
    field = np.exp(-(X**2 + Y**2) / waist**2) * (1 - 0.8 * np.exp(-((X / 0.4) ** 2)))
    f = np.fft.fftfreq(n, d=dx)
    FX, FY = np.meshgrid(f, f, indexing="ij")
    kz = 2 * np.pi * np.sqrt((1 / wavelength) ** 2 - FX**2 - FY**2)
    propagated = np.fft.ifft2(np.fft.fft2(field) * np.exp(1j * kz * distance))
    intensity = np.abs(propagated) ** 2
    bucket = np.hypot(X, Y) < 1.3
    return intensity[bucket].sum() / intensity.sum()


def rotation(angle):
    c, s = math.cos(2 * angle), math.sin(2 * angle)
    R = np.eye(4)
    R[1:3, 1:3] = [[c, s], [-s, c]]
    return R


def polariser(angle):
    P = np.zeros((4, 4))
    P[:2, :2] = 0.5
    return rotation(-angle) @ P @ rotation(angle)


def retarder(angle, phase):
    c, s = math.cos(phase), math.sin(phase)
    W = np.block([[np.eye(2), np.zeros((2, 2))], [np.zeros((2, 2)), np.array([[c, s], [-s, c]])]])
    return rotation(-angle) @ W @ rotation(angle)


@case(lambda rng: ([("polariser", (0.2,)), ("retarder", (0.9, 1.4)), ("retarder", (0.3, 0.5)), ("polariser", (1.1,))],))
def stokes_train(train):
    makers = {"polariser": polariser, "retarder": retarder}
    matrices = [makers[kind](*settings) for kind, settings in train]
    system = reduce(lambda total, element: element @ total, matrices)
    light = np.array([1.0, 0.3, -0.2, 0.4])
    out = system @ light
    return out[0] + 0.1 * np.sqrt(out[1] ** 2 + out[2] ** 2 + out[3] ** 2) / out[0]


ZERNIKE = {
    "defocus": lambda r, phi: 2 * r**2 - 1,
    "astigmatism": lambda r, phi: r**2 * np.cos(2 * phi),
    "coma": lambda r, phi: (3 * r**3 - 2 * r) * np.sin(phi),
    "spherical": lambda r, phi: 6 * r**4 - 6 * r**2 + 1,
}


@case(lambda rng: ({"defocus": 0.4, "coma": -0.3, "spherical": 0.2}, 0.7), wrt=(0, 1))
def strehl_ratio(aberrations, obscuration):
    radii = np.linspace(0.05, 0.95, 10)
    phi = np.arange(12) * (2 * np.pi / 12)
    r, a = radii[:, None], phi[None, :]
    phase = np.zeros((10, 12))
    for name, amount in aberrations.items():
        phase += amount * ZERNIKE[name](r, a)
    pupil = 1 / (1 + np.exp(-(r - 0.3 * obscuration) / 0.05))
    amplitude = (pupil * r * np.exp(1j * phase)).sum() / (pupil * r * np.ones_like(a)).sum()
    u = np.arange(1, 5) * obscuration
    airy = (2 * j1(u) / u) ** 2
    return abs(amplitude) ** 2 + 0.05 * airy.prod()
