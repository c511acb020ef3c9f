"""Apply statistics of ``scipy.stats`` of what is within limits: elements beyond them do not count."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.stats as stats

from sdgrad.record.functions.arguments import require
from sdgrad.record.functions.samples import Sample, check_nan_policy, observed, selected
from sdgrad.record.functions.table import array, operand, rule

EMPTY = "No array values within given limits"


def _within(x: Any, limits: Any, inclusive: Any) -> Any:
    """Return which elements are within limits; NaN is, for it is beyond none. None if there are no limits."""
    (low, high), (with_low, with_high) = (None, None) if limits is None else limits, inclusive
    kept = None
    if low is not None:
        below = x < operand(low) if with_low else x <= operand(low)
        kept = ~below
    if high is not None:
        above = x > operand(high) if with_high else x >= operand(high)
        kept = ~above if kept is None else kept & ~above
    return kept


def _limited(a: Any, name: str, limits: Any, inclusive: Any, axis: Any, nan_policy: str) -> Sample:
    s = observed(a, name, nan_policy, axis)
    kept = _within(s.x, limits, inclusive)
    if kept is None:
        return s
    kept = kept if s.kept is None else kept & s.kept
    require(np.any(kept), EMPTY)
    return selected(s.x, kept, axis)


@rule(stats.tmean)
def tmean(
    a: Any,
    limits: Any = None,
    inclusive: Any = (True, True),
    axis: Any = None,
    *,
    nan_policy: str = "propagate",
    keepdims: bool = False,
) -> Any:
    return _limited(a, "tmean", limits, inclusive, axis, nan_policy).mean(axis, keepdims)


@rule(stats.tvar)
def tvar(
    a: Any,
    limits: Any = None,
    inclusive: Any = (True, True),
    axis: Any = 0,
    ddof: Any = 1,
    *,
    nan_policy: str = "propagate",
    keepdims: bool = False,
) -> Any:
    return _limited(a, "tvar", limits, inclusive, axis, nan_policy).var(axis, ddof, keepdims)


@rule(stats.tstd)
def tstd(
    a: Any,
    limits: Any = None,
    inclusive: Any = (True, True),
    axis: Any = 0,
    ddof: Any = 1,
    *,
    nan_policy: str = "propagate",
    keepdims: bool = False,
) -> Any:
    return _limited(a, "tstd", limits, inclusive, axis, nan_policy).std(axis, ddof, keepdims)


@rule(stats.tsem)
def tsem(
    a: Any,
    limits: Any = None,
    inclusive: Any = (True, True),
    axis: Any = 0,
    ddof: Any = 1,
    *,
    nan_policy: str = "propagate",
    keepdims: bool = False,
) -> Any:
    s = _limited(a, "tsem", limits, inclusive, axis, nan_policy)
    return s.std(axis, ddof, keepdims) / s.root_of_count(axis, keepdims)


def _extreme(a: Any, name: str, limits: Any, inclusive: bool, axis: Any, nan_policy: str, keepdims: bool) -> Any:
    """Return the least element within limits, or the largest."""
    check_nan_policy(nan_policy, name)
    x, least = array(a), name == "tmin"
    reduce: Any = np.min if least else np.max
    kept = _within(x, limits, (inclusive, inclusive))
    if x.dtype.kind in "iu":
        if kept is None:
            return reduce(x, axis=axis, keepdims=keepdims)
        require(np.all(np.any(kept, axis=axis)), f"{EMPTY}, somewhere in an array of integers, which have no NaN")
        last = (np.max if least else np.min)(x, axis=axis, keepdims=True)
        return reduce(np.where(kept, x, last), axis=axis, keepdims=keepdims)
    s = observed(a, name, nan_policy, axis)
    kept = s.kept if kept is None else kept if s.kept is None else kept & s.kept
    if kept is None:
        return reduce(s.x, axis=axis, keepdims=keepdims)
    require(np.any(kept), EMPTY)
    found = reduce(np.where(kept, s.x, math.inf if least else -math.inf), axis=axis, keepdims=keepdims)
    return np.where(np.any(kept, axis=axis, keepdims=keepdims), found, math.nan)[()]


@rule(stats.tmin)
def tmin(
    a: Any,
    lowerlimit: Any = None,
    axis: Any = 0,
    inclusive: bool = True,
    nan_policy: str = "propagate",
    *,
    keepdims: bool = False,
) -> Any:
    return _extreme(a, "tmin", (lowerlimit, None), inclusive, axis, nan_policy, keepdims)


@rule(stats.tmax)
def tmax(
    a: Any,
    upperlimit: Any = None,
    axis: Any = 0,
    inclusive: bool = True,
    nan_policy: str = "propagate",
    *,
    keepdims: bool = False,
) -> Any:
    return _extreme(a, "tmax", (None, upperlimit), inclusive, axis, nan_policy, keepdims)
