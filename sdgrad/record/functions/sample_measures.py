"""Apply further measures of samples of ``scipy.stats``: power means, measures of angles, transformations to normal."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import scipy.special as special
import scipy.stats as stats

from sdgrad.errors import ParseError
from sdgrad.record.functions.arguments import require
from sdgrad.record.functions.sample_statistics import average, gmean, kurtosis, scores, skew, weighted
from sdgrad.record.functions.samples import observed, sample
from sdgrad.record.functions.table import array, operand, rule
from sdgrad.record.functions.undefined import undefined_where
from sdgrad.record.values import is_recorded


class Description(NamedTuple):
    """Hold what ``describe`` returns."""

    nobs: Any
    minmax: Any
    mean: Any
    variance: Any
    skewness: Any
    kurtosis: Any


@rule(stats.describe)
def describe(a: Any, axis: Any = 0, ddof: Any = 1, bias: bool = True, nan_policy: str = "propagate") -> Any:
    if nan_policy == "omit":
        raise ParseError("scipy.stats.describe: nan_policy='omit' is not recorded: call tmean, tvar, skew and kurtosis")
    x = sample(a, "describe", nan_policy)
    x, axis = (np.ravel(x), 0) if axis is None else (x, axis)
    if not x.size:
        raise ValueError("The input must not be empty.")
    ends = tuple(f(x if array(a).dtype.kind == "f" else a, axis=axis) for f in (np.min, np.max))
    higher = skew(x, axis=axis, bias=bias), kurtosis(x, axis=axis, bias=bias)
    return Description(x.shape[axis], ends, np.mean(x, axis=axis), np.var(x, axis=axis, ddof=ddof), *higher)


# -- means and scores
@rule(stats.pmean)
def pmean(
    a: Any,
    p: Any,
    *,
    axis: Any = 0,
    dtype: Any = None,
    weights: Any = None,
    nan_policy: str = "propagate",
    keepdims: bool = False,
) -> Any:
    power = operand(p)
    if not is_recorded(power) and power == 0:
        return gmean(a, axis, dtype, weights, nan_policy=nan_policy, keepdims=keepdims)
    require(np.isfinite(power), "Power mean only implemented for finite `p`")
    require(power != 0, "a power that only a run knows must not be zero: use scipy.stats.gmean")
    s, w = weighted(a, weights, "pmean", nan_policy, axis, dtype)
    x = undefined_where(s.x < 0, s.x, s.x)
    return average(s.with_values(x**power), axis, w, keepdims) ** (1.0 / power)


@rule(stats.zmap)
def zmap(given: Any, compare: Any, axis: Any = 0, ddof: Any = 0, nan_policy: str = "propagate") -> Any:
    first, second = (observed(a, "zmap", nan_policy, axis) for a in (given, compare))
    return scores(first, second, given, axis, ddof)


@rule(stats.gzscore)
def gzscore(a: Any, *, axis: Any = 0, ddof: Any = 0, nan_policy: str = "propagate") -> Any:
    s = observed(a, "gzscore", nan_policy, axis)
    logs = s.with_values(np.log(s.x))
    return scores(logs, logs, a, axis, ddof)


@rule(stats.gstd)
def gstd(a: Any, axis: Any = 0, ddof: Any = 1, *, keepdims: bool = False, nan_policy: str = "propagate") -> Any:
    s = observed(a, "gstd", nan_policy, axis)
    return np.exp(s.with_values(np.log(s.x)).std(axis, ddof, keepdims))


# -- angles
def _direction(samples: Any, high: Any, low: Any, axis: Any, keepdims: bool, name: str, policy: str) -> tuple:
    """Return the mean of sines and of cosines, and the period."""
    period = operand(high) - operand(low)
    s = observed(samples, name, policy, axis)
    angles = s.x * (2.0 * math.pi / period)
    return *(s.with_values(f(angles)).mean(axis, keepdims) for f in (np.sin, np.cos)), period


@rule(stats.circmean)
def circmean(
    samples: Any,
    high: Any = 2 * math.pi,
    low: Any = 0,
    axis: Any = None,
    nan_policy: str = "propagate",
    *,
    keepdims: bool = False,
) -> Any:
    sines, cosines, period = _direction(samples, high, low, axis, keepdims, "circmean", nan_policy)
    return (np.arctan2(sines, cosines) * (period / (2.0 * math.pi)) - low) % period + low


def _length(sines: Any, cosines: Any) -> Any:
    return np.minimum(np.sqrt(sines**2 + cosines**2), 1.0)


@rule(stats.circvar)
def circvar(
    samples: Any,
    high: Any = 2 * math.pi,
    low: Any = 0,
    axis: Any = None,
    nan_policy: str = "propagate",
    *,
    keepdims: bool = False,
) -> Any:
    sines, cosines, _ = _direction(samples, high, low, axis, keepdims, "circvar", nan_policy)
    return 1.0 - _length(sines, cosines)


@rule(stats.circstd)
def circstd(
    samples: Any,
    high: Any = 2 * math.pi,
    low: Any = 0,
    axis: Any = None,
    nan_policy: str = "propagate",
    *,
    normalize: bool = False,
    keepdims: bool = False,
) -> Any:
    sines, cosines, period = _direction(samples, high, low, axis, keepdims, "circstd", nan_policy)
    found = np.sqrt(-2 * np.log(_length(sines, cosines)))
    return found if normalize else found * (period / (2.0 * math.pi))


# -- transformations to normal
def _power(lmbda: Any, name: str) -> Any:
    if lmbda is None:
        raise ParseError(f"scipy.stats.{name}: the power that is most likely is not recorded: pass lmbda=")
    return operand(lmbda)


@rule(stats.boxcox)
def boxcox(x: Any, lmbda: Any = None, alpha: Any = None, optimizer: Any = None) -> Any:
    return special.boxcox(array(x), _power(lmbda, "boxcox"))


@rule(stats.boxcox_llf)
def boxcox_llf(lmb: Any, data: Any, *, axis: Any = 0, keepdims: bool = False, nan_policy: str = "propagate") -> Any:
    s = observed(data, "boxcox_llf", nan_policy, axis)
    variance = s.with_values(special.boxcox(s.x, operand(lmb))).var(axis, keepdims=keepdims)
    logs = s.with_values(np.log(s.x)).sum(axis, keepdims)
    return (operand(lmb) - 1) * logs - s.count(axis, keepdims) / 2 * np.log(variance)


def _yeojohnson(x: Any, power: Any) -> Any:
    up = x >= 0
    return np.where(up, special.boxcox1p(np.where(up, x, 0.0), power),
                    -special.boxcox1p(np.where(up, 0.0, -x), 2.0 - power))  # fmt: skip


@rule(stats.yeojohnson)
def yeojohnson(x: Any, lmbda: Any = None) -> Any:
    return _yeojohnson(sample(x, "yeojohnson", "propagate"), _power(lmbda, "yeojohnson"))


@rule(stats.yeojohnson_llf)
def yeojohnson_llf(lmb: Any, data: Any, *, axis: Any = 0, nan_policy: str = "propagate", keepdims: bool = False) -> Any:
    s = observed(data, "yeojohnson_llf", nan_policy, axis)
    variance = s.with_values(_yeojohnson(s.x, operand(lmb))).var(axis, keepdims=keepdims)
    logs = np.log1p(np.abs(s.x))
    signs = s.with_values(np.where(s.x < 0, -logs, logs)).sum(axis, keepdims)
    return -s.count(axis, keepdims) / 2 * np.log(variance) + (operand(lmb) - 1) * signs
