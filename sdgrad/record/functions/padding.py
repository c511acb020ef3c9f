"""Pad arrays, by all of NumPy's modes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from sdgrad.errors import ParseError
from sdgrad.record.functions.arguments import static_axis
from sdgrad.record.functions.joining import concatenate, rearranged
from sdgrad.record.functions.shapes import along, broadcast_to, flip, moveaxis, squeeze
from sdgrad.record.functions.table import array, fixed, known, rule
from sdgrad.record.values import Array

GATHERED = ("edge", "wrap", "reflect", "symmetric")
STATISTICS: dict[str, Callable] = {"maximum": np.max, "minimum": np.min, "mean": np.mean, "median": np.median}
TAKES = {
    "constant": "constant_values", "linear_ramp": "end_values", "reflect": "reflect_type", "symmetric": "reflect_type",
    **dict.fromkeys(STATISTICS, "stat_length"), **dict.fromkeys(("edge", "wrap", "empty"), ""),
}  # fmt: skip
"""All modes, and the argument that each takes."""


@rule(np.pad)
def pad(array_: Any, pad_width: Any, mode: Any = "constant", **kwargs: Any) -> Any:
    a = array(array_)
    if not isinstance(mode, str):
        raise ParseError("numpy.pad: a function as mode is not recorded, for it writes; use np.concatenate")
    if mode not in TAKES:
        raise ValueError(f"mode '{mode}' is not supported")
    if set(kwargs) - {TAKES[mode]}:
        raise ValueError(f"unsupported keyword arguments for mode {mode!r}: {set(kwargs) - {TAKES[mode]}}")
    for d, (before, after) in enumerate(_widths(fixed(pad_width), a.ndim)):
        if before < 0 or after < 0:
            raise ValueError("index can't contain negative values")
        if before or after:
            a = _padded(a, d, (before, after), mode, **kwargs)
    return a


def _padded(a: Array, axis: int, widths: tuple[int, int], mode: str, **kwargs: Any) -> Any:
    """Return an array with more along an axis."""
    if mode in GATHERED:
        if kwargs.get("reflect_type", "even") == "odd":
            return _reflected(a, axis, widths, mode)
        return rearranged(a, axis, np.pad(np.arange(a.tensor.shape[axis]), widths, mode))  # type: ignore[call-overload]
    given = next(iter(kwargs.values()), None if mode in STATISTICS else 0)
    ends = [_end(a, axis, n, mode, given, side) for side, n in enumerate(widths)]
    return concatenate([ends[0], a, ends[1]], axis, dtype=a.dtype, casting="unsafe")


def _end(a: Array, axis: int, count: int, mode: str, given: Any, side: int) -> Any:
    """Return what stands before or after an array along an axis."""
    shape = [count if d == axis else n for d, n in enumerate(a.tensor.shape)]
    if mode in STATISTICS:
        return broadcast_to(_statistic(a, axis, STATISTICS[mode], given, side), shape)
    value = _of_side(given, a.ndim, axis, side)
    if mode != "linear_ramp":
        return np.full_like(a, value, shape=shape)
    edge = along(a, axis, slice(-1, None) if side else slice(0, 1))
    ramp = array(np.linspace(np.full_like(edge, value), edge, count, endpoint=False, dtype=a.dtype))
    ramp = squeeze(moveaxis(ramp, 0, axis), axis + 1)
    return flip(ramp, axis) if side else ramp


def _of_side(given: Any, rank: int, axis: int, side: int) -> Any:
    return np.broadcast_to(array(given), (rank, 2))[axis, side]


def _statistic(a: Array, axis: int, of: Callable, length: Any, side: int) -> Any:
    """Return a statistic of the elements nearest to an end."""
    n = a.shape[axis]
    content = fixed(length)
    count = n if content is None else min(int(np.broadcast_to(np.asarray(content), (a.ndim, 2))[axis, side]), n)
    if count < 1 and of in (np.max, np.min):
        raise ValueError("stat_length of 0 yields no value for padding")
    found = of(along(a, axis, slice(n - count, None) if side else slice(0, count)), axis=axis, keepdims=True)
    return np.rint(found) if a.dtype.kind in "iu" and found.dtype.kind == "f" else found


def _reflected(a: Array, axis: int, widths: tuple[int, int], mode: str) -> Any:
    """Return an array reflected at the points of its ends: a known matrix says how much of each element is where."""
    matrix = np.pad(np.eye(a.shape[axis]), ((0, 0), widths), mode, reflect_type="odd")  # type: ignore[call-overload]
    return moveaxis(moveaxis(a, axis, -1) @ known(matrix.astype(a.dtype)), -1, axis)


def _widths(pad_width: Any, rank: int) -> list[Any]:
    if isinstance(pad_width, dict):
        own = {static_axis(d, rank): w for d, w in pad_width.items()}
        return [np.broadcast_to(own.get(d, 0), 2).tolist() for d in range(rank)]
    return np.broadcast_to(np.asarray(pad_width), (rank, 2)).tolist()
