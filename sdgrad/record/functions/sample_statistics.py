"""Apply descriptive statistics of ``scipy.stats``."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import scipy.special
import scipy.stats as stats

from sdgrad.errors import ParseError
from sdgrad.record.functions.arguments import require
from sdgrad.record.functions.creation import astype
from sdgrad.record.functions.detached import detached
from sdgrad.record.functions.evaluated import made
from sdgrad.record.functions.samples import Sample, observed, paired, sample
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


@rule(stats.zscore)
def zscore(a: Any, axis: Any = 0, ddof: Any = 0, nan_policy: str = "propagate") -> Any:
    s = observed(a, "zscore", nan_policy, axis)
    return scores(s, s, a, axis, ddof)


def scores(of: Sample, beside: Sample, raw: Any, axis: Any, ddof: Any) -> Any:
    """Return how far numbers are from a mean, in standard deviations; NaN where they do not count."""
    found = (of.x - beside.mean(axis, True)) / beside.std(axis, ddof, True)
    return of.with_values(found).blank(raw)


@rule(stats.sem)
def sem(a: Any, axis: Any = 0, ddof: Any = 1, nan_policy: str = "propagate", *, keepdims: bool = False) -> Any:
    s = observed(a, "sem", nan_policy, axis)
    return s.std(axis, ddof, keepdims) / s.root_of_count(axis, keepdims)


@rule(stats.variation)
def variation(a: Any, axis: Any = 0, nan_policy: str = "propagate", ddof: Any = 0, *, keepdims: bool = False) -> Any:
    s = observed(a, "variation", nan_policy, axis)
    return s.std(axis, ddof, keepdims) / s.mean(axis, keepdims)


def weighted(a: Any, weights: Any, name: str, nan_policy: str, axis: Any, dtype: Any) -> tuple[Sample, Sample | None]:
    """Return a sample, and its weights if there are some."""
    if weights is None:
        return observed(a, name, nan_policy, axis, dtype), None
    if array(weights).shape != array(a).shape:
        raise ParseError("scipy.stats: weights of another shape than the data are not recorded: broadcast them")
    s, w = paired((a, weights), name, nan_policy, axis, dtype)
    return s, w


def average(s: Sample, axis: Any, weights: Sample | None, keepdims: bool) -> Any:
    """Return a mean, with weights if there are some."""
    if weights is None:
        return s.mean(axis, keepdims)
    return s.with_values(s.x * weights.x).sum(axis, keepdims) / weights.sum(axis, keepdims)


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
    s, w = weighted(a, weights, "gmean", nan_policy, axis, dtype)
    return np.exp(average(s.with_values(np.log(s.x)), axis, w, keepdims))


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
    s, w = weighted(a, weights, "hmean", nan_policy, axis, dtype)
    found = 1.0 / average(s.with_values(1.0 / s.x), axis, w, keepdims)
    negative = np.any(s.x < 0, axis=axis, keepdims=keepdims)
    return undefined_where(negative, found, s.sum(axis, keepdims))


@rule(stats.skew)
def skew(a: Any, axis: Any = 0, bias: bool = True, nan_policy: str = "propagate", *, keepdims: bool = False) -> Any:
    s = observed(a, "skew", nan_policy, axis)
    second, third = s.moments(axis, keepdims, 2, 3)
    return _skew_factor(s.count(axis, keepdims), bias) * third / second**1.5


def _skew_factor(n: Any, bias: bool) -> Any:
    if bias or isinstance(n, int):
        return 1.0 if bias or n < 3 else math.sqrt((n - 1.0) * n) / (n - 2.0)
    many = np.where(n < 3, 3, n)
    return np.where(n < 3, 1, np.sqrt((many - 1) * many) / (many - 2))


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
    s = observed(a, "kurtosis", nan_policy, axis)
    second, fourth = s.moments(axis, keepdims, 2, 4)
    found, n = fourth / second**2, s.count(axis, keepdims)
    known = isinstance(n, int)
    if not bias and (not known or n > 3):
        many = n if known else np.where(n > 3, n, 4)
        without = 1.0 / (many - 2) / (many - 3) * ((many * many - 1.0) * found - 3 * (many - 1.0) ** 2) + 3.0
        found = without if known else np.where(n > 3, without, found)
    return found - 3 if fisher else found


@rule(stats.entropy)
def entropy(
    pk: Any, qk: Any = None, base: Any = None, axis: Any = 0, *, nan_policy: str = "propagate", keepdims: bool = False
) -> Any:
    first, *others = paired((pk,) if qk is None else (pk, qk), "entropy", nan_policy, axis)
    whole = first.sum(axis, True)
    p = first.x / np.where(first.x == 0, detached(whole), whole)  # a share of zero does not change with the whole
    parts = [scipy.special.rel_entr(p, q.x / q.sum(axis, True)) for q in others] or [scipy.special.entr(p)]
    found = first.with_values(parts[0]).sum(axis, keepdims)
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
