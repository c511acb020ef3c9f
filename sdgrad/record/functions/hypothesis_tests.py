"""Apply tests of hypotheses of ``scipy.stats`` whose statistics are smooth functions of samples."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy.special as special
import scipy.stats as stats

from sdgrad.errors import ParseError
from sdgrad.record.functions.arguments import axes_of, require
from sdgrad.record.functions.creation import astype
from sdgrad.record.functions.evaluated import made
from sdgrad.record.functions.order_statistics import trim_mean
from sdgrad.record.functions.sample_statistics import Interval, Outcome, kurtosis, sample, skew, tail
from sdgrad.record.functions.table import array, known, operand, rule
from sdgrad.record.methods import BoundRule
from sdgrad.record.values import is_recorded


class TOutcome(Outcome):
    """Hold more of a t-test than is in its tuple."""

    df: Any
    confidence_interval: Any


# -- rows of samples
def _rows(x: Any, axis: Any) -> Any:
    """Return data with the axes that a test goes over as the last one."""
    over = axes_of(axis, x.ndim)
    kept = [d for d in range(x.ndim) if d not in over]
    return np.reshape(np.transpose(x, [*kept, *over]), (*(x.shape[d] for d in kept), -1))


def _kept(found: Any, rank: int, axis: Any, keepdims: bool) -> Any:
    """Return a result, with axes of one element in place of those that are gone."""
    return np.expand_dims(found, tuple(axes_of(axis, rank))) if keepdims else found


def _together(samples: Sequence[Any], axis: Any, name: str, nan_policy: str = "propagate") -> list[Any]:
    """Return samples as rows whose other axes have the same lengths, in one type."""
    given = [sample(s, name, nan_policy) for s in samples]
    dtype = np.result_type(*(g.dtype for g in given))
    rows = [_rows(array(astype(g, dtype, copy=False)), axis) for g in given]
    others = np.broadcast_shapes(*(np.shape(r)[:-1] for r in rows))
    return [np.broadcast_to(r, (*others, np.shape(r)[-1])) if np.shape(r)[:-1] != others else r for r in rows]


# -- tests by Student's distribution
def _interval(found: Any, confidence_level: Any = 0.95, *, state: tuple) -> Interval:
    error, estimate, alternative = state
    level = operand(confidence_level)
    require((level >= 0) & (level <= 1), "`confidence_level` must be a number between 0 and 1.")
    share = level if alternative != "two-sided" else 0.5 + 0.5 * level
    half = special.stdtrit(found.df, share) * error
    low, high = estimate - half, estimate + half
    apart = 0.0 * half
    return Interval(
        apart - math.inf if alternative == "less" else low, apart + math.inf if alternative == "greater" else high
    )


def _outcome(difference: Any, error: Any, df: Any, alternative: str, shape: Callable, estimate: Any) -> TOutcome:
    t = difference / error
    found = TOutcome(shape(t), shape(tail(t, df, alternative)))
    found.df = shape(df if is_recorded(df) else known(np.full(np.shape(t), df)))
    state = (shape(error), shape(estimate), alternative)
    found.confidence_interval = BoundRule(lambda own, *args, **kw: _interval(own, *args, state=state, **kw), found)
    return made(found)


def _moments(x: Any) -> tuple[Any, Any, int]:
    """Return mean, variance and size of samples along the last axis."""
    n = np.shape(x)[-1]
    return np.mean(x, axis=-1), np.var(x, axis=-1, ddof=1), n


@rule(stats.ttest_1samp)
def ttest_1samp(
    a: Any,
    popmean: Any,
    axis: Any = 0,
    nan_policy: str = "propagate",
    alternative: str = "two-sided",
    *,
    keepdims: bool = False,
) -> Any:
    data = sample(a, "ttest_1samp", nan_policy)
    means = operand(popmean)
    if np.ndim(means):
        rows, centre = _together([data, means], axis, "ttest_1samp")
        if np.shape(centre)[-1] != 1:
            raise ValueError("`popmean.shape[axis]` must equal 1.")
        means = centre[..., 0]
    else:
        rows = _rows(data, axis)
    mean, variance, n = _moments(rows)
    return _outcome(
        mean - means,
        np.sqrt(variance / n),
        n - 1,
        alternative,
        lambda v: _kept(v, data.ndim, axis, keepdims),
        mean,
    )


def _pooled(v: tuple[Any, Any], n: tuple[Any, Any], equal_var: bool) -> tuple[Any, Any]:
    """Return the degrees of freedom, and the standard error of a difference of means."""
    if equal_var:
        first, second = (0.0 * w if count == 1 else w for w, count in zip(v, n, strict=True))
        df = n[0] + n[1] - 2.0
        return df, np.sqrt(((n[0] - 1) * first + (n[1] - 1) * second) / df * (1.0 / n[0] + 1.0 / n[1]))
    one, two = v[0] / n[0], v[1] / n[1]
    df = (one + two) ** 2 / (one**2 / (n[0] - 1) + two**2 / (n[1] - 1))
    return np.where(np.isnan(df), 1.0, df), np.sqrt(one + two)


@rule(stats.ttest_ind)
def ttest_ind(
    a: Any,
    b: Any,
    *,
    axis: Any = 0,
    equal_var: bool = True,
    nan_policy: str = "propagate",
    alternative: str = "two-sided",
    trim: Any = 0,
    method: Any = None,
    keepdims: bool = False,
) -> Any:
    if method is not None or is_recorded(trim) or trim != 0:
        raise ParseError("scipy.stats.ttest_ind: trim= and method= are not recorded")
    first, second = _together([a, b], axis, "ttest_ind", nan_policy)
    (m1, v1, n1), (m2, v2, n2) = _moments(first), _moments(second)
    df, error = _pooled((v1, v2), (n1, n2), equal_var)
    return _outcome(m1 - m2, error, df, alternative, lambda v: _kept(v, np.ndim(a), axis, keepdims), m1 - m2)


@rule(stats.ttest_ind_from_stats)
def ttest_ind_from_stats(
    mean1: Any,
    std1: Any,
    nobs1: Any,
    mean2: Any,
    std2: Any,
    nobs2: Any,
    equal_var: bool = True,
    alternative: str = "two-sided",
) -> Any:
    if is_recorded(nobs1) or is_recorded(nobs2):
        raise ParseError("scipy.stats.ttest_ind_from_stats: how many observations there are must be known")
    first, second = (operand(s) ** 2 for s in (std1, std2))
    df, error = _pooled((first, second), (nobs1, nobs2), equal_var)
    t = (operand(mean1) - operand(mean2)) / error
    return Outcome(t, tail(t, df, alternative))


@rule(stats.ttest_rel)
def ttest_rel(
    a: Any,
    b: Any,
    axis: Any = 0,
    nan_policy: str = "propagate",
    alternative: str = "two-sided",
    *,
    keepdims: bool = False,
) -> Any:
    first, second = sample(a, "ttest_rel", nan_policy), sample(b, "ttest_rel", nan_policy)
    if first.ndim and axis is not None and any(first.shape[d] != second.shape[d] for d in axes_of(axis, first.ndim)):
        raise ValueError("Array shapes are incompatible for broadcasting.")
    return ttest_1samp(first - second, 0.0, axis, "propagate", alternative, keepdims=keepdims)


# -- tests of several samples
def _of_f(f: Any, first: float, second: float) -> Any:
    return astype(special.fdtrc(first, second, f), f.dtype, copy=False)


def _of_chi2(value: Any, df: Any) -> Any:
    return astype(special.chdtrc(df, value), value.dtype, copy=False)


@rule(stats.f_oneway)
def f_oneway(
    *samples: Any, axis: Any = 0, equal_var: bool = True, nan_policy: str = "propagate", keepdims: bool = False
) -> Any:
    if len(samples) < 2:
        raise TypeError(f"at least two inputs are required; got {len(samples)}.")
    rows = _together(samples, axis, "f_oneway", nan_policy)
    if not equal_var:
        return Outcome(*(_kept(v, np.ndim(samples[0]), axis, keepdims) for v in _welch(rows)))
    count, groups = sum(np.shape(r)[-1] for r in rows), len(rows)
    whole = sum(np.sum(r, axis=-1) for r in rows) / count
    means = [np.mean(r, axis=-1) for r in rows]
    between = sum(np.shape(r)[-1] * (m - whole) ** 2 for r, m in zip(rows, means, strict=True))
    within = sum(np.sum((r - m[..., None]) ** 2, axis=-1) for r, m in zip(rows, means, strict=True))
    f = between / (groups - 1) / (within / (count - groups))
    rank = np.ndim(samples[0])
    return Outcome(*(_kept(v, rank, axis, keepdims) for v in (f, _of_f(f, groups - 1.0, float(count - groups)))))


def _welch(rows: list[Any]) -> tuple[Any, Any]:
    """Return the statistic and the probability of groups whose variances differ (Welch 1951)."""
    means, variances, sizes = zip(*map(_moments, rows), strict=True)
    groups, weights = len(rows), [n / v for n, v in zip(sizes, variances, strict=True)]
    whole = sum(weights)
    middle = sum(w * m for w, m in zip(weights, means, strict=True)) / whole
    between = sum(w * (m - middle) ** 2 for w, m in zip(weights, means, strict=True)) / (groups - 1)
    apart = sum((1.0 - w / whole) ** 2 / (n - 1) for w, n in zip(weights, sizes, strict=True))
    f = between / (1.0 + 2.0 * (groups - 2) / (groups**2 - 1) * apart)
    return f, astype(special.fdtrc(groups - 1.0, (groups**2 - 1) / (3.0 * apart), f), f.dtype, copy=False)


@rule(stats.bartlett)
def bartlett(*samples: Any, axis: Any = 0, nan_policy: str = "propagate", keepdims: bool = False) -> Any:
    if len(samples) < 2:
        raise ValueError("Must enter at least two input sample vectors.")
    rows = _together(samples, axis, "bartlett", nan_policy)
    free = [np.shape(r)[-1] - 1 for r in rows]
    variances, rest = [np.var(r, axis=-1, ddof=1) for r in rows], sum(free)
    pooled = sum(n * v for n, v in zip(free, variances, strict=True)) / rest
    over = rest * np.log(pooled) - sum(n * np.log(v) for n, v in zip(free, variances, strict=True))
    t = over / (1 + 1 / (3 * (len(rows) - 1)) * (sum(1 / n for n in free) - 1 / rest))
    p = _of_chi2(t, len(rows) - 1.0)
    return Outcome(*(_kept(v, np.ndim(samples[0]), axis, keepdims) for v in (np.maximum(t, 0.0), p)))


def _centre(x: Any, center: str, proportiontocut: Any) -> Any:
    if center == "trimmed":
        return trim_mean(x, proportiontocut, axis=-1)[..., None]
    return (np.median if center == "median" else np.mean)(x, axis=-1, keepdims=True)


@rule(stats.levene)
def levene(
    *samples: Any,
    center: str = "median",
    proportiontocut: Any = 0.05,
    axis: Any = 0,
    nan_policy: str = "propagate",
    keepdims: bool = False,
) -> Any:
    if center not in ("mean", "median", "trimmed"):
        raise ValueError("center must be 'mean', 'median' or 'trimmed'.")
    if len(samples) < 2:
        raise ValueError("Must provide at least two samples.")
    rows = _together(samples, axis, "levene", nan_policy)
    apart = [np.abs(r - _centre(r, center, proportiontocut)) for r in rows]
    return (
        f_oneway(*(np.moveaxis(a, -1, 0) for a in apart))
        if not keepdims
        else Outcome(
            *(_kept(v, np.ndim(samples[0]), axis, True) for v in f_oneway(*(np.moveaxis(a, -1, 0) for a in apart)))
        )
    )


# -- frequencies
POWERS = {
    "pearson": 1, "log-likelihood": 0, "freeman-tukey": -0.5, "mod-log-likelihood": -1, "neyman": -2,
    "cressie-read": 2 / 3,
}  # fmt: skip


@rule(stats.power_divergence)
def power_divergence(f_obs: Any, f_exp: Any = None, ddof: Any = 0, axis: Any = 0, lambda_: Any = None) -> Any:
    if isinstance(lambda_, str) and lambda_ not in POWERS:
        raise ValueError(f"invalid string for lambda_: {lambda_!r}. Valid strings are {', '.join(POWERS)}")
    return _divergence(f_obs, f_exp, ddof, axis, POWERS.get(lambda_, 1 if lambda_ is None else lambda_), True)


@rule(stats.chisquare)
def chisquare(f_obs: Any, f_exp: Any = None, ddof: Any = 0, axis: Any = 0, *, sum_check: bool = True) -> Any:
    return _divergence(f_obs, f_exp, ddof, axis, 1, sum_check)


def _divergence(f_obs: Any, f_exp: Any, ddof: Any, axis: Any, power: Any, checked: bool) -> Outcome:
    if is_recorded(power) or is_recorded(ddof) or np.ndim(ddof):
        raise ParseError("scipy.stats.power_divergence: ddof= and lambda_= must be known numbers")
    if f_exp is None:
        seen = _rows(sample(f_obs, "power_divergence", "propagate"), axis)
        wanted = np.mean(seen, axis=-1, keepdims=True)
    else:
        seen, wanted = _together([f_obs, f_exp], axis, "power_divergence")
        sums = [np.sum(v, axis=-1) for v in (seen, wanted)]
        far = np.abs(sums[0] - sums[1]) / np.minimum(*sums) > float(np.finfo(seen.dtype).eps) ** 0.5
        if checked:
            told = "the sum of the observed frequencies must agree with the sum of the expected frequencies"
            require(~np.any(far), f"For each axis slice, {told}")
    found = np.sum(_terms(seen, wanted, power), axis=-1)
    return Outcome(found, _of_chi2(found, float(np.shape(seen)[-1] - 1 - ddof)))


def _terms(seen: Any, wanted: Any, power: Any) -> Any:
    if power == 1:
        return (seen - wanted) ** 2 / wanted
    if power == 0:
        return 2.0 * special.xlogy(seen, seen / wanted)
    if power == -1:
        return 2.0 * special.xlogy(wanted, wanted / seen)
    return seen * ((seen / wanted) ** power - 1) / (0.5 * power * (power + 1))


@rule(stats.jarque_bera)
def jarque_bera(x: Any, *, axis: Any = None, nan_policy: str = "propagate", keepdims: bool = False) -> Any:
    data = sample(x, "jarque_bera", nan_policy)
    rows = _rows(data, axis)
    n = np.shape(rows)[-1]
    found = n / 6 * (skew(rows, axis=-1) ** 2 + kurtosis(rows, axis=-1) ** 2 / 4)
    return Outcome(*(_kept(v, data.ndim, axis, keepdims) for v in (found, _of_chi2(found, 2.0))))
