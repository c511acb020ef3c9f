"""Make arrays: from numbers and nests, filled, in other types, at equal distances."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from dace.symbolic import int_floor

from sdgrad.errors import ParseError
from sdgrad.record.elementwise import common, compute, kind
from sdgrad.record.functions.arguments import recorder_of, settled, shape_of, static
from sdgrad.record.functions.table import array, known, operand, rule
from sdgrad.record.growth import runs
from sdgrad.record.indexing import expanded, view
from sdgrad.record.recorder import Recorder
from sdgrad.record.stores import fill
from sdgrad.record.values import Array, Number, holds_recorded, is_recorded

IF_NEEDED: Any = np._CopyMode.IF_NEEDED  # has no truth value; libraries pass it on


# -- types
@rule(method="astype")
def astype(a: Any, dtype: Any, *, casting: str = "unsafe", copy: bool = True) -> Any:
    """Return an array, or a number, in another type."""
    wanted = np.dtype(dtype)
    x = operand(a)
    if not is_recorded(x):
        return np.asarray(x).astype(wanted)[()]
    own = np.dtype(kind(x))
    if not np.can_cast(own, wanted, casting):  # type: ignore[arg-type]
        raise TypeError(f"cannot cast from {own} to {wanted} according to the rule {casting!r}")
    if not copy and own == wanted:
        return a
    if own.kind == "c" and wanted.kind not in "bc":
        x, own = compute("real({0})", [x], [own], np.empty(0, own).real.dtype), np.empty(0, own).real.dtype
    if own.kind == "f" and wanted.kind in "iu":
        return compute(f"dace.{wanted.name}({{0}})", [x], [own], wanted)
    return compute("{0}", [x], [wanted], wanted)


def _type(dtype: Any) -> None:
    rule(dtype)(lambda x=0, /: astype(x if is_recorded(x) else array(x), dtype))


for _kind in (
    *(np.bool, np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64),
    *(np.float16, np.float32, np.float64, np.complex64, np.complex128),
):
    _type(_kind)


@rule(np.astype)
def converted(x: Any, dtype: Any, /, *, copy: bool = True) -> Any:
    return astype(array(x), dtype, copy=copy)


# -- creation
@rule(np.asarray, np.asanyarray, np.ascontiguousarray, np.asfortranarray, makes=True)
def as_array(a: Any, dtype: Any = None, *, copy: Any = None) -> Any:
    if isinstance(a, Array):
        a = duplicate(a) if copy is not IF_NEEDED and copy else a
        return a if dtype is None or np.dtype(dtype) == a.dtype else astype(a, dtype)
    if not holds_recorded(a):
        return np.array(a, dtype)
    return stacked(a, dtype)


@rule(np.array, makes=True)
def make_array(object: Any, dtype: Any = None, *, copy: Any = True, ndmin: int = 0) -> Any:
    found = as_array(object, dtype, copy=copy)
    return found if found.ndim >= ndmin else found[(None,) * (ndmin - found.ndim)]


@rule(np.copy, method="copy")
def duplicate(a: Any) -> Any:
    """Return a copy of an array."""
    a = array(a)
    if (known := a.read_known()) is not None:
        return a.recorder.known(np.array(known))
    return a.recorder.array(a.recorder.copy(a.tensor))


def stacked(value: Any, dtype: Any = None) -> Array:
    """Return a nest of numbers and arrays as one array."""
    if is_recorded(value) and not isinstance(value, Array):
        return as_array0(value, dtype)
    shape = _nest_shape(value)
    parts = list(_nest_parts(value))
    wanted = np.dtype(dtype) if dtype is not None else np.result_type(*{np.dtype(kind(p)) for _, p in parts})
    recorder = recorder_of(*[p for _, p in parts if is_recorded(p)])
    target = recorder.array(recorder.declare("t", shape, wanted))
    if recorder.listed and all(len(index) == 1 for index, _ in parts):
        return _of_runs(recorder, target, value)
    for index, part in parts:
        inner = expanded(target, index)
        if any(isinstance(p, slice) for p in inner):
            fill(view(target, inner), part)
        else:
            recorder.write(target.tensor, index, part[()] if isinstance(part, Array) else part)
    return target


def _of_runs(recorder: Recorder, target: Array, values: Any) -> Array:
    """Fill an array with the parts of a list: those of one array at once."""
    k = 0
    for part, count in runs(recorder, values):
        fill(view(target, expanded(target, (slice(k, k + count),) if count else (k,))), part)
        k += max(count, 1)
    return target


def as_array0(value: Any, dtype: Any = None) -> Array:
    """Return a number as an array without axes."""
    recorder = recorder_of(value)
    target = recorder.array(recorder.declare("t", (), dtype or value.dtype))
    recorder.write(target.tensor, (), value)
    return target


NESTS = (list, tuple, range)


def _nest_parts(value: Any, index: tuple[int, ...] = ()) -> Iterator[tuple[tuple[int, ...], Any]]:
    """Yield what a nest holds, each with its place: lists and arrays may stand side by side."""
    if not isinstance(value, NESTS):
        if not (is_recorded(value) or isinstance(value, (bool, int, float, complex)) or hasattr(value, "dtype")):
            raise TypeError(f"a number or an array is needed here, not a value of type {type(value).__name__}")
        yield index, value
        return
    for k, part in enumerate(value):
        yield from _nest_parts(part, (*index, k))


def _nest_shape(value: Any) -> tuple[Any, ...]:
    if isinstance(value, NESTS):
        shapes = {_nest_shape(v) for v in value}
        if len(shapes) > 1:
            raise ValueError(f"the parts of a list have the shapes {', '.join(map(str, shapes))}: they make no array")
        return (len(value), *(shapes.pop() if shapes else ()))
    return value.tensor.shape if isinstance(value, Array) else np.shape(value) if not is_recorded(value) else ()


def _like(name: str, value: Any) -> None:
    function = getattr(np, f"{name}_like")

    def make(a: Any, dtype: Any = None, *, shape: Any = None) -> Any:
        return _as(a, value, dtype, shape)

    rule(function, makes=True)(make)


for _name, _value in (("zeros", 0), ("ones", 1), ("empty", 0)):
    _like(_name, _value)


@rule(np.full_like, makes=True)
def full_like(a: Any, fill_value: Any, dtype: Any = None, *, shape: Any = None) -> Any:
    return _as(a, fill_value, dtype, shape)


def _as(a: Any, value: Any, dtype: Any, shape: Any) -> Any:
    """Return an array of one value, of the shape and the type of another array where nothing else is said."""
    model = a if is_recorded(a) else array(a)
    wanted = np.dtype(dtype) if dtype is not None else model.dtype
    return full(shape_of(shape) if shape is not None else model.shape, value, wanted)


@rule(np.full, makes=True)
def full(shape: Any, fill_value: Any, dtype: Any = None) -> Any:
    extents = shape_of(shape)
    value = array(fill_value) if isinstance(fill_value, (list, tuple)) else fill_value
    if not is_recorded(value):
        return np.full(extents, value, dtype)
    recorder = recorder_of(value)
    target = recorder.array(recorder.declare("t", extents, dtype or value.dtype))
    fill(target, value)
    return target


@rule(np.zeros, makes=True)
def zeros(shape: Any, dtype: Any = float) -> Any:
    return np.zeros(shape_of(shape), dtype)


@rule(np.ones, makes=True)
def ones(shape: Any, dtype: Any = None) -> Any:
    return np.ones(shape_of(shape), dtype)


@rule(np.empty, np.ndarray, makes=True)
def empty(shape: Any, dtype: Any = float) -> Any:
    return np.zeros(shape_of(shape), dtype)


@rule(np.arange, makes=True)
def arange(*bounds: Any, start: Any = None, stop: Any = None, step: Any = None, dtype: Any = None) -> Any:
    """Return integers from a start to a stop that may be known only when the program runs."""
    start, stop, step = map(settled, _bounds_of(bounds, start, stop, step))
    if not any(map(is_recorded, (start, stop, step))):
        return np.arange(start, stop, step, dtype=dtype)
    recorder = recorder_of(start, stop, step)
    if any(kind(b) not in (int, np.dtype(np.int64)) for b in (start, stop)) or is_recorded(step):
        given = (b.__index__() if isinstance(b, Number) else b for b in (start, stop, step))
        return np.arange(*given, dtype=dtype)
    first, count, _ = slice_bounds(recorder, start, stop, step)
    wanted = np.dtype(dtype or np.int64)
    return recorder.array(
        recorder.compute((count,), wanted, lambda i: recorder.element(first + i * step, np.int64).astype(wanted))
    )


def _bounds_of(bounds: tuple, start: Any, stop: Any, step: Any) -> tuple[Any, Any, Any]:
    """Return start, stop and step of a range from its arguments."""
    if len(bounds) == 1 and start is None and stop is None:
        return 0, bounds[0], 1 if step is None else step
    given = [*bounds, *(n for n in (start, stop, step)[len(bounds) :] if n is not None)]
    if len(given) not in (2, 3):
        raise TypeError("arange() takes a stop, or a start and a stop, and a step")
    return given[0], given[1], given[2] if len(given) == 3 else 1


def slice_bounds(recorder: Recorder, start: Any, stop: Any, step: int) -> tuple[Any, Any, int]:
    """Return first element, count and step of a range."""
    first, last = (recorder.symbol(b) if isinstance(b, Number) else b for b in (start, stop))
    sign = 1 if step > 0 else -1
    count = last - first if step == 1 else int_floor(last - first + step - sign, step)
    return first, count, step


@rule(np.eye, makes=True)
def eye(N: Any, M: Any = None, k: Any = 0, dtype: Any = float) -> Any:
    return np.eye(static(N), None if M is None else static(M), static(k), dtype)


@rule(np.identity, makes=True)
def identity(n: Any, dtype: Any = float) -> Any:
    return np.identity(static(n), dtype)


@rule(np.tri, makes=True)
def tri(N: Any, M: Any = None, k: Any = 0, dtype: Any = float) -> Any:
    return np.tri(static(N), None if M is None else static(M), static(k), dtype)


# -- numbers at equal distances
def _steps(num: Any, endpoint: bool, rank: int, *ends: Any) -> Array:
    """Return numbers from 0 to 1 along a new first axis, in the type that these ends give."""
    n = static(num)
    if n < 0:
        raise ValueError(f"Number of samples, {n}, must be non-negative.")
    steps = np.arange(n).reshape(-1, *[1] * rank) / max(n - 1 if endpoint else n, 1)
    return known(steps.astype(common([*ends, 1.0])))


@rule(np.linspace)
def linspace(
    start: Any,
    stop: Any,
    num: Any = 50,
    endpoint: bool = True,
    retstep: bool = False,
    dtype: Any = None,
    axis: Any = 0,
) -> Any:
    low, high = operand(start), operand(stop)
    width = high - low
    steps = _steps(num, endpoint, np.ndim(width), low, high)
    found = low + width * steps
    if endpoint and len(steps) > 1:  # the end itself, without rounding
        found = np.where(np.arange(len(steps)).reshape(steps.shape) == len(steps) - 1, high, found)
    found = found if dtype is None else astype(np.floor(found) if np.dtype(dtype).kind in "iu" else found, dtype)
    found = np.moveaxis(found, 0, axis) if axis else found
    return (found, width / (static(num) - bool(endpoint) or np.nan)) if retstep else found


@rule(np.logspace)
def logspace(
    start: Any, stop: Any, num: Any = 50, endpoint: bool = True, base: Any = 10.0, dtype: Any = None, axis: Any = 0
) -> Any:
    found = operand(base) ** linspace(start, stop, num, endpoint, axis=axis)
    return found if dtype is None else astype(found, dtype)


@rule(np.geomspace)
def geomspace(start: Any, stop: Any, num: Any = 50, endpoint: bool = True, dtype: Any = None, axis: Any = 0) -> Any:
    low, ratio = operand(start), operand(stop) / operand(start)
    found = low * ratio ** _steps(num, endpoint, np.ndim(ratio), low, operand(stop))
    found = np.moveaxis(found, 0, axis) if axis else found
    return astype(found, np.result_type(found.dtype, np.float64) if dtype is None else dtype, copy=False)


@rule(np.vander)
def vander(x: Any, N: Any = None, increasing: bool = False) -> Any:
    column = array(x)[:, None]
    powers = np.arange(column.shape[0] if N is None else static(N))
    return column ** known(powers if increasing else powers[::-1])


@rule(np.may_share_memory)
def may_share_memory(a: Any, b: Any, /, max_work: Any = None) -> bool:
    """Return whether two arrays are one, or have no memory in common."""
    pair = [x for x in (a, b) if isinstance(x, Array)]
    if len(pair) == 2 and a is not b and pair[0].storage is pair[1].storage:
        raise ParseError("numpy.may_share_memory of two parts of one array is not recorded: take copies of them")
    return len(pair) == 2 and pair[0].storage is pair[1].storage
