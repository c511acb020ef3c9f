"""Gray and Scott's reaction of two chemicals, whose spots divide: both rates are estimated from a noisy picture.

`u` is food and `v` eats it. The gradient of a simulation keeps each of its steps. A limit for its memory makes it
keep a few, and run the others again.
"""

import sys
from pathlib import Path

import matplotlib
import numpy as np
from scipy.optimize import minimize

import sdgrad

matplotlib.use("Agg")
from matplotlib import pyplot  # noqa: E402 - the backend is chosen first

SIZE, STEPS = 30, 350
TIME_STEP = 1.4
NOISE, LIMIT = 0.02, "300 KiB"


def laplacian(a):
    return a[2:, 1:-1] + a[:-2, 1:-1] + a[1:-1, 2:] + a[1:-1, :-2] - 4 * a[1:-1, 1:-1]


def simulate(feed, kill, u, v):
    """What becomes of `v`."""
    u, v = u.copy(), v.copy()
    for _ in range(STEPS):
        eaten = (u * v * v)[1:-1, 1:-1]
        u[1:-1, 1:-1] += TIME_STEP * (0.16 * laplacian(u) - eaten + feed * (1 - u[1:-1, 1:-1]))
        v[1:-1, 1:-1] += TIME_STEP * (0.08 * laplacian(v) + eaten - (feed + kill) * v[1:-1, 1:-1])
    return v


def misfit(rates, u, v, observed):
    """Squared errors in units of the noise. Rates are in units of 1/1000, so that a step of the search fits them."""
    return np.mean((simulate(rates[0] / 1000, rates[1] / 1000, u, v) - observed) ** 2) / NOISE**2


rng = np.random.default_rng(0)
u, v = np.ones((SIZE, SIZE)), np.zeros((SIZE, SIZE))
u[12:18, 11:19], v[12:18, 11:19] = 0.5, 0.25
true_rates = np.array([35.0, 62.0])
observed = simulate(*true_rates / 1000, u, v) + NOISE * rng.standard_normal((SIZE, SIZE))

guess = np.array([38.0, 61.0])
value_and_gradient = sdgrad.value_and_grad(misfit, memory_limit=LIMIT)
arguments = (u, v, observed)
value, gradient = value_and_gradient(guess, *arguments)
nearby = [misfit(guess + [0, by], *arguments) for by in (1e-5, -1e-5)]
assert np.isclose(gradient[1], (nearby[0] - nearby[1]) / 2e-5, rtol=1e-5)

plan = sdgrad.memory_plan(misfit, guess, *arguments, points=2)
without_limit = f"{plan.unlimited / 2**20:.0f} MiB"
print(f"memory of a gradient: {without_limit} without a limit, {plan.least / 2**10:.0f} KiB at least; here {LIMIT}")
assert plan.least < 300 * 2**10 < plan.unlimited / 10

tried = []
fit = minimize(
    value_and_gradient,
    guess,
    arguments,
    "L-BFGS-B",
    jac=True,
    options={"ftol": 1e-6},
    bounds=[(30, 45), (58, 64)],
    callback=tried.append,
)
path_of_search = np.array([guess, *tried])
print(f"misfit {value:.1f} -> {fit.fun:.3f} after {fit.nit} iterations")
print(
    f"feed {fit.x[0] / 1000:.5f}, true {true_rates[0] / 1000}; kill {fit.x[1] / 1000:.5f}, true {true_rates[1] / 1000}"
)
assert np.allclose(fit.x, true_rates, rtol=1e-3) and fit.fun < 1.1

before = simulate(*guess / 1000, u, v)
after = simulate(*fit.x / 1000, u, v)
figure, cells = pyplot.subplot_mosaic("abcs", figsize=(9, 2.9), width_ratios=[1, 1, 1, 1.4], layout="constrained")
for key, (title, picture) in zip(
    "abc", {"first guess": before, "observed": observed, "fitted": after}.items(), strict=True
):
    cells[key].imshow(picture, cmap="viridis", vmin=0, vmax=0.4)
    cells[key].set(xticks=[], yticks=[], title=title, xlabel=f"v after {STEPS} steps")
cells["s"].plot(*path_of_search.T / 1000, "o-", label="search")
cells["s"].plot(*true_rates / 1000, "k+", ms=16, mew=2, label="truth")
title = f"gradients within {LIMIT}\n(whole tape: {without_limit})"
cells["s"].set(xlabel="feed rate, 1/step", ylabel="kill rate, 1/step", title=title)
cells["s"].legend()
path = Path(sys.argv[1] if len(sys.argv) > 1 else "demo_output/gray_scott.png")
path.parent.mkdir(parents=True, exist_ok=True)
figure.savefig(path, dpi=100)
print(f"picture in {path}")
