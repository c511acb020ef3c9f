"""Apply statistics of ``scipy.stats`` that order samples, or fit a line to them."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import scipy.special
import scipy.stats as stats

from sdgrad.errors import ParseError
from sdgrad.record.functions.arguments import require, static, static_axis
from sdgrad.record.functions.evaluated import made
from sdgrad.record.functions.sample_statistics import check_alternative, sample, tail
from sdgrad.record.functions.table import rule

TINY = 1e-20
"""What SciPy adds to the shares that a line leaves and explains."""


class Line(NamedTuple):
    """Hold the tuple that ``linregress`` returns."""

    slope: Any
    intercept: Any
    rvalue: Any
    pvalue: Any
    stderr: Any


class Fit(Line):
    """Hold what is no part of that tuple."""

    intercept_stderr: Any


@rule(stats.trim_mean)
def trim_mean(
    a: Any, proportiontocut: Any, axis: Any = 0, *, nan_policy: str = "propagate", keepdims: bool = False
) -> Any:
    x = sample(a, "trim_mean", nan_policy)
    x, d = (np.ravel(x), 0) if axis is None else (x, static_axis(axis, x.ndim))
    n = x.shape[d]
    cut = int(proportiontocut * n)
    if 2 * cut >= n:
        raise ValueError("Proportion too big.")
    found = np.mean(np.sort(x, axis=d)[(slice(None),) * d + (slice(cut, n - cut),)], axis=d, keepdims=keepdims)
    return np.where(np.any(np.isnan(x), axis=d, keepdims=keepdims), math.nan, found) if cut else found


@rule(stats.iqr)
def iqr(
    x: Any,
    axis: Any = None,
    rng: Any = (25, 75),
    scale: Any = 1.0,
    nan_policy: str = "propagate",
    interpolation: str = "linear",
    keepdims: bool = False,
) -> Any:
    if isinstance(scale, str):
        if scale.lower() != "normal":
            raise ValueError(f"{scale} not a valid scale for `iqr`")
        scale = 2.0 * float(scipy.special.erfinv(0.5)) * 2.0**0.5
    first, last = sorted(rng)
    data = sample(x, "iqr", nan_policy)
    method: Any = interpolation
    low, high = (np.percentile(data, q, axis=axis, method=method, keepdims=keepdims) for q in (first, last))
    return (high - low) / scale


@rule(stats.median_abs_deviation)
def median_abs_deviation(
    x: Any,
    axis: Any = 0,
    center: Any = None,
    scale: Any = 1.0,
    nan_policy: str = "propagate",
    *,
    keepdims: bool = False,
) -> Any:
    if isinstance(scale, str):
        if scale.lower() != "normal":
            raise ValueError(f"{scale} is not a valid scale value.")
        scale = 0.6744897501960817
    data = sample(x, "median_abs_deviation", nan_policy)
    middle = (np.median if center is None else center)(data, axis=axis)
    apart = data - (middle if axis is None else np.expand_dims(middle, axis))
    return np.median(np.abs(apart), axis=axis, keepdims=keepdims) / scale


@rule(stats.moment)
def moment(
    a: Any,
    order: Any = 1,
    axis: Any = 0,
    nan_policy: str = "propagate",
    *,
    center: Any = None,
    keepdims: bool = False,
) -> Any:
    if np.ndim(order):
        raise ParseError("scipy.stats.moment: several orders are not recorded: stack the moments")
    x = sample(a, "moment", nan_policy)
    middle = np.mean(x, axis=axis, keepdims=True) if center is None else center
    powers = (x - middle) ** static(order)
    if static(order) == 1 and center is None:
        powers = 0.0 * powers  # the mean of what is left of the mean is zero exactly, as SciPy says
    return np.mean(powers, axis=axis, keepdims=keepdims)


@rule(stats.linregress)
def linregress(x: Any, y: Any, alternative: str = "two-sided") -> Any:
    check_alternative(alternative)
    a, b = (sample(v, "linregress", "propagate", np.float64) for v in (x, y))
    n = a.shape[0]
    if a.ndim != 1 or a.shape != b.shape:
        raise ValueError("all the input array dimensions must match exactly")
    if n < 3:
        raise ParseError("scipy.stats.linregress of two points is a line through them, and is not recorded")
    require(~(np.max(a) == np.min(a)), "Cannot calculate a linear regression if all x values are identical")
    first, second = a - np.mean(a), b - np.mean(b)
    xx, xy, yy = np.mean(first * first), np.mean(first * second), np.mean(second * second)
    slope, r = xy / xx, xy / np.sqrt(xx * yy)
    r = np.where(np.abs(r) > 1.0, np.sign(r), r)  # by rounding
    rest = (1.0 - r + TINY) * (1.0 + r + TINY)  # the share of the variance that the line leaves
    if alternative == "two-sided":
        pvalue = scipy.special.betainc(0.5 * (n - 2), 0.5, rest / (rest + r * r))  # of Student's t
    else:
        pvalue = tail(r * np.sqrt((n - 2) / rest), n - 2, alternative)
    error = np.sqrt((1.0 - r) * (1.0 + r) * yy / xx / (n - 2))
    found = Fit(slope, np.mean(b) - slope * np.mean(a), r, pvalue, error)
    found.intercept_stderr = error * np.sqrt(xx + np.mean(a) ** 2)
    return made(found)
