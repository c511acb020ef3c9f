"""Formulas of SciPy's distributions that have others as limits: each is exact where it becomes one of these."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.special as sp

from sdgrad.record.functions.distributions import LOG_ROOT_TAU, Formulas

STIRLING = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188)
"""Factors of odd powers of ``1 / a`` in the logarithm of the gamma function (DLMF 5.11.1)."""


# -- Pearson's third distribution: a gamma distribution of mean 0 and variance 1, and a normal one without skewness
def _rest_of_gamma(skew: Any) -> Any:
    """Return ``log(gamma(a))`` at ``a = 4 / skew**2`` without the leading terms of its series."""
    small = np.abs(skew) < 0.4
    w = np.where(small, 0.25 * skew * skew, 0.0)
    series: Any = 0.0
    for factor in STIRLING[::-1]:
        series = factor + w * w * series
    a = 4.0 / np.where(small, 1.0, skew) ** 2
    return np.where(small, w * series, sp.gammaln(a) - (a - 0.5) * np.log(a) + a - LOG_ROOT_TAU)


def _pearson_log(y: Any, skew: Any) -> Any:
    u = 0.5 * skew * y
    near = np.abs(u) < 1e-2
    small = np.where(near, u, 0.0)
    series: Any = 1.0 / 9
    for k in range(8, 1, -1):
        series = 1.0 / k - small * series
    a, far = 4.0 / np.where(near, 1.0, skew) ** 2, np.where(near, 1.0, u)
    body = np.where(near, -y * y * series - np.log1p(small), sp.xlog1py(a - 1.0, far) - a * far)
    return body - LOG_ROOT_TAU - _rest_of_gamma(skew)


def _end(skew: Any, sign: float) -> Any:
    bounded = sign * skew > 0
    return np.where(bounded, -2.0 / np.where(bounded, skew, 1.0), -sign * math.inf)


# -- a Pareto distribution up to an end
def _share(b: Any, c: Any) -> Any:
    return np.expm1(-b * np.log(c))


FURTHER: dict[str, Formulas] = {
    "pearson3": Formulas(
        logpdf=_pearson_log, low=lambda s: _end(s, 1.0), high=lambda s: _end(s, -1.0), valid=np.isfinite
    ),
    "truncpareto": Formulas(
        logpdf=lambda y, b, c: np.log(-b / _share(b, c)) - (b + 1.0) * np.log(y),
        cdf=lambda y, b, c: np.expm1(-b * np.log(y)) / _share(b, c),
        sf=lambda y, b, c: np.exp(-b * np.log(c)) * np.expm1(b * np.log(c / y)) / -_share(b, c),
        ppf=lambda q, b, c: np.exp(-np.log1p(q * _share(b, c)) / b),
        isf=lambda q, b, c: np.exp(np.log(c) - np.log1p(q * np.expm1(b * np.log(c))) / b),
        low=1.0, high=lambda b, c: c, valid=lambda b, c: (b != 0) & (c > 1),
    ),
}  # fmt: skip
