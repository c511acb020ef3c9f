"""Apply descriptive statistics of ``scipy.stats``."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import scipy.special
import scipy.stats as stats

from sdgrad.errors import ParseError
from sdgrad.record.elementwise import common
from sdgrad.record.functions.arguments import axes_of, require
from sdgrad.record.functions.creation import astype
from sdgrad.record.functions.detached import detached
from sdgrad.record.functions.evaluated import made
from sdgrad.record.functions.table import array, operand, rule
from sdgrad.record.functions.undefined import undefined_where
from sdgrad.record.methods import BoundRule


class Outcome(NamedTuple):
    """Hold the statistic of a test, and how probable one as far away is by chance."""

    statistic: Any
    pvalue: Any


class Interval(NamedTuple):
    """Hold the ends of an interval of confidence."""

    low: Any
    high: Any


class Correlation(Outcome):
    """Hold a coefficient of correlation, and what gives the interval around it."""

    confidence_interval: Any


def check_alternative(alternative: str) -> None:
    if alternative not in ("two-sided", "less", "greater"):
        raise ValueError("`alternative` must be 'less', 'greater', or 'two-sided'.")


def tail(t: Any, df: Any, alternative: str) -> Any:
    """Return the probability of a value of Student's t as far away as ``t``."""
    check_alternative(alternative)
    if alternative == "two-sided":
        found = 2.0 * scipy.special.stdtr(df, -np.abs(t))
    else:
        found = scipy.special.stdtr(df, t if alternative == "less" else -t)
    return astype(found, np.promote_types(t.dtype, np.float32), copy=False)  # as SciPy's, of halves too


def sample(a: Any, name: str, nan_policy: str, dtype: Any = None) -> Any:
    """Return data in floating point, or in a type.

    :raises ParseError: NaN is left out, or numbers are complex.
    """
    check_nan_policy(nan_policy, name)
    x = array(a)
    if common([x]).kind == "c":
        raise ParseError(f"scipy.stats.{name} of complex numbers is not recorded")
    x = x if dtype is None else array(astype(x, np.dtype(dtype)))
    x = x if x.dtype.kind == "f" else array(astype(x, np.float64))
    if nan_policy == "raise":
        require(~np.any(np.isnan(x)), "The input contains nan values")
    return x


def check_nan_policy(nan_policy: str, name: str, *taken: str) -> None:
    """Refuse a policy that there is not, or that is not recorded."""
    policies = ("propagate", "raise", "omit")
    if nan_policy not in policies:
        raise ValueError(f"nan_policy must be one of {policies}, and not {nan_policy!r}")
    if nan_policy == "omit" or taken and nan_policy not in taken:
        raise ParseError(f"scipy.stats.{name}: nan_policy={nan_policy!r} is not recorded")


def count_along(x: Any, axis: Any) -> int:
    """Return how many elements there are along an axis, or along several."""
    return math.prod(x.shape[d] for d in axes_of(axis, x.ndim))


def _moments(x: Any, axis: Any, keepdims: bool, *orders: int) -> list[Any]:
    """Return central moments."""
    apart = x - np.mean(x, axis=axis, keepdims=True)
    return [np.mean(apart**k, axis=axis, keepdims=keepdims) for k in orders]


@rule(stats.zscore)
def zscore(a: Any, axis: Any = 0, ddof: Any = 0, nan_policy: str = "propagate") -> Any:
    x = sample(a, "zscore", nan_policy)
    mean = np.mean(x, axis=axis, keepdims=True)
    return (x - mean) / np.std(x, axis=axis, ddof=ddof, keepdims=True)


@rule(stats.sem)
def sem(a: Any, axis: Any = 0, ddof: Any = 1, nan_policy: str = "propagate", *, keepdims: bool = False) -> Any:
    x = sample(a, "sem", nan_policy)
    return np.std(x, axis=axis, ddof=ddof, keepdims=keepdims) / math.sqrt(count_along(x, axis))


@rule(stats.variation)
def variation(a: Any, axis: Any = 0, nan_policy: str = "propagate", ddof: Any = 0, *, keepdims: bool = False) -> Any:
    x = sample(a, "variation", nan_policy)
    return np.std(x, axis=axis, ddof=ddof, keepdims=keepdims) / np.mean(x, axis=axis, keepdims=keepdims)


def average(x: Any, axis: Any, weights: Any, keepdims: bool) -> Any:
    """Return a mean, with weights if there are some."""
    if weights is None:
        return np.mean(x, axis=axis, keepdims=keepdims)
    w = array(weights)
    if w.shape != x.shape:
        raise ParseError("scipy.stats: weights of another shape than the data are not recorded: broadcast them")
    return np.sum(x * w, axis=axis, keepdims=keepdims) / np.sum(w, axis=axis, keepdims=keepdims)


@rule(stats.gmean)
def gmean(
    a: Any,
    axis: Any = 0,
    dtype: Any = None,
    weights: Any = None,
    *,
    nan_policy: str = "propagate",
    keepdims: bool = False,
) -> Any:
    x = sample(a, "gmean", nan_policy, dtype)
    return np.exp(average(np.log(x), axis, weights, keepdims))


