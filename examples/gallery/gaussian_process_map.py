"""A map of rain from fifty stations, by a Gaussian process: fronts are long in one direction, and which one is found.

The height, both lengths, the direction and the noise maximise the marginal likelihood (kriging, to geologists). The
gradient goes through the factor of Cholesky.
"""

import sys
from pathlib import Path

import matplotlib
import numpy as np
from scipy.optimize import minimize

import sdgrad

matplotlib.use("Agg")
from matplotlib import pyplot  # noqa: E402 - the backend is chosen first

STATIONS, NOISE, WIDTH = 50, 0.3, 100.0  # noise in mm, width in km


def covariance(a, b, parameters):
    """How much the rain at two places has in common. The parameters are logarithms, but for the angle."""
    height, long, short, direction = np.exp(parameters[0]), np.exp(parameters[2]), np.exp(parameters[3]), parameters[4]
    apart = a[:, None, :] - b[None, :, :]
    along = (np.cos(direction) * apart[:, :, 0] + np.sin(direction) * apart[:, :, 1]) / long
    across = (np.cos(direction) * apart[:, :, 1] - np.sin(direction) * apart[:, :, 0]) / short
    return height**2 * np.exp(-0.5 * (along**2 + across**2))


def negative_log_likelihood(parameters, places, rain):
    """Minus the logarithm of the probability of the data, with a mild prior for both lengths."""
    K = covariance(places, places, parameters) + np.exp(2 * parameters[1]) * np.eye(STATIONS)
    L = np.linalg.cholesky(K)
    whitened = np.linalg.solve(L, rain)
    prior = 0.5 * np.sum((parameters[2:4] - np.log(WIDTH / 4)) ** 2)
    return 0.5 * whitened @ whitened + np.sum(np.log(np.diag(L))) + 0.5 * STATIONS * np.log(2 * np.pi) + prior


def predict(parameters, places, rain, new):
    """Mean and standard deviation of the rain at new places."""
    K = covariance(places, places, parameters) + np.exp(2 * parameters[1]) * np.eye(STATIONS)
    across = covariance(new, places, parameters)
    variance = np.exp(2 * parameters[0]) - np.sum(across * np.linalg.solve(K, across.T).T, axis=1)
    return across @ np.linalg.solve(K, rain), np.sqrt(variance)


rng = np.random.default_rng(3)
axis = np.linspace(0, WIDTH, 30)
grid = np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)
places = rng.uniform(0, WIDTH, (STATIONS, 2))
truth = np.array([np.log(2.0), np.log(NOISE), np.log(35.0), np.log(10.0), np.deg2rad(35.0)])
everywhere = np.concatenate([grid, places])
weather = np.linalg.cholesky(covariance(everywhere, everywhere, truth) + 1e-8 * np.eye(len(everywhere)))
weather = weather @ rng.standard_normal(len(everywhere))
true_map, rain = weather[: len(grid)], weather[len(grid) :] + NOISE * rng.standard_normal(STATIONS)

guess = np.array([0.0, -1.0, np.log(20.0), np.log(15.0), 0.0])
value_and_gradient = sdgrad.value_and_grad(negative_log_likelihood)
value, gradient = value_and_gradient(guess, places, rain)
there, back = ([negative_log_likelihood(guess + by * e, places, rain) for e in np.eye(5)] for by in (1e-5, -1e-5))
assert np.allclose(gradient, np.subtract(there, back) / 2e-5, rtol=1e-5)

fit = minimize(value_and_gradient, guess, (places, rain), "BFGS", jac=True)
height, noise, long, short = np.exp(fit.x[:4])
direction = np.rad2deg(fit.x[4])
mean, deviation = predict(fit.x, places, rain, grid)
inside = np.mean(np.abs(mean - true_map) < 2 * deviation)
print(f"minus log likelihood {value:.1f} -> {fit.fun:.1f} after {fit.nit} iterations")
print(f"fronts {long:.0f} by {short:.1f} km at {direction:.0f} degrees (true: 35 by 10 km at 35 degrees)")
print(f"height {height:.2f} mm (2), noise {noise:.2f} mm ({NOISE}); {inside:.0%} of the map within two deviations")
assert abs(direction - 35) < 10 and 0.6 < long / 35 < 1.6 and 0.6 < short / 10 < 1.6 and inside > 0.85

figure, cells = pyplot.subplots(1, 3, figsize=(9, 3.4), layout="constrained", sharey=True)
limit = np.max(np.abs(true_map))
panels = {
    "truth": (true_map, "BrBG", "rain, mm above the mean", -limit, limit),
    "map from the stations": (mean, "BrBG", "rain, mm above the mean", -limit, limit),
    "its uncertainty": (deviation, "magma", "standard deviation, mm", 0, height),
}
for cell, (title, (values, colors, label, low, high)) in zip(cells, panels.items(), strict=True):
    field = values.reshape(30, 30)
    image = cell.imshow(field, cmap=colors, vmin=low, vmax=high, origin="lower", extent=(0, WIDTH, 0, WIDTH))
    figure.colorbar(image, ax=cell, orientation="horizontal", label=label, aspect=30)
    cell.set(title=title, xlabel="east, km")
for cell in cells[1:]:
    cell.plot(*places.T, ".", color="tab:red" if cell is cells[1] else "w", ms=4)
cells[0].set_ylabel("north, km")
path = Path(sys.argv[1] if len(sys.argv) > 1 else "demo_output/gaussian_process_map.png")
path.parent.mkdir(parents=True, exist_ok=True)
figure.savefig(path, dpi=100)
print(f"picture in {path}")
