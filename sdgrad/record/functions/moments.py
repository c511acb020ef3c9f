"""Formulas of means, variances and entropies of SciPy's distributions at location 0 and scale 1."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import scipy.special as sp

from sdgrad.record.functions.scipy_special import polygamma

EULER = 0.5772156649015329
INF, NAN = math.inf, math.nan
Formula = Callable[..., Any]


class Moments(NamedTuple):
    """Hold functions of the shapes, or numbers; None is what has no formula."""

    mean: Any
    var: Any
    entropy: Any = None


def where_above(a: Any, least: float, found: Callable, otherwise: Any = INF) -> Any:
    """Return a function of a shape where it is large enough; it is not evaluated elsewhere."""
    return np.where(a > least, found(np.where(a > least, a, least + 1.0)), otherwise)


def _gamma_entropy(a: Any) -> Any:
    return a + sp.gammaln(a) + (1.0 - a) * sp.psi(a)


def _beta_entropy(a: Any, b: Any) -> Any:
    return sp.betaln(a, b) - (a - 1.0) * sp.psi(a) - (b - 1.0) * sp.psi(b) + (a + b - 2.0) * sp.psi(a + b)


def _t_entropy(df: Any) -> Any:
    half = 0.5 * (df + 1.0)
    return half * (sp.psi(half) - sp.psi(0.5 * df)) + 0.5 * np.log(df) + sp.betaln(0.5 * df, 0.5)


def _t_var(df: Any) -> Any:
    return np.where(df > 1, where_above(df, 2.0, lambda d: d / (d - 2.0)), NAN)


def _f_var(n: Any, m: Any) -> Any:
    return where_above(m, 4.0, lambda d: 2.0 * d * d * (n + d - 2.0) / (n * (d - 2.0) ** 2 * (d - 4.0)))


def _weibull_var(c: Any) -> Any:
    return sp.gamma(1.0 + 2.0 / c) - sp.gamma(1.0 + 1.0 / c) ** 2


def _triang_var(c: Any) -> Any:
    return (1.0 - c + c * c) / 18.0


def _of_log_uniform(a: Any, b: Any) -> tuple[Any, Any]:
    return np.log(b / a), (b - a) / np.log(b / a)


_GAMMA = Moments(lambda a: a, lambda a: a, _gamma_entropy)
_SIXTH = math.pi**2 / 6
MOMENTS: dict[str, Moments] = {
    "pearson3": Moments(0.0, 1.0),
    "ncx2": Moments(lambda df, nc: df + nc, lambda df, nc: 2.0 * (df + 2.0 * nc)),
    "norm": Moments(0.0, 1.0, 0.5 * math.log(2 * math.pi * math.e)), "uniform": Moments(0.5, 1 / 12, 0.0),
    "expon": Moments(1.0, 1.0, 1.0), "gamma": _GAMMA, "erlang": _GAMMA,
    "chi2": Moments(lambda k: k, lambda k: 2.0 * k, lambda k: _gamma_entropy(0.5 * k) + math.log(2.0)),
    "beta": Moments(
        lambda a, b: a / (a + b), lambda a, b: a * b / ((a + b) ** 2 * (a + b + 1.0)), _beta_entropy
    ),
    "t": Moments(lambda k: where_above(k, 1.0, lambda d: 0.0 * d), _t_var, _t_entropy),
    "f": Moments(lambda n, m: where_above(m + 0.0 * n, 2.0, lambda d: d / (d - 2.0)), _f_var),
    "lognorm": Moments(
        lambda s: np.exp(0.5 * s * s), lambda s: np.expm1(s * s) * np.exp(s * s),
        lambda s: 0.5 * (1.0 + math.log(2 * math.pi)) + np.log(s),
    ),
    "laplace": Moments(0.0, 2.0, 1.0 + math.log(2.0)), "logistic": Moments(0.0, math.pi**2 / 3, 2.0),
    "cauchy": Moments(NAN, NAN, math.log(4 * math.pi)),
    "weibull_min": Moments(
        lambda c: sp.gamma(1.0 + 1.0 / c), _weibull_var, lambda c: EULER * (1.0 - 1.0 / c) - np.log(c) + 1.0
    ),
    "weibull_max": Moments(
        lambda c: -sp.gamma(1.0 + 1.0 / c), _weibull_var, lambda c: EULER * (1.0 - 1.0 / c) - np.log(c) + 1.0
    ),
    "pareto": Moments(
        lambda b: where_above(b, 1.0, lambda d: d / (d - 1.0)),
        lambda b: where_above(b, 2.0, lambda d: d / ((d - 1.0) ** 2 * (d - 2.0))),
        lambda b: 1.0 + 1.0 / b - np.log(b),
    ),
    "gumbel_r": Moments(EULER, _SIXTH, EULER + 1.0), "gumbel_l": Moments(-EULER, _SIXTH, EULER + 1.0),
    "halfnorm": Moments(math.sqrt(2 / math.pi), 1 - 2 / math.pi, 0.5 * math.log(math.pi / 2) + 0.5),
    "invgamma": Moments(
        lambda a: where_above(a, 1.0, lambda d: 1.0 / (d - 1.0)),
        lambda a: where_above(a, 2.0, lambda d: 1.0 / ((d - 1.0) ** 2 * (d - 2.0))),
        lambda a: a - (a + 1.0) * sp.psi(a) + sp.gammaln(a),
    ),
    "rayleigh": Moments(math.sqrt(math.pi / 2), 2 - math.pi / 2, EULER / 2 + 1 - 0.5 * math.log(2.0)),
    "skewnorm": Moments(
        lambda a: math.sqrt(2 / math.pi) * a / np.sqrt(1.0 + a * a), lambda a: 1.0 - 2 / math.pi * a * a / (1.0 + a * a)
    ),
    "maxwell": Moments(
        2 * math.sqrt(2 / math.pi), 3 - 8 / math.pi, EULER + 0.5 * math.log(2 * math.pi) - 0.5
    ),
    "invgauss": Moments(lambda m: m, lambda m: m**3), "wald": Moments(1.0, 1.0),
    "lomax": Moments(
        lambda c: where_above(c, 1.0, lambda d: 1.0 / (d - 1.0)),
        lambda c: where_above(c, 2.0, lambda d: d / ((d - 1.0) ** 2 * (d - 2.0))),
        lambda c: 1.0 + 1.0 / c - np.log(c),
    ),
    "halflogistic": Moments(2 * math.log(2.0), math.pi**2 / 3 - 4 * math.log(2.0) ** 2, 2 - math.log(2.0)),
    "loggamma": Moments(sp.psi, lambda c: polygamma(1, c)),
    "loguniform": Moments(
        lambda a, b: _of_log_uniform(a, b)[1],
        lambda a, b: 0.5 * (b * b - a * a) / _of_log_uniform(a, b)[0] - _of_log_uniform(a, b)[1] ** 2,
        lambda a, b: 0.5 * np.log(a * b) + np.log(np.log(b / a)),
    ),
    "powerlaw": Moments(
        lambda a: a / (a + 1.0), lambda a: a / (a + 2.0) / (a + 1.0) ** 2, lambda a: 1.0 - 1.0 / a - np.log(a)
    ),
    "triang": Moments(lambda c: (c + 1.0) / 3.0, _triang_var, 0.5 - math.log(2.0)),
    "exponnorm": Moments(lambda k: k, lambda k: 1.0 + k * k),
    "hypsecant": Moments(0.0, math.pi**2 / 4, math.log(2 * math.pi)),
    "semicircular": Moments(0.0, 0.25, math.log(math.pi) - 0.5), "arcsine": Moments(0.5, 0.125, math.log(math.pi / 4)),
    "poisson": Moments(lambda mu: mu, lambda mu: mu), "bernoulli": Moments(lambda p: p, lambda p: p * (1.0 - p),
        lambda p: sp.entr(p) + sp.entr(1.0 - p)),
    "binom": Moments(lambda n, p: n * p, lambda n, p: n * p * (1.0 - p)),
    "nbinom": Moments(lambda n, p: n * (1.0 - p) / p, lambda n, p: n * (1.0 - p) / (p * p)),
    "geom": Moments(lambda p: 1.0 / p, lambda p: (1.0 - p) / (p * p)),
    "hypergeom": Moments(
        lambda M, n, N: N * n / M, lambda M, n, N: N * (n / M) * ((M - n) / M) * ((M - N) / (M - 1.0))
    ),
    "betabinom": Moments(
        lambda n, a, b: n * a / (a + b),
        lambda n, a, b: n * a * b * (a + b + n) / ((a + b) ** 2 * (a + b + 1.0)),
    ),
    "randint": Moments(lambda low, high: 0.5 * (low + high - 1.0), lambda low, high: ((high - low) ** 2 - 1.0) / 12.0),
}  # fmt: skip
