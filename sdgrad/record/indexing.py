"""Index arrays: views for slices and integers, copies for index arrays, and writes through both."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import sympy
from dace.symbolic import symstr

from sdgrad.errors import ParseError
from sdgrad.record.elements import Dim, Index
from sdgrad.record.elementwise import apply, compute, origin, prepared
from sdgrad.record.guards import uncaught
from sdgrad.record.index_arrays import check_indices, needs_no_check, or_first
from sdgrad.record.index_limits import (
    check_position,
    checks_indices,
    lies_inside,
    note_element,
    outside_error,
)
from sdgrad.record.reads import is_numeric
from sdgrad.record.recorder import ONLY_DATA, Recorder
from sdgrad.record.runs import Assigned
from sdgrad.record.settling import settle
from sdgrad.record.slices import bounds, named
from sdgrad.record.tensors import Tensor, broadcast_shape
from sdgrad.record.values import RULES, Array, Number, Storage, holds_recorded, is_positive, is_recorded
from sdgrad.symbolic.expr import free_names

ZERO, WHOLE = sympy.Integer(0), np.dtype(np.int64)


def item(array: Any, index: Any) -> Any:
    """Return ``array[index]``."""
    if (chosen := RULES.at_selected(array, index)) is not None:
        return chosen
    parts = expanded(array, index)
    if any(is_advanced(p) for p in parts):
        return selected(array, parts) if _is_open_mask(parts[0]) else gathered(array, parts)
    recorder: Recorder = array.recorder
    readable(array)
    if is_position(parts):
        if array.known is not None and all(is_fixed(p) for p in parts):
            return array.read_known()[tuple(parts)]
        if any(isinstance(p, Number) and not all(o[0] == "loop" for o in p.origin) for p in parts):
            uncaught(recorder, IndexError())
        own = array if array.known is None else _with_memory(array)
        positions = own_positions(own, parts)
        found = recorder.read(own.tensor, positions, array.storage.origin | array.placed | origin(*positions))
        found.is_array = any(p is Ellipsis for p in (index if isinstance(index, tuple) else (index,)))
        return found
    return view(array, parts)


def view(array: Array, parts: Sequence[Any]) -> Array:
    """Return the view of an array that slices, integers and new axes give."""
    shape, place = addressed(array, parts)
    if (content := array.known) is not None and not all(is_fixed(p) for p in parts):
        array, content = _with_memory(array), None
    tensor = array.tensor.moved(shape, place)
    placed = array.placed | origin(*parts)
    return Array(array.recorder, array.storage, tensor, None if content is None else content[_indices(parts)], placed)


def readable(array: Any) -> None:
    """Raise an error if the array's content may be another one in Python."""
    if isinstance(array, Array) and array.storage.stale:
        raise ParseError(array.storage.stale)


def _with_memory(array: Array) -> Array:
    """Return the array after its known content got memory; of one that nobody writes, another one with memory."""
    if array.known is None:
        return array
    recorder: Recorder = array.recorder
    if not array.storage.readonly or array.storage.partners:
        recorder.materialize(array.storage)
        return array
    tensor = recorder.fixed(array.known)
    readonly = array.storage.readonly
    storage = Storage(tensor.container, None, recorder.blocks[0], None, constant=True, readonly=readonly)
    return Array(recorder, storage, tensor, placed=array.placed)


def _indices(parts: Sequence[Any]) -> tuple:
    return tuple(parts)


def is_fixed(part: Any) -> bool:
    """True if a part of an index has its value while the function is recorded."""
    if isinstance(part, slice):
        return not any(is_recorded(n) for n in (part.start, part.stop, part.step))
    return not is_recorded(part)


def expanded(array: Any, index: Any) -> list[Any]:
    """Return an index as a list with a part for each axis, and None for each new one."""
    parts = RULES.masks(list(index) if isinstance(index, tuple) else [index])
    parts = [list(p) if isinstance(p, (range, tuple)) else p for p in parts]
    parts = [_as_indices(p) if isinstance(p, list) else p for p in parts]
    parts = [_of_truth(p) if isinstance(p, (bool, np.bool_)) else p for p in parts]
    used = sum(_axes(p) for p in parts if p is not None and p is not Ellipsis)
    rest = [slice(None)] * (array.ndim - used)
    if array.ndim < used:
        raise IndexError(f"too many indices: the array has {array.ndim} dimensions, and {used} were indexed")
    where = next((k for k, p in enumerate(parts) if p is Ellipsis), None)
    return [*parts, *rest] if where is None else [*parts[:where], *rest, *parts[where + 1 :]]


