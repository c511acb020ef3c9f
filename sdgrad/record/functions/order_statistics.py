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
from sdgrad.record.functions.sample_statistics import check_alternative, tail
from sdgrad.record.functions.samples import Sample, observed, paired, sample
from sdgrad.record.functions.table import array, known, rule

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
    if nan_policy == "omit":
        return trimmed(observed(a, "trim_mean", nan_policy, axis), proportiontocut, axis, keepdims)
    x = sample(a, "trim_mean", nan_policy)
    x, d = (np.ravel(x), 0) if axis is None else (x, static_axis(axis, x.ndim))
    n = x.shape[d]
    cut = int(proportiontocut * n)
    if 2 * cut >= n:
        raise ValueError("Proportion too big.")
    found = np.mean(np.sort(x, axis=d)[(slice(None),) * d + (slice(cut, n - cut),)], axis=d, keepdims=keepdims)
    return np.where(np.any(np.isnan(x), axis=d, keepdims=keepdims), math.nan, found) if cut else found


def trimmed(s: Sample, share: Any, axis: Any, keepdims: bool) -> Any:
    """Return the mean of what counts and is not cut off: as many elements as there are decide how many."""
    if axis is None:
        kept = None if s.kept is None else np.ravel(s.kept)
        found = trimmed(Sample(np.ravel(s.x), kept), share, 0, False)
        return np.reshape(found, (1,) * s.ndim) if keepdims else found
    d = static_axis(axis, s.ndim)
    rows = np.moveaxis(np.sort(s.blank(math.inf), axis=d), d, -1)  # what does not count is behind the others
    n = np.moveaxis(s.count(d, True) * np.ones_like(s.x[(slice(None),) * d + (slice(0, 1),)]), d, -1)
    cut = np.floor(share * n)
    places = known(np.arange(rows.shape[-1]))
    inside = (places >= cut) & (places < n - cut)
    found = np.sum(np.where(inside, rows, 0), axis=-1, keepdims=True) / (n - 2 * cut)
    return np.moveaxis(found, -1, d) if keepdims else found[..., 0]


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
    s = observed(x, "iqr", nan_policy, axis)
    method: Any = interpolation
    quantile: Any = np.percentile if s.kept is None else np.nanpercentile
    low, high = (quantile(s.blank(math.nan), q, axis=axis, method=method, keepdims=keepdims) for q in (first, last))
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
    s = observed(x, "median_abs_deviation", nan_policy, axis)
    median = np.median if s.kept is None else np.nanmedian
    if s.kept is not None and center is not None:
        raise ParseError("scipy.stats.median_abs_deviation: center= with nan_policy='omit' is not recorded")
    middle = (median if center is None else center)(s.blank(math.nan), axis=axis)
    apart = s.with_values(np.abs(s.x - (middle if axis is None else np.expand_dims(middle, axis))))
    return median(apart.blank(math.nan), axis=axis, keepdims=keepdims) / scale


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
    s = observed(a, "moment", nan_policy, axis)
    powers = (s.x - (s.mean(axis, True) if center is None else center)) ** static(order)
    if static(order) == 1 and center is None:
        powers = 0.0 * powers  # the mean of what is left of the mean is zero exactly, as SciPy says
    return s.with_values(powers).mean(axis, keepdims)


@rule(stats.linregress)
def linregress(
    x: Any,
    y: Any,
    alternative: str = "two-sided",
    *,
    axis: Any = 0,
    nan_policy: str = "propagate",
    keepdims: bool = False,
) -> Any:
    check_alternative(alternative)
    a, b = (array(v) for v in (x, y))
    if a.shape != b.shape:
        raise ValueError("all the input array dimensions must match exactly")
    one, two = paired((x, y), "linregress", nan_policy, axis, np.float64)
    n = one.count(axis, True)
    if isinstance(n, int) and n < 3:
        raise ParseError("scipy.stats.linregress of two points is a line through them, and is not recorded")
    same = np.max(one.x, axis=axis) == np.min(one.x, axis=axis)
    require(~np.any(same), "Cannot calculate a linear regression if all x values are identical")
    middle, height = one.mean(axis, True), two.mean(axis, True)
    first, second = one.x - middle, two.x - height
    xx, xy, yy = (one.with_values(v).mean(axis, True) for v in (first * first, first * second, second * second))
    slope, r = xy / xx, xy / np.sqrt(xx * yy)
    r = np.where(np.abs(r) > 1.0, np.sign(r), r)  # by rounding
    rest = (1.0 - r + TINY) * (1.0 + r + TINY)  # the share of the variance that the line leaves
    if alternative == "two-sided":
        pvalue = scipy.special.betainc(0.5 * (n - 2), 0.5, rest / (rest + r * r))  # of Student's t
    else:
        pvalue = tail(r * np.sqrt((n - 2) / rest), n - 2, alternative)
    error = np.sqrt((1.0 - r) * (1.0 + r) * yy / xx / (n - 2))
    parts = slope, height - slope * middle, r, pvalue, error, error * np.sqrt(xx + middle**2)
    *line, of_intercept = parts if keepdims else (np.squeeze(v, axis)[()] for v in parts)
    found = Fit(*line)
    found.intercept_stderr = of_intercept
    return made(found)