@rule(stats.hmean)
def hmean(
    a: Any,
    axis: Any = 0,
    dtype: Any = None,
    *,
    weights: Any = None,
    nan_policy: str = "propagate",
    keepdims: bool = False,
) -> Any:
    x = sample(a, "hmean", nan_policy, dtype)
    found = 1.0 / average(1.0 / x, axis, weights, keepdims)
    negative = np.any(x < 0, axis=axis, keepdims=keepdims)
    return undefined_where(negative, found, np.sum(x, axis=axis, keepdims=keepdims))


@rule(stats.skew)
def skew(a: Any, axis: Any = 0, bias: bool = True, nan_policy: str = "propagate", *, keepdims: bool = False) -> Any:
    x = sample(a, "skew", nan_policy)
    second, third = _moments(x, axis, keepdims, 2, 3)
    n = count_along(x, axis)
    factor = 1.0 if bias or n < 3 else math.sqrt((n - 1.0) * n) / (n - 2.0)
    return factor * third / second**1.5


@rule(stats.kurtosis)
def kurtosis(
    a: Any,
    axis: Any = 0,
    fisher: bool = True,
    bias: bool = True,
    nan_policy: str = "propagate",
    *,
    keepdims: bool = False,
) -> Any:
    x = sample(a, "kurtosis", nan_policy)
    second, fourth = _moments(x, axis, keepdims, 2, 4)
    found, n = fourth / second**2, count_along(x, axis)
    if not bias and n > 3:
        found = 1.0 / (n - 2) / (n - 3) * ((n * n - 1.0) * found - 3 * (n - 1.0) ** 2) + 3.0
    return found - 3 if fisher else found


@rule(stats.entropy)
def entropy(
    pk: Any, qk: Any = None, base: Any = None, axis: Any = 0, *, nan_policy: str = "propagate", keepdims: bool = False
) -> Any:
    p = sample(pk, "entropy", nan_policy)
    whole = np.sum(p, axis=axis, keepdims=True)
    p = p / np.where(p == 0, detached(whole), whole)  # a share that is zero does not change with the whole
    if qk is None:
        found = np.sum(scipy.special.entr(p), axis=axis, keepdims=keepdims)
    else:
        q = sample(qk, "entropy", nan_policy)
        q = q / np.sum(q, axis=axis, keepdims=True)
        found = np.sum(scipy.special.rel_entr(p, q), axis=axis, keepdims=keepdims)
    return found if base is None else found / np.log(operand(base) * 1.0)


@rule(stats.pearsonr)
def pearsonr(x: Any, y: Any, *, alternative: str = "two-sided", method: Any = None, axis: Any = 0) -> Any:
    check_alternative(alternative)
    if method is not None or axis is None:
        raise ParseError("scipy.stats.pearsonr: method= and axis=None are not recorded")
    a, b = sample(x, "pearsonr", "propagate"), sample(y, "pearsonr", "propagate")
    n = a.shape[axis]
    if n != b.shape[axis]:
        raise ValueError("`x` and `y` must have the same length along `axis`.")
    if n < 3:
        raise ParseError("scipy.stats.pearsonr of two points is 1 or -1, and is not recorded")
    first, second = (_scaled(v - np.mean(v, axis=axis, keepdims=True), axis) for v in (a, b))
    norms = np.sqrt(np.sum(first * first, axis=axis)) * np.sqrt(np.sum(second * second, axis=axis))
    r = np.sum(first * second, axis=axis) / norms
    r = np.where(np.abs(r) > 1.0, np.sign(r), r)  # by rounding
    half = 0.5 * n - 1.0
    if alternative == "two-sided":
        pvalue = 2.0 * scipy.special.betaincc(half, half, 0.5 * (np.abs(r) + 1.0))
    else:
        share = scipy.special.betainc if alternative == "less" else scipy.special.betaincc
        pvalue = share(half, half, 0.5 * (r + 1.0))
    found = Correlation(r, pvalue)
    state = (n, alternative)
    found.confidence_interval = BoundRule(lambda own, *args, **kw: _interval(own, *args, state=state, **kw), found)
    return made(found)


def _scaled(x: Any, axis: Any) -> Any:
    """Return data in parts of the largest: a correlation does not depend on it, and its squares may overflow."""
    return x / detached(np.max(np.abs(x), axis=axis, keepdims=True))


def _interval(found: Any, confidence_level: Any = 0.95, method: Any = None, *, state: tuple) -> Interval:
    """Return the ends by Fisher's transformation of the coefficient."""
    if method is not None:
        raise ParseError("scipy.stats.pearsonr: an interval by method= is not recorded")
    n, alternative = state
    level, middle = operand(confidence_level), np.arctanh(found.statistic)
    require((level >= 0) & (level <= 1), "`confidence_level` must be a number between 0 and 1.")
    share = 0.5 + 0.5 * level if alternative == "two-sided" else level
    half = scipy.special.ndtri(share) * (math.sqrt(1.0 / (n - 3)) if n > 3 else math.inf)
    low, high, still = np.tanh(middle - half), np.tanh(middle + half), 0.0 * middle
    return Interval(still - 1.0 if alternative == "less" else low, still + 1.0 if alternative == "greater" else high)