def _of_truth(part: bool | np.bool_) -> Any:
    """Return an index by a truth value: it stands for a new axis, of one element.

    :raises ParseError: or of none.
    """
    if not part:
        raise ParseError("an array indexed by False has no elements: write np.zeros((0, *x.shape))")
    return None


def _axes(part: Any) -> int:
    """Return how many axes a part of an index uses."""
    is_mask = getattr(part, "dtype", None) == np.bool_ or isinstance(part, bool)
    return int(np.ndim(part)) if is_mask and not isinstance(part, Array) else part.ndim if is_mask else 1


def _as_indices(part: list[Any]) -> Any:
    """Return a list of indices as an array."""
    return RULES.function(np.array, (part,), {}) if holds_recorded(part) else np.asarray(part)


def is_advanced(part: Any) -> bool:
    """True for index arrays and masks."""
    return isinstance(part, (np.ndarray, list, Array)) and getattr(part, "ndim", 1) > 0


def is_position(parts: Sequence[Any]) -> bool:
    """True if an index names one element."""
    return all(p is not None and not isinstance(p, slice) for p in parts)


def own_positions(array: Any, parts: Sequence[Any]) -> list[Any]:
    """Return integers that count from the beginning of each axis."""
    extents = array.tensor.shape
    given = enumerate(zip(parts, extents, strict=True))
    return [_from_the_start(array, _position(array, p, n, d), n, d) for d, (p, n) in given]


def _from_the_start(array: Any, position: Any, extent: Dim, axis: int) -> Any:
    """Return a position such that a negative one counts from the end of the array, or of the part of one.

    Loop indices in whole arrays are counted later, with what is known of the loops by then.
    """
    recorder: Recorder = array.recorder
    if not isinstance(position, Number) or recorder.ranges.trusted:
        return position
    is_checked = not checks_indices(recorder)
    check_position(recorder, position, extent)
    is_checked |= note_element(recorder, position, extent, axis) and recorder.outside_places.is_in_loop
    if position.expr is not None and (is_checked or lies_inside(recorder, position.expr, extent, axis)):
        is_counted_later = array.tensor.place is None and free_names(position.expr) <= recorder.loops
        if is_counted_later or is_positive(position):
            return position
        return recorder.symbolic(sympy.Mod(position.expr + sympy.sympify(extent), extent), position.origin)
    is_checked |= not isinstance(extent, int) and not recorder.ranges.may_be_short(extent)
    if array.tensor.place is None and position.loaded and is_checked:
        return position  # counted later, too
    name = str(position.expr or "") or position.name or (position.tensor.container if position.tensor else "")
    key = (name, extent, is_checked)
    if key not in recorder.run.wrapped:
        text = f"{{0}} + ({symstr(sympy.sympify(extent))}) if {{0}} < 0 else {{0}}"
        found = compute(text, [position], [WHOLE], WHOLE, True)
        recorder.run.wrapped[key] = found if is_checked else _inside(recorder, found, extent, axis, position.loaded)
    return recorder.run.wrapped[key]


def _inside(recorder: Recorder, position: Any, extent: Dim, axis: int, loaded: Any) -> Any:
    """Return a position that data decide, checked: a call in which it lies outside goes on to its end at the first.

    :param loaded: the element that it is of an array; None if it is none.
    """
    is_inside = compute(f"{{0}} >= 0 and {{0}} < {extent}", [position], [WHOLE], np.dtype(bool))
    before = recorder.assigned.get(("inside", loaded, extent)) if loaded else None
    if before is None or not before.holds(recorder):
        RULES.require(recorder, is_inside, outside_error(recorder, extent, axis))
        if loaded:
            recorder.assigned["inside", loaded, extent] = Assigned.now(recorder, "", loaded[0])
    return compute("{1} if {0} else 0", [is_inside, position], [np.dtype(bool), WHOLE], WHOLE, True)


