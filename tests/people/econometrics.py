"""Econometrics: robust errors, volatility, instruments, panels, censored data."""

from collections import defaultdict

import numpy as np
from scipy import special, stats

from people._case import case


def ols(y, X, cov="classical", lags=2):
    n, k = X.shape
    XtX_inv = np.linalg.inv(X.T @ X)
    beta = XtX_inv @ X.T @ y
    e = y - X @ beta
    if cov == "classical":
        V = e @ e / (n - k) * XtX_inv
    elif cov == "HC1":
        V = n / (n - k) * XtX_inv @ (X.T * e**2) @ X @ XtX_inv
    elif cov == "HAC":
        xe = X * e[:, None]
        S = xe.T @ xe
        for lag in range(1, lags + 1):
            w = 1 - lag / (lags + 1)
            gamma = xe[lag:].T @ xe[:-lag]
            S += w * (gamma + gamma.T)
        V = XtX_inv @ S @ XtX_inv
    else:
        raise ValueError(f"cov must be classical, HC1 or HAC, not {cov!r}")
    return beta, np.sqrt(np.diag(V)), e


@case(lambda rng: (rng.standard_normal(20), rng.standard_normal((20, 2))), wrt=(0, 1))
def robust_t_statistics(y, regressors):
    X = np.c_[np.ones(len(y)), regressors]
    total = 0.0
    for i, kind in enumerate(["classical", "HC1", "HAC"]):
        beta, se, e = ols(y, X, cov=kind)
        total += (i + 1) * np.sum((beta / se) ** 2)
    r2 = 1 - np.sum(e**2) / np.sum((y - np.mean(y)) ** 2)
    durbin_watson = np.sum(np.diff(e) ** 2) / np.sum(e**2)
    return total / 10 + r2 + durbin_watson


@case(
    lambda rng: (
        np.array([0.05, 0.1, 0.1, 0.8, 0.05]),
        0.5 * rng.standard_normal(30) + np.where(np.arange(30) % 2, 0.4, -0.3),
    ),
    wrt=(0, 1),
)
def asymmetric_garch(theta, returns):
    mu, omega, alpha, beta, gamma = theta
    if min(omega, alpha, beta) < 0 or alpha + beta + gamma / 2 >= 1:
        return 1e10
    eps = returns - mu
    h = np.empty_like(eps)
    h[0] = np.var(returns)
    for t in range(1, len(eps)):
        bad_news = 1.0 if eps[t - 1] < 0 else 0.0
        h[t] = omega + (alpha + gamma * bad_news) * eps[t - 1] ** 2 + beta * h[t - 1]
    nu = 8.0
    constant = special.gammaln((nu + 1) / 2) - special.gammaln(nu / 2) - 0.5 * np.log(np.pi * (nu - 2))
    ll = constant - 0.5 * np.log(h) - (nu + 1) / 2 * np.log1p(eps**2 / (h * (nu - 2)))
    return -ll.mean()


@case(lambda rng: (rng.standard_normal((25, 3)), rng.standard_normal(25), rng.standard_normal(25)), wrt=(0, 1, 2))
def two_step_gmm(Z, v, u):
    # endogenous regressor: correlated with the error of the outcome
    x = Z @ np.array([0.8, -0.5, 0.4]) + v
    y = 1.2 * x + 0.6 * v + 0.3 * u
    X = x.reshape(-1, 1)
    n = len(y)
    W = np.linalg.inv(Z.T @ Z / n)
    estimates = []
    for step in range(2):
        XZ = X.T @ Z / n
        b = np.linalg.solve(XZ @ W @ XZ.T, XZ @ W @ (Z.T @ y / n))
        residual = y - X @ b
        moments = Z * residual[:, np.newaxis]
        g = moments.mean(axis=0)
        estimates.append(b[0])
        if step == 0:
            W = np.linalg.inv(np.cov(moments, rowvar=False, bias=True))
    J = n * g @ W @ g
    return estimates[-1] + 0.5 * (estimates[0] - estimates[1]) + 0.1 * J


@case(
    lambda rng: (
        {"y": rng.standard_normal(24), "x": rng.standard_normal((24, 2))},
        ["north", "east", "south", "west"] * 6,
    ),
)
def fixed_effects(panel, region):
    groups = defaultdict(list)
    for row, name in enumerate(region):
        groups[name].append(row)
    y, X = panel["y"].copy(), panel["x"].copy()
    for rows in groups.values():
        y[rows] -= y[rows].mean()
        X[rows] -= X[rows].mean(axis=0)
    beta, *_ = np.linalg.lstsq(X, y, rcond=None)
    e = y - X @ beta
    meat = np.zeros((2, 2))
    for rows in groups.values():
        score = X[rows].T @ e[rows]
        meat += np.outer(score, score)
    bread = np.linalg.inv(X.T @ X)
    V = bread @ meat @ bread
    g = len(groups)
    wald = beta @ np.linalg.inv(V) @ beta * (g - 1) / g
    return np.sum(beta) + 0.05 * np.log(wald)


@case(
    lambda rng: (
        {"beta": np.array([0.4, 0.9, -0.6]), "log_sigma": -0.2, "cutoffs": [-0.5, 0.8]},
        np.column_stack([np.ones(16), rng.standard_normal((16, 2))]),
        np.maximum(rng.standard_normal(16) + 0.3, 0.0),
        rng.integers(0, 3, size=16),
    ),
)
def tobit_and_ordered_probit(p, X, hours, rating):
    xb = X @ p["beta"]
    sigma = np.exp(p["log_sigma"])
    censored = hours <= 0
    ll = special.log_ndtr(-xb[censored] / sigma).sum()
    ll += stats.norm.logpdf(hours[~censored], loc=xb[~censored], scale=sigma).sum()
    edges = np.concatenate([[-np.inf], p["cutoffs"], [np.inf]])
    upper = special.ndtr(edges[rating + 1] - xb)
    lower = special.ndtr(edges[rating] - xb)
    ll += np.sum(np.log(upper - lower))
    return -ll / len(hours)
