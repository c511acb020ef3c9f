"""Elements by their order, with their places, of which the derivative goes to one."""

from __future__ import annotations

from typing import Any

import numpy as np

from sdgrad.onnx_ops.functions.table import recorded
from sdgrad.record.functions.detached import stop_gradient


def at_rank(x: Any, rank: Any, axis: int, keepdim: bool) -> tuple[Any, Any]:
    """Return the element of a rank in ascending order, and its place."""
    order = np.argsort(x, axis=axis, kind="stable")
    at = np.take_along_axis(order, rank, axis)
    value = np.take_along_axis(x, at, axis)
    return (value, at) if keepdim else (np.squeeze(value, axis), np.squeeze(at, axis))


def same_rank(x: Any, rank: int, axis: int) -> Any:
    """Return the same rank in every row."""
    return np.full(x.shape[:axis] + (1,) + x.shape[axis + 1 :], rank)


@recorded("kthvalue")
def kthvalue(x: Any, k: int, axis: int, keepdim: bool) -> Any:
    """Return the element of a rank, which begins at one."""
    return at_rank(x, same_rank(x, k - 1, axis), axis, keepdim)


@recorded("median")
def median(x: Any, axis: int, keepdim: bool) -> Any:
    """Return the lower one of the two in the middle; no number where one is there."""
    unknown = np.isnan(x)
    value, at = at_rank(x, same_rank(x, (x.shape[axis] - 1) // 2, axis), axis, True)
    first = np.expand_dims(np.argmax(unknown, axis=axis), axis)
    at = np.where(np.any(unknown, axis=axis, keepdims=True), first, at)
    value = np.take_along_axis(x, at, axis)
    return (value, at) if keepdim else (np.squeeze(value, axis), np.squeeze(at, axis))


@recorded("nanmedian")
def nanmedian(x: Any, axis: int, keepdim: bool) -> Any:
    """Return the median of what is a number."""
    count = np.sum(~np.isnan(x), axis=axis, keepdims=True)
    return at_rank(x, np.maximum((count - 1) // 2, 0), axis, keepdim)


@recorded("signbit")
def signbit(x: Any) -> Any:
    """True of negative numbers, and of the negative zero."""
    return np.signbit(x)


@recorded("mode")
def mode(x: Any, axis: int, keepdim: bool) -> Any:
    """Return the smallest of the elements that are there most often, and the last of its places."""
    shape = [1] * x.ndim
    shape[axis] = x.shape[axis]
    order = np.argsort(x, axis=axis, kind="stable")
    ascending, at = np.take_along_axis(x, order, axis), np.arange(x.shape[axis]).reshape(shape)
    before = np.roll(ascending, 1, axis)
    start = np.maximum.accumulate(np.where((ascending != before) & (at > 0), at, 0), axis=axis)
    longest = np.expand_dims(np.argmax(at - start, axis=axis), axis)
    return at_rank(x, longest, axis, keepdim)


def shared(x: Any, value: Any) -> Any:
    """Return the value, whose derivative all elements share that are equal to it."""
    equal = (x == value) | (np.isnan(x) & np.isnan(value))
    mean = np.sum(np.where(equal, x, 0.0)) / np.sum(equal)
    return mean + stop_gradient(np.where(np.isnan(value), 0.0, value - mean))


@recorded("median_of_all")
def median_of_all(x: Any) -> Any:
    """Return the median of all elements."""
    flat = np.reshape(x, -1)
    return shared(flat, stop_gradient(median(flat, 0, False)[0])).astype(x.dtype)


@recorded("nanmedian_of_all")
def nanmedian_of_all(x: Any) -> Any:
    """Return the median of all elements that are numbers."""
    flat = np.reshape(x, -1)
    return shared(flat, stop_gradient(nanmedian(flat, 0, False)[0])).astype(x.dtype)


@recorded("cummax")
def cummax(x: Any, axis: int) -> Any:
    """Return running maxima and the last place of each."""
    return _running(x, np.maximum.accumulate(stop_gradient(x), axis=axis), axis)


@recorded("cummin")
def cummin(x: Any, axis: int) -> Any:
    """Return running minima and the last place of each."""
    return _running(x, np.minimum.accumulate(stop_gradient(x), axis=axis), axis)


def _running(x: Any, extreme: Any, axis: int) -> tuple[Any, Any]:
    shape = [1] * x.ndim
    shape[axis] = x.shape[axis]
    here = (x == extreme) | np.isnan(x)
    at = np.maximum.accumulate(np.where(here, np.arange(x.shape[axis]).reshape(shape), 0), axis=axis)
    return np.take_along_axis(x, at, axis), at


@recorded("logcumsumexp")
def logcumsumexp(x: Any, axis: int) -> Any:
    """Return logarithms of running sums of exponentials."""
    return np.logaddexp.accumulate(x, axis=axis)


@recorded("masked_scatter")
def masked_scatter(x: Any, mask: Any, source: Any) -> Any:
    """Return the array with elements of another one, in order, where the mask says so."""
    chosen = np.broadcast_to(mask, x.shape)
    at = np.cumsum(np.reshape(chosen, -1).astype(np.int64)) - 1
    taken = np.reshape(source, -1)[np.clip(at, 0, source.size - 1)]
    return np.where(chosen, np.reshape(taken, x.shape), x)


@recorded("searchsorted")
def searchsorted(edges: Any, x: Any, right: bool) -> Any:
    """Return where elements would be inserted."""
    return np.searchsorted(edges, x, side="right" if right else "left")


@recorded("histc")
def histc(x: Any, bins: int, low: float, high: float) -> Any:
    """Count elements in intervals of one width, from the smallest to the largest if no ends are given."""
    flat = np.reshape(x, -1)
    if low == high:
        least, most = np.min(flat), np.max(flat)
        low, high = np.where(least == most, least - 1, least), np.where(least == most, most + 1, most)
    inside = (flat >= low) & (flat <= high)
    places = np.where(inside, (flat - low) * bins / (high - low), 0).astype(np.int64)
    found = np.zeros(bins, x.dtype)
    np.add.at(found, np.minimum(places, bins - 1), inside.astype(x.dtype))
    return found