def _position(array: Any, part: Any, extent: Dim, axis: int) -> Any:
    if isinstance(part, Array):
        part = item(part, ())
    if isinstance(part, Number):
        if part.dtype.kind not in "iub":
            part.recorder.hints.needs_integers(part.origin)
            raise IndexError(f"only integers, slices and arrays are valid indices, not a number of type {part.dtype}")
        return part
    try:
        value = part.__index__()
    except (AttributeError, TypeError):
        raise IndexError(f"only integers, slices and arrays are valid indices, not {type(part).__name__}") from None
    if isinstance(extent, int) and not -extent <= value < extent:
        raise IndexError(f"index {value} is out of bounds for axis {axis} with size {extent}")
    if array.recorder.ranges.may_be_short(extent):
        return _in_a_part(array.recorder, value, extent, axis)
    return value + extent if value < 0 else value


def _in_a_part(recorder: Recorder, value: int, extent: Dim, axis: int) -> Any:
    """Return a known position in a part whose size data decide, checked; it is no negative one in any call."""
    size = recorder.symbolic(extent, ONLY_DATA)
    error = IndexError(f"index {value} is out of bounds for axis {axis}, whose size only a run knows")
    RULES.require(recorder, apply(np.greater_equal, [size, value + 1 if value >= 0 else -value]), error)
    return value if value >= 0 else named(recorder, sympy.Max(0, extent + value))


def addressed(array: Array, parts: Sequence[Any]) -> tuple[list[Dim], Any]:
    """Return the shape of a view, and how its subscripts map to the array's."""
    recorder: Recorder = array.recorder
    shape: list[Dim] = []
    axes: list[Any] = []  # for each axis of the array: a position, or (axis of the view, start, step)
    extents = iter(enumerate(array.tensor.shape))
    for part in parts:
        if part is None:
            shape.append(1)
            continue
        axis, extent = next(extents)
        if isinstance(part, slice):
            start, count, step = bounds(recorder, slice(*map(_read, (part.start, part.stop, part.step))), extent)
            axes.append((len(shape), start, step))
            shape.append(count)
        else:
            axes.append(_from_the_start(array, _position(array, part, extent, axis), extent, axis))

    def place(index: tuple) -> tuple:
        return tuple(index[a[0]] * a[2] + a[1] if isinstance(a, tuple) else recorder.position(a) for a in axes)

    return shape, place


def _read(bound: Any) -> Any:
    """Return the number that a bound of a slice is, of an array of one element too."""
    return item(bound, ()) if isinstance(bound, Array) else bound


# -- masks and index arrays
def _is_open_mask(part: Any) -> bool:
    """True of masks that only a run knows."""
    return isinstance(part, Array) and part.dtype.kind == "b" and part.ndim > 0 and part.known is None


def selected(array: Array, parts: Sequence[Any]) -> Any:
    """Return the elements that a mask of the first axes selects."""
    mask = parts[0]
    if mask.storage.outside is not None:
        raise mask.recorder.hints.fix(mask.storage.origin)
    rest = view(array, [*[slice(None)] * mask.ndim, *parts[1:]]) if len(parts) > 1 else array
    return RULES.select(rest, mask)


def gathered(array: Array, parts: Sequence[Any]) -> Array:
    """Return the elements that index arrays name, as an array of its own."""
    readable(array)
    recorder: Recorder = array.recorder
    if array.known is not None and all(is_fixed(p) or content_of(p) is not None for p in parts):
        places = tuple(p if is_fixed(p) else content_of(p) for p in parts)
        return recorder.known(np.asarray(array.read_known()[places]))
    shape, place = advanced(array, parts)
    source = recorder.content(array)
    if not isinstance(source, Tensor):
        return recorder.array(recorder.full(shape, source, array.dtype))
    return recorder.array(recorder.compute(shape, array.dtype, lambda *i: source[place(i)]))


def content_of(part: Any) -> np.ndarray | None:
    return part.read_known() if isinstance(part, Array) else part if isinstance(part, np.ndarray) else None


