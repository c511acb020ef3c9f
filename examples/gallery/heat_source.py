"""Where was the plate heated? The source is recovered from noisy temperatures, measured at one moment only.

A square plate, cold at its edges, is heated by an unknown source for a while. The unknown is the whole field of the
source, one number for each point of the grid, so its gradient has as many entries.
"""

import sys
from pathlib import Path

import matplotlib
import numpy as np
from scipy.optimize import minimize

import sdgrad

matplotlib.use("Agg")
from matplotlib import pyplot  # noqa: E402 - the backend is chosen first

SIZE, STEPS = 32, 130
WIDTH = 1.0  # of the plate, m
DIFFUSIVITY = 1e-4  # m^2/s
SPACING = WIDTH / (SIZE - 1)
TIME_STEP = 0.2 * SPACING**2 / DIFFUSIVITY  # explicit steps are stable up to 0.25
NOISE = 0.2  # of a thermometer, K


def simulate(source):
    """The temperatures after all steps, from a cold plate, with the heating `source` in K/s."""
    T = np.zeros((SIZE, SIZE))
    for _ in range(STEPS):
        around = T[2:, 1:-1] + T[:-2, 1:-1] + T[1:-1, 2:] + T[1:-1, :-2]
        T[1:-1, 1:-1] += TIME_STEP * (DIFFUSIVITY / SPACING**2 * (around - 4 * T[1:-1, 1:-1]) + source[1:-1, 1:-1])
    return T


def misfit(flat, measured, smoothness):
    """Squared errors in units of the noise. Rough sources cost something, else noise would be taken for heat."""
    source = flat.reshape(SIZE, SIZE)
    errors = np.sum((simulate(source) - measured) ** 2) / NOISE**2
    rough = np.sum((source[1:] - source[:-1]) ** 2) + np.sum((source[:, 1:] - source[:, :-1]) ** 2)
    return errors + smoothness * rough


rows, columns = np.meshgrid(np.linspace(0, WIDTH, SIZE), np.linspace(0, WIDTH, SIZE), indexing="ij")
truth = 0.2 * np.exp(-((rows - 0.3) ** 2 + (columns - 0.35) ** 2) / 0.1**2)
truth += 0.1 * np.exp(-((rows - 0.65) ** 2 / 0.08**2 + (columns - 0.65) ** 2 / 0.2**2))
rng = np.random.default_rng(0)
measured = simulate(truth) + NOISE * rng.standard_normal((SIZE, SIZE))

smoothness = 1e3
value_and_gradient = sdgrad.value_and_grad(misfit)
start = np.zeros(SIZE * SIZE)
value, gradient = value_and_gradient(start, measured, smoothness)
direction = rng.standard_normal(start.size)
there, back = (misfit(start + by * direction, measured, smoothness) for by in (1e-4, -1e-4))
assert np.isclose(gradient @ direction, (there - back) / 2e-4, rtol=1e-6)

bounds = [(0, None)] * start.size  # nothing cools the plate but its edges
options = {"ftol": 1e-7, "maxcor": 20}
fit = minimize(value_and_gradient, start, (measured, smoothness), "L-BFGS-B", jac=True, bounds=bounds, options=options)
found = fit.x.reshape(SIZE, SIZE)
error = np.linalg.norm(found - truth) / np.linalg.norm(truth)
power = np.sum(found) / np.sum(truth)
residual = np.std(simulate(found) - measured)
print(f"{start.size} unknowns, {fit.nit} iterations: misfit {value:.0f} -> {fit.fun:.0f}")
print(f"error of the source {error:.1%}, whole heat {power:.1%} of the true one, residual {residual:.3f} K")
assert error < 0.2 and abs(power - 1) < 0.05 and residual < 1.2 * NOISE

figure, cells = pyplot.subplots(1, 3, figsize=(9, 3.2), layout="constrained", sharey=True)
pictures = {
    "true source": (truth, "inferno", "K/s", 0.2),
    "temperature at the end": (measured, "coolwarm", "K", None),
    "source found": (found, "inferno", "K/s", 0.2),
}
for cell, (title, (field, colors, unit, top)) in zip(cells, pictures.items(), strict=True):
    image = cell.imshow(field, cmap=colors, origin="lower", extent=(0, WIDTH, 0, WIDTH), vmax=top)
    figure.colorbar(image, ax=cell, label=unit, orientation="horizontal", aspect=30)
    cell.set(title=title, xlabel="x, m")
cells[0].set_ylabel("y, m")
path = Path(sys.argv[1] if len(sys.argv) > 1 else "demo_output/heat_source.png")
path.parent.mkdir(parents=True, exist_ok=True)
figure.savefig(path, dpi=100)
print(f"picture in {path}")
