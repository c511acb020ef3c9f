"""Universal functions, creation, and shapes."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from dace.symbolic import int_floor

from sdgrad.record.elementwise import apply, common, compute, kind
from sdgrad.record.functions.table import FUNCTIONS, array, holds_recorded, operand, rule
from sdgrad.record.indexing import expanded, fill, item, store, view
from sdgrad.record.recorder import Recorder
from sdgrad.record.tensors import Tensor
from sdgrad.record.values import Array, Number, Storage, is_recorded


def recorder_of(*values: Any) -> Recorder:
    return next(v.recorder for v in values if is_recorded(v))


def static(value: Any) -> int:
    """Return an axis or a count as Python's integer."""
    return value.__index__()


def static_axis(axis: Any, rank: int) -> int:
    """Return an axis counted from the first one.

    :raises numpy.exceptions.AxisError: there is none.
    """
    own = static(axis)
    if not -rank <= own < rank:
        raise np.exceptions.AxisError(own, rank)
    return own % rank


def settled(size: Any) -> Any:
    """Return a size as Python's integer if only arguments decide it: these are fixed."""
    if isinstance(size, Number) and size.origin and all(o[0] == "argument" for o in size.origin):
        return size.__index__()
    return size


def shape_of(shape: Any) -> tuple[int, ...]:
    return tuple(map(static, shape)) if isinstance(shape, (tuple, list, Array, np.ndarray)) else (static(shape),)


# -- types
def astype(a: Any, dtype: Any, *args: Any, copy: bool = True, **kwargs: Any) -> Any:
    """Return an array, or a number, in another type."""
    wanted = np.dtype(dtype)
    x = operand(a)
    if wanted.kind in "iu" and kind(x) in (float,) or getattr(x, "dtype", wanted).kind == "f" and wanted.kind in "iu":
        return compute("int64({0})" if wanted == np.int64 else f"{wanted.name}({{0}})", [x], [x.dtype], wanted)
    return compute("{0}", [x], [wanted], wanted)


rule(method="astype")(astype)


# -- creation
@rule(np.array, np.asarray, np.asanyarray, np.ascontiguousarray, makes=True)
def make_array(value: Any, dtype: Any = None, **kwargs: Any) -> Any:
    if isinstance(value, Array):
        return value if dtype is None or np.dtype(dtype) == value.dtype else astype(value, dtype)
    if not holds_recorded(value):
        return np.array(value, dtype)
    return stacked(value, dtype)


@rule(np.copy, method="copy")
def copy(a: Any, *args: Any, **kwargs: Any) -> Any:
    a = array(a)
    if a.known is not None:
        return a.recorder.known(np.array(a.known))
    return a.recorder.array(a.recorder.copy(a.tensor))


def stacked(value: Any, dtype: Any = None) -> Array:
    """Return a nest of numbers and arrays as one array."""
    if is_recorded(value) and not isinstance(value, Array):
        return as_array0(value, dtype)
    shape = _nest_shape(value)
    parts = list(_nest_parts(value, len(shape)))
    wanted = np.dtype(dtype) if dtype is not None else common(parts)
    recorder = recorder_of(*[p for p in parts if is_recorded(p)])
    target = recorder.array(recorder.declare("t", shape, wanted))
    for index, part in zip(np.ndindex(shape[: _nest_depth(value)]), parts, strict=True):
        inner = expanded(target, index)
        if any(isinstance(p, slice) for p in inner):
            fill(view(target, inner), part)
        else:
            recorder.write(target.tensor, index, part[()] if isinstance(part, Array) else part)
    return target


def as_array0(value: Any, dtype: Any = None) -> Array:
    """Return a number as an array without axes."""
    recorder = recorder_of(value)
    target = recorder.array(recorder.declare("t", (), dtype or value.dtype))
    recorder.write(target.tensor, (), value)
    return target


def _nest_depth(value: Any) -> int:
    return 1 + _nest_depth(value[0]) if isinstance(value, (list, tuple)) and len(value) else 0


def _nest_parts(value: Any, depth: int) -> Any:
    if isinstance(value, (list, tuple)):
        for part in value:
            yield from _nest_parts(part, depth - 1)
    else:
        yield value


def _nest_shape(value: Any) -> tuple[Any, ...]:
    if isinstance(value, (list, tuple)):
        shapes = {_nest_shape(v) for v in value}
        if len(shapes) > 1:
            raise ValueError(f"the parts of a list have the shapes {', '.join(map(str, shapes))}: they make no array")
        return (len(value), *(shapes.pop() if shapes else ()))
    return value.tensor.shape if isinstance(value, Array) else np.shape(value) if not is_recorded(value) else ()


def _like(name: str) -> None:
    function = getattr(np, f"{name}_like")

    def make(a: Any, *args: Any, dtype: Any = None, shape: Any = None, **kwargs: Any) -> Any:
        own = kind(a) if not isinstance(a, (list, tuple)) else np.asarray(a).dtype
        wanted = np.dtype(dtype) if dtype is not None else np.dtype(own)
        extents = shape_of(shape) if shape is not None else np.shape(a) if not is_recorded(a) else a.shape
        fill_value = args[0] if args else kwargs.get("fill_value", {"zeros": 0, "ones": 1, "empty": 0}.get(name, 0))
        return full(extents, fill_value, wanted)

    rule(function, makes=True)(make)


