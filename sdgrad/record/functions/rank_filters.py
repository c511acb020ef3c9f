"""Apply filters of ``scipy.ndimage`` that take the element of some rank in windows."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.ndimage as ndimage

from sdgrad.errors import ParseError
from sdgrad.record.functions.arguments import axes_of, constant, static
from sdgrad.record.functions.borders import extended
from sdgrad.record.functions.image_filters import checked_mode, per_axis
from sdgrad.record.functions.quantiles import of_ranks
from sdgrad.record.functions.table import array, known, rule


def _footprint(size: Any, footprint: Any, axes: list[int], rank: int) -> np.ndarray:
    """Return which elements of a window count, for all axes of the image."""
    if footprint is None and size is None:
        raise RuntimeError("no footprint or filter size provided")
    if footprint is None:
        own = np.ones([static(n) for n in per_axis(size, len(axes))], bool)
    else:
        own = np.asarray(constant(footprint, "scipy.ndimage: footprint= must be known"), bool)
    if own.ndim != len(axes) or 0 in own.shape:
        raise RuntimeError(f"footprint.ndim ({own.ndim}) must match len(axes) ({len(axes)})")
    return own.reshape([own.shape[axes.index(d)] if d in axes else 1 for d in range(rank)])


def _windows(a: Any, counted: np.ndarray, mode: str, cval: Any, origins: list[int]) -> Any:
    """Return the elements that count in the window of each element, along a new first axis."""
    wide = a
    for d, (size, origin) in enumerate(zip(counted.shape, origins, strict=True)):
        before = size // 2 + origin
        if not 0 <= before < size:
            raise ValueError("invalid origin")
        wide = extended(wide, d, before, size - 1 - before, mode, cval)
    shape = np.shape(wide)
    corners = sum(
        (np.arange(n).reshape([-1 if e == d else 1 for e in range(len(shape))]) * math.prod(shape[d + 1 :])
         for d, n in enumerate(np.shape(a))), np.zeros([1] * len(shape), int),
    )  # fmt: skip
    offsets = np.ravel_multi_index(np.nonzero(counted), shape)
    return np.reshape(wide, -1)[known(offsets.reshape(-1, *[1] * len(shape)) + corners)]


def _given(value: Any, name: str, output: Any) -> Any:
    if output is not None:
        raise ParseError(f"scipy.ndimage.{name}: output= is not recorded; assign the result")
    return array(value)


def of_rank(
    a: Any,
    rank_of: Callable[[int], int],
    size: Any,
    footprint: Any,
    mode: Any,
    cval: Any,
    origin: Any,
    axes: Any,
    name: str,
) -> Any:
    """Return the element of a rank in each window; the rank is chosen by how many elements count."""
    if a.dtype.kind == "c":
        raise TypeError("Complex type not supported")
    own = axes_of(axes, a.ndim)
    counted = _footprint(size, footprint, own, a.ndim)
    count = int(counted.sum())
    rank = rank_of(count)
    if not 0 <= rank < count:
        raise RuntimeError("rank not within filter footprint size")
    given = dict(zip(own, per_axis(origin, len(own)), strict=True))
    if not isinstance(mode, str):
        raise ParseError(f"scipy.ndimage.{name}: a mode for each axis is not recorded")
    if not a.size:
        return a
    origins = [static(given.get(d, 0)) for d in range(a.ndim)]
    windows = array(_windows(a, counted, checked_mode(mode), cval, origins))
    return of_numbers(windows, of_ranks(windows, [rank])[0])


def of_numbers(windows: Any, found: Any) -> Any:
    """Return what was found in windows along the first axis, NaN for those with NaN: SciPy's order of it is chance."""
    if windows.dtype.kind != "f":
        return found
    windows.recorder.hints.disordered = True
    return np.where(np.any(np.isnan(windows), axis=0), windows.dtype.type(np.nan), found)


@rule(ndimage.rank_filter)
def rank_filter(
    input: Any,
    rank: Any,
    size: Any = None,
    footprint: Any = None,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    origin: Any = 0,
    *,
    axes: Any = None,
) -> Any:
    a = _given(input, "rank_filter", output)
    own = static(rank)

    def rank_of(count: int) -> int:
        return own + count if own < 0 else own

    return of_rank(a, rank_of, size, footprint, mode, cval, origin, axes, "rank_filter")


@rule(ndimage.median_filter)
def median_filter(
    input: Any,
    size: Any = None,
    footprint: Any = None,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    origin: Any = 0,
    *,
    axes: Any = None,
) -> Any:
    a = _given(input, "median_filter", output)
    return of_rank(a, lambda count: count // 2, size, footprint, mode, cval, origin, axes, "median_filter")


@rule(ndimage.percentile_filter)
def percentile_filter(
    input: Any,
    percentile: Any,
    size: Any = None,
    footprint: Any = None,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    origin: Any = 0,
    *,
    axes: Any = None,
) -> Any:
    a = _given(input, "percentile_filter", output)
    share = float(constant(percentile, "scipy.ndimage.percentile_filter: percentile= must be known"))
    share = share + 100.0 if share < 0 else share
    if not 0 <= share <= 100:
        raise RuntimeError("invalid percentile")

    def rank_of(count: int) -> int:
        return count - 1 if share == 100.0 else int(float(count) * share / 100.0)

    return of_rank(a, rank_of, size, footprint, mode, cval, origin, axes, "percentile_filter")
