"""Formulas of SciPy's distributions in standard form: location 0 and scale 1, one line for a function.

Each is a formula on its support; :mod:`scipy_stats` adds the support, the location and the scale. What has no line, and
does not follow from another one, is refused.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.special as sp

Formula = Callable[..., Any]
LOG_ROOT_TAU = 0.5 * math.log(2 * math.pi)
ROOT_TWO = math.sqrt(2.0)


def always(*shapes: Any) -> Any:
    return True


def positive(*shapes: Any) -> Any:
    found: Any = True
    for s in shapes:
        found = (s > 0) & found
    return found


@dataclass(frozen=True)
class Formulas:
    """Functions of a standardized value, or of a probability, and the shape parameters.

    ``low`` and ``high`` end the support, as numbers or functions of the shapes; ``open`` leaves its ends out. With
    ``quantiles_at_ends``, the quantiles of 0 and of 1 are these ends, where the formulas give none. ``inner`` is a
    place of a support whose ends are functions. With ``finite``, infinity is outside, for its formula is no number.
    """

    logpdf: Formula
    pdf: Formula | None = None
    cdf: Formula | None = None
    sf: Formula | None = None
    logcdf: Formula | None = None
    logsf: Formula | None = None
    ppf: Formula | None = None
    isf: Formula | None = None
    low: Any = -math.inf
    high: Any = math.inf
    open: bool = False
    finite: bool = False
    inner: Any = None
    quantiles_at_ends: bool = False
    valid: Formula = positive

    @property
    def endless(self) -> bool:
        return self.low == -math.inf and self.high == math.inf

    def ends(self, shapes: tuple) -> tuple[Any, Any]:
        low, high = (e(*shapes) if callable(e) else e for e in (self.low, self.high))
        return low, high

    def get(self, name: str) -> Formula | None:
        """Return a formula, from another one where it has none of its own."""
        own: Formula | None = getattr(self, name)
        if own is not None or name in ("ppf", "cdf"):
            return own
        if name in ("sf", "isf"):
            return _reflected(self, name)
        if name == "pdf":
            return lambda *values: np.exp(self.logpdf(*values))
        near, far = (self.cdf, self.sf) if name == "logcdf" else (self.sf, self.cdf)
        return _log_of(near, far)


def _reflected(f: Formulas, name: str) -> Formula | None:
    """Return the probability beyond, or its inverse, by the distribution function or its inverse."""
    cdf, ppf = f.cdf, f.ppf
    if name == "sf":
        return None if cdf is None else lambda *values: 1.0 - cdf(*values)
    return None if ppf is None else lambda q, *shapes: ppf(1.0 - q, *shapes)


def _log_of(near: Formula | None, far: Formula | None) -> Formula | None:
    """Return the logarithm of a probability, by the rest of it where it is nearly 1."""
    if near is None:
        return None if far is None else lambda *values: np.log1p(-far(*values))
    if far is None:
        return lambda *values: np.log(near(*values))

    def log(*values: Any) -> Any:
        own, rest = near(*values), far(*values)
        large = own > 0.5
        return np.where(large, np.log1p(-np.where(large, rest, 0.0)), np.log(np.where(large, 1.0, own)))

    return log


# -- parts of formulas
def log_of_rest(u: Any) -> Any:
    """Return ``log(1 - exp(u))`` for ``u`` up to 0."""
    return np.where(u > -0.6931471805599453, np.log(-np.expm1(u)), np.log1p(-np.exp(u)))


def of_parts(below: Formula, above: Formula) -> Formula:
    """Return a logarithm that below 1 is ``log1p`` of a formula, where another one cancels."""

    def found(y: Any) -> Any:
        near = y < 1.0
        return np.where(near, np.log1p(below(np.where(near, y, 0.0))), above(np.where(near, 1.0, y)))

    return found


def at_ends(logpdf: Formula, at_end: Formula, ends: tuple[float, ...] = (0.0,), inner: float = 0.5) -> Formula:
    """Return a density with a formula of its own at the ends, where its logarithm may have no derivative.

    :param inner: a place that is no end.
    """

    def pdf(y: Any, *shapes: Any) -> Any:
        here = y == ends[0]
        for e in ends[1:]:
            here = here | (y == e)
        return np.where(here, at_end(y, *shapes), np.exp(logpdf(np.where(here, inner, y), *shapes)))

    return pdf


def _gamma_log(y: Any, a: Any) -> Any:
    return sp.xlogy(a - 1.0, y) - y - sp.gammaln(a)


def _chi2_log(y: Any, df: Any) -> Any:
    return sp.xlogy(0.5 * df - 1.0, y) - 0.5 * y - sp.gammaln(0.5 * df) - 0.5 * math.log(2) * df


def _chi2_at_zero(y: Any, df: Any) -> Any:
    return 0.5 * (0.5 * y) ** (0.5 * df - 1.0) * np.exp(-0.5 * y - sp.gammaln(0.5 * df))


def _beta_at_end(y: Any, a: Any, b: Any) -> Any:
    return y ** (a - 1.0) * (1.0 - y) ** (b - 1.0) * np.exp(-sp.betaln(a, b))


def _beta_log(y: Any, a: Any, b: Any) -> Any:
    return sp.xlog1py(b - 1.0, -y) + sp.xlogy(a - 1.0, y) - sp.betaln(a, b)


def _weibull_log(y: Any, c: Any) -> Any:
    return np.log(c) + sp.xlogy(c - 1.0, y) - y**c


def _f_log(y: Any, n: Any, m: Any) -> Any:
    whole = 0.5 * (n + m) * np.log1p(n * y / m)
    return sp.xlogy(0.5 * n - 1.0, y) + 0.5 * n * np.log(n / m) - whole - sp.betaln(0.5 * n, 0.5 * m)


def _f_at_zero(y: Any, n: Any, m: Any) -> Any:
    return y ** (0.5 * n - 1.0) * np.exp(0.5 * n * np.log(n / m) - sp.betaln(0.5 * n, 0.5 * m))


def with_limit(limit: Formula, formula: Formula) -> Formula:
    """Return a formula by degrees of freedom with that of the normal distribution where they are infinite."""

    def found(y: Any, df: Any) -> Any:
        if isinstance(df, float):
            return limit(y) if math.isinf(df) else formula(y, df)
        endless = df == math.inf
        return np.where(endless, limit(y), formula(y, np.where(endless, 1.0, df)))

    return found


def _normal_log(y: Any) -> Any:
    return -0.5 * y * y - LOG_ROOT_TAU


def _t_log(y: Any, df: Any) -> Any:
    return -sp.betaln(0.5 * df, 0.5) - 0.5 * np.log(df) - 0.5 * (df + 1.0) * np.log1p(y * y / df)


def beta_odds(q: Any, a: Any, b: Any, power: float = 1.0) -> Any:
    """Return the odds ``x / (1 - x)`` of quantiles of the beta distribution, to the power 1, -1 or -1/2.

    Small ones are a power of the probability, and a power of them is a number where they vanish themselves.
    """
    log = (np.log(q) + np.log(a) + sp.betaln(a, b)) / a
    small = log + np.log1p(b) < -40.0
    safe = np.where(small, 0.5, q)
    inside, outside = sp.betaincinv(a, b, safe), sp.betainccinv(b, a, safe)
    far, near = np.exp(power * np.where(small, log, 0.0)), inside / outside if power > 0 else outside / inside
    return np.where(small, far, np.sqrt(near) if power == -0.5 else near)


def _t_ppf(q: Any, df: Any) -> Any:
    """Return quantiles by those of the beta distribution, and in the middle by the series (Hill 1970)."""
    middle = np.abs(q - 0.5) < 0.005
    twice = np.where(middle, 0.5, 2.0 * np.minimum(q, 1.0 - q))
    wide = np.sqrt(df) * beta_odds(twice, 0.5 * df, 0.5, -0.5)
    v = (q - 0.5) * np.exp(sp.betaln(0.5 * df, 0.5) + 0.5 * np.log(df))
    r, w = 1.0 / df, v * v
    third, fifth = (1.0 + r) / 6.0, (7.0 + r * (8.0 + r)) / 120.0
    seventh = (127.0 + r * (135.0 + r * (9.0 + r))) / 5040.0
    series = v * (1.0 + w * (third + w * (fifth + w * seventh)))
    return np.where(middle, series, np.where(q < 0.5, -wide, wide))


def _cauchy_ppf(q: Any) -> Any:
    middle = np.tan(math.pi * (q - 0.5))
    return np.where(q < 0.25, -1.0 / np.tan(math.pi * q), np.where(q > 0.75, 1.0 / np.tan(math.pi * (1.0 - q)), middle))


# -- the normal distribution between two points
def log_mass(a: Any, b: Any, width: Any = None) -> Any:
    """Return the logarithm of the probability between two points: by a series where they are close to each other."""
    width, centre = b - a if width is None else width, 0.5 * (a + b)
    near = width * (1.0 + np.abs(centre)) < 0.1
    w, m = np.where(near, width, 0.05), np.where(near, centre, 0.0)
    v, s = w * w, m * m
    fourth, sixth = s * (s - 6.0) + 3.0, s * (s * (s - 15.0) + 45.0) - 15.0  # Hermite's polynomials
    rest = v * ((s - 1.0) / 24.0 + v * (fourth / 1920.0 + v * sixth / 322560.0))
    close = np.log(w) - 0.5 * s - LOG_ROOT_TAU + np.log1p(rest)
    return np.where(near, close, _log_mass_apart(np.where(near, -1.0, a), np.where(near, 1.0, b)))


def _log_mass_apart(a: Any, b: Any) -> Any:
    """Return the logarithm of the probability between two points, from the tail that they lie in."""

    def tail(near: Any, far: Any) -> Any:
        top = sp.log_ndtr(near)
        none = top == -math.inf
        return np.where(none, -math.inf, top + log_of_rest(sp.log_ndtr(far) - np.where(none, 0.0, top)))

    middle = np.log1p(-sp.ndtr(a) - sp.ndtr(-b))
    return np.where(b <= 0, tail(b, a), np.where(a > 0, tail(-a, -b), middle))


def _truncated_logcdf(y: Any, a: Any, b: Any) -> Any:
    whole = log_mass(a, b)
    below = log_mass(a, y) - whole
    return np.where(below > -0.1, np.log1p(-np.exp(log_mass(y, b) - whole)), below)


def _truncated_logsf(y: Any, a: Any, b: Any) -> Any:
    return _truncated_logcdf(-y, -b, -a)


def _truncated_ppf(q: Any, a: Any, b: Any) -> Any:
    """Return quantiles, beside an end by the Taylor series of the inverse: there they are far smaller than it."""
    first, last = _beside(q, a, b), _beside(1.0 - q, -b, -a)
    middle = _truncated_ppf_inside(np.where(np.isnan(first) & np.isnan(last), q, 0.5), a, b)
    return np.where(np.isnan(first), np.where(np.isnan(last), middle, -last), first)


def _beside(q: Any, a: Any, b: Any) -> Any:
    """Return the quantile of a small probability, NaN where it is not close to the end ``a``."""
    return a + away_from_end(q, a, log_mass(a, b))


def away_from_end(q: Any, end: Any, mass: Any) -> Any:
    """Return how far a quantile is above an end of the normal distribution, of probability ``exp(mass)``, if close."""
    slope = np.log(q) + mass + 0.5 * end * end + LOG_ROOT_TAU
    near = slope + np.log1p(np.abs(end)) < math.log(1e-3)
    t, e = np.exp(np.where(near, slope, 0.0)), np.where(near, end, 0.0)
    s = e * e
    fourth, fifth = e * (7.0 + 6.0 * s) / 24.0, (7.0 + s * (46.0 + 24.0 * s)) / 120.0
    away = t * (1.0 + t * (0.5 * e + t * ((1.0 + 2.0 * s) / 6.0 + t * (fourth + t * fifth))))
    return np.where(near, away, math.nan)


def _truncated_ppf_inside(q: Any, a: Any, b: Any) -> Any:
    whole = log_mass(a, b)
    left = sp.ndtri_exp(np.logaddexp(sp.log_ndtr(a), np.log(q) + whole))
    right = -sp.ndtri_exp(np.logaddexp(sp.log_ndtr(-b), np.log1p(-q) + whole))
    return np.where(a < 0, left, right)


def gamma_formulas() -> Formulas:
    return Formulas(
        logpdf=_gamma_log, pdf=at_ends(_gamma_log, lambda y, a: y ** (a - 1.0) * np.exp(-y - sp.gammaln(a))),
        cdf=lambda y, a: sp.gammainc(a, y), sf=lambda y, a: sp.gammaincc(a, y),
        ppf=lambda q, a: sp.gammaincinv(a, q), isf=lambda q, a: sp.gammainccinv(a, q), low=0.0,
    )  # fmt: skip


# -- tables
CONTINUOUS: dict[str, Formulas] = {
    "norm": Formulas(
        logpdf=_normal_log,
        cdf=sp.ndtr, sf=lambda y: sp.ndtr(-y), logcdf=sp.log_ndtr, logsf=lambda y: sp.log_ndtr(-y),
        ppf=sp.ndtri, isf=lambda q: -sp.ndtri(q),
    ),
    "uniform": Formulas(
        logpdf=lambda y: 0.0 * y, cdf=lambda y: y, sf=lambda y: 1.0 - y, logsf=lambda y: np.log1p(-y),
        ppf=lambda q: q, isf=lambda q: 1.0 - q, low=0.0, high=1.0,
    ),
    "expon": Formulas(
        logpdf=lambda y: -y, cdf=lambda y: -np.expm1(-y), sf=lambda y: np.exp(-y), logsf=lambda y: -y,
        logcdf=lambda y: log_of_rest(-y), ppf=lambda q: -np.log1p(-q), isf=lambda q: -np.log(q), low=0.0,
    ),
    "gamma": gamma_formulas(),
    "chi2": Formulas(
        logpdf=_chi2_log,
        pdf=at_ends(_chi2_log, _chi2_at_zero),
        cdf=lambda y, df: sp.gammainc(0.5 * df, 0.5 * y), sf=lambda y, df: sp.gammaincc(0.5 * df, 0.5 * y),
        ppf=lambda q, df: 2.0 * sp.gammaincinv(0.5 * df, q), isf=lambda q, df: 2.0 * sp.gammainccinv(0.5 * df, q),
        low=0.0,
    ),
    "beta": Formulas(
        logpdf=_beta_log,
        pdf=at_ends(_beta_log, _beta_at_end, (0.0, 1.0)),
        cdf=lambda y, a, b: sp.betainc(a, b, y), sf=lambda y, a, b: sp.betaincc(a, b, y),
        ppf=lambda q, a, b: sp.betaincinv(a, b, q), isf=lambda q, a, b: sp.betainccinv(a, b, q), low=0.0, high=1.0,
    ),
    "t": Formulas(
        logpdf=with_limit(_normal_log, _t_log), cdf=lambda y, df: sp.stdtr(df, y), sf=lambda y, df: sp.stdtr(df, -y),
        ppf=with_limit(sp.ndtri, _t_ppf), isf=with_limit(lambda q: -sp.ndtri(q), lambda q, df: -_t_ppf(q, df)),
    ),
    "f": Formulas(
        logpdf=_f_log, pdf=at_ends(_f_log, _f_at_zero),
        cdf=lambda y, n, m: sp.fdtr(n, m, y), sf=lambda y, n, m: sp.fdtrc(n, m, y),
        ppf=lambda q, n, m: m / n * beta_odds(q, 0.5 * n, 0.5 * m),
        isf=lambda q, n, m: m / n * beta_odds(q, 0.5 * m, 0.5 * n, -1.0), low=0.0,
    ),
    "lognorm": Formulas(
        logpdf=lambda y, s: -0.5 * (np.log(y) / s) ** 2 - np.log(s * y) - LOG_ROOT_TAU,
        cdf=lambda y, s: sp.ndtr(np.log(y) / s), sf=lambda y, s: sp.ndtr(-np.log(y) / s),
        logcdf=lambda y, s: sp.log_ndtr(np.log(y) / s), logsf=lambda y, s: sp.log_ndtr(-np.log(y) / s),
        ppf=lambda q, s: np.exp(s * sp.ndtri(q)), isf=lambda q, s: np.exp(-s * sp.ndtri(q)), low=0.0, open=True,
    ),
    "laplace": Formulas(
        logpdf=lambda y: -np.abs(y) - math.log(2),
        cdf=lambda y: np.where(y > 0, 1.0 - 0.5 * np.exp(-y), 0.5 * np.exp(y)),
        sf=lambda y: np.where(y > 0, 0.5 * np.exp(-y), 1.0 - 0.5 * np.exp(y)),
        logcdf=lambda y: np.where(y > 0, np.log1p(-0.5 * np.exp(-y)), y - math.log(2)),
        logsf=lambda y: np.where(y > 0, -y - math.log(2), np.log1p(-0.5 * np.exp(y))),
        ppf=lambda q: np.where(q > 0.5, -np.log(2.0 * (1.0 - q)), np.log(2.0 * q)),
        isf=lambda q: np.where(q > 0.5, np.log(2.0 * (1.0 - q)), -np.log(2.0 * q)),
    ),
    "logistic": Formulas(
        logpdf=lambda y: sp.log_expit(y) + sp.log_expit(-y), cdf=sp.expit, sf=lambda y: sp.expit(-y),
        logcdf=sp.log_expit, logsf=lambda y: sp.log_expit(-y), ppf=sp.logit, isf=lambda q: -sp.logit(q),
    ),
    "cauchy": Formulas(
        logpdf=lambda y: -math.log(math.pi) - 2.0 * np.log(np.hypot(1.0, y)),
        pdf=lambda y: 1.0 / (math.pi * (1.0 + y * y)),
        cdf=lambda y: np.arctan2(1.0, -y) / math.pi, sf=lambda y: np.arctan2(1.0, y) / math.pi,
        ppf=_cauchy_ppf, isf=lambda q: -_cauchy_ppf(q),
    ),
    "weibull_min": Formulas(
        logpdf=_weibull_log, pdf=at_ends(_weibull_log, lambda y, c: c * y ** (c - 1.0)),
        cdf=lambda y, c: -np.expm1(-(y**c)), sf=lambda y, c: np.exp(-(y**c)), logsf=lambda y, c: -(y**c),
        logcdf=lambda y, c: log_of_rest(-(y**c)),
        ppf=lambda q, c: (-np.log1p(-q)) ** (1.0 / c), isf=lambda q, c: (-np.log(q)) ** (1.0 / c), low=0.0,
    ),
    "pareto": Formulas(
        logpdf=lambda y, b: np.log(b) - (b + 1.0) * np.log(y), cdf=lambda y, b: -np.expm1(-b * np.log(y)),
        sf=lambda y, b: y**-b, logsf=lambda y, b: -b * np.log(y), logcdf=lambda y, b: log_of_rest(-b * np.log(y)),
        ppf=lambda q, b: np.exp(-np.log1p(-q) / b), isf=lambda q, b: np.exp(-np.log(q) / b), low=1.0,
    ),
    "gumbel_r": Formulas(
        logpdf=lambda y: -y - np.exp(-y), cdf=lambda y: np.exp(-np.exp(-y)), sf=lambda y: -np.expm1(-np.exp(-y)),
        logcdf=lambda y: -np.exp(-y), logsf=lambda y: log_of_rest(-np.exp(-y)),
        ppf=lambda q: -np.log(-np.log(q)), isf=lambda q: -np.log(-np.log1p(-q)),
    ),
    "gumbel_l": Formulas(
        logpdf=lambda y: y - np.exp(y), cdf=lambda y: -np.expm1(-np.exp(y)), sf=lambda y: np.exp(-np.exp(y)),
        logcdf=lambda y: log_of_rest(-np.exp(y)), logsf=lambda y: -np.exp(y),
        ppf=lambda q: np.log(-np.log1p(-q)), isf=lambda q: np.log(-np.log(q)),
    ),
    "halfnorm": Formulas(
        logpdf=lambda y: 0.5 * math.log(2 / math.pi) - 0.5 * y * y, cdf=lambda y: sp.erf(y / ROOT_TWO),
        sf=lambda y: sp.erfc(y / ROOT_TWO),
        logsf=of_parts(lambda y: -sp.erf(y / ROOT_TWO), lambda y: math.log(2) + sp.log_ndtr(-y)),
        ppf=lambda q: ROOT_TWO * sp.erfinv(q), isf=lambda q: -sp.ndtri(0.5 * q), low=0.0,
    ),
    "invgamma": Formulas(
        logpdf=lambda y, a: -(a + 1.0) * np.log(y) - sp.gammaln(a) - 1.0 / y,
        cdf=lambda y, a: sp.gammaincc(a, 1.0 / y), sf=lambda y, a: sp.gammainc(a, 1.0 / y),
        ppf=lambda q, a: 1.0 / sp.gammainccinv(a, q), isf=lambda q, a: 1.0 / sp.gammaincinv(a, q), low=0.0, open=True,
    ),
    "truncnorm": Formulas(
        logpdf=lambda y, a, b: -0.5 * y * y - LOG_ROOT_TAU - log_mass(a, b),
        cdf=lambda *v: np.exp(_truncated_logcdf(*v)), sf=lambda *v: np.exp(_truncated_logsf(*v)),
        logcdf=_truncated_logcdf, logsf=_truncated_logsf,
        ppf=_truncated_ppf, isf=lambda q, a, b: -_truncated_ppf(q, -b, -a),
        low=lambda a, b: a, high=lambda a, b: b, valid=lambda a, b: a < b, quantiles_at_ends=True,
    ),
    "rayleigh": Formulas(
        logpdf=lambda y: np.log(y) - 0.5 * y * y, pdf=lambda y: y * np.exp(-0.5 * y * y),
        cdf=lambda y: -np.expm1(-0.5 * y * y), sf=lambda y: np.exp(-0.5 * y * y), logsf=lambda y: -0.5 * y * y,
        logcdf=lambda y: log_of_rest(-0.5 * y * y),
        ppf=lambda q: np.sqrt(-2.0 * np.log1p(-q)), isf=lambda q: np.sqrt(-2.0 * np.log(q)), low=0.0, finite=True,
    ),
}  # fmt: skip
