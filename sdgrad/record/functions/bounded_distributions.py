"""Formulas of further distributions of SciPy: of all real numbers, of intervals, of ends that parameters decide."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.special as sp

from sdgrad.record.functions.distributions import LOG_ROOT_TAU, ROOT_TWO, Formulas, at_ends, log_of_rest

INF = math.inf


# -- generalized extreme values: exact where the parameter is zero
def _log_ratio(z: Any) -> Any:
    """Return ``log(1 + z) / z``, by its series around zero."""
    small = np.abs(z) < 1e-2
    series: Any = 1.0 / 9
    for k in range(8, 0, -1):
        series = 1.0 / k - z * series
    return np.where(small, series, np.log1p(np.where(small, 1.0, z)) / np.where(small, 1.0, z))


def _extreme(y: Any, c: Any) -> Any:
    return -y * _log_ratio(-c * y)


def _extreme_log(y: Any, c: Any) -> Any:
    t = _extreme(y, c)
    return (1.0 - c) * t - np.exp(t)


def _extreme_ppf(w: Any, c: Any) -> Any:
    return -w * sp.exprel(c * w)


def _excess(y: Any, c: Any) -> Any:
    return y * _log_ratio(c * y)


def _below(c: Any) -> Any:
    return np.where(c < 0, 1.0 / np.where(c < 0, c, -1.0), -INF)


def _above(c: Any) -> Any:
    return np.where(c > 0, 1.0 / np.where(c > 0, c, 1.0), INF)


# -- pieces
def _triangle(y: Any, c: Any) -> Any:
    up = (y < c) | (c == 1)
    return np.where(
        up, 2.0 * y / np.where(up, np.where(c == 0, 1.0, c), 1.0), 2.0 * (1.0 - y) / np.where(up, 1.0, 1.0 - c)
    )


def _triangle_cdf(y: Any, c: Any) -> Any:
    up = (y < c) | (c == 1)
    return np.where(
        up, y * y / np.where(up, np.where(c == 0, 1.0, c), 1.0), (y * (2.0 - y) - c) / np.where(up, 1.0, 1.0 - c)
    )


def _triangle_ppf(q: Any, c: Any) -> Any:
    up = q < c
    first, last = np.where(up, c * q, 1.0), np.where(up, 1.0, (1.0 - c) * (1.0 - q))
    return np.where(up, np.sqrt(first), 1.0 - np.sqrt(last))


def _semicircular_cdf(y: Any) -> Any:
    return 0.5 + (y * np.sqrt(1.0 - y * y) + np.arcsin(y)) / math.pi


def _cosine_cdf(y: Any) -> Any:
    """Return the area up to a place, which near the lower end is a cube of the distance to it."""
    u = math.pi + y + 1.2246467991473532e-16
    near = u < 0.5
    t = np.where(near, u * u, 0.0)
    series: Any = 0.0
    for k in (15, 13, 11, 9, 7, 5, 3):
        series = (1.0 - t * series) / (k * (k - 1))
    return np.where(near, u * t * series, math.pi + y + np.sin(y)) / (2 * math.pi)


def _gennorm_cdf(y: Any, b: Any) -> Any:
    """Return the area up to a place, in the middle by a series, for the power has no derivative there."""
    far = np.abs(y)
    z = np.where(far == 0, 0.0, np.where(far == 0, 1.0, far) ** b)
    middle = z < 0.01
    term: Any = 1.0
    series: Any = 0.0
    for k in range(7):
        series = series + term / (k * b + 1.0)
        term = -term * np.where(middle, z, 0.0) / (k + 1)
    half = 0.5 * sp.gammaincc(1.0 / b, np.where(middle, 1.0, z))
    return np.where(
        middle, 0.5 + 0.5 * y * series * np.exp(-sp.gammaln(1.0 + 1.0 / b)), np.where(y < 0, half, 1.0 - half)
    )


def _trapezoid(y: Any, c: Any, d: Any) -> Any:
    up, down = y < c, y > d
    share = np.where(up, y / np.where(up, c, 1.0), np.where(down, (1.0 - y) / np.where(down, 1.0 - d, 1.0), 1.0))
    return 2.0 / (d - c + 1.0) * share


def _trapezoid_cdf(y: Any, c: Any, d: Any) -> Any:
    up, down, whole = y < c, y > d, d - c + 1.0
    rest = 1.0 - (1.0 - y) ** 2 / whole / np.where(down, 1.0 - d, 1.0)
    return np.where(up, y * y / np.where(up, c, 1.0) / whole, np.where(down, rest, (2.0 * y - c) / whole))


def _trapezoid_ppf(q: Any, c: Any, d: Any) -> Any:
    whole = d - c + 1.0
    low, high = q * whole < c, (1.0 - q) * whole < 1.0 - d
    first = np.sqrt(np.where(low, q * c * whole, 1.0))
    last = 1.0 - np.sqrt(np.where(high, (1.0 - q) * whole * (1.0 - d), 1.0))
    return np.where(low, first, np.where(high, last, 0.5 * q * whole + 0.5 * c))


def _asymmetric(y: Any, k: Any) -> Any:
    """Return the exponent of an asymmetric Laplace distribution."""
    return np.where(y >= 0, -k * y, y / k)


def _asymmetric_cdf(y: Any, k: Any) -> Any:
    tail, share = np.exp(_asymmetric(y, k)), 1.0 / (1.0 + k * k)
    return np.where(y >= 0, 1.0 - tail * share, tail * (k * k * share))


def _asymmetric_sf(y: Any, k: Any) -> Any:
    tail, share = np.exp(_asymmetric(y, k)), 1.0 / (1.0 + k * k)
    return np.where(y >= 0, tail * share, 1.0 - tail * (k * k * share))


def _asymmetric_ppf(q: Any, k: Any) -> Any:
    whole, low = 1.0 + k * k, q < k * k / (1.0 + k * k)
    return np.where(low, k * np.log(np.where(low, q, 1.0) * whole / (k * k)), -np.log((1.0 - q) * whole) / k)


def _asymmetric_isf(q: Any, k: Any) -> Any:
    whole, high = 1.0 + k * k, q <= 1.0 / (1.0 + k * k)
    return np.where(high, -np.log(q * whole) / k, k * np.log(np.where(high, 1.0, 1.0 - q) * whole / (k * k)))


def _skewcauchy_sides(y: Any, a: Any) -> Any:
    return np.where(y <= 0, 1.0 - a, 1.0 + a)


def _skewcauchy_cdf(y: Any, a: Any) -> Any:
    left = (1.0 - a) / math.pi * np.arctan2(1.0 - a, -y)
    return np.where(y <= 0, left, 1.0 - (1.0 + a) / math.pi * np.arctan2(1.0 + a, y))


def _exponnorm_log(y: Any, k: Any) -> Any:
    return (0.5 / k - y) / k + sp.log_ndtr(y - 1.0 / k)


def _weibull_max_log(y: Any, c: Any) -> Any:
    return np.log(c) + sp.xlogy(c - 1.0, -y) - (-y) ** c


def _powerlaw_log(y: Any, a: Any) -> Any:
    return np.log(a) + sp.xlogy(a - 1.0, y)


def _hypsecant_ppf(q: Any) -> Any:
    return np.where(q > 0.5, -np.log(np.tan(0.5 * math.pi * (1.0 - q))), np.log(np.tan(0.5 * math.pi * q)))


def _loguniform() -> Formulas:
    return Formulas(
        logpdf=lambda y, a, b: -np.log(y) - np.log(np.log(b / a)), cdf=lambda y, a, b: np.log(y / a) / np.log(b / a),
        sf=lambda y, a, b: np.log(b / y) / np.log(b / a), ppf=lambda q, a, b: a * np.exp(q * np.log(b / a)),
        isf=lambda q, a, b: b * np.exp(-q * np.log(b / a)), low=lambda a, b: a, high=lambda a, b: b,
        valid=lambda a, b: (a > 0) & (b > a), inner=lambda a, b: a,
    )  # fmt: skip


BOUNDED: dict[str, Formulas] = {
    "genextreme": Formulas(
        logpdf=_extreme_log, cdf=lambda y, c: np.exp(-np.exp(_extreme(y, c))),
        sf=lambda y, c: -np.expm1(-np.exp(_extreme(y, c))), logcdf=lambda y, c: -np.exp(_extreme(y, c)),
        logsf=lambda y, c: log_of_rest(-np.exp(_extreme(y, c))),
        ppf=lambda q, c: _extreme_ppf(np.log(-np.log(q)), c), isf=lambda q, c: _extreme_ppf(np.log(-np.log1p(-q)), c),
        low=_below, high=_above, open=True, inner=0.0, valid=np.isfinite, quantiles_at_ends=True,
    ),
    "genpareto": Formulas(
        logpdf=lambda y, c: -(1.0 + c) * _excess(y, c), cdf=lambda y, c: -np.expm1(-_excess(y, c)),
        sf=lambda y, c: np.exp(-_excess(y, c)), logcdf=lambda y, c: log_of_rest(-_excess(y, c)),
        logsf=lambda y, c: -_excess(y, c), ppf=lambda q, c: -np.log1p(-q) * sp.exprel(-c * np.log1p(-q)),
        isf=lambda q, c: -np.log(q) * sp.exprel(-c * np.log(q)), low=0.0, high=lambda c: -_below(c), valid=np.isfinite,
        inner=0.0, finite=True, quantiles_at_ends=True,
    ),
    "genlogistic": Formulas(
        logpdf=lambda y, c: np.log(c) + sp.log_expit(-y) + c * sp.log_expit(y),
        cdf=lambda y, c: np.exp(c * sp.log_expit(y)), sf=lambda y, c: -np.expm1(c * sp.log_expit(y)),
        logcdf=lambda y, c: c * sp.log_expit(y), logsf=lambda y, c: log_of_rest(c * sp.log_expit(y)),
        ppf=lambda q, c: -np.log(np.expm1(-np.log(q) / c)), isf=lambda q, c: -np.log(np.expm1(-np.log1p(-q) / c)),
    ),
    "gennorm": Formulas(
        logpdf=lambda y, b: np.log(0.5 * b) - sp.gammaln(1.0 / b) - np.abs(y) ** b, cdf=_gennorm_cdf,
        sf=lambda y, b: _gennorm_cdf(-y, b),
    ),
    "hypsecant": Formulas(
        logpdf=lambda y: math.log(2 / math.pi) - np.logaddexp(y, -y), cdf=lambda y: 2 / math.pi * np.arctan(np.exp(y)),
        sf=lambda y: 2 / math.pi * np.arctan(np.exp(-y)), ppf=_hypsecant_ppf, isf=lambda q: -_hypsecant_ppf(q),
    ),
    "weibull_max": Formulas(
        logpdf=_weibull_max_log, pdf=at_ends(_weibull_max_log, lambda y, c: c * (-y) ** (c - 1.0), inner=-0.5),
        cdf=lambda y, c: np.exp(-((-y) ** c)), sf=lambda y, c: -np.expm1(-((-y) ** c)),
        logcdf=lambda y, c: -((-y) ** c), logsf=lambda y, c: log_of_rest(-((-y) ** c)),
        ppf=lambda q, c: -((-np.log(q)) ** (1.0 / c)), isf=lambda q, c: -((-np.log1p(-q)) ** (1.0 / c)), high=0.0,
    ),
    "johnsonsu": Formulas(
        logpdf=lambda y, a, b: (
            np.log(b) - 0.5 * np.log1p(y * y) - LOG_ROOT_TAU - 0.5 * (a + b * np.arcsinh(y)) ** 2
        ),
        cdf=lambda y, a, b: sp.ndtr(a + b * np.arcsinh(y)), sf=lambda y, a, b: sp.ndtr(-a - b * np.arcsinh(y)),
        logcdf=lambda y, a, b: sp.log_ndtr(a + b * np.arcsinh(y)),
        logsf=lambda y, a, b: sp.log_ndtr(-a - b * np.arcsinh(y)),
        ppf=lambda q, a, b: np.sinh((sp.ndtri(q) - a) / b), isf=lambda q, a, b: np.sinh((-sp.ndtri(q) - a) / b),
        valid=lambda a, b: (b > 0) & (a == a),
    ),
    "johnsonsb": Formulas(
        logpdf=lambda y, a, b: (
            np.log(b) - np.log(y) - np.log1p(-y) - LOG_ROOT_TAU - 0.5 * (a + b * sp.logit(y)) ** 2
        ),
        cdf=lambda y, a, b: sp.ndtr(a + b * sp.logit(y)), sf=lambda y, a, b: sp.ndtr(-a - b * sp.logit(y)),
        logcdf=lambda y, a, b: sp.log_ndtr(a + b * sp.logit(y)),
        logsf=lambda y, a, b: sp.log_ndtr(-a - b * sp.logit(y)),
        ppf=lambda q, a, b: sp.expit((sp.ndtri(q) - a) / b), isf=lambda q, a, b: sp.expit((-sp.ndtri(q) - a) / b),
        low=0.0, high=1.0, open=True, valid=lambda a, b: (b > 0) & (a == a),
    ),
    "laplace_asymmetric": Formulas(
        logpdf=lambda y, k: _asymmetric(y, k) - np.log(k + 1.0 / k), cdf=_asymmetric_cdf, sf=_asymmetric_sf,
        ppf=_asymmetric_ppf, isf=_asymmetric_isf,
    ),
    "loggamma": Formulas(
        logpdf=lambda y, c: c * y - np.exp(y) - sp.gammaln(c), cdf=lambda y, c: sp.gammainc(c, np.exp(y)),
        sf=lambda y, c: sp.gammaincc(c, np.exp(y)), ppf=lambda q, c: np.log(sp.gammaincinv(c, q)),
        isf=lambda q, c: np.log(sp.gammainccinv(c, q)),
    ),
    "loguniform": _loguniform(),
    "reciprocal": _loguniform(),
    "moyal": Formulas(
        logpdf=lambda y: -0.5 * (y + np.exp(-y)) - LOG_ROOT_TAU, cdf=lambda y: sp.erfc(np.exp(-0.5 * y) / ROOT_TWO),
        sf=lambda y: sp.erf(np.exp(-0.5 * y) / ROOT_TWO), ppf=lambda q: -2.0 * np.log(-sp.ndtri(0.5 * q)),
        isf=lambda q: -2.0 * np.log(ROOT_TWO * sp.erfinv(q)),
    ),
    "powerlaw": Formulas(
        logpdf=_powerlaw_log, pdf=at_ends(_powerlaw_log, lambda y, a: a * y ** (a - 1.0)),
        cdf=lambda y, a: y**a, sf=lambda y, a: -np.expm1(a * np.log(y)), logcdf=lambda y, a: a * np.log(y),
        logsf=lambda y, a: log_of_rest(a * np.log(y)), ppf=lambda q, a: q ** (1.0 / a),
        isf=lambda q, a: np.exp(np.log1p(-q) / a), low=0.0, high=1.0,
    ),
    "semicircular": Formulas(
        logpdf=lambda y: math.log(2 / math.pi) + 0.5 * np.log1p(-y * y),
        pdf=lambda y: 2 / math.pi * np.sqrt(1.0 - y * y),
        cdf=_semicircular_cdf, sf=lambda y: _semicircular_cdf(-y), low=-1.0, high=1.0,
    ),
    "arcsine": Formulas(
        logpdf=lambda y: -math.log(math.pi) - 0.5 * (np.log(y) + np.log1p(-y)),
        cdf=lambda y: 2 / math.pi * np.arcsin(np.sqrt(y)), sf=lambda y: 2 / math.pi * np.arcsin(np.sqrt(1.0 - y)),
        ppf=lambda q: np.sin(0.5 * math.pi * q) ** 2, isf=lambda q: np.cos(0.5 * math.pi * q) ** 2,
        low=0.0, high=1.0,
    ),
    "triang": Formulas(
        logpdf=lambda y, c: np.log(_triangle(y, c)), pdf=_triangle, cdf=_triangle_cdf,
        sf=lambda y, c: _triangle_cdf(1.0 - y, 1.0 - c), ppf=_triangle_ppf,
        isf=lambda q, c: 1.0 - _triangle_ppf(q, 1.0 - c),
        low=0.0, high=1.0, valid=lambda c: (c >= 0) & (c <= 1),
    ),
    "trapezoid": Formulas(
        logpdf=lambda y, c, d: np.log(_trapezoid(y, c, d)), pdf=_trapezoid, cdf=_trapezoid_cdf,
        sf=lambda y, c, d: _trapezoid_cdf(1.0 - y, 1.0 - d, 1.0 - c), ppf=_trapezoid_ppf,
        isf=lambda q, c, d: 1.0 - _trapezoid_ppf(q, 1.0 - d, 1.0 - c), low=0.0, high=1.0,
        valid=lambda c, d: (c >= 0) & (d <= 1) & (d >= c),
    ),
    "truncexpon": Formulas(
        logpdf=lambda y, b: -y - np.log(-np.expm1(-b)), cdf=lambda y, b: np.expm1(-y) / np.expm1(-b),
        sf=lambda y, b: np.exp(-y) * np.expm1(y - b) / np.expm1(-b), ppf=lambda q, b: -np.log1p(q * np.expm1(-b)),
        low=0.0, high=lambda b: b,
    ),
    "exponnorm": Formulas(
        logpdf=lambda y, k: _exponnorm_log(y, k) - np.log(k),
        cdf=lambda y, k: sp.ndtr(y) - np.exp(_exponnorm_log(y, k)),
        sf=lambda y, k: sp.ndtr(-y) + np.exp(_exponnorm_log(y, k)),
    ),
    "powernorm": Formulas(
        logpdf=lambda y, c: np.log(c) - 0.5 * y * y - LOG_ROOT_TAU + (c - 1.0) * sp.log_ndtr(-y),
        cdf=lambda y, c: -np.expm1(c * sp.log_ndtr(-y)), sf=lambda y, c: np.exp(c * sp.log_ndtr(-y)),
        logcdf=lambda y, c: log_of_rest(c * sp.log_ndtr(-y)), logsf=lambda y, c: c * sp.log_ndtr(-y),
        ppf=lambda q, c: -sp.ndtri_exp(np.log1p(-q) / c), isf=lambda q, c: -sp.ndtri_exp(np.log(q) / c),
    ),
    "skewcauchy": Formulas(
        logpdf=lambda y, a: -math.log(math.pi) - np.log1p((y / _skewcauchy_sides(y, a)) ** 2), cdf=_skewcauchy_cdf,
        sf=lambda y, a: _skewcauchy_cdf(-y, -a), valid=lambda a: np.abs(a) < 1,
    ),
    "bradford": Formulas(
        logpdf=lambda y, c: np.log(c / np.log1p(c)) - np.log1p(c * y), cdf=lambda y, c: np.log1p(c * y) / np.log1p(c),
        sf=lambda y, c: np.log1p(c * (1.0 - y) / (1.0 + c * y)) / np.log1p(c),
        ppf=lambda q, c: np.expm1(q * np.log1p(c)) / c, low=0.0, high=1.0,
    ),
    "cosine": Formulas(
        logpdf=lambda y: np.log1p(np.cos(y)) - 2 * LOG_ROOT_TAU, pdf=lambda y: (1.0 + np.cos(y)) / (2 * math.pi),
        cdf=_cosine_cdf, sf=lambda y: _cosine_cdf(-y), low=-math.pi, high=math.pi,
    ),
}  # fmt: skip
