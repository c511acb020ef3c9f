"""Apply descriptive statistics of ``scipy.stats``."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import scipy.special
import scipy.stats as stats

from sdgrad.errors import ParseError
from sdgrad.record.elementwise import common
from sdgrad.record.functions.arguments import axes_of
from sdgrad.record.functions.creation import astype
from sdgrad.record.functions.detached import detached
from sdgrad.record.functions.table import array, operand, rule
from sdgrad.record.functions.undefined import undefined_where


class Correlation(NamedTuple):
    """Hold a coefficient of correlation, and how probable one as large is without any."""

    statistic: Any
    pvalue: Any


def sample(a: Any, name: str, nan_policy: str, dtype: Any = None) -> Any:
    """Return data in floating point, or in a type.

    :raises ParseError: NaN is left out, or numbers are complex.
    """
    if nan_policy != "propagate":
        raise ParseError(f"scipy.stats.{name}: nan_policy={nan_policy!r} is not recorded")
    x = array(a)
    if common([x]).kind == "c":
        raise ParseError(f"scipy.stats.{name} of complex numbers is not recorded")
    x = x if dtype is None else array(astype(x, np.dtype(dtype)))
    return x if x.dtype.kind == "f" else array(astype(x, np.float64))


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
    if alternative != "two-sided" or method is not None or axis is None:
        raise ParseError("scipy.stats.pearsonr: alternative=, method= and axis=None are not recorded")
    a, b = sample(x, "pearsonr", "propagate"), sample(y, "pearsonr", "propagate")
    n = a.shape[axis]
    if n != b.shape[axis]:
        raise ValueError("`x` and `y` must have the same length along `axis`.")
    if n < 3:
        raise ParseError("scipy.stats.pearsonr of two points is 1 or -1, and is not recorded")
    first, second = (v - np.mean(v, axis=axis, keepdims=True) for v in (a, b))
    norms = np.sqrt(np.sum(first * first, axis=axis)) * np.sqrt(np.sum(second * second, axis=axis))
    r = np.sum(first * second, axis=axis) / norms
    half = 0.5 * n - 1.0
    return Correlation(r, 2.0 * scipy.special.betaincc(half, half, 0.5 * (np.abs(r) + 1.0)))
