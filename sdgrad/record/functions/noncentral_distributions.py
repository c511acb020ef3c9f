"""Formulas of SciPy's distributions whose probabilities are sums and integrals of other densities."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.special as sp

from sdgrad.record.functions.distributions import LOG_ROOT_TAU, Formulas
from sdgrad.record.functions.scipy_special import in_double
from sdgrad.record.functions.table import active

LOG_TWO = math.log(2.0)
ROUGH_ANGLES = 1e-5
"""How far SciPy's probabilities of angles are from exact ones: it approximates them where ``kappa`` is 50 or more."""


def _log_i0e(z: Any) -> Any:
    """Return the logarithm of a scaled Bessel function, whose derivative at 0 is that from the right."""
    first = z == 0
    return np.where(first, np.log(sp.i0(np.where(first, z, 0.0))) - z, np.log(sp.i0e(np.where(first, 1.0, z))))


# -- chi-squared, and its root
def _ncx2_log(y: Any, df: Any, nc: Any) -> Any:
    first = y == 0
    found = in_double("special_ncx2_log_density(0, {0}, {1}, {2})", df, nc, np.where(first, 1.0, y))
    at_zero = np.where(df == 2, -0.5 * nc - LOG_TWO, np.where((df < 2) & (nc == 0), math.inf, -math.inf))
    return np.where(first, at_zero, found)


def _ncx2(y: Any, df: Any, nc: Any) -> Any:
    first = y == 0
    found = in_double("special_ncx2_density(0, {0}, {1}, {2})", df, nc, np.where(first, 1.0, y))
    own = np.where(df < 2, math.inf, np.where(df == 2, 0.5, 0.0))
    return np.where(first, np.where(nc == 0, own, 0.0), found)


def _ncx2_sf(y: Any, df: Any, nc: Any) -> Any:
    return in_double("special_ncx2c({0}, {1}, {2})", df, nc, y)


def _ncx2_isf(q: Any, df: Any, nc: Any) -> Any:
    return in_double("special_ncx2_quantile(1, {0}, {1}, {2})", df, nc, q)


# -- Student's t
def _nct(y: Any, df: Any, nc: Any) -> Any:
    return in_double("special_nct(1, 1, 0, {0}, {1}, {2})", df, nc, y)


# -- skew normal
def _skewnorm_log(y: Any, a: Any) -> Any:
    return LOG_TWO - 0.5 * y * y - LOG_ROOT_TAU + sp.log_ndtr(a * y)


def _skewnorm_logcdf(y: Any, a: Any) -> Any:
    """Return logarithms, by Gauss-Laguerre quadrature where the probability itself is no normal number."""
    far = (y < 0.0) & (_skewnorm_log(y, a) < -600.0)
    inside = np.where(far, 0.0, y)
    near: Any = Formulas(_skewnorm_log, cdf=_skewnorm, sf=lambda y, a: _skewnorm(-y, -a)).get("logcdf")
    return np.where(far, _skewnorm_far(np.where(far, y, -40.0), a), near(inside, a))


def _skewnorm_far(y: Any, a: Any) -> Any:
    slope = -y + a * np.exp(-0.5 * (a * y) ** 2 - LOG_ROOT_TAU - sp.log_ndtr(a * y))
    top, whole = _skewnorm_log(y, a), 0.0
    for place, weight in zip(*np.polynomial.laguerre.laggauss(16), strict=True):
        whole = whole + weight * np.exp(_skewnorm_log(y - place / slope, a) - top + place)
    return top + np.log(whole / slope)


def _skewnorm(y: Any, a: Any) -> Any:
    return in_double("special_skewnorm({0}, {1})", a, y)


# -- angles
def _angle_log(y: Any, kappa: Any) -> Any:
    return kappa * sp.cosm1(y) - 2 * LOG_ROOT_TAU - _log_i0e(kappa)


def _angles(text: str, kappa: Any, value: Any) -> Any:
    recorder = active()
    recorder.hints.rough = max(recorder.hints.rough, ROUGH_ANGLES)
    return in_double(text, kappa, value)


def _of_angles(low: float, high: float) -> Formulas:
    return Formulas(
        logpdf=_angle_log,
        cdf=lambda y, kappa: _angles("special_vonmises(0, {0}, {1})", kappa, y),
        sf=lambda y, kappa: _angles("special_vonmises(0, {0}, {1})", kappa, -y),
        ppf=lambda q, kappa: _angles("special_vonmises_quantile(0, {0}, {1})", kappa, q),
        isf=lambda q, kappa: _angles("special_vonmises_quantile(1, {0}, {1})", kappa, q),
        low=low, high=high, quantiles_at_ends=True, valid=lambda kappa: kappa >= 0,
    )  # fmt: skip


NONCENTRAL: dict[str, Formulas] = {
    "ncx2": Formulas(
        logpdf=_ncx2_log, pdf=_ncx2, cdf=lambda y, df, nc: sp.chndtr(y, df, nc), sf=_ncx2_sf,
        ppf=lambda q, df, nc: sp.chndtrix(q, df, nc), isf=_ncx2_isf,
        low=0.0, valid=lambda df, nc: (df > 0) & np.isfinite(df) & (nc >= 0),
    ),
    "rice": Formulas(
        logpdf=lambda y, b: np.log(y) - 0.5 * (y - b) ** 2 + _log_i0e(y * b),
        pdf=lambda y, b: y * np.exp(-0.5 * (y - b) ** 2 + _log_i0e(y * b)),
        cdf=lambda y, b: sp.chndtr(y * y, 2.0, b * b), sf=lambda y, b: _ncx2_sf(y * y, 2.0, b * b),
        ppf=lambda q, b: np.sqrt(sp.chndtrix(q, 2.0, b * b)), isf=lambda q, b: np.sqrt(_ncx2_isf(q, 2.0, b * b)),
        low=0.0, valid=lambda b: b >= 0,
    ),
    "nct": Formulas(
        logpdf=lambda y, df, nc: np.log(_nct(y, df, nc)), pdf=_nct,
        cdf=lambda y, df, nc: sp.nctdtr(df, nc, y), sf=lambda y, df, nc: sp.nctdtr(df, -nc, -y),
        ppf=lambda q, df, nc: sp.nctdtrit(df, nc, q),
        isf=lambda q, df, nc: in_double("special_nct_quantile(1, {0}, {1}, {2})", df, nc, q),
        valid=lambda df, nc: (df > 0) & (nc == nc),
    ),
    "skewnorm": Formulas(
        logpdf=_skewnorm_log, cdf=_skewnorm, sf=lambda y, a: _skewnorm(-y, -a),
        logcdf=_skewnorm_logcdf, logsf=lambda y, a: _skewnorm_logcdf(-y, -a),
        ppf=lambda q, a: in_double("special_skewnorm_quantile(0, {0}, {1})", a, q),
        isf=lambda q, a: in_double("special_skewnorm_quantile(1, {0}, {1})", a, q),
        valid=np.isfinite, open=True, inner=0.0,
    ),
    "vonmises": _of_angles(-math.inf, math.inf),
    "vonmises_line": _of_angles(-math.pi, math.pi),
}  # fmt: skip
