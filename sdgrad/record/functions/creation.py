"""Make arrays: from numbers and nests, filled, in other types, triangles."""

from __future__ import annotations

from typing import Any

import numpy as np
from dace.symbolic import int_floor

from sdgrad.record.elementwise import apply, common, compute, kind
from sdgrad.record.functions.arguments import recorder_of, settled, shape_of, static
from sdgrad.record.functions.table import array, holds_recorded, operand, rule
from sdgrad.record.indexing import expanded, view
from sdgrad.record.recorder import Recorder
from sdgrad.record.stores import fill
from sdgrad.record.values import Array, Number, is_recorded


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