for _name in ("zeros", "ones", "empty", "full"):
    _like(_name)


@rule(np.full, makes=True)
def full(shape: Any, fill_value: Any, dtype: Any = None, **kwargs: Any) -> Any:
    extents = shape_of(shape)
    if not is_recorded(fill_value):
        return np.full(extents, fill_value, dtype)
    recorder = recorder_of(fill_value)
    target = recorder.array(recorder.declare("t", extents, dtype or fill_value.dtype))
    fill(target, fill_value)
    return target


@rule(np.zeros, makes=True)
def zeros(shape: Any, dtype: Any = float, **kwargs: Any) -> Any:
    return np.zeros(shape_of(shape), dtype)


@rule(np.ones, makes=True)
def ones(shape: Any, dtype: Any = None, **kwargs: Any) -> Any:
    return np.ones(shape_of(shape), dtype)


@rule(np.empty, np.ndarray, makes=True)
def empty(shape: Any, dtype: Any = float, **kwargs: Any) -> Any:
    return np.zeros(shape_of(shape), dtype)


@rule(np.arange, makes=True)
def arange(*bounds: Any, dtype: Any = None, **kwargs: Any) -> Any:
    """Return integers from a start to a stop that may be known only when the program runs."""
    bounds = tuple(map(settled, bounds))
    if not any(map(is_recorded, bounds)):
        return np.arange(*bounds, dtype=dtype)
    start, stop, step = (0, bounds[0], 1) if len(bounds) == 1 else (*bounds, 1)[:3]
    recorder = recorder_of(start, stop, step)
    if any(kind(b) not in (int, np.dtype(np.int64)) for b in (start, stop)) or is_recorded(step):
        return np.arange(*(b.__index__() if isinstance(b, Number) else b for b in bounds), dtype=dtype)
    first, count, _ = slice_bounds(recorder, start, stop, step)
    wanted = np.dtype(dtype or np.int64)
    return recorder.array(
        recorder.compute((count,), wanted, lambda i: recorder.element(first + i * step, np.int64).astype(wanted))
    )


def slice_bounds(recorder: Recorder, start: Any, stop: Any, step: int) -> tuple[Any, Any, int]:
    """Return first element, count and step of a range."""
    first, last = (recorder.symbol(b) if isinstance(b, Number) else b for b in (start, stop))
    sign = 1 if step > 0 else -1
    count = last - first if step == 1 else int_floor(last - first + step - sign, step)
    return first, count, step


@rule(np.eye, np.identity, makes=True)
def eye(N: Any, M: Any = None, k: Any = 0, dtype: Any = float, **kwargs: Any) -> Any:
    return np.eye(static(N), None if M is None else static(M), static(k), dtype)


@rule(np.linspace, makes=True)
def linspace(start: Any, stop: Any, num: Any = 50, endpoint: bool = True, **kwargs: Any) -> Any:
    n = static(num)
    steps = np.arange(n) / max(n - 1 if endpoint else n, 1)
    return apply(
        np.add,
        [operand(start), apply(np.multiply, [apply(np.subtract, [operand(stop), operand(start)]), operand(steps)])],
    )


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


# -- shapes: views
def moved(a: Array, tensor: Tensor, known: Any) -> Array:
    """Return a view that a tensor is, with the same view of known content."""
    return Array(a.recorder, a.storage, tensor, known)


@rule(np.transpose, np.permute_dims, method="transpose")
def transpose(a: Any, *axes: Any, **kwargs: Any) -> Any:
    a = array(a)
    axes = axes or tuple(kwargs.values())
    given = axes[0] if len(axes) == 1 and (axes[0] is None or isinstance(axes[0], (tuple, list))) else axes
    order = [static_axis(d, a.ndim) for d in given] if given else list(range(a.ndim))[::-1]
    return moved(a, a.tensor.transpose(order), None if a.known is None else a.known.transpose(order))


@rule(np.swapaxes, method="swapaxes")
def swapaxes(a: Any, axis1: Any, axis2: Any) -> Any:
    a = array(a)
    order = list(range(a.ndim))
    first, second = static_axis(axis1, a.ndim), static_axis(axis2, a.ndim)
    order[first], order[second] = second, first
    return transpose(a, order)


@rule(np.moveaxis)
def moveaxis(a: Any, source: Any, destination: Any) -> Any:
    a = array(a)
    source, destination = (list(x) if isinstance(x, (tuple, list)) else [x] for x in (source, destination))
    source, destination = ([static_axis(d, a.ndim) for d in x] for x in (source, destination))
    order = [d for d in range(a.ndim) if d not in source]
    for to, of in sorted(zip(destination, source, strict=True)):
        order.insert(to, of)
    return transpose(a, order)


