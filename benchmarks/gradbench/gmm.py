"""ADBench's Gaussian mixture: the log-likelihood of points with a Wishart prior.

The precision of component k has the factor ``diag(exp(q)) + L``: a row of ``icf`` is q and then the columns of the
strictly lower triangular L.
"""

import numpy as np
from scipy.special import multigammaln

from benchmarks.gradbench.program import Case


def inputs(size, rng):
    d, k, n = size
    alphas, means = rng.standard_normal(k), rng.random((k, d))
    icf = rng.standard_normal((k, d + d * (d - 1) // 2))
    return alphas, means, icf, rng.standard_normal((n, d)), 1.0, 0


def log_sum_exp(x, axis):
    largest = np.max(x, axis=axis, keepdims=True)
    return np.sum(largest, axis=axis) + np.log(np.sum(np.exp(x - largest), axis=axis))


def lower_triangles(entries, d):
    columns, rows = np.triu_indices(d, 1)
    L = np.zeros((entries.shape[0], d, d))
    L[:, rows, columns] = entries
    return L


def log_prior(q, entries, gamma, m):
    k, d = q.shape
    n = d + m + 1
    squares = np.sum(np.exp(q) ** 2) + np.sum(entries**2)
    constant = n * d * np.log(gamma / np.sqrt(2)) - multigammaln(0.5 * n, d)
    return k * constant - 0.5 * gamma**2 * squares + m * np.sum(q)


def gmm(alphas, means, icf, x, gamma, m):
    n, d = x.shape
    q, entries = icf[:, :d], icf[:, d:]
    centred = x[:, np.newaxis] - means
    scaled = np.exp(q) * centred + np.einsum("kij,nkj->nki", lower_triangles(entries, d), centred)
    terms = alphas + np.sum(q, axis=1) - 0.5 * np.sum(scaled**2, axis=2)
    fit = np.sum(log_sum_exp(terms, 1)) - n * log_sum_exp(alphas, 0)
    return fit - 0.5 * n * d * np.log(2 * np.pi) + log_prior(q, entries, gamma, m)


SIZES = {"tiny": (3, 2, 5), "small": (2, 5, 1000), "medium": (20, 25, 1000), "large": (64, 50, 1000)}
CASES = (Case(gmm, inputs, SIZES, ("alphas", "means", "icf")),)
