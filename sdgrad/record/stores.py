"""Write to arrays: through views, where masks hold, and to the elements that index arrays name."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from sdgrad.errors import ParseError
from sdgrad.record.elements import Element
from sdgrad.record.elementwise import prepared, read
from sdgrad.record.indexing import (
    addressed,
    advanced,
    as_array,
    content_of,
    expanded,
    is_advanced,
    is_fixed,
    is_position,
    item,
    own_positions,
    readable,
    view,
)
from sdgrad.record.outside import WRITTEN
from sdgrad.record.recorder import Recorder
from sdgrad.record.tensors import Tensor, broadcast_shape
from sdgrad.record.values import RULES, Array, Number, Storage, is_recorded


def store(array: Any, index: Any, value: Any) -> None:
    """Do ``array[index] = value``."""
    if isinstance(array, Number):
        raise TypeError("a number does not support item assignment")
    parts = expanded(array, index)
    check_own(array)
    if _stays_known(array, parts, value):
        array.known[tuple(content_of(p) if isinstance(p, Array) else p for p in parts)] = (
            value.read_known() if isinstance(value, Array) else value
        )
        return
    readable(value)
    writing(array)
    with _as_it_was(value):
        _put(array, parts, value)


def check_own(array: Array) -> None:
    """Raise an error for an array that must not be written: one of an outer recording would never be."""
    if array.storage.readonly or array.recorder is not RULES.active():
        raise ParseError(array.storage.readonly or WRITTEN)


@contextlib.contextmanager
def _as_it_was(value: Any) -> Iterator[None]:
    """Let a value be read that is stored: it may be of the array that is written, and was taken before."""
    stale = value.storage.stale if isinstance(value, Array) else ""
    if stale:
        value.storage.stale = ""
    yield
    if stale:
        value.storage.stale = stale


def _put(array: Array, parts: list[Any], value: Any) -> None:
    """Write a value to a part of an array."""
    recorder: Recorder = array.recorder
    masks = [p for p in parts if is_advanced(p) and p.dtype == np.bool_ and content_of(p) is None]
    if masks:
        _store_masked(array, parts, masks[0], value)
    elif any(is_advanced(p) for p in parts):
        _scatter(array, parts, value)
    elif is_position(parts):
        recorder.write(array.tensor, own_positions(array, parts), single(value))
    else:
        fill(view(array, parts), value)


def single(value: Any) -> Any:
    """Return the only element of a value."""
    if isinstance(value, Array):
        return item(value, (0,) * value.ndim)
    return value.item() if isinstance(value, np.ndarray) else value


def check_in_place(value: Any) -> None:
    """Check that an update binds a name, or has memory to change.

    :raises ParseError: it would change an array without axes, which is a number here.
    """
    if isinstance(value, Number) and value.is_array:
        raise ParseError(
            "an array without axes is changed in place, which every name of it would see: write x = x + 1 in place of "
            "x += 1, or give it an axis"
        )


def _stays_known(array: Array, parts: Sequence[Any], value: Any) -> bool:
    """True if a write of known content leaves known content, in every run of what is being recorded."""
    fixed = all(is_fixed(p) or content_of(p) is not None for p in parts)
    known = value.known is not None if isinstance(value, Array) else not is_recorded(value)
    return array.known is not None and fixed and known and array.storage.block is array.recorder.blocks[-1]


def writing(array: Array) -> None:
    """Prepare a write: memory for known content, and no more reads of what Python would have changed as well."""
    check_own(array)
    if array.known is not None:
        array.recorder.materialize(array.storage)
    array.storage.version += 1
    for partner in array.storage.partners:
        partner.stale = (
            "this array may share the memory of one that was written since, and is a copy of it here: make the copy "
            "where it is taken, with .copy()"
        )


def fill(target: Array, value: Any) -> None:
    """Write a value to all of a view, with broadcast."""
    recorder: Recorder = target.recorder
    value = value if is_recorded(value) or np.ndim(value) == 0 else as_array(recorder, value)
    if isinstance(value, Array):
        readable(value)
        value = _apart(value, target.storage)
        value = _trimmed(value, target.ndim)
        RULES.agree(recorder, target.tensor.shape, value.tensor.shape)
        broadcast_shape(target.tensor.shape, value.tensor.shape)
    source = prepared(recorder, [value], target.tensor.shape)[0]
    dtype = target.dtype
    recorder.assign(target.tensor, lambda *i: read(recorder, source, i, dtype))


def in_memory(value: Array, dtype: Any) -> Tensor:
    """Return an array as all of a container, in a type: itself, or a copy."""
    recorder: Recorder = value.recorder
    if value.known is None and value.dtype == dtype and recorder.is_whole(value.tensor):
        return value.tensor
    target = recorder.array(recorder.declare("operand", value.tensor.shape, dtype))
    fill(target, value)
    return target.tensor


def _trimmed(value: Array, rank: int) -> Array:
    """Return an array without the leading axes of one element that its target does not have."""
    extra = value.ndim - rank
    if extra <= 0:
        return value
    if any(n != 1 for n in value.tensor.shape[:extra]):
        raise ValueError(f"could not broadcast input array from shape {value.shape} into {rank} dimensions")
    return view(value, [0] * extra + [slice(None)] * rank)


def _apart(value: Array, storage: Storage) -> Array:
    """Return a value whose memory is not that of its target."""
    if value.storage is not storage or value.known is not None:
        return value
    recorder: Recorder = value.recorder
    return recorder.array(recorder.copy(value.tensor))


def _store_masked(array: Array, parts: Sequence[Any], mask: Array, value: Any) -> None:
    """Write where a mask of the array's leading axes holds."""
    recorder: Recorder = array.recorder
    if parts[0] is not mask:
        raise IndexError("a mask that only a run knows must be the first index")
    array = view(array, [*[slice(None)] * mask.ndim, *parts[1:]])
    condition = mask.tensor
    source = _masked_source(array, value, mask)
    dtype = array.dtype

    def at(*index: Any) -> tuple[Any, Element, Element]:
        return index, read(recorder, source, index, dtype), condition[index[: mask.ndim]]

    recorder.scatter_where(array.tensor, at)


