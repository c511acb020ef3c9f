"""A flow that carries smoke into the shape of a ring: the velocity at the start is found by gradients of a simulation.

The fluid is incompressible and without friction, on a grid that repeats in both directions.
"""

import sys
from pathlib import Path

import matplotlib
import numpy as np
from scipy.optimize import minimize

import sdgrad

matplotlib.use("Agg")
from matplotlib import pyplot  # noqa: E402 - the backend is chosen first

SIZE, STEPS = 24, 12
ROWS, COLUMNS = np.meshgrid(np.arange(SIZE), np.arange(SIZE), indexing="ij")


def project(velocity, sweeps=15):
    """Take the part out of a velocity that compresses the fluid: the gradient of a pressure, by Jacobi's iteration."""
    u, v = velocity
    divergence = 0.5 * (np.roll(u, -1, 0) - np.roll(u, 1, 0) + np.roll(v, -1, 1) - np.roll(v, 1, 1))
    pressure = np.zeros_like(divergence)
    for _ in range(sweeps):
        around = [np.roll(pressure, shift, axis) for axis in (0, 1) for shift in (-1, 1)]
        pressure = (sum(around) - divergence) / 4
    u = u - 0.5 * (np.roll(pressure, -1, 0) - np.roll(pressure, 1, 0))
    v = v - 0.5 * (np.roll(pressure, -1, 1) - np.roll(pressure, 1, 1))
    return np.stack([u, v])


def advect(fields, velocity):
    """What a step brings to each cell: the fields where the flow comes from, between four cells."""
    rows, columns = ROWS - velocity[0], COLUMNS - velocity[1]
    top, left = np.floor(rows).astype(int), np.floor(columns).astype(int)
    down, right = rows - top, columns - left  # where between the cells, from 0 to 1
    top, left, bottom, after = top % SIZE, left % SIZE, (top + 1) % SIZE, (left + 1) % SIZE
    above = (1 - right) * fields[:, top, left] + right * fields[:, top, after]
    below = (1 - right) * fields[:, bottom, left] + right * fields[:, bottom, after]
    return (1 - down) * above + down * below


def simulate(velocity, smoke):
    """The smoke after all steps."""
    for _ in range(STEPS):
        velocity = project(velocity)
        moved = advect(np.stack([velocity[0], velocity[1], smoke]), velocity)
        velocity, smoke = moved[:2], moved[2]
    return smoke


def misfit(parameters, smoke, target):
    """How far the smoke ends from the target; the parameters are the velocity at the start, as SciPy wants them."""
    return np.mean((simulate(parameters.reshape(2, SIZE, SIZE), smoke) - target) ** 2)


def draw(path, pictures):
    figure, cells = pyplot.subplots(1, len(pictures), figsize=(3 * len(pictures), 3), layout="constrained")
    for cell, (title, picture) in zip(cells, pictures.items(), strict=True):
        cell.imshow(picture, cmap="gray_r", vmin=0, vmax=1)
        cell.set_title(title)
        cell.axis("off")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=120)
    pyplot.close(figure)


center = (SIZE - 1) / 2
radius = np.hypot(ROWS - center, COLUMNS - center)
smoke = np.where(np.abs(COLUMNS - center) < 3, 1.0, 0.0)  # a column
target = np.where(np.abs(radius - 6) < 2, 1.0, 0.0)

rng = np.random.default_rng(0)
start = 0.05 * rng.standard_normal(2 * SIZE * SIZE)
value_and_gradient = sdgrad.value_and_grad(misfit)
value, gradient = value_and_gradient(start, smoke, target)
direction = rng.standard_normal(start.size)
there, back = (misfit(start + by * direction, smoke, target) for by in (1e-6, -1e-6))
print(f"slope along a random direction: {gradient @ direction:.8f}, by differences {(there - back) / 2e-6:.8f}")
assert np.isclose(gradient @ direction, (there - back) / 2e-6, rtol=1e-4)

arguments = {"args": (smoke, target), "jac": True, "options": {"maxiter": 100}}
found = minimize(value_and_gradient, start, method="L-BFGS-B", **arguments)
print(f"misfit {value:.4f} -> {found.fun:.4f} after {found.nit} steps")
assert found.fun < 0.25 * value

path = Path(sys.argv[1] if len(sys.argv) > 1 else "demo_output/fluid_simulation.png")
without = simulate(start.reshape(2, SIZE, SIZE), smoke)
reached = simulate(found.x.reshape(2, SIZE, SIZE), smoke)
draw(path, {"start": smoke, "end, before": without, "end, optimised": reached, "target": target})
print(f"picture in {path}")
