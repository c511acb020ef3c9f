"""Apply further measures of samples of ``scipy.stats``: power means, measures of angles, transformations to normal."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import scipy.special as special
import scipy.stats as stats

from sdgrad.errors import ParseError
from sdgrad.record.functions.arguments import require
from sdgrad.record.functions.sample_statistics import average, count_along, gmean, kurtosis, sample, skew, zscore
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
    x = sample(a, "pmean", nan_policy, dtype)
    x = undefined_where(x < 0, x, x)
    return average(x**power, axis, weights, keepdims) ** (1.0 / power)


@rule(stats.zmap)
def zmap(scores: Any, compare: Any, axis: Any = 0, ddof: Any = 0, nan_policy: str = "propagate") -> Any:
    x, y = sample(scores, "zmap", nan_policy), sample(compare, "zmap", nan_policy)
    return (x - np.mean(y, axis=axis, keepdims=True)) / np.std(y, axis=axis, ddof=ddof, keepdims=True)


@rule(stats.gzscore)
def gzscore(a: Any, *, axis: Any = 0, ddof: Any = 0, nan_policy: str = "propagate") -> Any:
    return zscore(np.log(sample(a, "gzscore", nan_policy)), axis=axis, ddof=ddof)


@rule(stats.gstd)
def gstd(a: Any, axis: Any = 0, ddof: Any = 1, *, keepdims: bool = False, nan_policy: str = "propagate") -> Any:
    return np.exp(np.std(np.log(sample(a, "gstd", nan_policy)), axis=axis, ddof=ddof, keepdims=keepdims))


# -- angles
def _direction(samples: Any, high: Any, low: Any, axis: Any, keepdims: bool, name: str, policy: str) -> tuple:
    """Return the mean of sines and of cosines, and the period."""
    period = operand(high) - operand(low)
    angles = sample(samples, name, policy) * (2.0 * math.pi / period)
    return *(np.mean(f(angles), axis=axis, keepdims=keepdims) for f in (np.sin, np.cos)), period


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
    x = sample(data, "boxcox_llf", nan_policy)
    variance = np.var(special.boxcox(x, operand(lmb)), axis=axis, keepdims=keepdims)
    logs = np.sum(np.log(x), axis=axis, keepdims=keepdims)
    return (operand(lmb) - 1) * logs - count_along(x, axis) / 2 * np.log(variance)


def _yeojohnson(x: Any, power: Any) -> Any:
    up = x >= 0
    return np.where(up, special.boxcox1p(np.where(up, x, 0.0), power),
                    -special.boxcox1p(np.where(up, 0.0, -x), 2.0 - power))  # fmt: skip


@rule(stats.yeojohnson)
def yeojohnson(x: Any, lmbda: Any = None) -> Any:
    return _yeojohnson(sample(x, "yeojohnson", "propagate"), _power(lmbda, "yeojohnson"))


@rule(stats.yeojohnson_llf)
def yeojohnson_llf(lmb: Any, data: Any, *, axis: Any = 0, nan_policy: str = "propagate", keepdims: bool = False) -> Any:
    x = sample(data, "yeojohnson_llf", nan_policy)
    variance = np.var(_yeojohnson(x, operand(lmb)), axis=axis, keepdims=keepdims)
    logs = np.log1p(np.abs(x))
    signs = np.sum(np.where(x < 0, -logs, logs), axis=axis, keepdims=keepdims)
    return -count_along(x, axis) / 2 * np.log(variance) + (operand(lmb) - 1) * signs
