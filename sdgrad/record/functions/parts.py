"""Copy parts of arrays to new places, and choose between elements."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from sdgrad.record.elementwise import apply, common, compute
from sdgrad.record.functions.arguments import shape_of, static, static_axis
from sdgrad.record.functions.creation import copy
from sdgrad.record.functions.shapes import broadcast_to, concatenate, ravel, reshape, swapaxes
from sdgrad.record.functions.table import FUNCTIONS, array, operand, rule
from sdgrad.record.indexing import item, view
from sdgrad.record.stores import store
from sdgrad.record.tensors import Tensor
from sdgrad.record.values import Array, Number, is_recorded


# -- copies of parts
def gathered(a: Array, shape: Sequence[Any], place: Any) -> Array:
    """Return an array with the element of another one at ``place(index)``."""
    source = tensor_of(a)
    return a.recorder.array(a.recorder.compute(shape, a.dtype, lambda *i: source[place(i)]))


def tensor_of(a: Array) -> Tensor:
    """Return a tensor with the content of an array."""
    found = a.recorder.content(a)
    return found if isinstance(found, Tensor) else a.recorder.full(a.tensor.shape, found, a.dtype)


@rule(np.repeat, method="repeat")
def repeat(a: Any, repeats: Any, axis: Any = None) -> Any:
    a = array(a)
    if axis is None:
        a, axis = ravel(a), 0
    n, d = static(repeats), static_axis(axis, a.ndim)
    wide = view(a, [*[slice(None)] * (d + 1), None])
    shape = (*a.tensor.shape[: d + 1], n, *a.tensor.shape[d + 1 :])
    merged = (*a.tensor.shape[:d], a.tensor.shape[d] * n, *a.tensor.shape[d + 1 :])
    return reshape(copy(broadcast_to(wide, shape)), merged)


@rule(np.tile)
def tile(A: Any, reps: Any) -> Any:
    a, counts = array(A), list(shape_of(reps))
    rank = max(a.ndim, len(counts))
    counts = [1] * (rank - len(counts)) + counts
    a = view(a, [*[None] * (rank - a.ndim), *[slice(None)] * a.ndim])
    wide = view(a, [x for _ in range(rank) for x in (None, slice(None))])
    shape = tuple(n for pair in zip(counts, a.tensor.shape, strict=True) for n in pair)
    merged = tuple(c * n for c, n in zip(counts, a.tensor.shape, strict=True))
    return reshape(copy(broadcast_to(wide, shape)), merged)


@rule(np.split, np.array_split)
def split(ary: Any, indices_or_sections: Any, axis: Any = 0) -> Any:
    a = array(ary)
    d = static_axis(axis, a.ndim)
    n = a.tensor.shape[d]
    if isinstance(indices_or_sections, (list, tuple, np.ndarray, Array)):
        cuts = [0, *(static(k) for k in indices_or_sections), n]
    else:
        cuts = [0, *np.cumsum([len(p) for p in np.array_split(np.empty(n), static(indices_or_sections))]).tolist()]
    lead = [slice(None)] * d
    return [view(a, [*lead, slice(i, j), *[slice(None)] * (a.ndim - d - 1)]) for i, j in itertools.pairwise(cuts)]


@rule(np.pad)
def pad(array_: Any, pad_width: Any, mode: str = "constant", **kwargs: Any) -> Any:
    a = array(array_)
    widths = np.broadcast_to(np.asarray(pad_width), (a.ndim, 2)).tolist()
    values = np.broadcast_to(np.asarray(kwargs.get("constant_values", 0)), (a.ndim, 2))
    if mode not in ("constant", "edge", "wrap", "reflect"):
        raise TypeError(f"pad: mode={mode!r} has no rule")
    for d, (before, after) in enumerate(widths):
        if mode == "constant":
            shape = list(a.tensor.shape)
            ends = []
            for count, value in zip((before, after), values[d], strict=True):
                shape[d] = count
                ends.append(np.full(shape, value, a.dtype))
            a = concatenate([ends[0], a, ends[1]], d)
        else:
            places = np.pad(np.arange(a.tensor.shape[d]), (before, after), mode)  # type: ignore[call-overload]
            a = view_or_gather(a, d, places)
    return a


def view_or_gather(a: Array, axis: int, places: np.ndarray) -> Array:
    return item(a, (*[slice(None)] * axis, places))


@rule(np.take, method="take")
def take(a: Any, indices: Any, axis: Any = None, **kwargs: Any) -> Any:
    a = array(a)
    if axis is None:
        return item(ravel(a), indices if is_recorded(indices) else np.asarray(indices)[()])
    d = static_axis(axis, a.ndim)
    return item(a, (*[slice(None)] * d, indices if is_recorded(indices) else np.asarray(indices)[()]))


@rule(np.rot90)
def rot90(m: Any, k: Any = 1, axes: Any = (0, 1)) -> Any:
    a = array(m)
    for _ in range(static(k) % 4):
        a = swapaxes(a, *axes)
        d = static_axis(axes[0], a.ndim)
        a = view(a, [slice(None, None, -1) if e == d else slice(None) for e in range(a.ndim)])
    return a


@rule(np.diag)
def diag(v: Any, k: Any = 0) -> Any:
    a = array(v)
    if a.ndim == 2:
        return FUNCTIONS[np.diagonal](a, k)
    n, shift = a.tensor.shape[0], static(k)
    size = n + abs(shift)
    target = a.recorder.known(np.zeros((size, size), a.dtype))
    rows, columns = max(-shift, 0), max(shift, 0)
    places = np.arange(n)
    store(target, (places + rows, places + columns), a)
    return target


# -- choices
@rule(np.where)
def where(condition: Any, x: Any = None, y: Any = None) -> Any:
    if x is None or y is None:
        raise TypeError("np.where(condition) alone: how many elements are true is known only when the program runs")
    parts = [operand(v) for v in (condition, x, y)]
    dtype = common(parts[1:])
    return compute("{1} if {0} else {2}", parts, [np.dtype(bool), dtype, dtype], dtype)


@rule(np.clip, method="clip")
def clip(a: Any, a_min: Any = None, a_max: Any = None, *, min: Any = None, max: Any = None) -> Any:
    low, high = (a_min if a_min is not None else min), (a_max if a_max is not None else max)
    x = operand(a)
    if low is not None:
        x = apply(np.maximum, [x, operand(low)])
    return apply(np.minimum, [x, operand(high)]) if high is not None else x


@rule(np.real)
def real(val: Any) -> Any:
    return _part(val, "real")


@rule(np.imag)
def imag(val: Any) -> Any:
    return _part(val, "imag")


def _part(value: Any, name: str) -> Any:
    x = operand(value)
    if x.dtype.kind == "c":
        return compute(f"{name}({{0}})", [x], [x.dtype], np.empty(0, x.dtype).real.dtype)
    return x if name == "real" else compute("0", [x], [x.dtype], x.dtype)


def item_of(a: Array) -> Number:
    return a[(0,) * a.ndim]


rule(method="item")(item_of)


# -- triangles
@rule(np.triu)
def triu(m: Any, k: Any = 0) -> Any:
    return _triangle(m, k, True)


@rule(np.tril)
def tril(m: Any, k: Any = 0) -> Any:
    return _triangle(m, k, False)


def _triangle(m: Any, k: Any, upper: bool) -> Any:
    a = array(m)
    mask = (np.triu if upper else np.tril)(np.ones(a.shape[-2:], bool), static(k))
    return where(mask, a, np.zeros((), a.dtype)[()])
