"""Regression with a Gaussian process: length, height and noise maximise the probability of the data."""

import numpy as np
from scipy.optimize import minimize

import sdgrad


def covariance(a, b, height, length):
    """The squared exponential kernel between all points of `a` and all of `b`, a row for each point."""
    distance = (a[:, None, :] - b[None, :, :]) / length
    return height**2 * np.exp(-0.5 * np.sum(distance**2, axis=2))


def unpack(parameters):
    """The mean; and as logarithms, which keep them positive: height, noise, and a length for each input."""
    return parameters[0], np.exp(parameters[1]), np.exp(parameters[2]), np.exp(parameters[3:])


def negative_log_likelihood(parameters, x, y):
    """Rasmussen and Williams, Gaussian Processes for Machine Learning, algorithm 2.1."""
    mean, height, noise, length = unpack(parameters)
    K = covariance(x, x, height, length) + noise**2 * np.eye(len(x))
    L = np.linalg.cholesky(K)
    whitened = np.linalg.solve(L, y - mean)
    return 0.5 * whitened @ whitened + np.sum(np.log(np.diag(L))) + 0.5 * len(x) * np.log(2 * np.pi)


def by_determinant(parameters, x, y):
    """The same without the factor of Cholesky."""
    mean, height, noise, length = unpack(parameters)
    K = covariance(x, x, height, length) + noise**2 * np.eye(len(x))
    _, log_determinant = np.linalg.slogdet(K)
    return 0.5 * ((y - mean) @ np.linalg.solve(K, y - mean) + log_determinant + len(x) * np.log(2 * np.pi))


def predict(parameters, x, y, new):
    """Mean and standard deviation of the function at new points."""
    mean, height, noise, length = unpack(parameters)
    K = covariance(x, x, height, length) + noise**2 * np.eye(len(x))
    across = covariance(new, x, height, length)
    variance = height**2 - np.sum(across * np.linalg.solve(K, across.T).T, axis=1)
    return mean + across @ np.linalg.solve(K, y - mean), np.sqrt(variance)


def truth(x):
    """A function of its first input only: the length found for the second should be large."""
    return 3.0 + np.sin(2.0 * x[:, 0])


rng = np.random.default_rng(0)
x = rng.uniform(-3, 3, (60, 2))
y = truth(x) + 0.1 * rng.standard_normal(60)

start = np.zeros(5)
value, slopes = sdgrad.value_and_grad(negative_log_likelihood)(start, x, y)
other_value, other_slopes = sdgrad.value_and_grad(by_determinant)(start, x, y)
print(f"by Cholesky's factor {value:.6f}, by the determinant {other_value:.6f}")
assert np.isclose(value, other_value) and np.allclose(slopes, other_slopes)

direction = rng.standard_normal(5)
there, back = (negative_log_likelihood(start + by * direction, x, y) for by in (1e-5, -1e-5))
assert np.isclose(slopes @ direction, (there - back) / 2e-5, rtol=1e-6)

fit = minimize(sdgrad.value_and_grad(negative_log_likelihood), start, args=(x, y), jac=True, method="BFGS")
mean, height, noise, length = unpack(fit.x)
print(f"{value:.2f} -> {fit.fun:.2f} after {fit.nit} steps")
print(f"mean {mean:.2f}, height {height:.2f}, noise {noise:.3f} (true: 0.1), lengths {np.round(length, 2)}")
assert 0.07 < noise < 0.13 and length[1] > 5 * length[0]

new = rng.uniform(-2.5, 2.5, (200, 2))
found, deviation = predict(fit.x, x, y, new)
inside = np.mean(np.abs(found - truth(new)) < 2 * deviation)
print(f"largest error {np.max(np.abs(found - truth(new))):.3f}, {inside:.0%} within two standard deviations")
assert np.max(np.abs(found - truth(new))) < 0.3 and inside > 0.8
