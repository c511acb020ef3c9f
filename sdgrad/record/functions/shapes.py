"""Change shapes and the order of axes by views."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from sdgrad.errors import ParseError
from sdgrad.record.functions.arguments import axes_of, lines, several, shape_of, static, static_axis
from sdgrad.record.functions.creation import duplicate
from sdgrad.record.functions.table import array, operand, rule
from sdgrad.record.indexing import view
from sdgrad.record.tensors import Tensor, broadcast_shape
from sdgrad.record.values import Array, Storage

READONLY = "assignment destination is read-only"
BACKWARDS = slice(None, None, -1)


def moved(a: Array, tensor: Tensor, known: Any) -> Array:
    """Return a view that a tensor is, with the same view of known content."""
    return Array(a.recorder, a.storage, tensor, known)


def shared(a: Array, content: np.ndarray) -> Array:
    """Return known content that NumPy takes from the memory of an array: a write to one spoils the other."""
    found = a.recorder.known(content)
    known = a.read_known()
    if known is not None and np.shares_memory(content, known):
        found.storage.block = a.storage.block
        _joined(found.storage, a.storage)
    return found


def _joined(first: Storage, second: Storage) -> None:
    first.share(second)


# -- what arrays are
@rule(np.shape)
def shape(a: Any) -> tuple[Any, ...]:
    return tuple(getattr(operand(a), "shape", ()))


@rule(np.ndim)
def ndim(a: Any) -> int:
    return len(shape(a))


@rule(np.size)
def size(a: Any, axis: Any = None) -> Any:
    own = shape(a)
    found: Any = 1
    for d in axes_of(axis, len(own)):
        found = found * own[d]
    return found


# -- the order of axes
@rule(np.transpose, np.permute_dims, method="transpose", aliases=True)
def transpose(a: Any, *axes: Any, **named: Any) -> Any:
    a = array(a)
    axes = axes or tuple(named.values())
    given = axes[0] if len(axes) == 1 and (axes[0] is None or isinstance(axes[0], (tuple, list))) else axes
    order = [static_axis(d, a.ndim) for d in given] if given else list(range(a.ndim))[::-1]
    if sorted(order) != list(range(a.ndim)):
        raise ValueError(f"axes don't match array: {given} for {a.ndim} dimensions")
    if order == sorted(order):
        return a
    return moved(a, a.tensor.transpose(order), None if a.known is None else a.known.transpose(order))


@rule(np.swapaxes, method="swapaxes", aliases=True)
def swapaxes(a: Any, axis1: Any, axis2: Any) -> Any:
    a = array(a)
    order = list(range(a.ndim))
    first, second = static_axis(axis1, a.ndim), static_axis(axis2, a.ndim)
    order[first], order[second] = second, first
    return transpose(a, order)


@rule(np.moveaxis, aliases=True)
def moveaxis(a: Any, source: Any, destination: Any) -> Any:
    a = array(a)
    of, to = ([static_axis(d, a.ndim) for d in several(x)] for x in (source, destination))
    if len(of) != len(to):
        raise ValueError("`source` and `destination` arguments must have the same number of elements")
    order = [d for d in range(a.ndim) if d not in of]
    for place, axis in sorted(zip(to, of, strict=True)):
        order.insert(place, axis)
    return transpose(a, order)


@rule(np.rollaxis, aliases=True)
def rollaxis(a: Any, axis: Any, start: Any = 0) -> Any:
    a = array(a)
    of, to = static_axis(axis, a.ndim), static(start) + (a.ndim if start < 0 else 0)
    return moveaxis(a, of, to - 1 if to > of else to)


@rule(np.matrix_transpose, np.linalg.matrix_transpose, aliases=True)
def matrix_transpose(x: Any, /) -> Any:
    if ndim(x) < 2:
        raise ValueError(f"Input array must be at least 2-dimensional, but it is {ndim(x)}")
    return swapaxes(x, -1, -2)


@rule(np.flip, aliases=True)
def flip(m: Any, axis: Any = None) -> Any:
    a = array(m)
    turned = axes_of(axis, a.ndim)
    return view(a, [BACKWARDS if d in turned else slice(None) for d in range(a.ndim)])


@rule(np.flipud, aliases=True)
def flipud(m: Any) -> Any:
    return flip(m, 0)


@rule(np.fliplr, aliases=True)
def fliplr(m: Any) -> Any:
    return flip(m, 1)


@rule(np.rot90, aliases=True)
def rot90(m: Any, k: Any = 1, axes: Any = (0, 1)) -> Any:
    a = array(m)
    first, second = (static_axis(d, a.ndim) for d in axes)
    if first == second:
        raise ValueError("Axes must be different.")
    for _ in range(static(k) % 4):
        a = flip(swapaxes(a, first, second), first)
    return a


@rule(np.diagonal, method="diagonal", aliases=True)
def diagonal(a: Any, offset: Any = 0, axis1: Any = 0, axis2: Any = 1) -> Any:
    a = array(a)
    first, second, by = static_axis(axis1, a.ndim), static_axis(axis2, a.ndim), static(offset)
    if first == second:
        raise ValueError("axis1 and axis2 cannot be the same")
    a = transpose(a, [*(d for d in range(a.ndim) if d not in (first, second)), first, second])
    rows, columns = a.tensor.shape[-2:]
    down, right = max(-by, 0), max(by, 0)
    length = rows - down if rows - down == columns - right else max(0, min(rows - down, columns - right))
    tensor = a.tensor.moved((*a.tensor.shape[:-2], length), lambda i: (*i[:-1], i[-1] + down, i[-1] + right))
    return moved(a, tensor, None if a.known is None else np.diagonal(a.known, by, -2, -1))


@rule(np.linalg.diagonal, aliases=True)
def diagonal_of_matrices(x: Any, /, *, offset: Any = 0) -> Any:
    return diagonal(x, offset, -2, -1)


# -- other shapes
@rule(np.reshape, method="reshape", aliases=True)
def reshape(a: Any, *extents: Any, shape: Any = None, newshape: Any = None, order: str = "C", copy: Any = None) -> Any:
    a = array(a)
    *sizes, last = extents or (shape if shape is not None else newshape,)
    if sizes and isinstance(last, str):
        (last,), sizes, order = sizes, [], last
    given = [*sizes, last] if sizes else last
    if _order(order) == "F":
        return transpose(reshape(transpose(a), tuple(reversed(shape_of(given)))))
    if a.ndim == 1 and given == -1 and not copy:
        return moved(a, a.tensor, a.known)
    wanted = _completed(shape_of(given), a)
    if copy:
        a = duplicate(a)
    if a.known is not None:
        return shared(a, a.known.reshape(wanted))
    whole = a.tensor.place is None
    tensor = a.tensor.reshape(wanted)
    if whole or tensor.container == a.tensor.container:
        return Array(a.recorder, a.storage, tensor)
    storage = Storage(tensor.container, None, a.recorder.blocks[-1], None)
    _joined(storage, a.storage)
    return Array(a.recorder, storage, tensor)


def _order(order: str) -> str:
    if order not in ("C", "F"):
        raise ParseError(f"order={order!r} asks for the order in memory: write order='C' or order='F'")
    return order


def _completed(shape: tuple[int, ...], a: Array) -> tuple[int, ...]:
    """Return a shape with its one unknown extent filled in."""
    if shape.count(-1) > 1:
        raise ValueError("can only specify one unknown dimension")
    if -1 in shape:
        rest = math.prod(n for n in shape if n != -1)
        shape = tuple((a.size // rest if rest else 0) if n == -1 else n for n in shape)
    if math.prod(shape) != a.size:
        raise ValueError(f"cannot reshape array of size {a.size} into shape {shape}")
    return shape


@rule(np.ravel, method="ravel", aliases=True)
def ravel(a: Any, order: str = "C") -> Any:
    return reshape(a, -1, order=order)


@rule(method="flatten")
def flatten(a: Any, order: str = "C") -> Any:
    return duplicate(ravel(a, order))


@rule(np.squeeze, method="squeeze", aliases=True)
def squeeze(a: Any, axis: Any = None) -> Any:
    a = array(a)
    ones = [d for d, n in enumerate(a.tensor.shape) if n == 1]
    gone = ones if axis is None else axes_of(axis, a.ndim)
    if not set(gone) <= set(ones):
        raise ValueError("cannot select an axis to squeeze out which has size not equal to one")
    return view(a, [0 if d in gone else slice(None) for d in range(a.ndim)])


@rule(np.expand_dims, aliases=True)
def expand_dims(a: Any, axis: Any) -> Any:
    a = array(a)
    rank = a.ndim + len(several(axis))
    new = axes_of(several(axis), rank)
    return view(a, [None if d in new else slice(None) for d in range(rank)])


@rule(np.broadcast_to, aliases=True)
def broadcast_to(array: Any, shape: Any) -> Any:
    return _widened(array, shape_of(shape))


def _widened(value: Any, shape: Sequence[Any]) -> Array:
    a = array(value)
    if tuple(broadcast_shape(a.tensor.shape, shape)) != tuple(shape):
        raise ValueError(f"an array of shape {a.shape} does not broadcast to {tuple(shape)}")
    if a.known is not None:
        found = shared(a, np.broadcast_to(a.known, shape))
        found.storage.readonly = READONLY
        return found
    storage = Storage(a.storage.name, None, a.storage.block, a.storage.site, readonly=READONLY)
    return Array(a.recorder, storage, a.tensor.broadcast(shape))


@rule(np.broadcast_arrays, aliases=True)
def broadcast_arrays(*args: Any) -> Any:
    arrays = [array(a) for a in args]
    wide = broadcast_shape(*(a.tensor.shape for a in arrays))
    return tuple(_widened(a, wide) for a in arrays)


def _at_least(rank: int, shaped: Any) -> Any:
    def widen(*arys: Any) -> Any:
        found = tuple(shaped(array(a)) if ndim(a) < rank else array(a) for a in arys)
        return found[0] if len(found) == 1 else found

    return widen


atleast_1d = rule(np.atleast_1d, aliases=True)(_at_least(1, lambda a: view(a, [None])))
atleast_2d = rule(np.atleast_2d, aliases=True)(
    _at_least(2, lambda a: view(a, [None] * (2 - a.ndim) + [slice(None)] * a.ndim))
)
AS_THREE: dict[int, list[Any]] = {
    0: [None] * 3,
    1: [None, slice(None), None],
    2: [slice(None), slice(None), None],
}
atleast_3d = rule(np.atleast_3d, aliases=True)(_at_least(3, lambda a: view(a, AS_THREE[a.ndim])))


def along(a: Array, axis: int, part: Any) -> Array:
    """Return the view of a part along an axis."""
    return view(a, lines(a.ndim, axis, part))
