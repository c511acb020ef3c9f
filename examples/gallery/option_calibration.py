"""The volatility that a market expects at each price and time (local volatility), from the prices of options.

Dupire's equation gives the prices of calls for all strikes and maturities in one march through time. Each of its
implicit steps eliminates a tridiagonal matrix, row after row.
"""

import sys
from pathlib import Path

import matplotlib
import numpy as np
from scipy.optimize import brentq, minimize
from scipy.special import ndtr

import sdgrad

matplotlib.use("Agg")
from matplotlib import pyplot  # noqa: E402 - the backend is chosen first

SPOT, NOISE = 100.0, 0.01  # the price of the share and the error of a quote
ROWS, STEPS = 61, 40
X = np.linspace(-1.5, 1.5, ROWS)  # logarithms of strike / spot
DX, DT = X[1] - X[0], 1.0 / STEPS  # years
NODES = np.array([-0.3, -0.15, 0.0, 0.15, 0.3])
HATS = np.stack([np.interp(X, NODES, row) for row in np.eye(5)], axis=1)  # linear between the nodes, constant beyond


def call_prices(nodes):
    """Prices in shares, a row for each time. `nodes` has volatilities now (first row) and in a year (second row)."""
    C = np.maximum(1 - np.exp(X), 0.0)
    table = np.empty((STEPS + 1, ROWS))
    table[0] = C
    above, right = np.empty(ROWS), np.empty(ROWS)
    for n in range(STEPS):
        t = (n + 1) * DT
        speed = 0.5 * (HATS @ (nodes[0] * (1 - t) + nodes[1] * t)) ** 2 * DT
        down, up = speed * (1 / DX**2 + 0.5 / DX), speed * (1 / DX**2 - 0.5 / DX)
        above[0], right[0] = 0.0, C[0]  # deep in the money: the price stays
        for i in range(1, ROWS - 1):
            pivot = 1 + down[i] + up[i] - down[i] * above[i - 1]
            above[i] = up[i] / pivot
            right[i] = (C[i] + down[i] * right[i - 1]) / pivot
        for i in range(ROWS - 2, 0, -1):
            C[i] = right[i] + above[i] * C[i + 1]
        table[n + 1] = C
    return table


def misfit(flat, times, rows, quotes, smoothness):
    """Mean squared error in units of the noise. Volatilities that jump from node to node cost something."""
    nodes = flat.reshape(2, 5)
    errors = (SPOT * call_prices(nodes)[times, rows] - quotes) / NOISE
    bends = nodes[:, 2:] - 2 * nodes[:, 1:-1] + nodes[:, :-2]
    return np.mean(errors**2) + smoothness * (np.sum(bends**2) + np.sum((nodes[1] - nodes[0]) ** 2))


def implied(price, x, t):
    """The constant volatility for which Black and Scholes have this price."""

    def error(s):
        d = -x / (s * np.sqrt(t)) + s * np.sqrt(t) / 2
        return SPOT * (ndtr(d) - np.exp(x) * ndtr(d - s * np.sqrt(t))) - price

    return brentq(error, 0.01, 2.0)


rng = np.random.default_rng(0)
true_nodes = np.stack([0.22 - 0.25 * NODES + 0.3 * NODES**2, 0.20 - 0.12 * NODES + 0.15 * NODES**2])
quoted = [(n, i) for n in (10, 20, 40) for i in range(ROWS) if abs(X[i]) <= 0.41 * np.sqrt(n * DT)]
times, rows = np.array(quoted).T
quotes = SPOT * call_prices(true_nodes)[times, rows] + NOISE * rng.standard_normal(len(quoted))

guess, data = np.full(10, 0.3), (times, rows, quotes, 20.0)
value_and_gradient = sdgrad.value_and_grad(misfit)
value, gradient = value_and_gradient(guess, *data)
direction = rng.standard_normal(10)
there, back = (misfit(guess + by * direction, *data) for by in (1e-6, -1e-6))
assert np.isclose(gradient @ direction, (there - back) / 2e-6, rtol=1e-5)

fit = minimize(value_and_gradient, guess, data, "L-BFGS-B", jac=True, bounds=[(0.02, 1.0)] * 10)
found, table = fit.x.reshape(2, 5), SPOT * call_prices(fit.x.reshape(2, 5))
errors = np.abs(found - true_nodes)
print(f"{len(quoted)} quotes, misfit {value:.0f} -> {fit.fun:.2f} after {fit.nit} iterations")
print(f"local volatilities in %: {np.round(100 * found, 1).tolist()}")
print(f"largest error {100 * np.max(errors):.2f} points, near the spot {100 * np.max(errors[:, 1:4]):.2f}")
assert fit.fun < 2 and np.max(errors[:, 1:4]) < 0.015 and np.max(errors) < 0.04

figure, (left, right) = pyplot.subplots(1, 2, figsize=(9, 3.8), layout="constrained")
for n, color, label in ((10, "tab:blue", "3 months"), (20, "tab:orange", "6 months"), (40, "tab:green", "1 year")):
    of = times == n
    strikes, xs = SPOT * np.exp(X[rows[of]]), X[rows[of]]
    market = [100 * implied(q, x, n * DT) for q, x in zip(quotes[of], xs, strict=True)]
    model = [100 * implied(q, x, n * DT) for q, x in zip(table[n, rows[of]], xs, strict=True)]
    left.plot(strikes, market, "o", color=color, ms=4, label=f"quotes, {label}")
    left.plot(strikes, model, color=color)
left.set(xlabel="strike", ylabel="implied volatility, %", title="smile: quotes and calibrated model (lines)")
left.legend()
for row, color, label in ((0, "tab:red", "now"), (1, "tab:purple", "in a year")):
    right.plot(SPOT * np.exp(NODES), 100 * true_nodes[row], color=color, lw=5, alpha=0.3, label=f"true, {label}")
    right.plot(SPOT * np.exp(NODES), 100 * found[row], "o-", color=color, label=f"found, {label}")
right.set(xlabel="price of the share", ylabel="local volatility, %", title="local volatility")
right.legend()
path = Path(sys.argv[1] if len(sys.argv) > 1 else "demo_output/option_calibration.png")
path.parent.mkdir(parents=True, exist_ok=True)
figure.savefig(path, dpi=100)
print(f"picture in {path}")