def _masked_source(array: Array, value: Any, mask: Array) -> Any:
    """Return what is written where a mask holds: a number, or a tensor of the array's shape."""
    value = RULES.under_the_mask(value, mask)
    if isinstance(value, Array) and (value.tensor.shape == array.tensor.shape or value.ndim <= array.ndim - mask.ndim):
        whole = prepared(array.recorder, [_apart(value, array.storage)], array.tensor.shape)[0]
        return whole if value.ndim else single(value)
    if isinstance(value, Array) and value.ndim:
        raise IndexError(
            "the elements that a mask selects are as many as only a run knows; assign a number, or write "
            "np.where(mask, new, old)"
        )
    return single(value) if isinstance(value, Array) else value


def _source(array: Array, value: Any, shape: Sequence[Any]) -> Any:
    """Return what is written to some elements of an array: a number, or a tensor of their shape."""
    value = value if is_recorded(value) or np.ndim(value) == 0 else as_array(array.recorder, value)
    if isinstance(value, Array):
        value = _trimmed(_apart(value, array.storage), len(shape))
    return prepared(array.recorder, [value], shape)[0]


def _scatter(array: Array, parts: Sequence[Any], value: Any) -> None:
    """Write to the elements that index arrays name, in order."""
    recorder: Recorder = array.recorder
    shape, place = advanced(array, parts)
    source, dtype = _source(array, value, shape), array.dtype
    recorder.scatter(array.tensor, shape, lambda *i: (place(i), read(recorder, source, i, dtype), None))


def accumulate(array: Array, parts: Sequence[Any], value: Any) -> None:
    """Add a value to the elements that index arrays name; repeated ones add up."""
    writing(array)
    recorder: Recorder = array.recorder
    if any(is_advanced(p) for p in parts):
        shape, place = advanced(array, parts)
    else:
        shape, place = addressed(array, parts)
    source, dtype = _source(array, value, shape), array.dtype
    recorder.accumulate(array.tensor, shape, lambda *i: (place(i), read(recorder, source, i, dtype)))
