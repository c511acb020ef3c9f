"""Three stars that circle each other: masses and velocities are found from noisy positions alone.

Units are astronomical: distances in au, times in years, masses in masses of the sun.
"""

import sys
from pathlib import Path

import matplotlib
import numpy as np
from scipy.optimize import minimize

import sdgrad

matplotlib.use("Agg")
from matplotlib import pyplot  # noqa: E402 - the backend is chosen first

G = 4 * np.pi**2  # au^3 / (solar mass * year^2)
SIGHTINGS, STEPS_BETWEEN, TIME_STEP = 40, 10, 0.005
NOISE = 0.01  # of a position, au
START = np.array([[0.4, 0.0], [-0.4, 0.0], [0.0, 2.5]])


def accelerations(places, masses):
    a = np.zeros((3, 2))
    for i in range(3):
        for j in range(3):
            if i != j:
                apart = places[j] - places[i]
                a[i] += G * masses[j] * apart / (apart @ apart) ** 1.5
    return a


def orbits(masses, velocities):
    """The places at all sightings, by the leapfrog method, which keeps the energy."""
    x, v = START.copy(), velocities.copy()
    seen = np.empty((SIGHTINGS, 3, 2))
    a = accelerations(x, masses)
    for k in range(SIGHTINGS):
        for _ in range(STEPS_BETWEEN):
            v += TIME_STEP / 2 * a
            x += TIME_STEP * v
            a = accelerations(x, masses)
            v += TIME_STEP / 2 * a
        seen[k] = x
    return seen


def misfit(parameters, observed, until):
    """Mean squared error of the first sightings, in units of the noise."""
    errors = orbits(parameters[:3], parameters[3:].reshape(3, 2)) - observed
    return np.sum(errors[:until] ** 2) / NOISE**2 / (6 * until)


rng = np.random.default_rng(1)
true_masses = np.array([1.1, 0.7, 0.4])
true_velocities = np.array([[0.2, 3.6], [0.5, -6.0], [-5.0, 0.3]])
truth = np.concatenate([true_masses, true_velocities.ravel()])
observed = orbits(true_masses, true_velocities) + NOISE * rng.standard_normal((SIGHTINGS, 3, 2))

guess = np.concatenate([[0.9, 0.9, 0.9], ((observed[0] - START) / (TIME_STEP * STEPS_BETWEEN)).ravel()])
value_and_gradient = sdgrad.value_and_grad(misfit)
value, gradient = value_and_gradient(guess, observed, SIGHTINGS)
direction = rng.standard_normal(9)
there, back = (misfit(guess + by * direction, observed, SIGHTINGS) for by in (1e-6, -1e-6))
assert np.isclose(gradient @ direction, (there - back) / 2e-6, rtol=1e-5)

fitted = guess
for until in (5, 10, 20, SIGHTINGS):  # a whole orbit at once has many minima: the first sightings lead to the right one
    fit = minimize(value_and_gradient, fitted, (observed, until), "L-BFGS-B", jac=True, options={"maxiter": 300})
    fitted = fit.x
    print(f"{until} sightings: misfit {fit.fun:.3f} after {fit.nit} iterations, masses {np.round(fitted[:3], 3)}")
print(f"true masses {true_masses}, largest error of a velocity {np.max(np.abs(fitted - truth)[3:]):.3f} au/year")
assert fit.fun < 1.2
assert np.allclose(fitted[:3], true_masses, atol=0.02) and np.allclose(fitted[3:], truth[3:], atol=0.1)

figure, cells = pyplot.subplots(1, 2, figsize=(9, 3.7), layout="constrained", sharex=True, sharey=True)
for cell, parameters, title in zip(cells, (guess, fitted), ("first guess", "fitted"), strict=True):
    path = orbits(parameters[:3], parameters[3:].reshape(3, 2))
    for i, color in enumerate(("tab:blue", "tab:orange", "tab:green")):
        cell.plot(*observed[:, i].T, ".", color=color, ms=5, alpha=0.6)
        cell.plot(*path[:, i].T, color=color, label=f"{parameters[i]:.3f} (true {true_masses[i]})")
    cell.set(title=title, xlabel="x, au", aspect="equal", xlim=(-2.5, 4), ylim=(-1.2, 3.5))
    cell.legend(title="mass, suns", loc="upper right", fontsize="small")
cells[0].set_ylabel("y, au")
path = Path(sys.argv[1] if len(sys.argv) > 1 else "demo_output/orbit_fit.png")
path.parent.mkdir(parents=True, exist_ok=True)
figure.savefig(path, dpi=100)
print(f"picture in {path}")
