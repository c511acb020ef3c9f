"""Formulas of SciPy's discrete distributions at location 0, of a whole number ``k``: ``logpdf`` has the mass."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.special as sp

from sdgrad.record.functions.distributions import Formulas


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
}  # fmt: skip
