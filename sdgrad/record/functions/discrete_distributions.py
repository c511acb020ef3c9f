"""Formulas of SciPy's discrete distributions at location 0, of a whole number ``k``: ``logpdf`` has the mass."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.special as sp

from sdgrad.record.functions.distributions import Formulas
from sdgrad.record.functions.scipy_special import in_double, zeta


def _is_probability(p: Any) -> Any:
    return (p >= 0) & (p <= 1)


def _binom_log(k: Any, n: Any, p: Any) -> Any:
    ways = -sp.betaln(n - k + 1.0, k + 1.0) - np.log(n + 1.0)
    return ways + sp.xlogy(k, p) + sp.xlog1py(n - k, -p)


def _binom(k: Any, n: Any, p: Any) -> Any:
    """Return probabilities; where ``p`` is 0 or 1 the logarithm has no derivative."""
    ends = np.exp(-sp.betaln(n - k + 1.0, k + 1.0)) / (n + 1.0) * p**k * (1.0 - p) ** (n - k)
    return np.where((p == 0) | (p == 1), ends, np.exp(_binom_log(k, n, p)))


def _nbinom_log(k: Any, n: Any, p: Any) -> Any:
    return sp.gammaln(n + k) - sp.gammaln(k + 1.0) - sp.gammaln(n) + n * np.log(p) + sp.xlog1py(k, -p)


def _poisson_log(k: Any, mu: Any) -> Any:
    return sp.xlogy(k, mu) - sp.gammaln(k + 1.0) - mu


def _hypergeom_log(k: Any, M: Any, n: Any, N: Any) -> Any:  # noqa: N803 (SciPy's names)
    ways = -sp.betaln(k + 1.0, n - k + 1.0) - sp.betaln(N - k + 1.0, M - n - N + k + 1.0)
    return ways + sp.betaln(M - N + 1.0, N + 1.0) + np.log((M + 1.0) / (n + 1.0) / (M - n + 1.0))


def _is_whole(n: Any) -> Any:
    return (n >= 0) & (n == np.floor(n))


def _dlaplace_cdf(k: Any, a: Any) -> Any:
    tail = np.exp(-a * np.where(k >= 0, k, -k - 1.0)) / (np.exp(a) + 1.0)
    return np.where(k >= 0, 1.0 - tail, tail)


def _dlaplace_sf(k: Any, a: Any) -> Any:
    return _dlaplace_cdf(-k - 1.0, a)


DISCRETE: dict[str, Formulas] = {
    "poisson": Formulas(
        logpdf=_poisson_log,
        pdf=lambda k, mu: np.where(
            mu == 0, mu**k * np.exp(-mu - sp.gammaln(k + 1.0)), np.exp(_poisson_log(k, mu))
        ),
        cdf=lambda k, mu: sp.gammaincc(k + 1.0, mu), sf=lambda k, mu: sp.gammainc(k + 1.0, mu),
        low=0.0, valid=lambda mu: mu >= 0,
    ),
    "binom": Formulas(
        logpdf=_binom_log, pdf=_binom,
        cdf=lambda k, n, p: sp.betaincc(k + 1.0, n - k, p), sf=lambda k, n, p: sp.betainc(k + 1.0, n - k, p),
        low=0.0, high=lambda n, p: n, valid=lambda n, p: (n >= 0) & (n == np.floor(n)) & _is_probability(p),
    ),
    "nbinom": Formulas(
        logpdf=_nbinom_log,
        cdf=lambda k, n, p: sp.betainc(n, k + 1.0, p), sf=lambda k, n, p: sp.betaincc(n, k + 1.0, p),
        low=0.0, valid=lambda n, p: (n > 0) & (p > 0) & (p <= 1),
    ),
    "bernoulli": Formulas(
        logpdf=lambda k, p: np.where(k == 1, np.log(p), np.log1p(-p)), pdf=lambda k, p: np.where(k == 1, p, 1.0 - p),
        cdf=lambda k, p: 1.0 - p + 0.0 * k, sf=lambda k, p: p + 0.0 * k, low=0.0, high=1.0, valid=_is_probability,
    ),
    "geom": Formulas(
        logpdf=lambda k, p: sp.xlog1py(k - 1.0, -p) + np.log(p),
        cdf=lambda k, p: -np.expm1(k * np.log1p(-p)), sf=lambda k, p: np.exp(k * np.log1p(-p)),
        logsf=lambda k, p: k * np.log1p(-p), low=1.0, valid=lambda p: (p > 0) & (p <= 1),
    ),
    "hypergeom": Formulas(
        logpdf=_hypergeom_log,
        cdf=lambda k, M, n, N: in_double("special_hypergeom({0}, {1}, {2}, {3})", k, M, n, N),
        sf=lambda k, M, n, N: in_double("special_hypergeomc({0}, {1}, {2}, {3})", k, M, n, N),
        low=lambda M, n, N: np.maximum(N - (M - n), 0.0), high=lambda M, n, N: np.minimum(n, N),
        valid=lambda M, n, N: (M > 0) & _is_whole(M) & _is_whole(n) & _is_whole(N) & (n <= M) & (N <= M),
    ),
    "betabinom": Formulas(
        logpdf=lambda k, n, a, b: (
            sp.betaln(k + a, n - k + b) - sp.betaln(a, b) - sp.betaln(n - k + 1.0, k + 1.0) - np.log(n + 1.0)
        ),
        low=0.0, high=lambda n, a, b: n, valid=lambda n, a, b: _is_whole(n) & (a > 0) & (b > 0),
    ),
    "betanbinom": Formulas(
        logpdf=lambda k, n, a, b: (
            sp.betaln(a + n, b + k) - sp.betaln(a, b) - sp.betaln(n, k + 1.0) - np.log(n + k)
        ),
        low=0.0, valid=lambda n, a, b: _is_whole(n) & (a > 0) & (b > 0),
    ),
    "zipf": Formulas(
        logpdf=lambda k, a: -a * np.log(k) - np.log(zeta(a)), low=1.0, valid=lambda a: a > 1,
    ),
    "logser": Formulas(
        logpdf=lambda k, p: k * np.log(p) - np.log(k) - np.log(-np.log1p(-p)), low=1.0,
        valid=lambda p: (p > 0) & (p < 1),
    ),
    "planck": Formulas(
        logpdf=lambda k, rate: np.log(-np.expm1(-rate)) - rate * k, cdf=lambda k, rate: -np.expm1(-rate * (k + 1.0)),
        sf=lambda k, rate: np.exp(-rate * (k + 1.0)), logsf=lambda k, rate: -rate * (k + 1.0), low=0.0,
    ),
    "dlaplace": Formulas(
        logpdf=lambda k, a: np.log(np.tanh(0.5 * a)) - a * np.abs(k), cdf=_dlaplace_cdf, sf=_dlaplace_sf,
    ),
    "randint": Formulas(
        logpdf=lambda k, low, high: 0.0 * k - np.log(high - low),
        cdf=lambda k, low, high: (k - low + 1.0) / (high - low),
        sf=lambda k, low, high: (high - 1.0 - k) / (high - low),
        low=lambda low, high: low, high=lambda low, high: high - 1.0,
        valid=lambda low, high: (high > low) & (low == np.floor(low)) & (high == np.floor(high)),
    ),
    "yulesimon": Formulas(
        logpdf=lambda k, a: np.log(a) + sp.betaln(k, a + 1.0), cdf=lambda k, a: 1.0 - k * sp.beta(k, a + 1.0),
        sf=lambda k, a: k * sp.beta(k, a + 1.0), low=1.0,
    ),
}  # fmt: skip
