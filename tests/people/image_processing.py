"""Images: blurring, corners, denoising, deconvolution, registration, similarity."""

import numpy as np

from people._case import case


def gaussian_kernel(sigma, radius):
    x = np.arange(-radius, radius + 1)
    kernel = np.exp(-(x**2) / (2 * sigma**2))
    return kernel / kernel.sum()


def blur(image, sigma, radius=2, mode="reflect"):
    kernel = gaussian_kernel(sigma, radius)
    for axis in range(2):
        width = [(0, 0), (0, 0)]
        width[axis] = (radius, radius)
        padded = np.pad(image, width, mode=mode)
        image = sum(k * np.take(padded, np.arange(i, i + image.shape[axis]), axis=axis) for i, k in enumerate(kernel))
    return image


@case(lambda rng: (rng.random((8, 7)), 1.1, 0.05), wrt=(0, 1, 2))
def harris_corners(image, sigma, k):
    gy, gx = np.gradient(image)
    products = {"xx": gx * gx, "yy": gy * gy, "xy": gx * gy}
    A, C, B = [blur(products[name], sigma) for name in ("xx", "yy", "xy")]
    response = A * C - B**2 - k * (A + C) ** 2
    inner = response[1:-1, 1:-1]
    weights = np.exp(200 * inner)
    rows, columns = np.indices(inner.shape)
    return (weights * rows).sum() / weights.sum() + (weights * columns).sum() / weights.sum()


@case(lambda rng: (rng.random((6, 6)), {"weight": 0.3, "rate": 0.05, "eps": 0.1}), wrt=(0, 1))
def total_variation(noisy, settings):
    u = noisy.copy()

    def energy(u):
        dx, dy = np.diff(u, axis=0, append=u[-1:]), np.diff(u, axis=1, append=u[:, -1:])
        return np.sqrt(dx**2 + dy**2 + settings["eps"] ** 2), dx, dy

    for sweep in range(12):
        size, dx, dy = energy(u)
        px, py = dx / size, dy / size
        divergence = px + py
        divergence[1:] -= px[:-1]
        divergence[:, 1:] -= py[:, :-1]
        u += settings["rate"] * (settings["weight"] * divergence - (u - noisy))
    return settings["weight"] * energy(u)[0].sum() + 0.5 * np.linalg.norm(u - noisy, "fro") ** 2


@case(lambda rng: (0.5 + rng.random((8, 8)), 0.9), wrt=(0, 1))
def richardson_lucy(observed, width, iterations=5):
    n = observed.shape[0]
    d = np.minimum(np.arange(n), n - np.arange(n))
    psf = np.exp(-(d[:, None] ** 2 + d[None, :] ** 2) / (2 * width**2))
    transfer = np.fft.fft2(psf / psf.sum())

    def convolve(image, H):
        return np.real(np.fft.ifft2(np.fft.fft2(image) * H))

    estimate = np.full(observed.shape, observed.mean())
    for _ in range(iterations):
        ratio = observed / convolve(estimate, transfer)
        estimate *= convolve(ratio, transfer.conj())
    return np.sum((estimate - observed) ** 2) + estimate.var()


def bilinear(image, rows, columns):
    i, j = np.floor(rows).astype(int), np.floor(columns).astype(int)
    i, j = np.clip(i, 0, image.shape[0] - 2), np.clip(j, 0, image.shape[1] - 2)
    a, b = rows - i, columns - j
    top = (1 - b) * image[i, j] + b * image[i, j + 1]
    bottom = (1 - b) * image[i + 1, j] + b * image[i + 1, j + 1]
    return (1 - a) * top + a * bottom


@case(lambda rng: ((0.07, 1.04), np.array([0.31, -0.27]), rng.random((7, 7)), rng.random((7, 7))), wrt=(0, 1, 2))
def affine_registration(pose, shift, moving, fixed):
    angle, scale = pose
    centre = (np.array(fixed.shape) - 1) / 2
    R = scale * np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    grid = np.stack(np.meshgrid(np.arange(7.0), np.arange(7.0), indexing="ij"), axis=-1).reshape(-1, 2)
    rows, columns = ((grid - centre) @ R.T + centre + shift).T
    inside = (rows >= 0) & (rows <= 6) & (columns >= 0) & (columns <= 6)
    warped = bilinear(moving, rows, columns)
    difference = np.where(inside, warped - fixed.flatten(), 0.0)
    return np.sum(difference**2) / np.count_nonzero(inside)


@case(lambda rng: (rng.random((8, 8)), rng.random((8, 8))), wrt=(0, 1))
def structural_similarity(a, b, window=4, c1=1e-2, c2=3e-2):
    """The mean over windows, at two scales."""
    scores = []
    for scale in (1, 2):
        if scale > 1:
            a, b = (0.25 * (x[::2, ::2] + x[1::2, ::2] + x[::2, 1::2] + x[1::2, 1::2]) for x in (a, b))
        A, B = (np.lib.stride_tricks.sliding_window_view(x, (window, window)) for x in (a, b))
        ma, mb = A.mean(axis=(-2, -1)), B.mean(axis=(-2, -1))
        va, vb = A.var(axis=(-2, -1)), B.var(axis=(-2, -1))
        cov = (A * B).mean(axis=(-2, -1)) - ma * mb
        luminance = (2 * ma * mb + c1) / (ma**2 + mb**2 + c1)
        contrast = (2 * cov + c2) / (va + vb + c2)
        scores.append((luminance * contrast).mean())
    return np.prod([s if s > 0 else -s for s in scores])
