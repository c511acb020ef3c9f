"""Statistics: likelihoods, regression, resampling."""

import numpy as np
from scipy.special import expit, gammaln, logsumexp

from people._case import case


@case(lambda rng: ({"w": rng.standard_normal(3), "b": 0.1}, rng.standard_normal((20, 3)), rng.integers(0, 2, 20)))
def logistic_regression(params, X, y):
    p = expit(X @ params["w"] + params["b"])
    eps = 1e-9
    loss = -np.mean(y * np.log(p + eps) + (1 - y) * np.log(1 - p + eps))
    return loss + 0.01 * sum(np.sum(np.square(v)) for v in params.values())


def mixture_params(rng):
    factors = [np.eye(2) + 0.2 * np.tril(rng.standard_normal((2, 2))) for _ in range(3)]
    return [(rng.standard_normal(), rng.standard_normal(2), L) for L in factors]


def log_normal(x, mean, cov):
    d = x.shape[1]
    diff = x - mean
    sign, logdet = np.linalg.slogdet(cov)
    if sign <= 0:
        raise ValueError(f"covariance is not positive definite: {cov}")
    mahalanobis = np.einsum("ni,ij,nj->n", diff, np.linalg.inv(cov), diff)
    return -0.5 * (d * np.log(2 * np.pi) + logdet + mahalanobis)


@case(lambda rng: (mixture_params(rng), rng.standard_normal((15, 2))))
def gaussian_mixture(components, data):
    logits = np.array([c[0] for c in components])
    log_weights = logits - logsumexp(logits)
    terms = []
    for k, (_, mean, L) in enumerate(components):
        terms.append(log_weights[k] + log_normal(data, mean, L @ L.T))
    return -logsumexp(np.stack(terms, axis=1), axis=1).sum()


@case(lambda rng: (0.5 * rng.standard_normal((25, 3)), rng.poisson(2.0, 25), 0.3), wrt=(0, 2))
def poisson_newton(X, counts, ridge):
    """Log likelihood at the fitted coefficients."""
    n, p = X.shape
    beta = np.zeros(p)
    for iteration in range(30):
        rate = np.exp(X @ beta)
        gradient = X.T @ (counts - rate) - ridge * beta
        information = X.T * rate @ X + ridge * np.eye(p)
        step = np.linalg.solve(information, gradient)
        beta = beta + step
        if np.linalg.norm(step) < 1e-9:
            break
    else:
        raise RuntimeError("no convergence")
    eta = X @ beta
    return np.sum(counts * eta - np.exp(eta) - gammaln(counts + 1)) / n


@case(lambda rng: (rng.exponential(1.0, 12),))
def bootstrap_log_mean(sample, draws=20, confidence=0.9):
    rng = np.random.default_rng(0)
    n = len(sample)
    estimates = []
    for _ in range(draws):
        resampled = sample[rng.integers(0, n, size=n)]
        estimates.append(np.log(resampled.mean()))
    estimates = np.asarray(estimates)
    spread = estimates.std(ddof=1)
    z = 1.6448536269514722 if confidence == 0.9 else 1.959963984540054
    low, high = estimates.mean() - z * spread, estimates.mean() + z * spread
    return high - low


def kernel_weights(u, kind):
    if kind == "gaussian":
        return np.exp(-0.5 * u**2) / np.sqrt(2 * np.pi)
    elif kind == "cauchy":
        return 1 / (np.pi * (1 + u**2))
    raise ValueError(f"unknown kernel {kind!r}")


@case(lambda rng: (rng.standard_normal(14), 0.4, "cauchy"), wrt=(0, 1))
def leave_one_out_density(x, bandwidth, kind="gaussian"):
    n = x.size
    K = kernel_weights((x[:, None] - x[None, :]) / bandwidth, kind)
    np.fill_diagonal(K, 0.0)
    density = K.sum(axis=1) / ((n - 1) * bandwidth)
    return -np.log(density).mean()
