"""Medians and quantiles by all of NumPy's methods, with weights, and of what is left when NaN is left out.

Sources: Hyndman and Fan 1996, for the places of a quantile among the elements in order.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from sdgrad.errors import ParseError
from sdgrad.record.elementwise import kind
from sdgrad.record.functions.arguments import axes_of
from sdgrad.record.functions.creation import astype
from sdgrad.record.functions.parts import choose_where, take_along_axis
from sdgrad.record.functions.reductions import mean, wide_weights
from sdgrad.record.functions.shapes import expand_dims, reshape, transpose
from sdgrad.record.functions.sorting import SELECTED, of_ranks, sort
from sdgrad.record.functions.table import array, content, fixed, known, operand, rule
from sdgrad.record.values import RULES, Array, is_recorded

FEW = 16
"""Ranks up to which finding each takes less time than ordering all elements."""
Place = Callable[[Any, Any], Any]


def _between(alpha: float, beta: float) -> Place:
    return lambda n, q: n * q + (alpha + q * (1 - alpha - beta)) - 1


CONTINUOUS: dict[str, Place] = {
    "linear": lambda n, q: (n - 1) * q,
    "interpolated_inverted_cdf": _between(0, 1),
    "hazen": _between(0.5, 0.5),
    "weibull": _between(0, 0),
    "median_unbiased": _between(1 / 3, 1 / 3),
    "normal_unbiased": _between(3 / 8, 3 / 8),
}
"""Places between elements, from how many there are and the part of them."""


def _closest(n: Any, q: Any) -> Any:
    place = n * q - 1.5
    down = np.logical_and(np.equal(place, np.floor(place)), np.equal(np.floor(place) % 2, 1))
    return np.floor(place) + np.logical_not(down)


DISCRETE: dict[str, Place] = {
    "inverted_cdf": lambda n, q: np.ceil(n * q - 1),
    "closest_observation": _closest,
    "lower": lambda n, q: np.floor((n - 1) * q),
    "higher": lambda n, q: np.ceil((n - 1) * q),
    "nearest": lambda n, q: np.rint((n - 1) * q),
}
"""Places of elements."""
HALVES: dict[str, Place] = {
    "averaged_inverted_cdf": lambda n, q: n * q - 1,
    "midpoint": lambda n, q: 0.5 * (np.floor((n - 1) * q) + np.ceil((n - 1) * q)),
}
"""Places between elements of which the mean of two is taken, or one."""


def _neighbours(method: str, n: Any, q: Any) -> tuple[Any, Any, Any]:
    """Return the places of the elements before and after a quantile, and the weight of the second."""
    if method in DISCRETE:
        place = np.minimum(np.maximum(DISCRETE[method](n, q), 0), np.maximum(n - 1, 0))
        return _whole(place), None, None
    place = {**CONTINUOUS, **HALVES}[method](n, q)
    low = np.floor(place)
    weight = place - low
    if method == "averaged_inverted_cdf":
        weight = np.where(np.equal(weight, 0), 0.5, 1.0)
    outside = np.logical_or(np.less(place, 0), np.greater_equal(place, n - 1))
    weight = np.where(outside, 0.0, weight)
    low = np.minimum(np.maximum(low, 0), np.maximum(n - 1, 0))
    return _whole(low), _whole(np.minimum(low + 1, np.maximum(n - 1, 0))), weight


def _whole(place: Any) -> Any:
    return astype(array(place), np.int64) if is_recorded(place) else known(np.asarray(place).astype(np.int64))


def _merged(a: Any, axis: Any) -> tuple[Array, list[int]]:
    """Return an array with the axes to reduce merged into the first one, and which these were."""
    x = array(a)
    gone = axes_of(axis, x.ndim)
    kept = [d for d in range(x.ndim) if d not in gone]
    return reshape(transpose(x, [*gone, *kept]), (-1, *(x.shape[d] for d in kept))), gone


def _parts(q: Any) -> Any:
    """Return the parts of a quantile as known numbers, or as an operand."""
    content = fixed(q)
    found = operand(q) if content is None else content
    if np.ndim(found) > 1:
        raise ParseError("numpy.quantile: q of several axes is not recorded; pass it flat, and reshape the result")
    if isinstance(content, (int, float, list, tuple, np.ndarray, np.generic)):
        found = content if isinstance(content, (int, float)) else np.asarray(content)
        if not np.all((np.asarray(found) >= 0) & (np.asarray(found) <= 1)):
            raise ValueError("Quantiles must be in the range [0, 1]")
    return found


def _result(x: Array, q: Any) -> np.dtype:
    """Return the type of quantiles: a number of Python's takes that of the elements."""
    if x.dtype.kind != "f":
        return np.dtype(float)
    own = kind(q)
    return (
        x.dtype if own is int or own is float else np.result_type(x.dtype, own if np.dtype(own).kind == "f" else float)
    )


