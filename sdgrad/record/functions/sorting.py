"""Sort, take quantiles, and search in sorted arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from sdgrad.errors import ParseError, UnknownContent
from sdgrad.record.elementwise import apply, common
from sdgrad.record.functions.arguments import axes_of, static_axis
from sdgrad.record.functions.creation import astype
from sdgrad.record.functions.parts import choose_where, take_along_axis, tensor_of
from sdgrad.record.functions.reductions import mean, total
from sdgrad.record.functions.shapes import along, expand_dims, moveaxis, ravel, reshape
from sdgrad.record.functions.table import array, fixed, known, operand, rule
from sdgrad.record.orders import order_along
from sdgrad.record.stores import store
from sdgrad.record.values import Array
from sdgrad.runtime.libraries.ordering import SearchSorted


def _along(a: Any, axis: Any) -> tuple[Array, int]:
    """Return an array and the axis to sort it along."""
    x = array(a)
    if x.dtype.kind == "c":
        raise ParseError("numpy.sort of complex numbers is not recorded: sort their real parts or magnitudes")
    return (ravel(x), 0) if axis is None else (x, static_axis(axis, x.ndim))


@rule(np.argsort, method="argsort")
def argsort(a: Any, axis: Any = -1, kind: Any = None, *, stable: Any = None) -> Any:
    x, d = _along(a, axis)
    if not isinstance(x.shape[d], int):
        raise UnknownContent("numpy.sort: how many elements there are")
    found = x.recorder.array(order_along(tensor_of(x), d))
    found.storage.indexes = x.shape[d]
    return found


@rule(np.sort)
def sort(a: Any, axis: Any = -1, kind: Any = None, *, stable: Any = None) -> Any:
    x, d = _along(a, axis)
    return take_along_axis(x, argsort(x, d), d)


@rule(method="sort")
def sort_in_place(a: Any, axis: Any = -1, kind: Any = None, *, stable: Any = None) -> None:
    store(a, Ellipsis, sort(a, axis))


@rule(np.partition)
def partition(a: Any, kth: Any, axis: Any = -1, kind: Any = "introselect") -> Any:
    return sort(a, axis)


@rule(np.argpartition, method="argpartition")
def argpartition(a: Any, kth: Any, axis: Any = -1, kind: Any = "introselect") -> Any:
    return argsort(a, axis)


# -- quantiles
METHODS_OF_QUANTILES = {"linear": None, "lower": np.floor, "higher": np.ceil, "nearest": np.rint}


def _merged(a: Any, axis: Any) -> tuple[Array, list[int]]:
    """Return an array with the axes to reduce merged into the last one, and which these were."""
    x = array(a)
    gone = axes_of(axis, x.ndim)
    kept = [d for d in range(x.ndim) if d not in gone]
    turned = moveaxis(x, [*kept, *gone], list(range(x.ndim)))
    return reshape(turned, (*(x.shape[d] for d in kept), -1)), gone


def _unless_nan(last: Any, found: Any) -> Any:
    """Return a quantile; NaN where the last element in order is."""
    return choose_where(apply(np.isnan, [last]), last, found) if last.dtype.kind == "f" else found


@rule(np.quantile)
def quantile(
    a: Any,
    q: Any,
    axis: Any = None,
    out: Any = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
) -> Any:
    if method not in METHODS_OF_QUANTILES:
        raise ParseError(
            f"numpy.quantile: method={method!r} is not recorded; use one of {', '.join(METHODS_OF_QUANTILES)}"
        )
    x, gone = _merged(a, axis)
    x = x if x.dtype.kind == "f" else astype(x, float)
    parts = operand(fixed(q))
    place = parts * (x.shape[-1] - 1)
    rounded = METHODS_OF_QUANTILES[method]
    place = place if rounded is None else rounded(place)
    low = astype(np.floor(place), np.int64)
    ordered = moveaxis(sort(x), -1, 0)
    below, above = ordered[low], ordered[np.minimum(low + 1, x.shape[-1] - 1)]
    weight = place - low
    weight = reshape(weight, (*np.shape(weight), *[1] * (x.ndim - 1))) if np.ndim(weight) else weight
    found = _unless_nan(ordered[-1], astype(below + (above - below) * weight, x.dtype))
    if not keepdims:
        return found
    return expand_dims(found, [d + np.ndim(parts) for d in gone])


@rule(np.percentile)
def percentile(a: Any, q: Any, *args: Any, **kwargs: Any) -> Any:
    return quantile(a, operand(fixed(q)) / 100, *args, **kwargs)


@rule(np.median)
def median(a: Any, axis: Any = None, out: Any = None, overwrite_input: bool = False, keepdims: bool = False) -> Any:
    x, gone = _merged(a, axis)
    n = x.shape[-1]
    ordered = sort(x)
    middle = along(ordered, x.ndim - 1, slice((n - 1) // 2, n // 2 + 1))
    found = _unless_nan(along(ordered, x.ndim - 1, n - 1), mean(middle, -1))
    return expand_dims(found, gone) if keepdims else found


# -- searches
@rule(np.searchsorted, method="searchsorted")
def searchsorted(a: Any, v: Any, side: str = "left", sorter: Any = None) -> Any:
    if side not in ("left", "right"):
        raise ValueError(f"side must be 'left' or 'right', not {side!r}")
    places, x = array(a), array(v)
    places = places if sorter is None else places[array(sorter)]
    dtype = common([places, x])
    if dtype.kind in "iuf" and dtype != np.float16 and all(isinstance(n, int) and n for n in (*places.shape, x.size)):
        return _searched(astype(places, dtype, copy=False), astype(x, dtype, copy=False), side == "right")
    return _counted(places, x, side)


def _searched(places: Array, x: Array, right: bool) -> Any:
    """Return where values belong in a sorted array: a library searches."""
    recorder: Any = x.recorder
    operands = {"_a": tensor_of(places), "_values": tensor_of(ravel(x))}
    found = recorder.call(SearchSorted(right=right), operands, "_at", (x.size,), np.int64)
    result = recorder.array(recorder.view(found, x.tensor.shape))
    result.storage.indexes = places.shape[0] + 1
    return result[()]


def _counted(places: Array, x: Array, side: str) -> Any:
    """Return how many elements of a sorted array come before each value."""
    at = x[..., None]
    smaller = np.less(places, at) if side == "left" else np.less_equal(places, at)
    if x.dtype.kind == "f":  # NaN is beyond all numbers
        smaller = smaller | (np.isnan(at) & ~np.isnan(places))
    return total(smaller, -1, np.int64)


@rule(np.digitize)
def digitize(x: Any, bins: Any, right: bool = False) -> Any:
    edges = fixed(bins)
    if not isinstance(edges, np.ndarray) and not isinstance(edges, (list, tuple)):
        raise ParseError("numpy.digitize: only a run knows whether the bins ascend; use numpy.searchsorted")
    if np.all(np.diff(edges) >= 0):
        return searchsorted(edges, x, "left" if right else "right")
    if not np.all(np.diff(edges) <= 0):
        raise ValueError("bins must be monotonically increasing or decreasing")
    return len(edges) - searchsorted(np.asarray(edges)[::-1], x, "right" if right else "left")


@rule(np.bincount)
def bincount(x: Any, /, weights: Any = None, minlength: Any = 0) -> Any:
    places = fixed(x)
    if places is None:
        raise ParseError("numpy.bincount: how many bins there are is known only when the program runs; use np.add.at")
    found = known(np.zeros(max(np.max(places, initial=-1) + 1, minlength)))
    np.add.at(found, known(np.asarray(places)), array(weights))
    return found