@rule(np.reshape, method="reshape")
def reshape(a: Any, *shape: Any, order: str = "C", **kwargs: Any) -> Any:
    a = array(a)
    given = kwargs.get("shape", shape[0] if len(shape) == 1 else shape)
    if order != "C":
        flipped = reshape(transpose(a), tuple(reversed(shape_of(given))))
        return transpose(flipped)
    wanted = _completed(shape_of(given), a)
    if a.known is not None:
        return a.recorder.known(a.known.reshape(wanted).copy())
    whole = a.tensor.place is None
    tensor = a.tensor.reshape(wanted)
    if whole or tensor.container == a.tensor.container:
        return Array(a.recorder, a.storage, tensor)
    storage = Storage(tensor.container, None, a.recorder.blocks[-1], None)
    storage.partners.append(a.storage)
    a.storage.partners.append(storage)
    return Array(a.recorder, storage, tensor)


def _completed(shape: tuple[int, ...], a: Array) -> tuple[int, ...]:
    """Return a shape with its one unknown extent filled in."""
    if -1 in shape:
        rest = math.prod(n for n in shape if n != -1)
        shape = tuple(a.size // rest if n == -1 else n for n in shape)
    if math.prod(shape) != a.size:
        raise ValueError(f"cannot reshape array of size {a.size} into shape {shape}")
    return shape


@rule(np.ravel, method="ravel")
def ravel(a: Any, order: str = "C") -> Any:
    return reshape(a, -1, order=order)


@rule(method="flatten")
def flatten(a: Any, order: str = "C") -> Any:
    return copy(reshape(a, -1, order=order))


@rule(np.squeeze, method="squeeze")
def squeeze(a: Any, axis: Any = None) -> Any:
    a = array(a)
    ones_ = [d for d, n in enumerate(a.tensor.shape) if n == 1]
    gone = ones_ if axis is None else [static_axis(d, a.ndim) for d in (axis if isinstance(axis, tuple) else (axis,))]
    if any(d not in ones_ for d in gone):
        raise ValueError("cannot select an axis to squeeze out which has size not equal to one")
    return view(a, [0 if d in gone else slice(None) for d in range(a.ndim)])


@rule(np.expand_dims)
def expand_dims(a: Any, axis: Any) -> Any:
    a = array(a)
    axes = axis if isinstance(axis, (tuple, list)) else (axis,)
    new = {static_axis(d, a.ndim + len(axes)) for d in axes}
    return view(a, [None if d in new else slice(None) for d in range(a.ndim + len(axes))])


@rule(np.broadcast_to)
def broadcast_to(a: Any, shape: Any) -> Any:
    a = array(a)
    wanted = shape_of(shape)
    storage = Storage(a.storage.name, a.storage.known, a.storage.block, a.storage.site, writable=False)
    known = None if a.known is None else np.broadcast_to(a.known, wanted)
    if known is not None:
        return a.recorder.known(known.copy())
    return Array(a.recorder, storage, a.tensor.broadcast(wanted))


@rule(np.atleast_1d)
def atleast_1d(a: Any) -> Any:
    a = array(a)
    return a if a.ndim else view(a, [None])


@rule(np.atleast_2d)
def atleast_2d(a: Any) -> Any:
    a = array(a)
    return a if a.ndim > 1 else view(atleast_1d(a), [None, slice(None)])


# -- joining
@rule(np.concatenate)
def concatenate(arrays: Sequence[Any], axis: Any = 0, dtype: Any = None, **kwargs: Any) -> Any:
    parts = [array(a) for a in arrays]
    if axis is None:
        parts, axis = [ravel(p) for p in parts], 0
    d = static_axis(axis, parts[0].ndim)
    shape = list(parts[0].tensor.shape)
    shape[d] = sum(p.tensor.shape[d] for p in parts)
    recorder = recorder_of(*parts)
    target = recorder.array(recorder.declare("t", shape, dtype or common(parts)))
    start = 0
    for part in parts:
        stop = start + part.tensor.shape[d]
        index = [slice(None)] * part.ndim
        index[d] = slice(start, stop)
        if stop != start:
            fill(view(target, index), part)
        start = stop
    return target


@rule(np.stack)
def stack(arrays: Sequence[Any], axis: Any = 0, **kwargs: Any) -> Any:
    return concatenate([expand_dims(a, axis) for a in arrays], axis)


@rule(np.vstack)
def vstack(arrays: Sequence[Any], **kwargs: Any) -> Any:
    return concatenate([atleast_2d(a) for a in arrays], 0)


@rule(np.hstack)
def hstack(arrays: Sequence[Any], **kwargs: Any) -> Any:
    parts = [atleast_1d(a) for a in arrays]
    return concatenate(parts, 0 if parts[0].ndim == 1 else 1)


@rule(np.column_stack)
def column_stack(arrays: Sequence[Any]) -> Any:
    return concatenate([view(array(a), [slice(None), None]) if array(a).ndim == 1 else array(a) for a in arrays], 1)


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