def advanced(array: Array, parts: Sequence[Any]) -> tuple[list[Dim], Any]:
    """Return the shape that an index with index arrays gives, and how its subscripts map to the array's."""
    recorder: Recorder = array.recorder
    parts = [n for p in parts for n in _without_masks(p)]
    given = [(k, p) for k, p in enumerate(parts) if is_advanced(p)]
    arrays = [as_array(recorder, p) for _, p in given]
    if any(a.dtype.kind not in "iub" for a in arrays):
        raise IndexError("arrays used as indices must be of integer (or boolean) type")
    wide = broadcast_shape(*(a.tensor.shape for a in arrays))
    tensors = prepared(recorder, arrays, wide)
    spots = [k for k, p in enumerate(parts) if is_advanced(p) or not (p is None or isinstance(p, slice))]
    together = spots == list(range(spots[0], spots[-1] + 1))
    first = sum(1 for p in parts[: spots[0]] if p is None or isinstance(p, slice)) if together else 0
    plain = [slice(None) if is_advanced(p) else p for p in parts]
    shape, base = addressed(array, plain)
    advanced_axes = _axes_of_view(plain, [k for k, _ in given])
    kept = [d for d in range(len(shape)) if d not in advanced_axes]
    result = [shape[d] for d in kept]
    result[first:first] = wide
    axes = [sum(1 for p in parts[:k] if p is not None) for k, _ in given]
    extents = [array.tensor.shape[axis] for axis in axes]
    checked = [needs_no_check(recorder, *given) for given in zip(arrays, extents, axes, strict=True)]
    for tensor, extent, axis, before in zip(tensors, extents, axes, checked, strict=True):
        if not before:
            check_indices(recorder, tensor, wide, extent, axis)

    def place(index: tuple) -> tuple:
        own = index[first : first + len(wide)]
        others = iter((*index[:first], *index[first + len(wide) :]))
        inner: list[Index] = []
        chosen = iter(zip(tensors, extents, checked, strict=True))
        for d in range(len(shape)):
            inner.append(_chosen(recorder, *next(chosen), own) if d in advanced_axes else next(others))
        return base(tuple(inner))

    return result, place


def _chosen(recorder: Recorder, tensor: Any, extent: Dim, is_checked: bool, index: tuple) -> Any:
    """Return an element of an index array, counted from the beginning of the axis.

    A call whose check fails goes on to its end, inside of the array.
    """
    if not isinstance(tensor, Tensor):
        return int(tensor) + (extent if int(tensor) < 0 else 0)
    known = tensor.known if tensor.known is not None else recorder.inputs.get(tensor.container)
    if (
        is_checked
        and isinstance(known, np.ndarray)
        and tensor.container.startswith("constant")
        and known.size
        and known.min() >= 0
    ):
        turn = _turn_of(known, extent)
        if turn is None:
            return tensor[index]
        at = index if tensor.place is None else tensor.place(index)
        place = sympy.sympify(at[int(np.argmax(known.shape))])
        return sympy.Mod(place + turn, extent) if turn else place
    found, size = tensor[index], recorder.element(extent, np.int64)
    if not is_checked:
        found = or_first(found, size)
    return found + size * (found < 0).astype(np.int64)


def _turn_of(known: np.ndarray, extent: Dim) -> int | None:
    """Return the first of indices that count once around an axis, as ``(np.arange(n) + 1) % n``; None of others."""
    if not known.size == max(known.shape) == extent:
        return None
    first = int(known.flat[0])
    return first if np.array_equal(known.ravel(), (np.arange(known.size) + first) % known.size) else None


def _axes_of_view(plain: Sequence[Any], spots: Sequence[int]) -> list[int]:
    """Return the axes of a view at which some parts of its index stand."""
    axes = [sum(1 for p in plain[:k] if p is None or isinstance(p, slice)) for k in spots]
    return axes


def _without_masks(part: Any) -> list[Any]:
    """Return a mask as the index arrays of what it selects."""
    content = content_of(part)
    if getattr(part, "dtype", None) != np.bool_ or not is_advanced(part):
        return [part]
    if content is None and isinstance(part, Array) and part.storage.outside is not None:
        raise part.recorder.hints.fix(part.storage.origin)
    if content is None:
        settle(part.recorder, part.storage.origin)
        raise IndexError(
            "the number of elements that a mask selects is known only when the program runs; use np.where, or sum with "
            "where="
        )
    return list(np.nonzero(content))


def as_array(recorder: Recorder, value: Any) -> Array:
    """Return an index array, or any other nest of numbers, as an array."""
    if isinstance(value, Array):
        return value
    return recorder.outside(value) if is_numeric(value) else recorder.known(np.asarray(value))
