"""The parameters of a predator-prey model, estimated through a Runge-Kutta solver from noisy counts of both species."""

import numpy as np
from scipy.optimize import minimize

import sdgrad


def lotka_volterra(state, rates):
    """How fast prey and predators become more or fewer."""
    birth, predation, growth, death = rates
    prey, predators = state
    return np.array([(birth - predation * predators) * prey, (growth * prey - death) * predators])


def runge_kutta(f, y, h, *args):
    """One step of length `h` with the classical method of fourth order."""
    k1 = f(y, *args)
    k2 = f(y + h / 2 * k1, *args)
    k3 = f(y + h / 2 * k2, *args)
    k4 = f(y + h * k3, *args)
    return y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)


def solve(f, y, times, *args, substeps=10):
    """The solution at `times`, with a fixed number of steps between two of them."""
    path = np.empty((len(times), len(y)))
    path[0] = y
    for i in range(1, len(times)):
        h = (times[i] - times[i - 1]) / substeps
        for _ in range(substeps):
            y = runge_kutta(f, y, h, *args)
        path[i] = y
    return path


def solve_adaptively(f, y, end, *args, tolerance=1e-8):
    """The solution at time `end`: the steps of Bogacki and Shampine, as long as their estimate of the error allows."""
    t, h = 0.0, 0.1
    while t < end:
        h = min(h, end - t)
        k1 = f(y, *args)
        k2 = f(y + h / 2 * k1, *args)
        k3 = f(y + h * 3 / 4 * k2, *args)
        third_order = y + h / 9 * (2 * k1 + 3 * k2 + 4 * k3)
        second_order = y + h / 24 * (7 * k1 + 6 * k2 + 8 * k3 + 3 * f(third_order, *args))
        error = np.max(np.abs(third_order - second_order))
        if error < tolerance:
            t, y = t + h, third_order
        h *= min(4.0, max(0.2, 0.9 * (tolerance / (error + 1e-16)) ** (1 / 3)))
    return y


def misfit(parameters, times, observed):
    """How far the solution is from the observations. Logarithms keep all parameters positive."""
    rates, start = np.exp(parameters[:4]), np.exp(parameters[4:])
    path = solve(lotka_volterra, start, times, rates)
    return np.mean((np.log(path) - np.log(observed)) ** 2)


rng = np.random.default_rng(0)
true_rates, true_start, noise = np.array([1.0, 0.4, 0.1, 0.6]), np.array([8.0, 2.0]), 0.03
times = np.linspace(0.0, 20.0, 61)
observed = solve(lotka_volterra, true_start, times, true_rates) * np.exp(noise * rng.standard_normal((61, 2)))

guess = np.concatenate([np.log([0.7, 0.3, 0.07, 0.8]), np.log(observed[0])])
value_and_gradient = sdgrad.value_and_grad(misfit)
fit = minimize(value_and_gradient, guess, args=(times, observed), jac=True, method="L-BFGS-B", options={"maxiter": 300})
rates, start = np.exp(fit.x[:4]), np.exp(fit.x[4:])
print(f"misfit {misfit(guess, times, observed):.4f} -> {fit.fun:.4f} after {fit.nit} steps, noise {noise**2:.4f}")
print(f"rates {np.round(rates, 3)}, true {true_rates}; start {np.round(start, 2)}, true {true_start}")
assert fit.fun < 1.2 * noise**2
assert np.allclose(rates, true_rates, rtol=0.1) and np.allclose(start, true_start, rtol=0.1)


def predators_at_end(rates):
    """The predators at the end. A solver that chooses its steps is a `while` on data, and has a gradient too."""
    return solve_adaptively(lotka_volterra, true_start, times[-1], rates)[1]


slopes = sdgrad.grad(predators_at_end)(rates)
print(f"slopes of the predators at the end: {np.round(slopes, 4)}")
direction = rng.standard_normal(4)
nearby = [predators_at_end(rates + by * direction) for by in (-1e-4, 1e-4)]
assert np.isclose(slopes @ direction, (nearby[1] - nearby[0]) / 2e-4, rtol=1e-3)
