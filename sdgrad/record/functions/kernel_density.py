"""Apply ``scipy.stats.gaussian_kde``: densities as sums of normal ones around points."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.special as special
import scipy.stats as stats

from sdgrad.errors import ParseError
from sdgrad.record.functions.evaluated import Evaluated, made
from sdgrad.record.functions.linalg import solve_triangular
from sdgrad.record.functions.multivariate import of_full_rank
from sdgrad.record.functions.piecewise import wide
from sdgrad.record.functions.scipy_special import logsumexp
from sdgrad.record.functions.table import known, rule

KDE = stats.gaussian_kde


class Density(Evaluated):
    """Hold points ``dataset[d, n]``, their weights, the covariance around each, and its Cholesky factor."""

    told = "a gaussian_kde"

    def __init__(self, dataset: Any, weights: Any, factor: Any) -> None:
        self.dataset, self.weights, self.factor = dataset, weights, factor
        self.d, self.n = dataset.shape
        self.neff = 1.0 / np.sum(weights * weights)
        middle = dataset @ weights
        apart = dataset - middle[:, None]
        data = (apart * weights) @ apart.T / (1.0 - np.sum(weights * weights))
        self.factor = self._factor(factor)
        self.covariance = data * self.factor**2
        self.root = np.linalg.cholesky(self.covariance)
        told = "The data appears to lie in a lower-dimensional subspace of the space in which it is expressed."
        of_full_rank(self.root, self.covariance, told)

    def _factor(self, how: Any) -> Any:
        """Return the width of the kernel in widths of the data."""
        if how is None or isinstance(how, str) and how == "scott":
            return self.neff ** (-1.0 / (self.d + 4))
        if isinstance(how, str) and how == "silverman":
            return (self.neff * (self.d + 2) / 4.0) ** (-1.0 / (self.d + 4))
        if isinstance(how, str) or callable(how):
            raise ParseError("scipy.stats.gaussian_kde: bw_method= must be 'scott', 'silverman' or a number")
        return wide(how, "gaussian_kde")


def _scaled(p: Density, points: Any) -> Any:
    return solve_triangular(p.root, points, lower=True) if p.d > 1 else points / p.root


def logpdf(p: Density, x: Any) -> Any:
    """Return the logarithm of the sum of all kernels at points."""
    points = np.atleast_2d(wide(x, "gaussian_kde"))
    d, m = points.shape
    if d != p.d:
        if d != 1 or m != p.d:
            raise ValueError(f"points have dimension {d}, dataset has dimension {p.d}")
        points = np.reshape(points, (p.d, 1))
    apart = _scaled(p, points)[:, :, None] - _scaled(p, p.dataset)[:, None, :]
    norm = 0.5 * p.d * math.log(2 * math.pi) + np.sum(np.log(np.diagonal(p.root)))
    return logsumexp(-0.5 * np.sum(apart * apart, axis=0), axis=1, b=p.weights) - norm


def evaluate(p: Density, points: Any) -> Any:
    return np.exp(logpdf(p, points))


def integrate_box_1d(p: Density, low: Any, high: Any) -> Any:
    if p.d != 1:
        raise ValueError("integrate_box_1d() only handles 1D pdfs")
    ends = [special.ndtr((np.ravel(e) - p.dataset[0]) / p.root[0, 0]) for e in (low, high)]
    return np.sum(p.weights * (ends[1] - ends[0]))


Density.table = {
    "__call__": evaluate, "evaluate": evaluate, "pdf": evaluate, "logpdf": logpdf, "integrate_box_1d": integrate_box_1d,
}  # fmt: skip


@rule(KDE)
def gaussian_kde(dataset: Any, bw_method: Any = None, weights: Any = None) -> Any:
    points = np.atleast_2d(wide(dataset, "gaussian_kde"))
    if not points.size > 1:
        raise ValueError("`dataset` input should have multiple elements.")
    d, n = points.shape
    if d > n:
        raise ValueError("Number of dimensions is greater than number of samples: each column is a point")
    if weights is None:
        return made(Density(points, known(np.full(n, 1.0 / n)), bw_method))
    w = np.atleast_1d(wide(weights, "gaussian_kde"))
    if w.ndim != 1 or w.shape[0] != n:
        raise ValueError("`weights` input should be one-dimensional, of length n")
    return made(Density(points, w / np.sum(w), bw_method))


def _of_known(name: str) -> None:
    """Register a method of an object of SciPy's, made of known data."""

    def method(p: Any, *args: Any) -> Any:
        own = Density(wide(p.dataset, "gaussian_kde"), wide(p.weights, "gaussian_kde"), p.factor)
        return Density.table[name](own, *args)

    rule(getattr(KDE, name))(method)


for _name in ("evaluate", "pdf", "logpdf", "integrate_box_1d"):
    _of_known(_name)
