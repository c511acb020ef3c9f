"""Places in arrays: flat ones and those of several axes, and functions called along axes or by element."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from sdgrad.errors import ParseError
from sdgrad.record.functions.arguments import axes_of, require, several, shape_of, static
from sdgrad.record.functions.shapes import expand_dims
from sdgrad.record.functions.table import array, operand, rule


def _order(order: str) -> str:
    if order not in ("C", "F"):
        raise ValueError("only 'C' or 'F' order is permitted")
    return order


def _require_inside(place: Any, size: Any, told: str) -> None:
    require(np.all(np.greater_equal(place, 0) & np.less(place, size)), told)


@rule(np.unravel_index)
def unravel_index(indices: Any, shape: Any, order: str = "C") -> Any:
    place, extents = operand(indices), shape_of(shape)
    if np.result_type(getattr(place, "dtype", np.int64)).kind not in "iu":
        raise TypeError("only int indices permitted")
    _require_inside(place, math.prod(extents), f"an index is out of bounds for an array of shape {extents}")
    found = []
    for n in reversed(extents) if _order(order) == "C" else extents:
        found.append(place % n)
        place = place // n
    return tuple(reversed(found) if order == "C" else found)


@rule(np.ravel_multi_index)
def ravel_multi_index(multi_index: Sequence[Any], dims: Any, mode: Any = "raise", order: str = "C") -> Any:
    extents = shape_of(dims)
    modes = [mode] * len(extents) if isinstance(mode, str) else list(mode)
    places = [operand(p) for p in multi_index]
    if len(places) != len(extents) or len(modes) != len(extents):
        raise ValueError(f"parameter multi_index must be a sequence of length {len(extents)}")
    inner = [_inside(p, n, m) for p, n, m in zip(places, extents, modes, strict=True)]
    found: Any = 0
    pairs = list(zip(inner, extents, strict=True))
    for place, n in pairs if _order(order) == "C" else reversed(pairs):
        found = found * n + place
    return found


def _inside(place: Any, size: int, mode: str) -> Any:
    if mode == "clip":
        return np.minimum(np.maximum(place, 0), size - 1)
    if mode == "wrap":
        return place % size
    if mode != "raise":
        raise ValueError(f"clipmode must be one of 'clip', 'raise', or 'wrap' (got {mode!r})")
    _require_inside(place, size, "invalid entry in coordinates array")
    return place


def _indices_from(function: Callable, of: Callable) -> None:
    def indices(arr: Any, k: Any = 0) -> Any:
        a = array(arr)
        if a.ndim != 2:
            raise ValueError("input array must be 2-d")
        return of(a.shape[-2], k=static(k), m=a.shape[-1])

    rule(function)(indices)


_indices_from(np.triu_indices_from, np.triu_indices)
_indices_from(np.tril_indices_from, np.tril_indices)


# -- functions of the caller's
@rule(np.apply_over_axes)
def apply_over_axes(func: Callable, a: Any, axes: Any) -> Any:
    found = array(a)
    rank = found.ndim
    for axis in several(axes):
        (d,) = axes_of(axis, rank)
        reduced = array(func(found, d))
        found = reduced if reduced.ndim == rank else expand_dims(reduced, d)
        if found.ndim != rank:
            raise ValueError("function is not returning an array of the correct shape")
    return found


@rule(np.frompyfunc)
def frompyfunc(func: Any, nin: Any, nout: Any, **kwargs: Any) -> Any:
    raise ParseError("numpy.frompyfunc makes arrays of objects: call the function in a loop, or write np.vectorize")


@rule(np.ndenumerate)
def ndenumerate(arr: Any) -> Iterator[tuple[tuple[int, ...], Any]]:
    """Yield places and elements, each as it is when the loop comes to it."""
    given = array(arr)
    return ((place, given[place]) for place in np.ndindex(*given.shape))
