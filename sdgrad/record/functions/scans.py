"""Scans along an axis, differences, and integrals from samples."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from sdgrad.record.elements import Element
from sdgrad.record.elementwise import apply, filled, template
from sdgrad.record.functions.arguments import several, static, static_axis
from sdgrad.record.functions.creation import astype
from sdgrad.record.functions.joining import concatenate
from sdgrad.record.functions.parts import choose_where, tensor_of
from sdgrad.record.functions.reductions import sum_type, total, without_nan
from sdgrad.record.functions.shapes import along, ravel
from sdgrad.record.functions.table import array, known, operand, rule
from sdgrad.record.values import Array


# -- scans
def accumulated(ufunc: np.ufunc, a: Any, axis: Any = 0, dtype: Any = None) -> Array:
    """Return ``ufunc.accumulate``: each element combined with all before it along an axis."""
    x = array(a)
    if not x.ndim:
        raise TypeError("cannot accumulate on a scalar")
    d = static_axis(axis, x.ndim)
    own = sum_type(x, dtype) if ufunc in (np.add, np.multiply) else np.dtype(dtype or x.dtype)
    recorder, text = x.recorder, template(ufunc.__name__, own)
    found = recorder.array(recorder.copy(tensor_of(astype(x, own, copy=False))))
    n = found.tensor.shape[d]

    def combined(before: Element, value: Element) -> Element:
        return filled(text, [before, value], recorder.let, own)

    if n != 0:
        with recorder.loop(n - 1) as k:
            new, old = found.tensor.slice(d, k + 1, 1), found.tensor.slice(d, k, 1)
            recorder.assign(new, lambda *i: combined(old[i], new[i]))
    return found


def _scan(ufunc: np.ufunc, function: Any, method: str = "", prepare: Callable = array) -> None:
    def scan(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
        x = prepare(a)
        return accumulated(ufunc, ravel(x) if axis is None else x, 0 if axis is None else axis, dtype)

    rule(function, method=method)(scan)


_scan(np.add, np.cumsum, "cumsum")
_scan(np.multiply, np.cumprod, "cumprod")
_scan(np.add, np.nancumsum, prepare=lambda a: without_nan(a, 0))
_scan(np.multiply, np.nancumprod, prepare=lambda a: without_nan(a, 1))


def _cumulative(ufunc: np.ufunc, function: Any) -> None:
    def scan(x: Any, /, *, axis: Any = None, dtype: Any = None, out: Any = None, include_initial: bool = False) -> Any:
        a = array(x)
        if axis is None and a.ndim != 1:
            raise ValueError(f"for arrays of {a.ndim} dimensions, axis is needed")
        found = accumulated(ufunc, a, axis or 0, dtype)
        if not include_initial:
            return found
        d = static_axis(axis or 0, a.ndim)
        first = np.full_like(found, ufunc.identity, shape=[1 if e == d else n for e, n in enumerate(found.shape)])
        return concatenate([first, found], d)

    rule(function)(scan)


_cumulative(np.add, np.cumulative_sum)
_cumulative(np.multiply, np.cumulative_prod)


# -- differences
def _between(a: Array, axis: int) -> tuple[Any, Any]:
    """Return an array without its first and without its last part along an axis."""
    return along(a, axis, slice(1, None)), along(a, axis, slice(None, -1))


@rule(np.diff)
def diff(a: Any, n: Any = 1, axis: Any = -1, prepend: Any = None, append: Any = None) -> Any:
    x = array(a)
    d, times = static_axis(axis, x.ndim), static(n)
    if times < 0:
        raise ValueError(f"order must be non-negative but got {times}")
    if times and (prepend is not None or append is not None):
        own = [1 if e == d else m for e, m in enumerate(x.shape)]
        ends = [np.broadcast_to(e, own) if e is not None and not np.ndim(e) else e for e in (prepend, append)]
        x = concatenate([e for e in (ends[0], x, ends[1]) if e is not None], d)
    for _ in range(times):
        x = apply(np.not_equal if x.dtype.kind == "b" else np.subtract, _between(x, d))
    return x


@rule(np.ediff1d)
def ediff1d(ary: Any, to_end: Any = None, to_begin: Any = None) -> Any:
    found = diff(ravel(ary))
    parts = [p for p in (to_begin, found, to_end) if p is not None]
    return found if len(parts) == 1 else concatenate([astype(ravel(p), found.dtype) for p in parts])


@rule(np.unwrap)
def unwrap(p: Any, discont: Any = None, axis: Any = -1, *, period: Any = 2 * np.pi) -> Any:
    x = array(p)
    d = static_axis(axis, x.ndim)
    step, half = diff(x, axis=d), period / 2
    jump = np.mod(step + half, period) - half
    jump = choose_where(np.logical_and(np.equal(jump, -half), step > 0), half, jump)
    small = np.abs(step) < (half if discont is None else discont)
    turns = accumulated(np.add, choose_where(small, 0.0, jump - step), d)
    fixed = apply(np.add, [along(x, d, slice(1, None)), turns])
    return concatenate([along(x, d, slice(None, 1)), fixed], d)


@rule(np.gradient)
def gradient(f: Any, *varargs: Any, axis: Any = None, edge_order: int = 1) -> Any:
    a = array(f)
    a = a if a.dtype.kind in "fc" else astype(a, float)
    axes = [static_axis(d, a.ndim) for d in several(axis)] if axis is not None else list(range(a.ndim))
    steps = list(varargs) if len(varargs) != 1 else list(varargs) * len(axes)
    steps = steps or [1.0] * len(axes)
    if len(steps) != len(axes):
        raise TypeError("invalid number of arguments")
    if edge_order > 2:
        raise ValueError("'edge_order' greater than 2 not supported")
    found = tuple(_slope(a, d, operand(h), edge_order) for d, h in zip(axes, steps, strict=True))
    return found[0] if len(found) == 1 else found


def _slope(a: Any, d: int, h: Any, edge_order: int) -> Array:
    """Return the derivative along an axis from samples at a distance, or at given places."""
    n = a.shape[d]
    if n < edge_order + 1:
        raise ValueError("Shape of array too small to calculate a numerical gradient")
    if np.ndim(h) and h.shape != (n,):
        raise ValueError("when 1d, distances must match the length of the corresponding dimension")
    widths = diff(h) if np.ndim(h) else h * known(np.ones(n - 1))
    widths = widths[tuple(slice(None) if e == d else None for e in range(a.ndim))]

    def at(x: Array, start: int, stop: int | None) -> Any:
        return along(x, d, slice(start, stop))

    slopes = np.divide(diff(a, axis=d), widths)
    if edge_order == 1:
        first, last = at(slopes, 0, 1), at(slopes, n - 2, n - 1)
    else:
        first = _end_slope(*(at(x, k, k + 1) for x in (slopes, widths) for k in (0, 1)))
        last = _end_slope(*(at(x, k, k + 1) for x in (slopes, widths) for k in (n - 2, n - 3)))
    before, after = at(widths, 0, n - 2), at(widths, 1, n - 1)
    inside = (at(slopes, 0, n - 2) * after + at(slopes, 1, n - 1) * before) / (before + after)
    return concatenate([first, inside, last], d, dtype=a.dtype)


def _end_slope(near: Any, far: Any, width: Any, next_width: Any) -> Any:
    """Return the slope at an end of the parabola through three samples."""
    return near + (near - far) * width / (width + next_width)


# -- integrals
@rule(np.trapezoid)
def trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: Any = -1) -> Any:
    return total(_areas(array(y), x, dx, axis), axis)


def _areas(y: Array, x: Any, dx: Any, axis: Any) -> Any:
    """Return the areas between neighbouring samples."""
    d = static_axis(axis, y.ndim)
    widths = operand(dx)
    if x is not None:
        places = array(x)
        widths = diff(places) if places.ndim == 1 else diff(places, axis=d)
        if places.ndim == 1:
            widths = widths[tuple(slice(None) if e == d else None for e in range(y.ndim))]
    high, low = _between(y, d)
    return widths * (high + low) / 2.0
