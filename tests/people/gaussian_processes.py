"""Gaussian processes: kernels, marginal likelihoods, predictions."""

import numpy as np
from scipy.linalg import cho_factor, cho_solve, solve_triangular
from scipy.spatial.distance import cdist
from scipy.special import erf

from people._case import case


def rbf(X1, X2, log_amplitude, log_scales):
    A, B = X1 / np.exp(log_scales), X2 / np.exp(log_scales)
    squared = (A**2).sum(1)[:, None] + (B**2).sum(1)[None, :] - 2 * A @ B.T
    return np.exp(2 * log_amplitude) * np.exp(-0.5 * np.maximum(squared, -1e-6))


@case(
    lambda rng: (
        {"kernel": {"log_amplitude": 0.2, "log_scales": np.array([0.1, -0.3])}, "log_noise": -1.0},
        rng.standard_normal((12, 2)),
        rng.standard_normal(12),
    )
)
def marginal_likelihood(params, X, y):
    K = rbf(X, X, **params["kernel"]) + np.exp(2 * params["log_noise"]) * np.eye(len(X))
    L = np.linalg.cholesky(K)
    alpha = np.linalg.solve(L.T, np.linalg.solve(L, y))
    return 0.5 * y @ alpha + np.log(np.diag(L)).sum() + 0.5 * len(y) * np.log(2 * np.pi)


class Kernel:
    def __init__(self, function):
        self.function = function

    def __call__(self, s, t):
        return self.function(s[:, None], t[None, :])

    def __add__(self, other):
        return Kernel(lambda s, t: self.function(s, t) + other.function(s, t))

    def __mul__(self, other):
        return Kernel(lambda s, t: self.function(s, t) * other.function(s, t))


def periodic(period, scale):
    return Kernel(lambda s, t: np.exp(-2 * np.sin(np.pi * (s - t) / period) ** 2 / scale**2))


def rational_quadratic(scale, alpha=1.0):
    return Kernel(lambda s, t: (1 + (s - t) ** 2 / (2 * alpha * scale**2)) ** -alpha)


@case(lambda rng: ((1.1, 0.8, 2.5, 0.3), np.linspace(0, 3, 14), rng.standard_normal(14)))
def composite_kernel(theta, t, y):
    period, smooth, decay, noise = theta
    kernel = periodic(period, smooth) * rational_quadratic(decay) + rational_quadratic(decay / 4, alpha=2.0)
    K = kernel(t, t)
    K[np.diag_indices_from(K)] += noise**2
    factor = cho_factor(K, lower=True)
    weights = cho_solve(factor, y)
    # a step ahead
    new = np.array([3.2, 3.4])
    prediction = kernel(new, t) @ weights
    return prediction.sum() + np.log(np.diag(factor[0])).sum()


@case(
    lambda rng: (rng.uniform(-1, 1, (3, 2)), rng.uniform(-1, 1, (9, 2)), rng.standard_normal(9), 0.1),
    wrt=(0, 3),
)
def expected_improvement(candidates, X, y, jitter):
    def matern(A, B):
        d = np.sqrt(5) * cdist(A, B)
        return (1 + d + d**2 / 3) * np.exp(-d)

    L = np.linalg.cholesky(matern(X, X) + jitter * np.eye(X.shape[0]))
    v = solve_triangular(L, matern(X, candidates), lower=True)
    mu = v.T @ solve_triangular(L, y, lower=True)
    sd = np.sqrt(1.0 - np.sum(v * v, axis=0) + jitter)
    best = y.min()
    z = (best - mu) / sd
    density = np.exp(-0.5 * z**2) / np.sqrt(2 * np.pi)
    below = 0.5 * (1 + erf(z / np.sqrt(2)))
    return np.log((best - mu) * below + sd * density).sum()


@case(lambda rng: ([rng.uniform(0, 4, (4, 1)), 0.9, 0.2], rng.uniform(0, 4, (16, 1)), rng.standard_normal((16, 1))))
def inducing_points(params, X, y):
    Z, scale, noise = params
    n, m = X.shape[0], Z.shape[0]

    def k(a, b):
        return np.exp(-0.5 * (a - b.T) ** 2 / scale**2)

    Kmm = k(Z, Z) + 1e-4 * np.eye(m)
    Kmn = k(Z, X)
    L = np.linalg.cholesky(Kmm)
    A = np.linalg.solve(L, Kmn) / noise
    B = np.eye(m) + A @ A.T
    LB = np.linalg.cholesky(B)
    c = np.linalg.solve(LB, A @ y) / noise
    bound = -0.5 * n * np.log(2 * np.pi * noise**2) - np.trace(np.log(np.abs(np.diagflat(np.diag(LB)) + 1 - np.eye(m))))
    bound -= 0.5 * np.sum(y**2) / noise**2 - 0.5 * np.sum(c**2)
    bound -= 0.5 * (n / noise**2 - np.trace(A @ A.T))
    return bound


@case(lambda rng: (rng.standard_normal((2, 2)), 0.7, np.linspace(0, 2, 6), rng.standard_normal((6, 2))), wrt=(0, 1, 3))
def coregionalised_leave_one_out(W, scale, t, Y):
    coregion = W @ W.T + 0.1 * np.identity(2)
    Kt = np.exp(-np.abs(t[:, np.newaxis] - t) / scale)
    K = np.kron(coregion, Kt)
    assert K.shape == (12, 12)
    y = Y.T.ravel()
    precision = np.linalg.inv(K + 0.05 * np.eye(K.shape[0]))
    variance = 1 / np.diag(precision)
    residual = (precision @ y) * variance
    return np.mean(0.5 * np.log(variance) + 0.5 * residual**2 / variance)
