"""Formulas of skewness and excess kurtosis of SciPy's distributions, which no location and no scale changes."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import scipy.special as sp

from sdgrad.record.functions.moments import NAN, where_above
from sdgrad.record.functions.scipy_special import polygamma

ZETA_3 = 1.2020569031595942


class Shape(NamedTuple):
    """Hold functions of the shapes, or numbers."""

    skew: Any
    kurtosis: Any


def _of_raw_moments(raw: Callable[..., tuple[Any, Any, Any, Any]]) -> Shape:
    """Return both from the first four moments about zero."""

    def skew(*shapes: Any) -> Any:
        a, b, c, _ = raw(*shapes)
        return (c - 3.0 * a * b + 2.0 * a**3) / (b - a * a) ** 1.5

    def kurtosis(*shapes: Any) -> Any:
        a, b, c, d = raw(*shapes)
        return (d - 4.0 * a * c + 6.0 * a * a * b - 3.0 * a**4) / (b - a * a) ** 2 - 3.0

    return Shape(skew, kurtosis)


def _turned(found: Shape) -> Shape:
    """Return those of the distribution of the opposite numbers."""
    return Shape(lambda *shapes: -found.skew(*shapes), found.kurtosis)


def _beta_kurtosis(a: Any, b: Any) -> Any:
    n = a + b
    return 6.0 * ((a - b) ** 2 * (n + 1.0) - a * b * (n + 2.0)) / (a * b * (n + 2.0) * (n + 3.0))


def _t_kurtosis(df: Any) -> Any:
    return np.where(df > 2.0, where_above(df, 4.0, lambda d: 6.0 / (d - 4.0)), NAN)


def _lognorm_kurtosis(s: Any) -> Any:
    w = np.exp(s * s)
    return w**4 + 2.0 * w**3 + 3.0 * w**2 - 6.0


def _pareto(b: Any) -> Any:
    return 2.0 * (b + 1.0) * np.sqrt(b - 2.0) / ((b - 3.0) * np.sqrt(b))


def _pareto_kurtosis(b: Any) -> Any:
    return 6.0 * (b**3 + b * b - 6.0 * b - 2.0) / (b * (b - 3.0) * (b - 4.0))


def _f_skew(n: Any, m: Any) -> Any:
    return (2.0 * n + m - 2.0) * np.sqrt(8.0 * (m - 4.0)) / ((m - 6.0) * np.sqrt(n * (n + m - 2.0)))


def _f_kurtosis(n: Any, m: Any) -> Any:
    top = n * (5.0 * m - 22.0) * (n + m - 2.0) + (m - 4.0) * (m - 2.0) ** 2
    return 12.0 * top / (n * (m - 6.0) * (m - 8.0) * (n + m - 2.0))


def _triang_skew(c: Any) -> Any:
    return math.sqrt(2.0) * (1.0 - 2.0 * c) * (1.0 + c) * (2.0 - c) / (5.0 * (1.0 - c + c * c) ** 1.5)


def _skewnorm_lean(a: Any) -> Any:
    return math.sqrt(2.0 / math.pi) * a / np.sqrt(1.0 + a * a)


def _over(m: Any, least: float, found: Callable) -> Any:
    return where_above(m, least, found, NAN)


_OF_GAMMA = Shape(lambda a: 2.0 / np.sqrt(a), lambda a: 6.0 / a)
_WEIBULL = _of_raw_moments(lambda c: tuple(sp.gamma(1.0 + k / c) for k in (1.0, 2.0, 3.0, 4.0)))
_GUMBEL = 12.0 * math.sqrt(6.0) * ZETA_3 / math.pi**3
_RAYLEIGH = 4.0 - math.pi
SHAPES: dict[str, Shape] = {
    "norm": Shape(0.0, 0.0), "uniform": Shape(0.0, -1.2), "expon": Shape(2.0, 6.0), "laplace": Shape(0.0, 3.0),
    "logistic": Shape(0.0, 1.2), "hypsecant": Shape(0.0, 2.0), "semicircular": Shape(0.0, -1.0),
    "arcsine": Shape(0.0, -1.5), "cauchy": Shape(NAN, NAN), "gumbel_r": Shape(_GUMBEL, 2.4),
    "gumbel_l": Shape(-_GUMBEL, 2.4), "wald": Shape(3.0, 15.0),
    "rayleigh": Shape(
        2.0 * math.sqrt(math.pi) * (math.pi - 3.0) / _RAYLEIGH**1.5,
        6.0 * math.pi / _RAYLEIGH - 16.0 / _RAYLEIGH**2,
    ),
    "halfnorm": Shape(
        math.sqrt(2.0) * (4.0 - math.pi) / (math.pi - 2.0) ** 1.5, 8.0 * (math.pi - 3.0) / (math.pi - 2.0) ** 2
    ),
    "maxwell": Shape(
        math.sqrt(2.0) * (32.0 - 10.0 * math.pi) / (3.0 * math.pi - 8.0) ** 1.5,
        (-12.0 * math.pi**2 + 160.0 * math.pi - 384.0) / (3.0 * math.pi - 8.0) ** 2,
    ),
    "gamma": _OF_GAMMA, "erlang": _OF_GAMMA, "chi2": Shape(lambda k: np.sqrt(8.0 / k), lambda k: 12.0 / k),
    "beta": Shape(
        lambda a, b: 2.0 * (b - a) * np.sqrt(a + b + 1.0) / ((a + b + 2.0) * np.sqrt(a * b)), _beta_kurtosis
    ),
    "t": Shape(lambda k: _over(k, 3.0, lambda d: 0.0 * d), _t_kurtosis),
    "f": Shape(
        lambda n, m: _over(m + 0.0 * n, 6.0, lambda d: _f_skew(n, d)),
        lambda n, m: _over(m + 0.0 * n, 8.0, lambda d: _f_kurtosis(n, d)),
    ),
    "lognorm": Shape(lambda s: (np.exp(s * s) + 2.0) * np.sqrt(np.expm1(s * s)), _lognorm_kurtosis),
    "weibull_min": _WEIBULL, "weibull_max": _turned(_WEIBULL),
    "pareto": Shape(lambda b: _over(b, 3.0, _pareto), lambda b: _over(b, 4.0, _pareto_kurtosis)),
    "lomax": Shape(lambda b: _over(b, 3.0, _pareto), lambda b: _over(b, 4.0, _pareto_kurtosis)),
    "invgamma": Shape(
        lambda a: _over(a, 3.0, lambda d: 4.0 * np.sqrt(d - 2.0) / (d - 3.0)),
        lambda a: _over(a, 4.0, lambda d: 6.0 * (5.0 * d - 11.0) / ((d - 3.0) * (d - 4.0))),
    ),
    "invgauss": Shape(lambda m: 3.0 * np.sqrt(m), lambda m: 15.0 * m),
    "skewnorm": Shape(
        lambda a: 0.5 * (4.0 - math.pi) * (_skewnorm_lean(a) / np.sqrt(1.0 - _skewnorm_lean(a) ** 2)) ** 3,
        lambda a: 2.0 * (math.pi - 3.0) * (_skewnorm_lean(a) ** 2 / (1.0 - _skewnorm_lean(a) ** 2)) ** 2,
    ),
    "loggamma": Shape(
        lambda c: polygamma(2, c) / polygamma(1, c) ** 1.5, lambda c: polygamma(3, c) / polygamma(1, c) ** 2
    ),
    "powerlaw": Shape(
        lambda a: -2.0 * (a - 1.0) / (a + 3.0) * np.sqrt((a + 2.0) / a),
        lambda a: 6.0 * (a**3 - a * a - 6.0 * a + 2.0) / (a * (a + 3.0) * (a + 4.0)),
    ),
    "triang": Shape(_triang_skew, lambda c: 0.0 * c - 0.6),
    "exponnorm": Shape(
        lambda k: 2.0 * k**3 / (1.0 + k * k) ** 1.5, lambda k: 6.0 * k**4 / (1.0 + k * k) ** 2
    ),
    "pearson3": Shape(lambda skew: skew, lambda skew: 1.5 * skew * skew),
    "ncx2": Shape(
        lambda df, nc: math.sqrt(8.0) * (df + 3.0 * nc) / (df + 2.0 * nc) ** 1.5,
        lambda df, nc: 12.0 * (df + 4.0 * nc) / (df + 2.0 * nc) ** 2,
    ),
    "poisson": Shape(lambda mu: 1.0 / np.sqrt(mu), lambda mu: 1.0 / mu),
    "bernoulli": Shape(
        lambda p: (1.0 - 2.0 * p) / np.sqrt(p * (1.0 - p)), lambda p: (1.0 - 6.0 * p * (1.0 - p)) / (p * (1.0 - p))
    ),
    "binom": Shape(
        lambda n, p: (1.0 - 2.0 * p) / np.sqrt(n * p * (1.0 - p)),
        lambda n, p: (1.0 - 6.0 * p * (1.0 - p)) / (n * p * (1.0 - p)),
    ),
    "nbinom": Shape(
        lambda n, p: (2.0 - p) / np.sqrt(n * (1.0 - p)), lambda n, p: 6.0 / n + p * p / (n * (1.0 - p))
    ),
    "geom": Shape(lambda p: (2.0 - p) / np.sqrt(1.0 - p), lambda p: 6.0 + p * p / (1.0 - p)),
}  # fmt: skip
