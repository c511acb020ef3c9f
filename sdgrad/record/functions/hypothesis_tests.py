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
from sdgrad.record.functions.order_statistics import trimmed
from sdgrad.record.functions.sample_statistics import Interval, Outcome, tail
from sdgrad.record.functions.samples import Sample, observed, paired
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


def rows_of(s: Sample, axis: Any) -> Sample:
    return Sample(_rows(s.x, axis), None if s.kept is None else _rows(s.kept, axis))


def _kept(found: Any, rank: int, axis: Any, keepdims: bool) -> Any:
    """Return a result, with axes of one element in place of those that are gone."""
    return np.expand_dims(found, tuple(axes_of(axis, rank))) if keepdims else found


def _together(samples: Sequence[Any], axis: Any, name: str, nan_policy: str = "propagate") -> list[Sample]:
    """Return samples as rows whose other axes have the same lengths, in one type."""
    given = [observed(s, name, nan_policy, axis) for s in samples]
    dtype = np.result_type(*(g.x.dtype for g in given))
    rows = [rows_of(g.with_values(array(astype(g.x, dtype, copy=False))), axis) for g in given]
    others = np.broadcast_shapes(*(np.shape(r.x)[:-1] for r in rows))

    def spread(v: Any) -> Any:
        return np.broadcast_to(v, (*others, np.shape(v)[-1])) if np.shape(v)[:-1] != others else v

    return [Sample(spread(r.x), None if r.kept is None else spread(r.kept)) for r in rows]


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


def _moments(s: Sample) -> tuple[Any, Any, Any]:
    """Return mean, variance and size of samples along the last axis."""
    return s.mean(-1), s.var(-1, 1), s.count(-1)


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
    means = operand(popmean)
    if np.ndim(means):
        rows, centre = _together([a, means], axis, "ttest_1samp", nan_policy)
        if np.shape(centre.x)[-1] != 1:
            raise ValueError("`popmean.shape[axis]` must equal 1.")
        means = centre.x[..., 0]
    else:
        rows = rows_of(observed(a, "ttest_1samp", nan_policy, axis), axis)
    return _of_one(rows, means, alternative, lambda v: _kept(v, np.ndim(a), axis, keepdims))


def _of_one(rows: Sample, means: Any, alternative: str, shape: Callable) -> TOutcome:
    """Return the test that a mean is a number."""
    mean, variance, n = _moments(rows)
    return _outcome(mean - means, np.sqrt(variance / n), n - 1, alternative, shape, mean)


def _unless_one(variance: Any, n: Any) -> Any:
    """Return a variance, which is zero if it is that of one number."""
    if not is_recorded(n):
        return 0.0 * variance if n == 1 else variance
    return np.where(n == 1, 0, variance)


def _pooled(v: tuple[Any, Any], n: tuple[Any, Any], equal_var: bool) -> tuple[Any, Any]:
    """Return the degrees of freedom, and the standard error of a difference of means."""
    if equal_var:
        first, second = (_unless_one(w, count) for w, count in zip(v, n, strict=True))
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
    one, two = array(a), array(b)
    if one.ndim and axis is not None and any(one.shape[d] != two.shape[d] for d in axes_of(axis, one.ndim)):
        raise ValueError("Array shapes are incompatible for broadcasting.")
    given = np.broadcast_arrays(a, b) if one.shape != two.shape else (a, b)
    first, second = paired(tuple(given), "ttest_rel", nan_policy, axis)
    rows = rows_of(first.with_values(first.x - second.x), axis)
    return _of_one(rows, 0.0, alternative, lambda v: _kept(v, first.ndim, axis, keepdims))


# -- tests of several samples
def _of_f(f: Any, first: float, second: Any) -> Any:
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
    found = _between(rows) if equal_var else _welch(rows)
    return Outcome(*(_kept(v, np.ndim(samples[0]), axis, keepdims) for v in found))


def _between(rows: list[Sample]) -> tuple[Any, Any]:
    """Return the statistic and the probability of groups with one variance."""
    sizes, groups = [r.count(-1) for r in rows], len(rows)
    rest = sum(sizes) - groups
    whole = sum(r.sum(-1) for r in rows) / sum(sizes)
    means = [r.mean(-1) for r in rows]
    between = sum(n * (m - whole) ** 2 for n, m in zip(sizes, means, strict=True))
    within = sum(r.with_values((r.x - m[..., None]) ** 2).sum(-1) for r, m in zip(rows, means, strict=True))
    f = between / (groups - 1) / (within / rest)
    return f, _of_f(f, groups - 1.0, rest * 1.0)


