"""Sort, and search in sorted arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sdgrad.errors import ParseError, UnknownContent
from sdgrad.record.elementwise import common, origin
from sdgrad.record.functions.arguments import static_axis
from sdgrad.record.functions.creation import astype
from sdgrad.record.functions.parts import take_along_axis, tensor_of
from sdgrad.record.functions.reductions import total
from sdgrad.record.functions.shapes import ravel
from sdgrad.record.functions.table import active, array, fixed, known, rule
from sdgrad.record.orders import order_along, places_of_ranks
from sdgrad.record.recorder import ONLY_DATA
from sdgrad.record.settling import settle
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


SELECTED = 512
"""Elements from which on a few of given ranks are found without ordering all."""


def of_ranks(x: Array, ranks: Sequence[int]) -> Array:
    """Return the elements of some ranks along the first axis, as in :func:`sort`."""
    n = x.shape[0]
    if not isinstance(x.tensor.size, int) or n < SELECTED or not x.tensor.size or x.dtype == np.float16:
        return sort(x, 0)[np.asarray(ranks)]
    found = x.recorder.array(places_of_ranks(tensor_of(x), 0, ranks))
    found.storage.indexes = n
    return take_along_axis(x, found, 0)


@rule(np.partition)
def partition(a: Any, kth: Any, axis: Any = -1, kind: Any = "introselect") -> Any:
    return sort(a, axis)


@rule(np.argpartition, method="argpartition")
def argpartition(a: Any, kth: Any, axis: Any = -1, kind: Any = "introselect") -> Any:
    return argsort(a, axis)


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
        settle(active(), origin(x) if array(x).dtype.kind in "biu" else ONLY_DATA)
        raise ParseError("numpy.bincount: how many bins there are is known only when the program runs; use np.add.at")
    if np.any(np.asarray(places) < 0):
        raise ValueError("'list' argument must have no negative elements")
    found = known(np.zeros(max(np.max(places, initial=-1) + 1, minlength)))
    np.add.at(found, known(np.asarray(places)), array(weights))
    return found
