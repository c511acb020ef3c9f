"""The shape of an obstacle inside of a plate, from currents at the edge only (electrical impedance tomography).

The potential solves Poisson's equation with the unknown conductivities. They are relaxed in place, red and black points
in turn, and the gradient goes through all sweeps.
"""

import sys
from pathlib import Path

import matplotlib
import numpy as np
from scipy.optimize import minimize

import sdgrad

matplotlib.use("Agg")
from matplotlib import pyplot  # noqa: E402 - the backend is chosen first

SIZE, SWEEPS, RELAXATION = 24, 60, 1.75
OUTSIDE, INSIDE = 1.0, 0.1  # conductivities of the plate and of the obstacle, S
NOISE = 0.002  # of a current, A
X, Y = np.meshgrid(np.linspace(-1, 1, SIZE), np.linspace(-1, 1, SIZE), indexing="ij")
VOLTAGES = np.stack([X, Y, X * Y, X**2 - Y**2])  # four experiments; their values at the edges count
RED = (np.add.outer(np.arange(1, SIZE - 1), np.arange(1, SIZE - 1)) % 2).astype(float)


def radius(shape, angle):
    """The outline: a circle and three waves around it."""
    outline = shape[2]
    for k in range(3):
        outline = outline + shape[3 + 2 * k] * np.cos((k + 2) * angle) + shape[4 + 2 * k] * np.sin((k + 2) * angle)
    return outline


def conductivity(shape):
    x, y = X - shape[0], Y - shape[1]
    share = 1 / (1 + np.exp((np.sqrt(x**2 + y**2 + 1e-9) - radius(shape, np.arctan2(y, x))) / 0.04))
    return OUTSIDE + (INSIDE - OUTSIDE) * share


def currents(shape):
    """What flows out at each point of the four edges, for each experiment."""
    k = conductivity(shape)
    up, down = (k[:-2, 1:-1] + k[1:-1, 1:-1]) / 2, (k[2:, 1:-1] + k[1:-1, 1:-1]) / 2
    left, right = (k[1:-1, :-2] + k[1:-1, 1:-1]) / 2, (k[1:-1, 2:] + k[1:-1, 1:-1]) / 2
    phi = VOLTAGES.copy()
    for _ in range(SWEEPS):
        for color in (RED, 1 - RED):
            inflow = (
                up * phi[:, :-2, 1:-1] + down * phi[:, 2:, 1:-1] + left * phi[:, 1:-1, :-2] + right * phi[:, 1:-1, 2:]
            )
            phi[:, 1:-1, 1:-1] += RELAXATION * color * (inflow / (up + down + left + right) - phi[:, 1:-1, 1:-1])
    flow = np.empty((4, 4, SIZE - 2))
    flow[:, 0] = up[0] * (phi[:, 1, 1:-1] - phi[:, 0, 1:-1])
    flow[:, 1] = down[-1] * (phi[:, -2, 1:-1] - phi[:, -1, 1:-1])
    flow[:, 2] = left[:, 0] * (phi[:, 1:-1, 1] - phi[:, 1:-1, 0])
    flow[:, 3] = right[:, -1] * (phi[:, 1:-1, -2] - phi[:, 1:-1, -1])
    return flow


def misfit(shape, measured):
    """Squared errors in units of the noise; waves of the outline cost something, the more the shorter they are."""
    return np.mean((currents(shape) - measured) ** 2) / NOISE**2 + np.sum(WEIGHTS * shape[3:] ** 2)


WEIGHTS = np.array([1.0, 1.0, 2.0, 2.0, 4.0, 4.0])
rng = np.random.default_rng(0)
true_shape = np.array([-0.15, 0.1, 0.45, 0.12, 0.04, 0.0, 0.08, 0.0, 0.0])
measured = currents(true_shape) + NOISE * rng.standard_normal((4, 4, SIZE - 2))

guess = np.array([0.2, -0.2, 0.3, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0])
value_and_gradient = sdgrad.value_and_grad(misfit)
value, gradient = value_and_gradient(guess, measured)
direction = rng.standard_normal(guess.size)
there, back = (misfit(guess + by * direction, measured) for by in (1e-6, -1e-6))
assert np.isclose(gradient @ direction, (there - back) / 2e-6, rtol=1e-5)

shapes = [guess]
fit = minimize(value_and_gradient, guess, (measured,), "L-BFGS-B", jac=True, callback=lambda x: shapes.append(x.copy()))
angles = np.linspace(-np.pi, np.pi, 200)


def outline(shape):
    r = radius(shape, angles)
    return shape[0] + r * np.cos(angles), shape[1] + r * np.sin(angles)


off = np.max(np.hypot(*np.subtract(outline(fit.x), outline(true_shape))))
print(f"{guess.size} unknowns: misfit {value:.1f} -> {fit.fun:.2f} after {fit.nit} iterations")
print(f"the outline found is at most {off:.3f} off, points of the grid are {X[1, 0] - X[0, 0]:.3f} apart")
assert fit.fun < 1.5 and off < 0.05

figure, (left, right) = pyplot.subplots(1, 2, figsize=(9, 3.6), layout="constrained", width_ratios=[1.3, 1])
left.imshow(conductivity(true_shape).T, cmap="Blues_r", vmin=-0.5, vmax=1.1, extent=(-1, 1, -1, 1), origin="lower")
for i in (0, 2, 5, 10):
    color = pyplot.cm.autumn(i / 13)
    left.plot(*outline(shapes[i]), color=color, lw=1.2, label=f"iteration {i}" if i else "first guess")
left.plot(*outline(true_shape), color="w", lw=5, alpha=0.6)
left.plot(*outline(fit.x), "k", label="found")
left.set(title="the obstacle (blue) and its outlines", xlabel="x, m", ylabel="y, m", aspect="equal")
left.legend(fontsize="small", loc="center left", bbox_to_anchor=(1.0, 0.5))
places = X[1:-1, 0]
right.plot(places, 1e3 * currents(guess)[0, 0], color=pyplot.cm.autumn(0.0), lw=1.2, label="first guess")
right.plot(places, 1e3 * measured[0, 0], ".", label="measured")
right.plot(places, 1e3 * currents(fit.x)[0, 0], "k", label="fitted")
right.set(title="current through the left edge", xlabel="y, m", ylabel="current, mA")
right.legend(fontsize="small")
path = Path(sys.argv[1] if len(sys.argv) > 1 else "demo_output/stencil_shape.png")
path.parent.mkdir(parents=True, exist_ok=True)
figure.savefig(path, dpi=100)
print(f"picture in {path}")
