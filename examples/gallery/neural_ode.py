"""A neural differential equation learns a spiral: a small network says how fast a point moves at each place.

It sees noisy points of one curve. From each of them it is integrated for a while, and the gradient of the errors goes
through all steps of the solver.
"""

import sys
from pathlib import Path

import matplotlib
import numpy as np
from scipy.optimize import minimize

import sdgrad

matplotlib.use("Agg")
from matplotlib import pyplot  # noqa: E402 - the backend is chosen first

POINTS, STEP, HORIZON = 90, 0.06, 5
HIDDEN, NOISE = 16, 0.02
SPIRAL = np.array([[-0.1, 2.0], [-2.0, -0.1]])


def spiral(y):
    """Speeds at places, a row for each: the equation of Chen et al., Neural Ordinary Differential Equations."""
    return y**3 @ SPIRAL.T


def network(y, weights):
    W1, b1 = weights[: 2 * HIDDEN].reshape(2, HIDDEN), weights[2 * HIDDEN : 3 * HIDDEN]
    W2, b2 = weights[3 * HIDDEN : 5 * HIDDEN].reshape(HIDDEN, 2), weights[5 * HIDDEN :]
    return np.tanh(y @ W1 + b1) @ W2 + b2


def curves(f, y, count, *args):
    """Where points come to, one step after the other, by the classical method of fourth order."""
    places = np.empty((count, *y.shape))
    for i in range(count):
        k1 = f(y, *args)
        k2 = f(y + STEP / 2 * k1, *args)
        k3 = f(y + STEP / 2 * k2, *args)
        k4 = f(y + STEP * k3, *args)
        y = y + STEP / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        places[i] = y
    return places


def loss(weights, observed):
    """Mean squared error of `HORIZON` steps from each point. Large weights cost a little, against the noise."""
    starts = observed[: POINTS - HORIZON]
    places = curves(network, starts, HORIZON, weights)
    error = 0.0
    for i in range(HORIZON):
        error += np.sum((places[i] - observed[i + 1 : i + 1 + POINTS - HORIZON]) ** 2)
    return error / (2 * HORIZON * len(starts)) + 1e-7 * np.sum(weights**2)


rng = np.random.default_rng(0)
start = np.array([[2.0, 0.0]])
true_curve = np.concatenate([start, curves(spiral, start, POINTS - 1)[:, 0]])
observed = true_curve + NOISE * rng.standard_normal((POINTS, 2))

guess = 0.5 * rng.standard_normal(5 * HIDDEN + 2)
value_and_gradient = sdgrad.value_and_grad(loss)
value, gradient = value_and_gradient(guess, observed)
direction = rng.standard_normal(guess.size)
there, back = (loss(guess + by * direction, observed) for by in (1e-5, -1e-5))
assert np.isclose(gradient @ direction, (there - back) / 2e-5, rtol=1e-5)

values = [value]
fit = minimize(
    value_and_gradient,
    guess,
    (observed,),
    "L-BFGS-B",
    jac=True,
    options={"maxiter": 200},
    callback=lambda intermediate_result: values.append(intermediate_result.fun),
)
learnt = np.concatenate([start, curves(network, start, POINTS - 1, fit.x)[:, 0]])
off = np.sqrt(np.mean((learnt - true_curve) ** 2))
print(f"loss {value:.4f} -> {fit.fun:.6f} after {fit.nit} iterations, noise {NOISE**2:.6f}")
print(f"the learnt curve is {off:.3f} away from the true one, in the mean of {POINTS} steps in a row")
assert fit.fun < 4 * NOISE**2 and off < 0.06

figure, (left, right) = pyplot.subplots(1, 2, figsize=(9, 3.8), layout="constrained", width_ratios=[1.1, 1])
grid = np.stack(np.meshgrid(np.linspace(-2.2, 2.2, 11), np.linspace(-2.2, 2.2, 11)), axis=-1).reshape(-1, 2)
left.quiver(*grid.T, *network(grid, fit.x).T, color="0.75", width=0.004)
left.plot(*observed.T, ".", color="tab:orange", label="observed")
left.plot(*true_curve.T, color="tab:blue", lw=4, alpha=0.4, label="true curve")
left.plot(*learnt.T, color="k", lw=1.2, label="learnt, from one point")
left.set(
    xlabel="first coordinate",
    ylabel="second coordinate",
    xlim=(-2.4, 2.4),
    ylim=(-2.4, 2.9),
    title="arrows: the learnt equation",
)
left.legend(loc="upper center", fontsize="x-small", ncols=3)
right.semilogy(values)
right.axhline(NOISE**2, color="k", ls=":", label="variance of the noise")
right.set(xlabel="iteration of L-BFGS-B", ylabel="mean squared error", title="learning")
right.legend()
path = Path(sys.argv[1] if len(sys.argv) > 1 else "demo_output/neural_ode.png")
path.parent.mkdir(parents=True, exist_ok=True)
figure.savefig(path, dpi=100)
print(f"picture in {path}")
