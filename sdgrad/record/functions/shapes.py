"""Change shapes by views, and join arrays."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from sdgrad.record.elementwise import common
from sdgrad.record.functions.arguments import recorder_of, shape_of, static_axis
from sdgrad.record.functions.creation import copy
from sdgrad.record.functions.table import array, rule
from sdgrad.record.indexing import view
from sdgrad.record.stores import fill
from sdgrad.record.tensors import Tensor
from sdgrad.record.values import Array, Storage


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
    storage = Storage(
        a.storage.name, a.storage.known, a.storage.block, a.storage.site, readonly="assignment destination is read-only"
    )
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
