"""Join arrays, cut them, repeat and pad them."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import sympy

from sdgrad.errors import ParseError
from sdgrad.record.elements import Element, dim
from sdgrad.record.elementwise import common, origin
from sdgrad.record.functions.arguments import (
    lines,
    recorder_of,
    require,
    settled,
    several,
    shape_of,
    static,
    static_axis,
)
from sdgrad.record.functions.creation import astype, duplicate
from sdgrad.record.functions.shapes import (
    along,
    atleast_1d,
    atleast_2d,
    atleast_3d,
    broadcast_to,
    expand_dims,
    moveaxis,
    ravel,
    reshape,
)
from sdgrad.record.functions.table import active, all_known, array, content, fixed, known, rule, wrapped
from sdgrad.record.growth import as_one
from sdgrad.record.indexing import item, view
from sdgrad.record.settling import settle
from sdgrad.record.stores import fill
from sdgrad.record.tensors import Tensor
from sdgrad.record.values import Array, holds_recorded, is_recorded


# -- joining
@rule(np.concatenate)
def concatenate(arrays: Sequence[Any], axis: Any = 0, *, dtype: Any = None, casting: str = "same_kind") -> Any:
    parts = [array(a) for a in arrays]
    if not parts:
        raise ValueError("need at least one array to concatenate")
    if axis is None:
        parts, axis = [ravel(p) for p in parts], 0
    wanted = np.dtype(dtype) if dtype is not None else common(parts)
    shape, d = _joined_shape(parts, axis)
    for part in parts:
        if not np.can_cast(part.dtype, wanted, casting):  # type: ignore[arg-type]
            raise TypeError(f"cannot cast from {part.dtype} to {wanted} according to the rule {casting!r}")
    recorder = recorder_of(*parts)
    target = recorder.array(recorder.declare("t", shape, wanted))
    start = 0
    for part in parts:
        stop = start + part.tensor.shape[d]
        if stop != start:
            fill(along(target, d, slice(start, stop)), part)
        start = stop
    return target


def _joined_shape(parts: Sequence[Array], axis: Any) -> tuple[list[Any], int]:
    """Return the shape of arrays joined along an axis, and the axis."""
    ranks = {p.ndim for p in parts}
    if len(ranks) > 1:
        raise ValueError("all the input array dimensions must match: arrays of different ranks are joined")
    if ranks == {0}:
        raise ValueError("zero-dimensional arrays cannot be concatenated")
    d = static_axis(axis, parts[0].ndim)
    shape = list(parts[0].tensor.shape)
    for part in parts[1:]:
        for e, (m, n) in enumerate(zip(shape, part.tensor.shape, strict=True)):
            if e != d and m != n and isinstance(m, int) and isinstance(n, int):
                raise ValueError(f"arrays of shapes {parts[0].shape} and {part.shape} do not join along axis {d}")
    shape[d] = dim(sympy.expand(sum(p.tensor.shape[d] for p in parts)))
    return shape, d


@rule(np.stack)
def stack(arrays: Sequence[Any], axis: Any = 0, *, dtype: Any = None, casting: str = "same_kind") -> Any:
    if axis == 0 and dtype is None and as_one(active(), arrays) is not None:
        return array(arrays)
    parts = [array(a) for a in arrays]
    if len({p.shape for p in parts}) > 1:
        raise ValueError("all input arrays must have the same shape")
    return concatenate([expand_dims(p, axis) for p in parts], axis, dtype=dtype, casting=casting)


@rule(np.vstack, *filter(None, [vars(np).get("row_stack")]))  # which newer versions do not have
def vstack(tup: Sequence[Any], *, dtype: Any = None, casting: str = "same_kind") -> Any:
    return concatenate([atleast_2d(a) for a in tup], 0, dtype=dtype, casting=casting)


@rule(np.hstack)
def hstack(tup: Sequence[Any], *, dtype: Any = None, casting: str = "same_kind") -> Any:
    parts = [atleast_1d(a) for a in tup]
    return concatenate(parts, 0 if parts and parts[0].ndim == 1 else 1, dtype=dtype, casting=casting)


@rule(np.dstack)
def dstack(tup: Sequence[Any]) -> Any:
    return concatenate([atleast_3d(a) for a in tup], 2)


@rule(np.column_stack)
def column_stack(tup: Sequence[Any]) -> Any:
    return concatenate([a if a.ndim > 1 else view(atleast_1d(a), [slice(None), None]) for a in map(array, tup)], 1)


@rule(np.append)
def append(arr: Any, values: Any, axis: Any = None) -> Any:
    return concatenate([arr, values], axis)


@rule(np.block)
def block(arrays: Any) -> Any:
    rank, depth = _rank_in(arrays), _depth(arrays)
    return _block(arrays, max(rank, depth), depth)


def _depth(nest: Any) -> int:
    return 1 + max(map(_depth, nest), default=0) if isinstance(nest, list) else 0


def _rank_in(nest: Any) -> int:
    return max(map(_rank_in, nest), default=0) if isinstance(nest, list) else np.ndim(nest)


def _block(nest: Any, rank: int, depth: int) -> Any:
    """Join a nest of blocks: the innermost lists along the last axis."""
    if isinstance(nest, list):
        return concatenate([_block(part, rank, depth - 1) for part in nest], -depth)
    a = array(nest)
    return view(a, [*[None] * (rank - a.ndim), *[slice(None)] * a.ndim])


@rule(np.meshgrid)
def meshgrid(*xi: Any, copy: bool = True, sparse: bool = False, indexing: str = "xy") -> Any:
    if indexing not in ("xy", "ij"):
        raise ValueError("Valid values for `indexing` are 'xy' and 'ij'.")
    rank = len(xi)
    found = [reshape(x, [-1 if e == d else 1 for e in range(rank)]) for d, x in enumerate(xi)]
    if indexing == "xy" and rank > 1:
        found = [moveaxis(x, 0, 1) for x in found]
    wide = found if sparse else np.broadcast_arrays(*found)
    return tuple(duplicate(x) for x in wide) if copy else tuple(wide)


@rule(np.apply_along_axis)
def apply_along_axis(func1d: Callable, axis: Any, arr: Any, *args: Any, **kwargs: Any) -> Any:
    a = moveaxis(arr, axis, -1)
    lead = a.shape[:-1]
    parts = [array(func1d(a[index], *args, **kwargs)) for index in np.ndindex(*lead)]
    own = parts[0].shape
    found = reshape(stack(parts), (*lead, *own))
    rank, place = len(lead), static_axis(axis, np.ndim(arr))
    return moveaxis(found, list(range(rank, rank + len(own))), list(range(place, place + len(own))))


# -- cutting
def _split(ary: Any, indices_or_sections: Any, axis: Any, even: bool) -> list[Any]:
    a = array(ary)
    d = static_axis(axis, a.ndim)
    n = a.tensor.shape[d]
    if np.ndim(indices_or_sections):
        cuts = [0, *map(static, several(fixed(indices_or_sections))), n]
    else:
        sections = static(indices_or_sections)
        if sections <= 0:
            raise ValueError("number sections must be larger than 0.")
        if even and n % sections:
            raise ValueError("array split does not result in an equal division")
        cuts = [0, *np.cumsum([len(p) for p in np.array_split(np.empty(n), sections)]).tolist()]
    return [along(a, d, slice(i, j)) for i, j in itertools.pairwise(cuts)]


@rule(np.split)
def split(ary: Any, indices_or_sections: Any, axis: Any = 0) -> Any:
    return _split(ary, indices_or_sections, axis, even=True)


@rule(np.array_split)
def array_split(ary: Any, indices_or_sections: Any, axis: Any = 0) -> Any:
    return _split(ary, indices_or_sections, axis, even=False)


def _split_along(function: Any, least: int, axis: int) -> None:
    def cut(ary: Any, indices_or_sections: Any) -> Any:
        rank = np.ndim(ary)
        if rank < least:
            raise ValueError(f"{function.__name__} only works on arrays of {least} or more dimensions")
        return split(ary, indices_or_sections, min(axis, rank - 1))

    rule(function)(cut)


_split_along(np.vsplit, 2, 0)
_split_along(np.hsplit, 1, 1)
_split_along(np.dsplit, 3, 2)


@rule(np.unstack)
def unstack(x: Any, /, *, axis: Any = 0) -> Any:
    return tuple(moveaxis(x, axis, 0))


# -- repeating
@rule(np.repeat, method="repeat")
def repeat(a: Any, repeats: Any, axis: Any = None) -> Any:
    a = array(a)
    if axis is None:
        a, axis = ravel(a), 0
    d = static_axis(axis, a.ndim)
    counts = fixed(repeats)
    if np.ndim(counts):
        return rearranged(a, d, np.repeat(np.arange(a.tensor.shape[d]), counts))
    n = static(counts)
    wide = view(a, [*[slice(None)] * (d + 1), None, *[slice(None)] * (a.ndim - d - 1)])
    shape = (*a.tensor.shape[: d + 1], n, *a.tensor.shape[d + 1 :])
    merged = (*a.tensor.shape[:d], a.tensor.shape[d] * n, *a.tensor.shape[d + 1 :])
    return reshape(duplicate(broadcast_to(wide, shape)), merged)


@rule(np.tile)
def tile(A: Any, reps: Any) -> Any:
    a, counts = array(A), list(shape_of(reps))
    rank = max(a.ndim, len(counts))
    counts = [1] * (rank - len(counts)) + counts
    a = view(a, [*[None] * (rank - a.ndim), *[slice(None)] * a.ndim])
    wide = view(a, [x for _ in range(rank) for x in (None, slice(None))])
    shape = tuple(n for pair in zip(counts, a.tensor.shape, strict=True) for n in pair)
    merged = tuple(c * n for c, n in zip(counts, a.tensor.shape, strict=True))
    return reshape(duplicate(broadcast_to(wide, shape)), merged)


@rule(np.resize)
def resize(a: Any, new_shape: Any) -> Any:
    flat, shape = ravel(a), shape_of(new_shape)
    return reshape(rearranged(flat, 0, np.resize(np.arange(flat.size), int(np.prod(shape)))), shape)


@rule(np.roll)
def roll(a: Any, shift: Any, axis: Any = None) -> Any:
    a = array(a)
    if axis is None:
        return reshape(roll(ravel(a), shift, 0), a.shape)
    found, shifts = a, [settled(n) for n in several(fixed(shift))]
    axes = several(axis)
    count = max(len(shifts), len(axes))
    if {len(shifts), len(axes)} > {1, count}:
        raise ValueError("'shift' and 'axis' should be scalars or 1D sequences of one length")
    for by, along_ in zip(shifts * (count // len(shifts)), axes * (count // len(axes)), strict=True):
        found = _rolled(found, by, static_axis(along_, a.ndim))
    return duplicate(a) if found is a else found


def _rolled(a: Array, by: Any, axis: int) -> Array:
    """Return an array turned along an axis; itself if nothing moves."""
    n = a.tensor.shape[axis]
    if is_recorded(by):  # only a run knows where the cut is
        return item(a, lines(a.ndim, axis, (known(np.arange(n)) - by) % n))
    cut = (-static(by)) % n if n != 0 else 0
    if cut == 0:
        return a
    if not isinstance(n, int):
        return concatenate([along(a, axis, slice(cut, None)), along(a, axis, slice(None, cut))], axis)
    source = a.recorder.content(a)
    if not isinstance(source, Tensor):  # all elements are one number
        return a

    def turned(*index: sympy.Expr) -> Element:
        return source[tuple(sympy.Mod(i + cut, n) if d == axis else i for d, i in enumerate(index))]

    return a.recorder.array(a.recorder.compute(a.tensor.shape, a.dtype, turned))


def rearranged(a: Array, axis: int, order: np.ndarray) -> Array:
    """Return an array with its parts along an axis in an order that is known; some may come often, or never."""
    return item(a, lines(a.ndim, axis, known(order.astype(np.int64))))


# -- parts that come and go
@rule(np.delete)
def delete(arr: Any, obj: Any, axis: Any = None) -> Any:
    a, d = (ravel(arr), 0) if axis is None else (array(arr), static_axis(axis, np.ndim(arr)))
    n, where = a.tensor.shape[d], fixed(obj)
    if where is None or is_recorded(where):
        place, k = _place(obj, n, "delete"), np.arange(n - 1)
        return item(a, lines(a.ndim, d, k + (k >= place)))
    return rearranged(a, d, np.delete(np.arange(n), where))


def _place(obj: Any, n: int, name: str, after: int = 0) -> Any:
    """Return a place that only a run knows, counted from the start.

    :raises ParseError: they are several, of which only a run knows how many are different.
    """
    if np.ndim(obj) or obj.dtype.kind not in "iu":
        settle(active(), origin(obj))
        raise ParseError(f"np.{name} takes one place, or places known without a run: write np.where, or a loop")
    require((obj >= -n) & (obj < n + after), f"index is out of bounds for axis 0 with size {n}", IndexError)
    return np.where(obj < 0, obj + n, obj)


@rule(np.insert)
def insert(arr: Any, obj: Any, values: Any, axis: Any = None) -> Any:
    a, d = (ravel(arr), 0) if axis is None else (array(arr), static_axis(axis, np.ndim(arr)))
    n, where = a.tensor.shape[d], fixed(obj)
    at_run = where is None or is_recorded(where)
    new = np.asarray(0 if at_run else range(*where.indices(n)) if isinstance(where, slice) else where)
    more = array(values)
    more = view(more, [*[None] * (a.ndim - more.ndim), *[slice(None)] * more.ndim])
    if new.size == 1 and new.dtype != np.bool_:
        more = moveaxis(more, 0, d) if new.ndim == 0 else more
        count = more.tensor.shape[d]
    else:
        count = int(np.count_nonzero(new)) if new.dtype == np.bool_ else new.size
    own = [count if e == d else m for e, m in enumerate(a.tensor.shape)]
    both = concatenate([a, astype(broadcast_to(more, own), a.dtype)], d)
    if at_run:
        place, k = _place(obj, n, "insert", after=1), np.arange(n + count)
        return item(
            both, lines(a.ndim, d, np.where(k < place, k, np.where(k < place + count, n + k - place, k - count)))
        )
    return rearranged(both, d, np.insert(np.arange(n), where, n + np.arange(count)))


BY_SUBSCRIPT = (type(np.r_), type(np.c_), type(np.mgrid), type(np.ogrid))


def by_subscript(joiner: Any, parts: Any) -> Any:
    """Return what ``np.r_[..]``, ``np.c_[..]``, ``np.mgrid[..]`` or ``np.ogrid[..]`` make."""
    if not holds_recorded(parts) or all_known(parts) or joiner is np.mgrid or joiner is np.ogrid:
        return wrapped(joiner[content(parts)])
    given = parts if isinstance(parts, tuple) else (parts,)
    axis, least, first = (-1, 2, 0) if joiner is np.c_ else (0, 1, -1)
    if isinstance(given[0], str):
        (axis, least, first), given = _directive(given[0], axis, least, first), given[1:]
    if any(isinstance(p, str) for p in given):
        raise ValueError("special directives must be the first entry.")
    parts = [_widened(p, least, first) for p in given]
    dtype = common(
        [p if np.ndim(p) == 0 and not isinstance(p, slice) else w for p, w in zip(given, parts, strict=True)]
    )
    return concatenate(parts, axis, dtype=dtype)


def _directive(text: str, *default: int) -> list[int]:
    """Return the axis to join along, the least number of axes, and where those of a part begin among these."""
    try:
        told = [int(n) for n in text.split(",")]
    except ValueError:
        raise ParseError(f"np.r_[{text!r}, ..] makes a matrix: use np.concatenate") from None
    return [*told, *default[len(told) :]]


def _widened(part: Any, least: int, first: int) -> Array:
    """Return a part with enough axes."""
    if isinstance(part, slice):
        step = content(part.step)
        grid = isinstance(step, complex)
        part = (
            np.linspace(part.start or 0, part.stop, int(abs(step)))
            if grid
            else np.arange(part.start or 0, part.stop, 1 if step is None else step)
        )
    a = array(part)
    if a.ndim >= least:
        return a
    before = first if first >= 0 else least - a.ndim + first + 1
    order = list(range(least))
    wide = view(a, [*[None] * (least - a.ndim), *[slice(None)] * a.ndim])
    kept = order[-a.ndim :] if a.ndim else []
    return moveaxis(wide, kept, [before + k for k in range(a.ndim)]) if kept else wide


@rule(np.diag_indices_from)
def diag_indices_from(arr: Any) -> Any:
    a = array(arr)
    if a.ndim < 2 or len(set(a.tensor.shape)) != 1:
        raise ValueError("input array must be at least 2-d, with all dimensions of equal length")
    return np.diag_indices(a.shape[0], a.ndim)