def _check_method(method: str) -> None:
    if method not in {**CONTINUOUS, **DISCRETE, **HALVES}:
        raise ValueError(f"{method!r} is not a valid method. Use one of: {[*CONTINUOUS, *DISCRETE, *HALVES]}")


def _at(ordered: Array, places: Any, several: bool) -> Any:
    """Return elements in order at places; ``several``: these differ from line to line."""
    if not several:
        return ordered[places] if np.ndim(places) else ordered[places[()]]
    flat = reshape(places, (math.prod(places.shape[: places.ndim - ordered.ndim + 1]), *ordered.shape[1:]))
    return reshape(take_along_axis(ordered, flat, 0), places.shape)


def _ranks(n: Any, q: Any, method: str) -> list[int] | None:
    """Return the ranks of the elements that quantiles and a look for NaN need, if they are known and few."""
    if not isinstance(n, int) or n < SELECTED:
        return None
    places = [content(p) for p in _neighbours(method, n, q)[:2] if p is not None]
    if any(p is None for p in places):
        return None
    found = sorted({n - 1, *(int(k) for p in places for k in np.ravel(p))})
    return found if len(found) <= FEW else None


def _in_order(ordered: Array, n: Any, q: Any, method: str, ranks: Sequence[int] | None = None) -> Any:
    """Return the quantiles of elements in order along the first axis, of which the first ``n`` count.

    :param ranks: of the elements that are there, where these are not all.
    """
    several = np.ndim(n) > 0
    wide = np.reshape(q, (*np.shape(q), *[1] * (ordered.ndim - 1))) if several and np.ndim(q) else q
    low, high, weight = _neighbours(method, n, wide)
    if ranks is not None:
        low, high = (p if p is None else known(np.searchsorted(ranks, content(p))) for p in (low, high))
    below = _at(ordered, low, several)
    if high is None:
        return below
    if not several and np.ndim(weight):
        weight = np.reshape(weight, (*np.shape(weight), *[1] * (ordered.ndim - 1)))
    found = below + (_at(ordered, high, several) - below) * weight
    return astype(found, _result(ordered, q), copy=False)


def _kept(found: Any, gone: list[int], q: Any, keepdims: bool) -> Any:
    """Return quantiles with the axes that were reduced, if these are kept."""
    return expand_dims(found, [d + np.ndim(q) for d in gone]) if keepdims else found


def _unless_nan(last: Any, found: Any) -> Any:
    """Return a quantile; NaN where the last element in order is, with that element's derivative."""
    return choose_where(np.isnan(last), last, found) if last.dtype.kind == "f" else found


@rule(np.quantile)
def quantile(
    a: Any,
    q: Any,
    axis: Any = None,
    out: Any = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
    *,
    weights: Any = None,
) -> Any:
    _check_method(method)
    parts = _parts(q)
    if weights is not None:
        return _weighted(a, parts, axis, method, keepdims, weights)
    x, gone = _merged(_real(a), axis)
    x = x if x.dtype.kind == "f" or method in DISCRETE else astype(x, float)
    ranks = _ranks(x.shape[0], parts, method)
    ordered = sort(x, axis=0) if ranks is None else of_ranks(x, ranks)
    found = _unless_nan(ordered[-1], _in_order(ordered, x.shape[0], parts, method, ranks))
    return _kept(found, gone, parts, keepdims)


def _real(a: Any) -> Array:
    x = array(a)
    if x.dtype.kind == "c":
        raise TypeError("a must be an array of real numbers")
    return x


