"""Formulas of SciPy's distributions of positive numbers in standard form, one line for a function."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.special as sp

from sdgrad.record.functions.distributions import (
    LOG_ROOT_TAU,
    ROOT_TWO,
    Formulas,
    at_ends,
    away_from_end,
    beta_odds,
    gamma_formulas,
    log_mass,
    log_of_rest,
    of_parts,
)

LOG_TWO = math.log(2.0)


# -- logarithms of densities that their values at the ends need as well
def _chi_log(y: Any, df: Any) -> Any:
    return (1.0 - 0.5 * df) * LOG_TWO - sp.gammaln(0.5 * df) + sp.xlogy(df - 1.0, y) - 0.5 * y * y


def _chi_at_zero(y: Any, df: Any) -> Any:
    return y ** (df - 1.0) * np.exp((1.0 - 0.5 * df) * LOG_TWO - sp.gammaln(0.5 * df))


def _nakagami_log(y: Any, nu: Any) -> Any:
    return LOG_TWO + sp.xlogy(nu, nu) - sp.gammaln(nu) + sp.xlogy(2.0 * nu - 1.0, y) - nu * y * y


def _nakagami_at_zero(y: Any, nu: Any) -> Any:
    return 2.0 * y ** (2.0 * nu - 1.0) * np.exp(sp.xlogy(nu, nu) - sp.gammaln(nu))


def _gengamma_log(y: Any, a: Any, c: Any) -> Any:
    none = (y == 0) & (c < 0)
    y = np.where(none, 1.0, y)
    return np.where(none, -math.inf, np.log(np.abs(c)) + sp.xlogy(c * a - 1.0, y) - y**c - sp.gammaln(a))


def _gengamma_at_zero(y: Any, a: Any, c: Any) -> Any:
    return np.where(c < 0, 0.0, np.abs(c) * y ** (np.abs(c) * a - 1.0) * np.exp(-sp.gammaln(a)))


def _betaprime_log(y: Any, a: Any, b: Any) -> Any:
    return sp.xlogy(a - 1.0, y) - sp.xlog1py(a + b, y) - sp.betaln(a, b)


def _burr_log(y: Any, c: Any, d: Any) -> Any:
    low = y < 1.0
    apart = np.where(low, -1.0, 1.0) * np.log(y)
    return np.log(c * d) + sp.xlogy(np.where(low, c * d, -c) - 1.0, y) + (d + 1.0) * sp.log_expit(c * apart)


def _fisk_log(y: Any, c: Any) -> Any:
    return _burr_log(y, c, 1.0)


def _burr12_log(y: Any, c: Any, d: Any) -> Any:
    return np.log(c * d) + sp.xlogy(c - 1.0, y) - sp.xlog1py(d + 1.0, y**c)


def _exponweib_log(y: Any, a: Any, c: Any) -> Any:
    power = y**c
    return np.log(a * c) + sp.xlogy(a - 1.0, -np.expm1(-power)) - power + sp.xlogy(c - 1.0, y)


# -- the first passage of a Brownian motion
def _invgauss_log(y: Any, mu: Any) -> Any:
    return -LOG_ROOT_TAU - 1.5 * np.log(y) - (y / mu - 1.0) ** 2 / (2.0 * y)


def _invgauss_parts(y: Any, mu: Any) -> tuple[Any, Any, Any]:
    root = np.sqrt(y)
    return (y / mu - 1.0) / root, 2.0 / mu + sp.log_ndtr(-(y / mu + 1.0) / root), root


def _invgauss_logcdf(y: Any, mu: Any) -> Any:
    at, other, _ = _invgauss_parts(y, mu)
    first = sp.log_ndtr(at)
    return first + np.log1p(np.exp(other - first))


def _invgauss_logsf(y: Any, mu: Any) -> Any:
    at, other, _ = _invgauss_parts(y, mu)
    first = sp.log_ndtr(-at)
    return first + np.log1p(-np.exp(other - first))


def _halfcauchy_ppf(q: Any) -> Any:
    return np.where(q > 0.5, 1.0 / np.tan(0.5 * math.pi * (1.0 - q)), np.tan(0.5 * math.pi * q))


def _alpha_ppf(q: Any, a: Any) -> Any:
    return 1.0 / np.where(q == 1, 0.0, a - sp.ndtri(q * sp.ndtr(a)))


def _alpha_isf(q: Any, a: Any) -> Any:
    """Return quantiles, in the tail by the inverse of how far a normal quantile is from its end."""
    away = away_from_end(q, -a, sp.log_ndtr(a))
    tail = np.isfinite(away)
    return np.where(tail, 1.0 / np.where(tail, away, 1.0), _alpha_ppf(np.where(tail, 0.5, 1.0 - q), a))


def _fatigue_ppf(q: Any, c: Any) -> Any:
    t = c * sp.ndtri(q)
    return 0.25 * (t + np.sqrt(t * t + 4.0)) ** 2


def _laplace_of_log(y: Any, c: Any) -> tuple[Any, Any]:
    """Return half of the probability beyond, and the side."""
    e = c * np.log(y)
    return 0.5 * np.exp(-np.abs(e)), e > 0


def _loglaplace_log(y: Any, c: Any) -> Any:
    return np.log(0.5 * c) + sp.xlogy(np.where(y < 1.0, c, -c) - 1.0, y)


def _loglaplace_cdf(y: Any, c: Any) -> Any:
    half, above = _laplace_of_log(y, c)
    return np.where(above, 1.0 - half, half)


def _loglaplace_sf(y: Any, c: Any) -> Any:
    half, above = _laplace_of_log(y, c)
    return np.where(above, half, 1.0 - half)


def _loglaplace_ppf(q: Any, c: Any) -> Any:
    return np.where(q < 0.5, (2.0 * q) ** (1.0 / c), (2.0 * (1.0 - q)) ** (-1.0 / c))


_log_erfc = of_parts(lambda r: -sp.erf(r / ROOT_TWO), lambda r: LOG_TWO + sp.log_ndtr(-r))


# -- tables
POSITIVE: dict[str, Formulas] = {
    "erlang": gamma_formulas(),
    "chi": Formulas(
        logpdf=_chi_log, pdf=at_ends(_chi_log, _chi_at_zero),
        cdf=lambda y, df: sp.gammainc(0.5 * df, 0.5 * y * y), sf=lambda y, df: sp.gammaincc(0.5 * df, 0.5 * y * y),
        ppf=lambda q, df: np.sqrt(2.0 * sp.gammaincinv(0.5 * df, q)),
        isf=lambda q, df: np.sqrt(2.0 * sp.gammainccinv(0.5 * df, q)), low=0.0,
    ),
    "maxwell": Formulas(
        logpdf=lambda y: LOG_TWO - LOG_ROOT_TAU + 2.0 * np.log(y) - 0.5 * y * y,
        pdf=lambda y: math.sqrt(2 / math.pi) * y * y * np.exp(-0.5 * y * y),
        cdf=lambda y: sp.gammainc(1.5, 0.5 * y * y), sf=lambda y: sp.gammaincc(1.5, 0.5 * y * y),
        ppf=lambda q: np.sqrt(2.0 * sp.gammaincinv(1.5, q)), isf=lambda q: np.sqrt(2.0 * sp.gammainccinv(1.5, q)),
        low=0.0,
    ),
    "nakagami": Formulas(
        logpdf=_nakagami_log, pdf=at_ends(_nakagami_log, _nakagami_at_zero),
        cdf=lambda y, nu: sp.gammainc(nu, nu * y * y), sf=lambda y, nu: sp.gammaincc(nu, nu * y * y),
        ppf=lambda q, nu: np.sqrt(sp.gammaincinv(nu, q) / nu), isf=lambda q, nu: np.sqrt(sp.gammainccinv(nu, q) / nu),
        low=0.0,
    ),
    "gengamma": Formulas(
        logpdf=_gengamma_log, pdf=at_ends(_gengamma_log, _gengamma_at_zero),
        cdf=lambda y, a, c: np.where(c > 0, sp.gammainc(a, y**c), sp.gammaincc(a, y**c)),
        sf=lambda y, a, c: np.where(c > 0, sp.gammaincc(a, y**c), sp.gammainc(a, y**c)),
        ppf=lambda q, a, c: np.where(c > 0, sp.gammaincinv(a, q), sp.gammainccinv(a, q)) ** (1.0 / c),
        isf=lambda q, a, c: np.where(c > 0, sp.gammainccinv(a, q), sp.gammaincinv(a, q)) ** (1.0 / c),
        low=0.0, valid=lambda a, c: (a > 0) & (c != 0),
    ),
    "betaprime": Formulas(
        logpdf=_betaprime_log,
        cdf=lambda y, a, b: sp.betainc(a, b, y / (1.0 + y)), sf=lambda y, a, b: sp.betainc(b, a, 1.0 / (1.0 + y)),
        ppf=lambda q, a, b: beta_odds(q, a, b), isf=lambda q, a, b: beta_odds(q, b, a, -1.0), low=0.0, open=True,
    ),
    "invgauss": Formulas(
        logpdf=_invgauss_log, cdf=lambda *v: np.exp(_invgauss_logcdf(*v)), sf=lambda *v: np.exp(_invgauss_logsf(*v)),
        logcdf=_invgauss_logcdf, logsf=_invgauss_logsf, low=0.0, open=True,
    ),
    "wald": Formulas(
        logpdf=lambda y: _invgauss_log(y, 1.0), cdf=lambda y: np.exp(_invgauss_logcdf(y, 1.0)),
        sf=lambda y: np.exp(_invgauss_logsf(y, 1.0)), logcdf=lambda y: _invgauss_logcdf(y, 1.0),
        logsf=lambda y: _invgauss_logsf(y, 1.0), low=0.0, open=True,
    ),
    "levy": Formulas(
        logpdf=lambda y: -LOG_ROOT_TAU - 1.5 * np.log(y) - 0.5 / y,
        cdf=lambda y: sp.erfc(np.sqrt(0.5 / y)), sf=lambda y: sp.erf(np.sqrt(0.5 / y)),
        logcdf=lambda y: _log_erfc(np.sqrt(1.0 / y)),
        ppf=lambda q: sp.ndtri(0.5 * q) ** -2.0, isf=lambda q: 0.5 * sp.erfinv(q) ** -2.0, low=0.0, open=True,
    ),
    "lomax": Formulas(
        logpdf=lambda y, c: np.log(c) - (c + 1.0) * np.log1p(y), cdf=lambda y, c: -np.expm1(-c * np.log1p(y)),
        sf=lambda y, c: np.exp(-c * np.log1p(y)), logsf=lambda y, c: -c * np.log1p(y),
        logcdf=lambda y, c: log_of_rest(-c * np.log1p(y)),
        ppf=lambda q, c: np.expm1(-np.log1p(-q) / c), isf=lambda q, c: np.expm1(-np.log(q) / c), low=0.0,
    ),
    "fisk": Formulas(
        logpdf=_fisk_log, pdf=at_ends(_fisk_log, lambda y, c: c * y ** (c - 1.0)),
        cdf=lambda y, c: sp.expit(c * np.log(y)), sf=lambda y, c: sp.expit(-c * np.log(y)),
        logcdf=lambda y, c: sp.log_expit(c * np.log(y)), logsf=lambda y, c: sp.log_expit(-c * np.log(y)),
        ppf=lambda q, c: np.exp(sp.logit(q) / c), isf=lambda q, c: np.exp(-sp.logit(q) / c), low=0.0, finite=True,
    ),
    "burr": Formulas(
        logpdf=_burr_log, pdf=at_ends(_burr_log, lambda y, c, d: c * d * y ** (c * d - 1.0)),
        cdf=lambda y, c, d: np.exp(d * sp.log_expit(c * np.log(y))),
        sf=lambda y, c, d: -np.expm1(d * sp.log_expit(c * np.log(y))),
        logcdf=lambda y, c, d: d * sp.log_expit(c * np.log(y)),
        logsf=lambda y, c, d: log_of_rest(d * sp.log_expit(c * np.log(y))),
        ppf=lambda q, c, d: np.expm1(-np.log(q) / d) ** (-1.0 / c),
        isf=lambda q, c, d: np.expm1(-np.log1p(-q) / d) ** (-1.0 / c), low=0.0,
    ),
    "burr12": Formulas(
        logpdf=_burr12_log, pdf=at_ends(_burr12_log, lambda y, c, d: c * d * y ** (c - 1.0)),
        cdf=lambda y, c, d: -np.expm1(-d * np.log1p(y**c)), sf=lambda y, c, d: np.exp(-d * np.log1p(y**c)),
        logcdf=lambda y, c, d: log_of_rest(-d * np.log1p(y**c)), logsf=lambda y, c, d: -d * np.log1p(y**c),
        ppf=lambda q, c, d: np.expm1(-np.log1p(-q) / d) ** (1.0 / c),
        isf=lambda q, c, d: np.expm1(-np.log(q) / d) ** (1.0 / c), low=0.0,
    ),
    "exponweib": Formulas(
        logpdf=_exponweib_log, pdf=at_ends(_exponweib_log, lambda y, a, c: a * c * y ** (a * c - 1.0)),
        cdf=lambda y, a, c: (-np.expm1(-(y**c))) ** a, sf=lambda y, a, c: -np.expm1(a * log_of_rest(-(y**c))),
        logcdf=lambda y, a, c: a * log_of_rest(-(y**c)), logsf=lambda y, a, c: log_of_rest(a * log_of_rest(-(y**c))),
        ppf=lambda q, a, c: (-np.log1p(-(q ** (1.0 / a)))) ** (1.0 / c),
        isf=lambda q, a, c: (-np.log(-np.expm1(np.log1p(-q) / a))) ** (1.0 / c), low=0.0,
    ),
    "halfcauchy": Formulas(
        logpdf=lambda y: math.log(2 / math.pi) - np.log1p(y * y), cdf=lambda y: 2 / math.pi * np.arctan(y),
        sf=lambda y: 2 / math.pi * np.arctan2(1.0, y),
        ppf=_halfcauchy_ppf, isf=lambda q: 1.0 / _halfcauchy_ppf(q), low=0.0,
    ),
    "halflogistic": Formulas(
        logpdf=lambda y: LOG_TWO - y - 2.0 * np.log1p(np.exp(-y)), cdf=lambda y: np.tanh(0.5 * y),
        sf=lambda y: 2.0 * sp.expit(-y),
        logsf=of_parts(lambda y: -np.tanh(0.5 * y), lambda y: LOG_TWO + sp.log_expit(-y)),
        ppf=lambda q: 2.0 * np.arctanh(q), isf=lambda q: -sp.logit(0.5 * q), low=0.0,
    ),
    "halfgennorm": Formulas(
        logpdf=lambda y, b: np.log(b) - sp.gammaln(1.0 / b) - y**b, cdf=lambda y, b: sp.gammainc(1.0 / b, y**b),
        sf=lambda y, b: sp.gammaincc(1.0 / b, y**b), ppf=lambda q, b: sp.gammaincinv(1.0 / b, q) ** (1.0 / b),
        isf=lambda q, b: sp.gammainccinv(1.0 / b, q) ** (1.0 / b), low=0.0,
    ),
    "invweibull": Formulas(
        logpdf=lambda y, c: np.log(c) - (c + 1.0) * np.log(y) - y**-c, cdf=lambda y, c: np.exp(-(y**-c)),
        sf=lambda y, c: -np.expm1(-(y**-c)), logcdf=lambda y, c: -(y**-c), logsf=lambda y, c: log_of_rest(-(y**-c)),
        ppf=lambda q, c: (-np.log(q)) ** (-1.0 / c), isf=lambda q, c: (-np.log1p(-q)) ** (-1.0 / c),
        low=0.0, open=True,
    ),
    "loglaplace": Formulas(
        logpdf=_loglaplace_log, pdf=at_ends(_loglaplace_log, lambda y, c: 0.5 * c * y ** (c - 1.0)),
        cdf=_loglaplace_cdf, sf=_loglaplace_sf, ppf=_loglaplace_ppf, isf=lambda q, c: 1.0 / _loglaplace_ppf(q, c),
        low=0.0,
    ),
    "foldnorm": Formulas(
        logpdf=lambda y, c: np.logaddexp(-0.5 * (y - c) ** 2, -0.5 * (y + c) ** 2) - LOG_ROOT_TAU,
        cdf=lambda y, c: 0.5 * (sp.erf((y - c) / ROOT_TWO) + sp.erf((y + c) / ROOT_TWO)),
        sf=lambda y, c: sp.ndtr(c - y) + sp.ndtr(-c - y), low=0.0, valid=lambda c: c >= 0,
    ),
    "gompertz": Formulas(
        logpdf=lambda y, c: np.log(c) + y - c * np.expm1(y), cdf=lambda y, c: -np.expm1(-c * np.expm1(y)),
        sf=lambda y, c: np.exp(-c * np.expm1(y)), logsf=lambda y, c: -c * np.expm1(y),
        logcdf=lambda y, c: log_of_rest(-c * np.expm1(y)),
        ppf=lambda q, c: np.log1p(-np.log1p(-q) / c), isf=lambda q, c: np.log1p(-np.log(q) / c), low=0.0,
    ),
    "fatiguelife": Formulas(
        logpdf=lambda y, c: (
            np.log1p(y) - (y - 1.0) ** 2 / (2.0 * y * c * c) - np.log(2.0 * c) - LOG_ROOT_TAU - 1.5 * np.log(y)
        ),
        cdf=lambda y, c: sp.ndtr((np.sqrt(y) - 1.0 / np.sqrt(y)) / c),
        sf=lambda y, c: sp.ndtr((1.0 / np.sqrt(y) - np.sqrt(y)) / c),
        logcdf=lambda y, c: sp.log_ndtr((np.sqrt(y) - 1.0 / np.sqrt(y)) / c),
        logsf=lambda y, c: sp.log_ndtr((1.0 / np.sqrt(y) - np.sqrt(y)) / c),
        ppf=_fatigue_ppf, isf=lambda q, c: 1.0 / _fatigue_ppf(q, c), low=0.0, open=True, quantiles_at_ends=True,
    ),
    "alpha": Formulas(
        logpdf=lambda y, a: -2.0 * np.log(y) - LOG_ROOT_TAU - 0.5 * (a - 1.0 / y) ** 2 - sp.log_ndtr(a),
        cdf=lambda y, a: sp.ndtr(a - 1.0 / y) / sp.ndtr(a),
        logcdf=lambda y, a: sp.log_ndtr(a - 1.0 / y) - sp.log_ndtr(a),
        sf=lambda y, a: np.exp(log_mass(a - 1.0 / y, a, 1.0 / y) - sp.log_ndtr(a)), isf=_alpha_isf,
        ppf=_alpha_ppf, low=0.0, open=True,
    ),
    "gibrat": Formulas(
        logpdf=lambda y: -0.5 * np.log(y) ** 2 - np.log(y) - LOG_ROOT_TAU, cdf=lambda y: sp.ndtr(np.log(y)),
        sf=lambda y: sp.ndtr(-np.log(y)), logcdf=lambda y: sp.log_ndtr(np.log(y)),
        logsf=lambda y: sp.log_ndtr(-np.log(y)), ppf=lambda q: np.exp(sp.ndtri(q)),
        isf=lambda q: np.exp(-sp.ndtri(q)), low=0.0, open=True,
    ),
}  # fmt: skip