def _welch(rows: list[Sample]) -> tuple[Any, Any]:
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
    free = [r.count(-1) - 1 for r in rows]
    variances, rest = [r.var(-1, 1) for r in rows], sum(free)
    pooled = sum(n * v for n, v in zip(free, variances, strict=True)) / rest
    over = rest * np.log(pooled) - sum(n * np.log(v) for n, v in zip(free, variances, strict=True))
    t = over / (1 + 1 / (3 * (len(rows) - 1)) * (sum(1 / n for n in free) - 1 / rest))
    p = _of_chi2(t, len(rows) - 1.0)
    return Outcome(*(_kept(v, np.ndim(samples[0]), axis, keepdims) for v in (np.maximum(t, 0.0), p)))


def _centre(s: Sample, center: str, proportiontocut: Any) -> Any:
    if center == "trimmed":
        return trimmed(s, proportiontocut, -1, True)
    if center == "mean":
        return s.mean(-1, True)
    return (np.median if s.kept is None else np.nanmedian)(s.blank(math.nan), axis=-1, keepdims=True)


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
    apart = [r.with_values(np.abs(r.x - _centre(r, center, proportiontocut))) for r in rows]
    return Outcome(*(_kept(v, np.ndim(samples[0]), axis, keepdims) for v in _between(apart)))


# -- frequencies
POWERS = {
    "pearson": 1, "log-likelihood": 0, "freeman-tukey": -0.5, "mod-log-likelihood": -1, "neyman": -2,
    "cressie-read": 2 / 3,
}  # fmt: skip


@rule(stats.power_divergence)
def power_divergence(
    f_obs: Any,
    f_exp: Any = None,
    ddof: Any = 0,
    axis: Any = 0,
    lambda_: Any = None,
    *,
    nan_policy: str = "propagate",
    keepdims: bool = False,
) -> Any:
    if isinstance(lambda_, str) and lambda_ not in POWERS:
        raise ValueError(f"invalid string for lambda_: {lambda_!r}. Valid strings are {', '.join(POWERS)}")
    power = POWERS.get(lambda_, 1 if lambda_ is None else lambda_)
    return _divergence((f_obs, f_exp), ddof, axis, power, True, nan_policy, keepdims)


@rule(stats.chisquare)
def chisquare(
    f_obs: Any,
    f_exp: Any = None,
    ddof: Any = 0,
    axis: Any = 0,
    *,
    sum_check: bool = True,
    nan_policy: str = "propagate",
    keepdims: bool = False,
) -> Any:
    return _divergence((f_obs, f_exp), ddof, axis, 1, sum_check, nan_policy, keepdims)


def _divergence(
    given: tuple[Any, ...], ddof: Any, axis: Any, power: Any, checked: bool, nan_policy: str, keepdims: bool
) -> Outcome:
    if is_recorded(power) or is_recorded(ddof) or np.ndim(ddof):
        raise ParseError("scipy.stats.power_divergence: ddof= and lambda_= must be known numbers")
    rank, known_shares = np.ndim(given[0]), given[1] is not None
    if known_shares and np.shape(given[0]) != np.shape(given[1]):
        given = tuple(np.broadcast_arrays(*given))
    both = paired(given if known_shares else given[:1], "power_divergence", nan_policy, axis)
    seen, wanted = (rows_of(both[0], axis), rows_of(both[-1], axis))
    shares = wanted.x if known_shares else seen.mean(-1, True)
    if known_shares and checked:
        sums = [v.sum(-1) for v in (seen, wanted)]
        far = np.abs(sums[0] - sums[1]) / np.minimum(*sums) > float(np.finfo(seen.x.dtype).eps) ** 0.5
        told = "the sum of the observed frequencies must agree with the sum of the expected frequencies"
        require(~np.any(far), f"For each axis slice, {told}")
    found = seen.with_values(_terms(seen.x, shares, power)).sum(-1)
    parts = found, _of_chi2(found, seen.count(-1) - 1.0 - ddof)
    return Outcome(*(_kept(v, rank, axis, keepdims) for v in parts))


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
    rows = rows_of(observed(x, "jarque_bera", nan_policy, axis), axis)
    second, third, fourth = rows.moments(-1, False, 2, 3, 4)
    found = rows.count(-1) / 6 * ((third / second**1.5) ** 2 + (fourth / second**2 - 3) ** 2 / 4)
    return Outcome(*(_kept(v, np.ndim(x), axis, keepdims) for v in (found, _of_chi2(found, 2.0))))