def _weighted(a: Any, q: Any, axis: Any, method: str, keepdims: bool, weights: Any) -> Any:
    """Return quantiles of elements that count as often as their weights say: each is one of the elements."""
    if method != "inverted_cdf":
        raise ValueError(f"Only method 'inverted_cdf' supports weights. Got: {method}.")
    x, gone = _merged(_real(a), axis)
    w = _merged(wide_weights(array(weights), array(a), axis), axis)[0]
    order = np.argsort(x, axis=0, kind="stable")
    ordered = take_along_axis(x, order, 0)
    summed = np.cumsum(take_along_axis(w, order, 0), axis=0, dtype=np.float64)
    part = summed / summed[-1]
    part = choose_where(np.equal(part, 0), -1.0, part)
    wide = np.reshape(q, (*np.shape(q), *[1] * x.ndim)) if np.ndim(q) else q
    places = np.minimum(np.sum(np.less(part, wide), axis=np.ndim(q)), x.shape[0] - 1)
    return _kept(_unless_nan(ordered[-1], _at(ordered, array(places), True)), gone, q, keepdims)


@rule(np.percentile)
def percentile(a: Any, q: Any, *args: Any, **kwargs: Any) -> Any:
    return quantile(a, _of_percent(q), *args, **kwargs)


def _of_percent(q: Any) -> Any:
    content = fixed(q)
    given = operand(q) if content is None else content
    given = np.asarray(given) if isinstance(given, (list, tuple)) else given
    return given / 100.0


@rule(np.median)
def median(a: Any, axis: Any = None, out: Any = None, overwrite_input: bool = False, keepdims: bool = False) -> Any:
    if array(a).tensor.size == 0:
        return mean(a, axis, keepdims=keepdims)
    x, gone = _merged(a, axis)
    n = x.shape[0]
    ordered = of_ranks(x, [(n - 1) // 2, n // 2, n - 1])
    found = _unless_nan(ordered[2], mean(ordered[n % 2 : 2], 0))
    return expand_dims(found, gone) if keepdims else found


# -- without what is not a number
def _present(x: Array) -> tuple[Array, Any]:
    """Return elements in order, NaN last, and how many of them are numbers."""
    ordered = sort(x, axis=0)
    return ordered, np.sum(np.logical_not(np.isnan(x)), axis=0) if x.dtype.kind == "f" else x.shape[0]


@rule(np.nanquantile)
def nanquantile(
    a: Any,
    q: Any,
    axis: Any = None,
    out: Any = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
    *,
    weights: Any = None,
) -> Any:
    _check_method(method)
    if weights is not None:
        raise ParseError("numpy.nanquantile: weights are not recorded; give NaN the weight zero, and use np.quantile")
    x = _real(a)
    if x.dtype.kind != "f":
        return quantile(x, q, axis, method=method, keepdims=keepdims)
    parts = _parts(q)
    if not x.size:
        return np.nanmean(x, axis, keepdims=keepdims)
    merged, gone = _merged(x, axis)
    ordered, n = _present(merged)
    n = array(n)
    found = _in_order(ordered if ordered.ndim > 1 else ordered[:, None], n if n.ndim else n[None], parts, method)
    found = found if ordered.ndim > 1 else found[..., 0]
    return _kept(found, gone, parts, keepdims)


@rule(np.nanpercentile)
def nanpercentile(a: Any, q: Any, *args: Any, **kwargs: Any) -> Any:
    return nanquantile(a, _of_percent(q), *args, **kwargs)


@rule(np.nanmedian)
def nanmedian(a: Any, axis: Any = None, out: Any = None, overwrite_input: bool = False, keepdims: bool = False) -> Any:
    x = _real(a)
    if x.dtype.kind != "f":
        return np.median(x, axis, keepdims=keepdims)
    if not x.size:
        return np.nanmean(x, axis, keepdims=keepdims)
    merged, gone = _merged(x, axis)
    ordered, n = _present(merged)
    places = [np.maximum((n - 1) // 2, 0), np.minimum(n // 2, max(merged.shape[0] - 1, 0))]
    low, high = (take_along_axis(ordered, array(p)[None], 0)[0] for p in places)
    found = astype((low + high) / 2, x.dtype)
    return expand_dims(found, gone) if keepdims else found


def _nan_place(function: Callable, of: Callable, filler: float) -> None:
    def find(a: Any, axis: Any = None, out: Any = None, *, keepdims: bool = False) -> Any:
        x = array(a)
        if x.dtype.kind != "f":
            return of(x, axis, keepdims=keepdims)
        missing = np.isnan(x)
        anything = np.logical_not(np.any(np.all(missing, axis)))
        RULES.require(x.recorder, anything, ValueError("All-NaN slice encountered"))
        return of(choose_where(missing, filler, x), axis, keepdims=keepdims)

    rule(function)(find)


_nan_place(np.nanargmax, np.argmax, -np.inf)
_nan_place(np.nanargmin, np.argmin, np.inf)
