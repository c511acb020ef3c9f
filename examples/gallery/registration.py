"""Two pictures of the same thing, one of them turned, sheared and moved: the affine map between them is found.

The picture is read between its pixels, and the gradient goes through these positions. Blurred pictures are
compared first, where far details still attract each other.
"""

import sys
from pathlib import Path

import matplotlib
import numpy as np
from scipy.ndimage import gaussian_filter
from scipy.optimize import minimize

import sdgrad

matplotlib.use("Agg")
from matplotlib import pyplot  # noqa: E402 - the backend is chosen first

SIZE, NOISE = 48, 0.03
CENTER = (SIZE - 1) / 2


def warp(picture, affine):
    """The picture at mapped places, between four pixels; outside of it is what its edge has."""
    rows, columns = np.meshgrid(np.arange(SIZE) - CENTER, np.arange(SIZE) - CENTER, indexing="ij")
    y = affine[0] * rows + affine[1] * columns + affine[2] * SIZE + CENTER
    x = affine[3] * rows + affine[4] * columns + affine[5] * SIZE + CENTER
    y, x = np.clip(y, 0.0, SIZE - 1.001), np.clip(x, 0.0, SIZE - 1.001)
    top, left = np.floor(y).astype(int), np.floor(x).astype(int)
    down, right = y - top, x - left
    above = (1 - right) * picture[top, left] + right * picture[top, left + 1]
    below = (1 - right) * picture[top + 1, left] + right * picture[top + 1, left + 1]
    return (1 - down) * above + down * below


def misfit(affine, moving, fixed):
    return np.mean((warp(moving, affine) - fixed) ** 2)


def draw_scene():
    """An ellipse, a bar and a disc."""
    y, x = np.meshgrid(np.linspace(-1, 1, SIZE), np.linspace(-1, 1, SIZE), indexing="ij")
    scene = 0.5 * (x**2 / 0.3 + y**2 / 0.15 < 1) + 0.4 * (np.hypot(x - 0.3, y + 0.1) < 0.15)
    scene += 0.8 * ((np.abs(x + 0.25) < 0.08) & (np.abs(y - 0.05) < 0.3))
    return gaussian_filter(scene.astype(float), 0.8)


rng = np.random.default_rng(0)
turn, shear = np.deg2rad(25), 0.15
turned = np.array([[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]]) @ np.array([[1, shear], [0, 0.9]])
truth = np.array([*turned[0], 0.1, *turned[1], -0.08])
scene = draw_scene()
fixed = warp(scene, truth) + NOISE * rng.standard_normal((SIZE, SIZE))
moving = scene + NOISE * rng.standard_normal((SIZE, SIZE))

guess = np.array([1.0, 0.0, 0.0, 0.0, 1.0, 0.0])
value_and_gradient = sdgrad.value_and_grad(misfit)
place = guess + 0.013  # bilinear interpolation has kinks where a position is that of a pixel
value, gradient = value_and_gradient(place, moving, fixed)
by_differences = [
    (misfit(place + e, moving, fixed) - misfit(place - e, moving, fixed)) / 2e-7 for e in 1e-7 * np.eye(6)
]
print(f"gradient {np.round(gradient, 5)}, by differences {np.round(by_differences, 5)}")
assert np.allclose(gradient, by_differences, rtol=1e-3, atol=1e-5)

found, iterations = guess, 0
for blur in (4.0, 2.0, 0.5):
    blurred = gaussian_filter(moving, blur), gaussian_filter(fixed, blur)
    fit = minimize(value_and_gradient, found, blurred, "L-BFGS-B", jac=True, options={"ftol": 1e-10})
    found, iterations = fit.x, iterations + fit.nit
before, after = misfit(guess, moving, fixed), misfit(found, moving, fixed)
corners = SIZE * np.array([[0.3, 0.3, 1], [0.3, -0.3, 1], [-0.3, 0.3, 1], [-0.3, -0.3, 1]])
off = np.max(np.linalg.norm(corners @ (found - truth).reshape(2, 3).T, axis=1))
print(f"mean squared difference {before:.5f} -> {after:.5f} after {iterations} iterations, noise {NOISE**2:.5f}")
print(f"affine map {np.round(found, 3)}, true {np.round(truth, 3)}; at most {off:.2f} pixels off")
assert after < 2.2 * NOISE**2 and off < 0.5

figure, cells = pyplot.subplots(1, 4, figsize=(9, 2.7), layout="constrained")
aligned = warp(moving, found)
for cell, picture, title in zip(cells[:2], (fixed, moving), ("fixed picture", "moving picture"), strict=True):
    cell.imshow(picture, cmap="gray", vmin=0, vmax=1)
    cell.set_title(title)
for cell, picture, title in zip(cells[2:], (moving, aligned), ("difference before", "difference after"), strict=True):
    image = cell.imshow(picture - fixed, cmap="RdBu_r", vmin=-0.8, vmax=0.8)
    cell.set_title(title)
for cell in cells:
    cell.set(xlabel="column, pixels", xticks=[0, 20, 40], yticks=[0, 20, 40])
cells[0].set_ylabel("row, pixels")
figure.colorbar(image, ax=cells, shrink=0.75, label="difference")
path = Path(sys.argv[1] if len(sys.argv) > 1 else "demo_output/registration.png")
path.parent.mkdir(parents=True, exist_ok=True)
figure.savefig(path, dpi=100)
print(f"picture in {path}")
